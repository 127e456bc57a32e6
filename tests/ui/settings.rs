//! Every setting of a job and of an operator is in the inspector, and what is chosen there is in the job.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use lockgate::model::{
    CheckpointConfig, CheckpointMode, FailoverStrategy, OperatorSpec, RestartStrategy, SinkKind,
    Uid, WindowAggregate,
};

use lockgate::ui::command::{Selection, UiCommand};

use super::{
    Window, click, click_part, command, empty_window, is_disabled, shows, window, window_of,
};

/// Open a group of settings of the inspector.
fn open(window: &mut Window, group: &str) {
    click(window, group);
    window.run_steps(20);
}

/// Choose `option` in the list of the setting `label`.
fn choose(window: &mut Window, label: &str, option: &str) {
    let mut nodes = window.query_all_by_label(label);
    let combo = nodes.find(|node| node.accesskit_node().role() == Role::ComboBox);
    assert!(combo.is_some(), "{label} is a list");
    if let Some(combo) = combo {
        combo.click();
    }
    drop(nodes);
    window.run_steps(3);
    click(window, option);
}

/// Tick the box `words` in the row of the setting `label`.
fn tick(window: &mut Window, label: &str, words: &str) {
    let row = window.get_by_label(&format!("What is {label}?")).rect();
    let is_beside = |node: &egui_kittest::Node<'_>| {
        let rect = node.rect();
        row.y_range().contains(rect.center().y) && rect.left() >= row.right()
    };
    let boxes = window.query_all_by_role(Role::CheckBox);
    let found = boxes.into_iter().find(is_beside);
    let found = found.unwrap_or_else(|| panic!("no box {words} beside {label}"));
    found.click();
    window.run_steps(3);
}

fn config(window: &Window) -> &lockgate::model::JobConfig {
    &window.state().job().config
}

#[test]
fn a_folded_group_says_what_it_comes_to() {
    let window = window();
    assert!(shows(&window, "on request · exactly-once · 1 retained"));
    for group in [
        "Checkpointing",
        "Recovery",
        "State and storage",
        "Cluster",
        "What things cost (modelled)",
    ] {
        assert!(shows(&window, group), "{group} is not in the inspector");
    }
}

#[test]
fn checkpointing_is_set_in_the_inspector() {
    let mut window = window();
    open(&mut window, "Checkpointing");
    tick(&mut window, "Interval", "every");
    assert_eq!(config(&window).checkpointing.interval_ms, Some(1_000));
    choose(&mut window, "Mode", "at-least-once");
    tick(&mut window, "Unaligned", "");
    assert!(config(&window).checkpointing.unaligned);
    assert_eq!(
        config(&window).checkpointing.mode,
        CheckpointMode::AtLeastOnce
    );
    assert!(shows(
        &window,
        "Only exactly-once checkpoints can be unaligned"
    ));
    tick(&mut window, "Tolerable failed", "unlimited");
    let unlimited = CheckpointConfig::UNLIMITED_FAILURES;
    assert_eq!(config(&window).checkpointing.tolerable_failed, unlimited);
    click(&mut window, "true");
    assert_eq!(config(&window).checkpointing.tolerable_failed, 0);
}

#[test]
fn a_restart_strategy_brings_its_own_parameters() {
    let mut window = window();
    open(&mut window, "Recovery");
    choose(&mut window, "Restart strategy", "exponential delay");
    let strategy = config(&window).restart;
    assert!(matches!(strategy, RestartStrategy::ExponentialDelay(_)));
    assert!(shows(&window, "What is Jitter?"));
    click(&mut window, "full");
    assert_eq!(config(&window).failover, FailoverStrategy::Full);
}

#[test]
fn an_explanation_names_the_flink_setting_and_where_articles_differ() {
    let mut window = window();
    open(&mut window, "Checkpointing");
    assert!(!shows(&window, "execution.checkpointing.min-pause"));
    click(&mut window, "What is Minimum pause?");
    assert!(shows(&window, "execution.checkpointing.min-pause"));
    assert!(shows(&window, "No version of Flink enforces that"));
    click(&mut window, "Explain every setting");
    assert!(shows(&window, "execution.checkpointing.num-retained"));
}

#[test]
fn a_map_a_window_and_a_transactional_sink_are_made_by_hand() {
    let mut window = empty_window();
    for item in ["Add sequence source", "Add map", "Add window", "Add sink"] {
        click(&mut window, item);
    }
    let operator = |window: &Window, uid: &str| {
        let vertex = window.state().job().vertex(&Uid::new(uid));
        vertex.expect("the operator").operator.clone()
    };
    assert!(matches!(operator(&window, "map"), OperatorSpec::Map(_)));
    click_part(&mut window, "window (");
    click(&mut window, "count");
    let OperatorSpec::Window(spec) = operator(&window, "window") else {
        panic!("no window")
    };
    assert_eq!(spec.aggregate, WindowAggregate::Count);
    click_part(&mut window, "sink (");
    click(&mut window, "two-phase commit");
    let OperatorSpec::Sink(spec) = operator(&window, "sink") else {
        panic!("no sink")
    };
    assert!(matches!(spec.kind, SinkKind::TwoPhaseCommit { .. }));
    assert!(shows(&window, "What is Tx timeout?"));
}

#[test]
fn a_source_has_splits_event_time_and_a_pause() {
    let mut window = window();
    click_part(&mut window, "numbers (");
    tick(&mut window, "Event time", "each");
    tick(&mut window, "Splits", "one for each subtask");
    let vertex = window.state().job().vertex(&Uid::new("numbers")).cloned();
    let OperatorSpec::Source(spec) = vertex.expect("the source").operator else {
        panic!("no source")
    };
    assert!(spec.event_time.is_some());
    assert_eq!(spec.splits, Some(1));
    assert!(shows(&window, "What is Idle after?"));
}

