//! Lockgate: build a small streaming job, run it, and watch its checkpoints.

pub mod engine;
pub mod model;
pub mod recording;
pub mod run;
pub mod ui;
