//! The two drivers: they own time, queues, threads and I/O, and interpret the effects of the same state machines.

pub mod live;
pub mod resources;
pub mod stepper;

pub use resources::{Feeds, Resources, StartPoint};