#[test]
fn a_uid_that_is_generated_says_what_that_costs() {
    let mut window = window();
    click_part(&mut window, "sum (");
    assert!(!shows(&window, "Generated from the graph’s structure"));
    tick(&mut window, "Uid is", "set by you");
    assert!(shows(&window, "has state and no uid"));
    let vertex = window.state().job().vertex(&Uid::new("sum"));
    assert!(!vertex.expect("the sum").has_explicit_uid);
    assert!(!is_disabled(&window, "Run"));
}

#[test]
fn advice_stands_beside_the_setting_that_it_is_about() {
    let mut window = window();
    command(&mut window, UiCommand::Select(Selection::None));
    let advice = "is then as long as the pause";
    assert!(!shows(&window, advice));
    let mut config = config(&window).clone();
    config.checkpointing.interval_ms = Some(1_000);
    config.checkpointing.min_pause_ms = 2_000;
    command(&mut window, UiCommand::SetConfig(Box::new(config)));
    assert!(shows(&window, advice), "seen while the group is folded up");
    open(&mut window, "Checkpointing");
    assert_eq!(window.query_all_by_label_contains(advice).count(), 1);
}

#[test]
fn advice_on_an_operator_is_found_from_the_job() {
    let mut window = window();
    let uid = Uid::new("out");
    let mut vertex = window.state().job().vertex(&uid).cloned().expect("a sink");
    vertex.operator = OperatorSpec::Sink(lockgate::model::SinkSpec {
        kind: SinkKind::TwoPhaseCommit {
            transaction_timeout_ms: 500,
            ignore_failures_after_timeout: false,
        },
    });
    let vertex = Box::new(vertex);
    command(&mut window, UiCommand::SetVertex { uid, vertex });
    let mut config = config(&window).clone();
    config.checkpointing.interval_ms = Some(1_000);
    command(&mut window, UiCommand::SetConfig(Box::new(config)));
    command(&mut window, UiCommand::Select(Selection::None));
    click_part(&mut window, "out advice on its transaction timeout");
    assert!(shows(
        &window,
        "let the timeout be longer than the interval"
    ));
}

/// All numbers at the ends of what a job may hold. Breaks if a field of the window has narrower bounds than the check
/// of a job, or holds a number to its bounds that nobody has touched.
#[test]
fn looking_at_a_job_changes_nothing() {
    let longest = "(version: 2, name: \"ends\",
        operators: [
            (uid: \"s\", kind: SequenceSource(rate_per_s: 0.001, end: 1000000000000, splits: 256,
                event_time: (step_ms: 1000000000, late_every: 1000000, late_by_ms: 1000000000,
                    max_lateness_ms: 1000000000, idle_after_ms: 1000000000),
                pause: (after_records: 1000000000000, for_ms: 1000000000)),
                costs: (process_us: 1000000000, only_subtask: 4294967295), at: (0, 0)),
            (uid: \"map\", kind: Map(factor: -10000), at: (300, 0)),
            (uid: \"sum\", kind: KeyedSum(key: Modulo(1000000, [])), parallelism: 64, max_parallelism: 32768,
                costs: (snapshot_sync_us: 1000000000), at: (600, 0)),
            (uid: \"out\", kind: TwoPhaseCommitSink(transaction_timeout_ms: 1000000000), at: (900, 0)),
        ],
        edges: [(\"s\", \"map\", Forward), (\"map\", \"sum\", Hash), (\"sum\", \"out\", Rebalance)],
        settings: (
            checkpointing: (interval_ms: 1000000000, timeout_ms: 1000000000, min_pause_ms: 1000000000,
                retained: 100, max_concurrent: 16, tolerable_failed: 1000000),
            restart: ExponentialDelay(initial_ms: 1000000000, max_ms: 1000000000, multiplier_percent: 10000,
                jitter_percent: 100, reset_after_ms: 1000000000, attempts: 1000000),
            channel_capacity: 1000, slots_per_task_manager: 64,
            costs: (transfer_us: 1000000000, restore_us: 1000000000),
        ))";
    let least = longest
        .replace(
            "rate_per_s: 0.001, end: 1000000000000",
            "rate_per_s: 1000000, end: 0",
        )
        .replace("after_records: 1000000000000", "after_records: 0")
        .replace("_ms: 1000000000", "_ms: 10")
        .replace("multiplier_percent: 10000", "multiplier_percent: 100")
        .replace("attempts: 1000000", "attempts: 0");
    for text in [longest, least.as_str()] {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("ends.ron");
        std::fs::write(&path, text).expect("written");
        let source = lockgate::project::JobSource::read(&path);
        let job = source.unwrap_or_else(|error| panic!("{error}")).job;
        let mut window = window_of(job.clone(), path);
        for group in [
            "Checkpointing",
            "Recovery",
            "State and storage",
            "Cluster",
            "What things cost (modelled)",
        ] {
            open(&mut window, group);
        }
        assert_eq!(*window.state().job(), job, "the job’s own settings");
        for vertex in &job.vertices {
            let selected = Selection::Vertex(vertex.uid.clone());
            command(&mut window, UiCommand::Select(selected));
            open(&mut window, "What it costs (modelled)");
            assert_eq!(
                *window.state().job(),
                job,
                "the settings of {}",
                vertex.name
            );
        }
    }
}
