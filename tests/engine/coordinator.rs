//! The coordinator alone, handed one message after the other.

use lockgate::engine::coordinator::{
    Beginning, CheckpointCoordinator, MAX_QUEUED_REQUESTS, Order, Timer,
};
use lockgate::engine::event::{AbortReason, CheckpointKind, EventKind, IgnoredAck, RejectReason};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::SubtaskState;
use lockgate::model::{BackendKind, CheckpointConfig, CheckpointId, SubtaskId};

use crate::rig::{Source, sum_job};

const MANUAL: CheckpointKind = CheckpointKind::Manual;

fn id(number: u64) -> CheckpointId {
    CheckpointId(number)
}

/// A coordinator of four subtasks (source, two sums, sink), all running.
struct World {
    coordinator: CheckpointCoordinator,
    subtasks: Vec<SubtaskId>,
}

impl World {
    fn new(config: CheckpointConfig) -> Self {
        let graph = ExecutionGraph::of(&sum_job(&[Source::new(1, 1)], 2, 2));
        let mut coordinator =
            CheckpointCoordinator::new(&graph, config, BackendKind::Heap, Beginning::default());
        let subtasks: Vec<SubtaskId> = graph.subtasks.iter().map(|subtask| subtask.id).collect();
        subtasks
            .iter()
            .for_each(|subtask| coordinator.on_running(*subtask));
        Self {
            coordinator,
            subtasks,
        }
    }

    fn request(&mut self) -> Vec<Order> {
        self.coordinator.request(MANUAL, 0);
        self.take()
    }

    /// All orders, with a place made for whatever begins.
    fn take(&mut self) -> Vec<Order> {
        let mut all = Vec::new();
        loop {
            let orders = self.coordinator.take_orders();
            if orders.is_empty() {
                return all;
            }
            for order in &orders {
                if let Order::Begin { checkpoint, .. } = order {
                    self.coordinator.on_location(*checkpoint, true, 0);
                }
            }
            all.extend(orders);
        }
    }

    fn suspend(&mut self) {
        self.coordinator.suspend(self.subtasks.clone());
    }

    fn ack(&mut self, subtask: usize, checkpoint: u64) -> Vec<Order> {
        let state = SubtaskState::default();
        self.coordinator
            .on_ack((self.subtasks[subtask], id(checkpoint)), state, false);
        self.take()
    }

    fn ack_all(&mut self, checkpoint: u64) -> Vec<Order> {
        (0..self.subtasks.len())
            .flat_map(|subtask| self.ack(subtask, checkpoint))
            .collect()
    }

    fn complete(&mut self, checkpoint: u64) -> Vec<Order> {
        self.ack_all(checkpoint);
        self.coordinator.on_metadata(id(checkpoint), true, 0);
        self.take()
    }

    fn expire(&mut self, checkpoint: u64) -> Vec<Order> {
        let timer = Timer::Expire(id(checkpoint));
        self.coordinator.on_timer(timer, 0);
        self.take()
    }
}

fn records(orders: &[Order]) -> Vec<&EventKind> {
    let mut records = Vec::new();
    for order in orders {
        if let Order::Record(event) = order {
            records.push(event);
        }
    }
    records
}

fn aborted(orders: &[Order]) -> Vec<(u64, AbortReason)> {
    let abort = |event: &&EventKind| match event {
        EventKind::Aborted { checkpoint, reason } => Some((checkpoint.0, *reason)),
        _ => None,
    };
    records(orders).iter().filter_map(abort).collect()
}

fn discarded(orders: &[Order]) -> Vec<u64> {
    let discard = |order: &Order| match order {
        Order::Discard(checkpoint) => Some(checkpoint.0),
        _ => None,
    };
    orders.iter().filter_map(discard).collect()
}

fn notified(orders: &[Order]) -> usize {
    orders
        .iter()
        .filter(|order| matches!(order, Order::NotifyComplete { .. }))
        .count()
}

fn fails_the_job(orders: &[Order]) -> bool {
    orders
        .iter()
        .any(|order| matches!(order, Order::FailJob { .. }))
}

