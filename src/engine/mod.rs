//! Executes a model. It knows nothing of who watches; it emits [`event::TraceEvent`]s.

pub mod event;
pub mod plan;
pub mod state;
pub mod storage;
