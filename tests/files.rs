//! Jobs on disk. A file that loads is a job that runs; a file that does not load says where and why, and changes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may end where it stands"
)]

#[path = "files/csv.rs"]
mod csv;
#[path = "files/golden.rs"]
mod golden;
#[path = "files/golden_2.rs"]
mod golden_2;
#[path = "files/golden_states.rs"]
mod golden_states;
#[path = "files/jobs.rs"]
mod jobs;
#[path = "files/refusals.rs"]
mod refusals;
#[path = "files/round_trip.rs"]
mod round_trip;
#[path = "files/samples.rs"]
mod samples;
#[path = "files/saving.rs"]
mod saving;

use lockgate::model::JobGraph;
use lockgate::project;

/// The job in `text`, which must be fit to run.
fn runnable(text: &str) -> JobGraph {
    project::parse(text, "job.ron")
        .and_then(project::LoadedJob::into_runnable)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// What is said about `text`.
fn refusal(text: &str) -> String {
    match project::parse(text, "bad.ron") {
        Ok(_) => panic!("it loads: {text}"),
        Err(error) => error.to_string(),
    }
}
