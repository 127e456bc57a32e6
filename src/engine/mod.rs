//! Executes a model. It knows nothing of who watches; it emits [`event::TraceEvent`]s.
//!
//! [`subtask`], [`gate`], [`operator`], [`router`] and [`coordinator`] are the core: state machines without clock,
//! thread, file or chance of their own. The [`driver`]s give them those.

pub mod coordinator;
pub mod driver;
pub mod event;
pub mod gate;
pub mod in_flight;
pub mod operator;
pub mod plan;
pub mod router;
pub mod state;
pub mod storage;
pub mod subtask;
