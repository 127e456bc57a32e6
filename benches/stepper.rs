//! How fast the stepper steps, and how fast a person moves about in what it has recorded.

#![allow(clippy::unwrap_used, reason = "a benchmark may end where it stands")]

use std::path::Path;

use divan::Bencher;
use divan::counter::ItemsCount;
use lockgate::model::BackendKind;
use lockgate::project;
use lockgate::run::{Run, RunOptions};

fn main() {
    divan::main();
}

fn weather(backend: BackendKind) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/weather.ron");
    let job = project::check(&path).unwrap();
    let options = RunOptions {
        backend: Some(backend),
        base_dir: project::base_dir(&path),
        ..RunOptions::default()
    };
    let mut run = Run::start(&job, &options).unwrap();
    run.finish(None, |_| ()).unwrap();
    run
}

/// The weather sample from its file to its end, recorded: events per second.
#[divan::bench(args = BackendKind::ALL, sample_count = 10, sample_size = 1)]
fn a_whole_sample(bencher: Bencher, backend: BackendKind) {
    let events = weather(backend).recording().events().len();
    bencher
        .counter(ItemsCount::new(events))
        .bench_local(|| weather(backend));
}

/// To any position of that recording: what stepping back or scrubbing costs per frame.
#[divan::bench]
fn b_seek(bencher: Bencher) {
    let run = weather(BackendKind::Heap);
    let recording = run.recording();
    let mut position = 0;
    bencher.bench_local(|| {
        position = (position + 4001) % recording.events().len();
        recording.seek(position)
    });
}

/// The ledger at the end of that recording.
#[divan::bench]
fn c_ledger(bencher: Bencher) {
    let run = weather(BackendKind::Heap);
    bencher.bench_local(|| run.recording().ledger(run.view()));
}
