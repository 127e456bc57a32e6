//! Lockgate: build a small streaming job, run it on a real embedded engine, and watch its checkpoints.
//!
//! A barrier in a stream is a lock gate in a canal: what arrives early waits behind the closed gate until the levels
//! are equal. This page is the map of the house; each module opens with what it is, what it may know, and what not.
//!
//! ```text
//!  project ─► model ──► engine ──► recording ──► run ──► ui    the window
//!   (files)   (data)    (runs it)  (what         (one)   └► cli   headless
//!                                   happened)
//! ```
//!
//! * [`model`] is pure data: the job graph, its configuration, keys and key groups. [`project`] turns it into RON files
//!   and back.
//! * [`engine`] executes a model. Its core ([`engine::subtask`], [`engine::gate`], [`engine::operator`],
//!   [`engine::coordinator`]) are state machines that are handed an input and answer with effects. Two
//!   [drivers](engine::driver) interpret the effects: the **stepper** in virtual time, one action at a time, and the
//!   **live** driver with a thread for each subtask. [`engine::state`] and [`engine::storage`] hold what is computed
//!   and what is saved.
//! * [`recording`] is the append-only log of what happened, and its fold, the [`recording::View`]: all that the window
//!   ever draws of a run.
//! * [`run`] is one run as a person has it: a driver on its own thread, a recording, a cursor, branches.
//! * [`fuzz`] plays random jobs against the laws of checkpointing, and knows of a run its event log alone.
//! * [`ui`] draws and returns commands; [`cli`] prints reports. Both hold a [`run::Run`].
//!
//! # Laws
//!
//! 1. **Consistent cut.** A checkpoint contains the effect of exactly the records before its barrier on every channel.
//! 2. **A restored run ends like a failure-free one**, whatever the moment of the crash, on every backend.
//! 3. **The log is complete.** Its fold is the engine's own state; seeking is folding; the same job, seed and commands
//!    give the same events, byte for byte.
//! 4. **Both drivers agree** on final sums and on what comes out.
//! 5. **Imports go one way.** The core knows no clock, thread, file, chance or hash order; every queue has a bound;
//!    colours are in the theme.
//! 6. **A file that loads is a job that runs** (or a draft that says so); one that does not load says where and why,
//!    and changes nothing.
//! 7. **The window never waits** for the engine or the disk.
//!
//! 1 to 4 are in `tests/engine.rs` and `tests/run.rs`, 5 in `tests/tidy.rs`, 6 in `tests/files.rs`; for 7 the window
//! only ever *tries* the one lock it shares with the engine (`run/worker.rs`).
//!
//! # Where Flink's rules are
//!
//! | rule | where |
//! |---|---|
//! | key → key group → subtask | [`model::key_group`] |
//! | blocking, newer barriers, cancel markers, ended inputs | [`engine::gate`] |
//! | barrier first, then the state, in one step | [`engine::subtask`] |
//! | trigger path, acknowledgements, completion, subsumption, failures | [`engine::coordinator`] |
//! | recovery, restart strategies | `engine/driver/stepper/failover.rs`, [`engine::coordinator::restart`] |
//! | which checkpoint a restore goes back to | `engine/driver/restoring.rs` |
//! | synchronous and asynchronous part per backend | [`engine::state`] |
//! | two-phase commit: pre-commit, commit, recovery, timeouts | `engine/operator/two_phase_commit.rs`, [`engine::driver::outside`] |
//! | `chk-N/_metadata`, inline threshold, the 5 MiB limit | [`engine::storage`] |

pub mod cli;
pub mod engine;
pub mod fuzz;
pub mod model;
pub mod project;
pub mod recording;
pub mod run;
pub mod ui;
