//! The picture in the middle: while editing, operators and edges; while running, subtasks and channels.
//!
//! Data (a [`super::scene::Scene`] or the document) → layout (pure, cached by its request) → paint. Nothing here
//! changes a job or a run: interactions become commands.

mod callout;
pub mod camera;
mod card;
mod coordinator;
mod curve;
mod density;
pub mod edit;
mod layout;
mod load_bar;
mod motion;
mod node;
mod notice;
mod outside;
pub mod palette;
mod pen;
mod problems;
mod queue;
mod rows;
pub mod run;
mod shelf;
mod token;
mod tube;
mod zoom_control;

pub use card::tone;
pub use layout::NODE_SIZE;
pub use outside::is_transactional;
pub use token::token_shape;
