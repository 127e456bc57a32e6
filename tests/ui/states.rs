//! Keyed functions, time to live, rules and buffers on the canvas and in the inspector.

use std::path::PathBuf;

use lockgate::engine::plan::ExecutionGraph;
use lockgate::model::{KeyedFunction, OperatorSpec, TtlUpdate};
use lockgate::project;
use lockgate::ui::command::{Selection, UiCommand};

use super::{Window, click, command, empty_window, shows, speed_up, wait_for, window_of};

fn sample(name: &str) -> Window {
    let path = PathBuf::from("samples").join(format!("{name}.ron"));
    match project::check(&path) {
        Ok(job) => window_of(job, path),
        Err(error) => panic!("{error}"),
    }
}

/// Runs the sample to its end and shows subtask 1 of `uid`.
fn played(name: &str, uid: &str) -> Window {
    let mut window = sample(name);
    click(&mut window, "Run");
    speed_up(&mut window);
    wait_for(&mut window, "the end", |window| {
        shows(window, "The job has finished")
    });
    let plan = ExecutionGraph::of(window.state().job());
    let id = plan.subtasks_of(&uid.into())[0];
    command(&mut window, UiCommand::Select(Selection::Subtask(id)));
    window
}

#[test]
fn a_function_and_its_time_to_live_are_chosen_in_the_inspector() {
    let mut window = empty_window();
    click(&mut window, "Add keyed function");
    click(&mut window, "last values");
    assert!(shows(&window, "ListState of the newest values"));
    click(&mut window, "expires after");
    click(&mut window, "OnReadAndWrite");
    let job = window.state().job();
    let OperatorSpec::KeyedProcess(spec) = &job.vertices[0].operator else {
        panic!("{:?}", job.vertices[0].operator);
    };
    assert_eq!(spec.function, KeyedFunction::LastN { n: 3 });
    assert_eq!(spec.ttl.unwrap().update, TtlUpdate::OnReadAndWrite);
}

#[test]
fn what_is_stored_of_a_key_is_shown_with_its_age() {
    let window = played("distinct-ttl", "distinct");
    assert!(shows(&window, "MapState"));
    assert!(shows(&window, "expire"), "when it expires, or that it has");
    let window = played("count-average", "average");
    assert!(shows(&window, "count 1, sum 2"));
}

#[test]
fn rules_and_a_buffer_are_shown() {
    let window = played("broadcast-rules", "filter");
    assert!(shows(&window, "Left out in all"));
    assert!(shows(&window, "≥ 10"));
}
