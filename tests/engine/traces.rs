//! What was seen on Flink 2.3.0, with source → map → sink at parallelism 1: the same order here.

use lockgate::engine::event::{
    AbortReason, CheckpointKind, EventKind, IgnoredAck, JobStatus, Outcome,
};
use lockgate::model::{CheckpointId, JobGraph, SubtaskId};
use lockgate::recording::view::CheckpointStatus;

use crate::rig::{Rig, Source, lanes_job};

const MAP: SubtaskId = SubtaskId(1);

/// The map's synchronous part takes so long.
fn job(sync_ms: u64) -> JobGraph {
    let mut job = lanes_job(Source::new(50, 2000), 1);
    job.vertices[1].costs.snapshot_sync_us = Some(sync_ms * 1000);
    job.config.costs.transfer_us = 1000;
    job.config.costs.process_us = 100;
    job.config.costs.snapshot_sync_us = 0;
    job
}

fn id(number: u64) -> CheckpointId {
    CheckpointId(number)
}

/// The first event of this kind, by its place in the log.
fn place(rig: &Rig, wanted: impl Fn(&EventKind) -> bool) -> usize {
    let mut events = rig.recording.events().iter();
    events.position(|event| wanted(&event.kind)).unwrap()
}

fn started(subtask: u32, number: u64) -> impl Fn(&EventKind) -> bool {
    move |event| {
        matches!(event, EventKind::SnapshotStarted { subtask: at, checkpoint, .. }
            if (at.0, checkpoint.0) == (subtask, number))
    }
}

fn told(number: u64) -> impl Fn(&EventKind) -> bool {
    move |event| {
        matches!(event, EventKind::Notified { subtask: MAP, checkpoint, outcome: Outcome::Completed }
            if checkpoint.0 == number)
    }
}

/// The sink snapshots while the map is still inside its synchronous part: the barrier goes first.
#[test]
fn order() {
    let mut rig = Rig::new(&job(300));
    rig.run_until(|view| view.subtasks[0].offset == 10);
    rig.checkpoint();
    rig.run_until(|view| view.store == [id(1)]);
    let heard = |event: &EventKind| matches!(event, EventKind::Notified { .. });
    rig.run_until(|view| view.at_us > 2_000_000);
    let at_us = |place: usize| rig.recording.events()[place].at_us;
    let (source, map, sink) = (
        place(&rig, started(0, 1)),
        place(&rig, started(1, 1)),
        place(&rig, started(2, 1)),
    );
    assert!(source < map && map < sink);
    let sync_until_us = at_us(map) + 300_000;
    assert!(at_us(sink) < sync_until_us);
    let complete = place(&rig, |event| matches!(event, EventKind::Completed { .. }));
    assert!(at_us(complete) > sync_until_us && complete < place(&rig, heard));
    let events = rig.recording.events().iter();
    assert_eq!(events.filter(|event| heard(&event.kind)).count(), 3);
}

/// Interval 100, pause 300, three at once, the map's synchronous part 1.5 s: triggers 300 ms apart overlap; none is
/// canceled, and the map hears of 1 only after it has ended snapshot 2.
#[test]
fn overlap() {
    let mut job = job(1500);
    let config = &mut job.config.checkpointing;
    (
        config.interval_ms,
        config.min_pause_ms,
        config.max_concurrent,
    ) = (Some(100), 300, 3);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| {
        let second = view.checkpoints.get(&id(2));
        second.is_some_and(|it| it.status == CheckpointStatus::Completed)
    });
    let view = rig.view();
    let triggered: Vec<u64> = (1..=3)
        .map(|number| view.checkpoints[&id(number)].triggered_us)
        .collect();
    assert_eq!(triggered[1] - triggered[0], 300_000);
    assert_eq!(triggered[2] - triggered[1], 300_000);
    let aborted = |event: &EventKind| matches!(event, EventKind::Aborted { .. });
    assert!(
        !rig.recording
            .events()
            .iter()
            .any(|event| aborted(&event.kind))
    );
    assert!(place(&rig, started(1, 2)) < place(&rig, told(1)));
    let pause_ends_us = view.checkpoints[&id(1)].decided_us.unwrap() + 300_000;
    let fourth = view.checkpoints.get(&id(4));
    assert!(fourth.is_none_or(|it| it.triggered_us >= pause_ends_us));
}

/// Timeout 500, the map's synchronous part 900: each expires, the next begins at once, a late acknowledgement is
/// discarded, and the map never snapshots the one whose abort came before its barrier.
#[test]
fn expiry() {
    let mut job = job(900);
    let config = &mut job.config.checkpointing;
    (config.interval_ms, config.timeout_ms) = (Some(400), 500);
    config.tolerable_failed = 99;
    // The asynchronous part ends with the synchronous one, so that now and then it is there before the news.
    job.config.costs.snapshot_async_us = 0;
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.checkpoints.len() == 12);
    let view = rig.view();
    let expired = CheckpointStatus::Aborted(AbortReason::Expired);
    assert_eq!(view.checkpoints[&id(1)].status, expired);
    assert_eq!(
        view.checkpoints[&id(1)].decided_us,
        Some(view.checkpoints[&id(2)].triggered_us),
        "a tick was waiting"
    );
    let late = |event: &EventKind| {
        let why = IgnoredAck::Late;
        matches!(event, EventKind::AckIgnored { subtask: MAP, why: it, .. } if *it == why)
    };
    assert!(rig.recording.events().iter().any(|event| late(&event.kind)));
    let skipped = (1..=11).filter(|number| {
        let events = rig.recording.events().iter();
        let seen = started(1, *number);
        !events.map(|event| &event.kind).any(seen)
    });
    assert!(skipped.count() > 0, "an abort has overtaken its barrier");
    assert!(rig.view().store.is_empty());
}

/// Ticks that fall due while one is pending run back to back afterwards.
#[test]
fn ticks_are_caught_up_with() {
    let mut job = job(700);
    job.config.checkpointing.interval_ms = Some(100);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.queued.len() == 3);
    assert!(
        rig.view()
            .queued
            .iter()
            .all(|kind| *kind == CheckpointKind::Periodic)
    );
    rig.run_until(|view| view.checkpoints.len() == 3);
    let view = rig.view();
    for number in 1..3 {
        assert_eq!(
            view.checkpoints[&id(number)].decided_us,
            Some(view.checkpoints[&id(number + 1)].triggered_us)
        );
    }
    assert_eq!(view.job, JobStatus::Running);
}
