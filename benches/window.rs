//! What a frame of the window costs on the processor, drawing aside: a job of twelve subtasks and 32 channels, full of
//! records, while it plays and while it is paused.

#![allow(clippy::unwrap_used, reason = "a benchmark may end where it stands")]

use divan::Bencher;
use egui_kittest::Harness;
use lockgate::model::JobGraph;
use lockgate::project;
use lockgate::run::RunAction;
use lockgate::ui::LockgateApp;
use lockgate::ui::command::UiCommand;

fn main() {
    divan::main();
}

const WIDE: &str = r#"(
    version: 1,
    name: "wide",
    operators: [
        (uid: "n", kind: SequenceSource(rate_per_s: 60), parallelism: 4, at: (40, 160)),
        (uid: "s", kind: KeyedSum(key: Modulo(97, [])), parallelism: 4, at: (400, 160)),
        (uid: "o", kind: Sink, parallelism: 4, at: (760, 160)),
    ],
    edges: [("n", "s", Hash), ("s", "o", Rebalance)],
    settings: (costs: (process_us: 100000), channel_capacity: 40),
)"#;

fn job() -> JobGraph {
    project::parse(WIDE, "wide.ron")
        .unwrap()
        .into_runnable()
        .unwrap()
}

/// A window whose run has filled its channels.
fn running() -> Harness<'static, LockgateApp> {
    let file = std::path::PathBuf::from("wide.ron");
    let mut window = Harness::builder()
        .with_size(egui::vec2(1440.0, 900.0))
        .with_step_dt(1.0 / 60.0)
        .build_eframe(|cc| LockgateApp::new(&cc.egui_ctx, Some((job(), file))));
    act(&mut window, UiCommand::StartRun);
    while window.state().clock_us() < 8_000_000 {
        window.run_steps(1);
    }
    window
}

fn act(window: &mut Harness<'static, LockgateApp>, command: UiCommand) {
    let ctx = window.ctx.clone();
    window.state_mut().command(&ctx, command);
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn a_frame_while_playing(bencher: Bencher) {
    let mut window = running();
    bencher.bench_local(|| window.run_steps(1));
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn b_frame_while_paused(bencher: Bencher) {
    let mut window = running();
    act(&mut window, UiCommand::Act(RunAction::Pause));
    bencher.bench_local(|| window.run_steps(1));
}