#[test]
fn only_sources_are_triggered_and_all_must_acknowledge() {
    let mut world = World::new(CheckpointConfig::default());
    let orders = world.request();
    let triggered: Vec<SubtaskId> = orders
        .iter()
        .filter_map(|order| match order {
            Order::Trigger { subtask, .. } => Some(*subtask),
            _ => None,
        })
        .collect();
    assert_eq!(triggered, [world.subtasks[0]]);
    for subtask in 0..3 {
        let orders = world.ack(subtask, 1);
        assert!(
            !orders
                .iter()
                .any(|order| matches!(order, Order::WriteMetadata(_)))
        );
    }
    assert!(
        world
            .ack(3, 1)
            .iter()
            .any(|order| matches!(order, Order::WriteMetadata(_)))
    );
    assert_eq!(
        world.coordinator.store().latest(),
        None,
        "not before the metadata is written"
    );
    world.coordinator.on_metadata(id(1), true, 0);
    assert_eq!(notified(&world.take()), 4);
    assert_eq!(world.coordinator.store().latest(), Some(id(1)));
}

#[test]
fn a_late_acknowledgement_changes_nothing_and_leaves_no_file() {
    let mut world = World::new(CheckpointConfig {
        tolerable_failed: 9,
        ..CheckpointConfig::default()
    });
    world.request();
    world.ack(0, 1);
    assert_eq!(aborted(&world.expire(1)), [(1, AbortReason::Expired)]);
    let orders = world.ack(1, 1);
    let late = EventKind::AckIgnored {
        subtask: world.subtasks[1],
        checkpoint: id(1),
        why: IgnoredAck::Late,
    };
    assert_eq!(records(&orders), [&late]);
    assert_eq!(discarded(&orders), [1]);
    assert_eq!(world.coordinator.store().latest(), None);
}

/// Breaks if what a late writer leaves behind costs a checkpoint that was completed.
#[test]
fn an_acknowledgement_of_a_completed_checkpoint_does_not_delete_it() {
    let mut world = World::new(CheckpointConfig::default());
    world.request();
    world.complete(1);
    assert!(discarded(&world.ack(2, 1)).is_empty());
}

#[test]
fn a_duplicate_acknowledgement_counts_once() {
    let mut world = World::new(CheckpointConfig::default());
    world.request();
    world.ack(0, 1);
    let again = EventKind::AckIgnored {
        subtask: world.subtasks[0],
        checkpoint: id(1),
        why: IgnoredAck::Duplicate,
    };
    for _ in 0..4 {
        assert_eq!(records(&world.ack(0, 1)), [&again]);
    }
}

#[test]
fn a_subtask_that_was_not_asked_is_not_counted() {
    let mut world = World::new(CheckpointConfig::default());
    let finished = world.subtasks[0];
    world.coordinator.on_finished(finished, 0);
    let orders = world.request();
    let asked = records(&orders).into_iter().any(|event| match event {
        EventKind::Triggered {
            must_ack,
            finished: done,
            ..
        } => !must_ack.contains(&finished) && done == &[finished],
        _ => false,
    });
    assert!(asked);
    let triggers = orders
        .iter()
        .filter(|order| matches!(order, Order::Trigger { .. }));
    assert_eq!(
        triggers.count(),
        2,
        "the sums have no running predecessor now"
    );
    let why = records(&world.ack(0, 1))
        .into_iter()
        .cloned()
        .collect::<Vec<_>>();
    assert!(matches!(
        why[0],
        EventKind::AckIgnored {
            why: IgnoredAck::Unknown,
            ..
        }
    ));
}

#[test]
fn a_request_waits_while_as_many_as_allowed_are_pending() {
    let mut world = World::new(CheckpointConfig::default());
    world.request();
    let orders = world.request();
    assert_eq!(
        records(&orders),
        [&EventKind::TriggerQueued { kind: MANUAL }]
    );
    let orders = world.complete(1);
    let begun = |event: &&EventKind| matches!(event, EventKind::Triggered { checkpoint, .. } if *checkpoint == id(2));
    assert!(
        records(&orders).iter().any(begun),
        "it begins when the first has ended"
    );
    assert_eq!(world.coordinator.pending().collect::<Vec<_>>(), [id(2)]);
}

#[test]
fn a_newer_completed_checkpoint_aborts_older_pending_ones() {
    let mut world = World::new(CheckpointConfig {
        max_concurrent: 3,
        ..CheckpointConfig::default()
    });
    (0..3).for_each(|_| drop(world.request()));
    let orders = world.complete(2);
    assert_eq!(aborted(&orders), [(1, AbortReason::Subsumed)]);
    assert_eq!(world.coordinator.pending().collect::<Vec<_>>(), [id(3)]);
    assert!(!fails_the_job(&orders), "subsumption is no failure");
}

