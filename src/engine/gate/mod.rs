//! Barrier handling at the inputs of a subtask: who waits for whom.
//!
//! A gate only decides. It holds no records: what waits behind a barrier stays in its channel, because a blocked
//! input is not polled.

mod aligned;

pub use aligned::{AlignedGate, GateAction};
