//! The engine's stories and laws. Each law names the mechanism whose failure it would show.

#![allow(clippy::unwrap_used, reason = "a test may end where it stands")]

#[path = "engine/abort_laws.rs"]
mod abort_laws;
#[path = "engine/alignment.rs"]
mod alignment;
#[path = "engine/at_least_once.rs"]
mod at_least_once;
#[path = "engine/backpressure.rs"]
mod backpressure;
#[path = "engine/coordinator.rs"]
mod coordinator;
#[path = "engine/coordinator_laws.rs"]
mod coordinator_laws;
#[path = "engine/crashes.rs"]
mod crashes;
#[path = "engine/cut.rs"]
mod cut;
#[path = "engine/deletions.rs"]
mod deletions;
#[path = "engine/deployment.rs"]
mod deployment;
#[path = "engine/drivers.rs"]
mod drivers;
#[path = "engine/end_of_data.rs"]
mod end_of_data;
#[path = "engine/failing.rs"]
mod failing;
#[path = "engine/fallback.rs"]
mod fallback;
#[path = "engine/faults.rs"]
mod faults;
#[path = "engine/fold.rs"]
mod fold;
#[path = "engine/frame_size.rs"]
mod frame_size;
#[path = "engine/full_disk.rs"]
mod full_disk;
#[path = "engine/in_flight.rs"]
mod in_flight;
#[path = "engine/incremental.rs"]
mod incremental;
#[path = "engine/laws.rs"]
mod laws;
#[path = "engine/live_orders.rs"]
mod live_orders;
#[path = "engine/live_states.rs"]
mod live_states;
#[path = "engine/modes.rs"]
mod modes;
#[path = "engine/partitioning.rs"]
mod partitioning;
#[path = "engine/recovery.rs"]
mod recovery;
#[path = "engine/restore.rs"]
mod restore;
#[path = "engine/rig.rs"]
mod rig;
#[path = "engine/samples.rs"]
mod samples;
#[path = "engine/samples_of_modes.rs"]
mod samples_of_modes;
#[path = "engine/samples_of_state.rs"]
mod samples_of_state;
#[path = "engine/savepoints.rs"]
mod savepoints;
#[path = "engine/state_kinds.rs"]
mod state_kinds;
#[path = "engine/stop_the_world.rs"]
mod stop_the_world;
#[path = "engine/storage_faults.rs"]
mod storage_faults;
#[path = "engine/sync_part.rs"]
mod sync_part;
#[path = "engine/traces.rs"]
mod traces;
#[path = "engine/transaction_ends.rs"]
mod transaction_ends;
#[path = "engine/transaction_laws.rs"]
mod transaction_laws;
#[path = "engine/transactions.rs"]
mod transactions;
#[path = "engine/unaligned.rs"]
mod unaligned;
#[path = "engine/unaligned_restore.rs"]
mod unaligned_restore;
#[path = "engine/what_fits.rs"]
mod what_fits;
#[path = "engine/windows.rs"]
mod windows;