#[test]
fn the_store_keeps_as_many_as_it_should() {
    let mut world = World::new(CheckpointConfig {
        retained: 2,
        ..CheckpointConfig::default()
    });
    let mut gone = Vec::new();
    for checkpoint in 1..=4 {
        world.request();
        gone.extend(discarded(&world.complete(checkpoint)));
    }
    assert_eq!(gone, [1, 2]);
    assert_eq!(
        world.coordinator.store().iter().collect::<Vec<_>>(),
        [id(3), id(4)]
    );
}

/// The job fails on the failure after the tolerable ones in a row; a success in between starts the count anew.
#[test]
fn only_consecutive_failures_fail_the_job() {
    let mut world = World::new(CheckpointConfig {
        tolerable_failed: 2,
        ..CheckpointConfig::default()
    });
    let mut next = 0;
    let mut fail = |world: &mut World| {
        next += 1;
        world.request();
        world.expire(next)
    };
    assert!(!fails_the_job(&fail(&mut world)) && !fails_the_job(&fail(&mut world)));
    world.request();
    world.complete(3);
    let mut next = 3;
    for tolerated in [true, true, false] {
        next += 1;
        world.request();
        assert_eq!(
            fails_the_job(&world.expire(next)),
            !tolerated,
            "checkpoint {next}"
        );
    }
    assert_eq!(world.coordinator.pending().count(), 0);
}

#[test]
fn metadata_that_cannot_be_written_aborts_the_checkpoint() {
    let mut world = World::new(CheckpointConfig::default());
    world.request();
    world.ack_all(1);
    world.coordinator.on_metadata(id(1), false, 0);
    let orders = world.take();
    assert_eq!(aborted(&orders), [(1, AbortReason::FinalizeFailure)]);
    assert_eq!(world.coordinator.store().latest(), None);
}

#[test]
fn a_refused_request_uses_no_number_up() {
    let mut world = World::new(CheckpointConfig::default());
    world.suspend();
    let orders = world.request();
    let reason = RejectReason::NotAllRequiredTasksRunning;
    assert_eq!(
        records(&orders),
        [&EventKind::TriggerRejected {
            kind: MANUAL,
            reason
        }]
    );
    for subtask in world.subtasks.clone() {
        world.coordinator.on_running(subtask);
    }
    world.request();
    assert_eq!(world.coordinator.pending().collect::<Vec<_>>(), [id(1)]);
}

/// Breaks if a request outlives the attempt that it was made in.
#[test]
fn a_failure_gives_up_what_is_pending_and_what_waits() {
    let mut world = World::new(CheckpointConfig::default());
    world.request();
    world.request();
    world.suspend();
    let orders = world.take();
    assert_eq!(
        aborted(&orders),
        [(1, AbortReason::CoordinatorSuspend)],
        "not counted as a failure"
    );
    assert_eq!(discarded(&orders), [1]);
    for subtask in world.subtasks.clone() {
        world.coordinator.on_running(subtask);
    }
    let queued = |event: &&EventKind| matches!(event, EventKind::TriggerQueued { .. });
    assert!(!records(&world.request()).iter().any(queued));
    assert_eq!(world.coordinator.pending().collect::<Vec<_>>(), [id(2)]);
}

#[test]
fn the_queue_of_requests_has_a_bound() {
    let mut world = World::new(CheckpointConfig::default());
    for _ in 0..=MAX_QUEUED_REQUESTS {
        world.request();
    }
    let orders = world.request();
    let reason = RejectReason::TooManyCheckpointRequests;
    let rejected = EventKind::TriggerRejected {
        kind: MANUAL,
        reason,
    };
    let queued = EventKind::TriggerQueued { kind: MANUAL };
    assert_eq!(records(&orders), [&queued, &rejected]);
}

#[test]
fn a_waiting_request_is_refused_when_the_job_goes_down() {
    let mut world = World::new(CheckpointConfig::default());
    world.request();
    world.request();
    world.suspend();
    let orders = world.take();
    let reason = RejectReason::CoordinatorSuspend;
    let refused = EventKind::TriggerRejected {
        kind: MANUAL,
        reason,
    };
    assert!(records(&orders).contains(&&refused));
    assert_eq!(aborted(&orders), [(1, AbortReason::CoordinatorSuspend)]);
    assert!(!fails_the_job(&orders));
}
