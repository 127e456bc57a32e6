//! Lockgate: build a small streaming job, run it, and watch its checkpoints.

pub mod cli;
pub mod engine;
pub mod model;
pub mod project;
pub mod recording;
pub mod run;
pub mod ui;
