//! Where state lies, in the window: files are looked into, deleted, missed, and compacted.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use egui_kittest::kittest::{NodeT, Queryable};
use lockgate::model::Command;
use lockgate::project;
use lockgate::run::RunAction;
use lockgate::ui::command::UiCommand;

use super::{Window, button, click, click_part, command, shows, wait_for, window_of};

/// The sample of incremental checkpoints, without its script, paused when checkpoint `last` is complete.
fn with_checkpoints(last: u32) -> Window {
    let path = PathBuf::from("samples/incremental.ron");
    let mut job = match project::check(&path) {
        Ok(job) => job,
        Err(error) => panic!("{error}"),
    };
    job.script.clear();
    let mut window = window_of(job, path);
    click(&mut window, "Run");
    click(&mut window, "Storage");
    command(&mut window, UiCommand::Act(RunAction::Pause));
    // From one barrier event to the next, so that none is missed however slow the machine is.
    let begun = Instant::now();
    while !folders(&window).contains(&last) {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{:?}",
            folders(&window)
        );
        command(&mut window, UiCommand::Act(RunAction::NextBarrierEvent));
    }
    while shows(&window, "is being written") {
        command(&mut window, UiCommand::Act(RunAction::NextBarrierEvent));
    }
    window
}

/// The checkpoints that have a folder.
fn folders(window: &Window) -> Vec<u32> {
    let nodes = window.query_all_by_label_contains("chk-");
    let numbers = nodes.filter_map(|node| {
        let label = node.accesskit_node().label()?;
        let (number, _) = label.strip_prefix("chk-")?.split_once(':')?;
        number.parse().ok()
    });
    numbers.collect()
}

/// What is in a file is read by a click on it, and who refers to it is told.
#[test]
fn a_file_is_looked_into_by_a_click() {
    let mut window = with_checkpoints(3);
    assert!(shows(&window, "entries"));
    window
        .get_all_by_label_contains("sum · 0000")
        .next()
        .unwrap_or_else(|| panic!("no such file"))
        .click();
    wait_for(&mut window, "its contents", |window| {
        shows(window, "What is in it")
    });
    assert!(shows(&window, "A table file (SST) of RocksDB"));
    assert!(shows(&window, "Key group"));
    assert!(shows(&window, "Checkpoint 3 reuses it"));
    assert!(shows(&window, "Uploaded by checkpoint 1"));
    window
        .get_all_by_label_contains("_metadata,")
        .next()
        .unwrap_or_else(|| panic!("no metadata"))
        .click();
    wait_for(&mut window, "the metadata", |window| {
        shows(window, "What the checkpoint consists of")
    });
    assert!(shows(&window, "split 1 read to"));
}

/// Breaks if the consequences are told wrongly, the file stays, or the next restore does not fall back.
#[test]
fn a_checkpoint_is_deleted_and_the_next_restore_falls_back() {
    let mut window = with_checkpoints(3);
    let newest = folders(&window).into_iter().max().unwrap_or_default();
    click_part(&mut window, &format!("chk-{newest}:"));
    assert!(shows(
        &window,
        &format!("Checkpoint {newest} could not be restored any more")
    ));
    let next = newest - 1;
    assert!(shows(&window, &format!("fall back to checkpoint {next}")));
    click_part(&mut window, "Try to delete it");
    click(&mut window, "Delete it");
    wait_for(&mut window, "that it is gone", |window| {
        shows(window, "You deleted it")
    });
    let ghost = format!("chk-{newest}: the job still counts on it");
    assert!(shows(&window, &ghost));
    let crash = Command::Crash {
        uid: "sum".into(),
        subtask: 0,
    };
    command(&mut window, UiCommand::Act(RunAction::Command(crash)));
    command(
        &mut window,
        UiCommand::Act(RunAction::Command(Command::Restore { checkpoint: None })),
    );
    let missing = format!("chk-{newest}/_metadata is missing");
    wait_for(&mut window, "the clear error", |window| {
        shows(window, &missing) && shows(window, &format!("checkpoint {next}"))
    });
}

#[test]
fn a_button_compacts_the_files() {
    let mut window = with_checkpoints(3);
    assert!(!shows(&window, "RocksDB · 1 file ·"));
    assert!(button(&window, "Compact sum").rect().width() > 40.0);
    click_part(&mut window, "Compact sum");
    wait_for(&mut window, "one file", |window| {
        shows(window, "RocksDB · 1 file")
    });
}
