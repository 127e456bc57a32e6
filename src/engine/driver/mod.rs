//! The two drivers: they own time, queues, threads and I/O, and interpret the effects of the same state machines.

pub mod assign;
mod clock;
mod decide;
mod faults;
pub mod fit;
mod key_kinds;
pub mod live;
pub mod outside;
mod places;
pub mod resources;
mod restoring;
mod rng;
pub mod stepper;
mod torn;

pub use places::job_id;
pub use resources::{Feeds, Resources, SavepointTarget, StartPoint};
