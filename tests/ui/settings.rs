//! Every setting of a job and of an operator is in the inspector, and what is chosen there is in the job.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use lockgate::model::{
    CheckpointConfig, CheckpointMode, FailoverStrategy, OperatorSpec, RestartStrategy, SinkKind,
    Uid, WindowAggregate,
};

use lockgate::ui::command::{Selection, UiCommand};

use super::{Window, click, click_part, command, empty_window, is_disabled, shows, window};

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
