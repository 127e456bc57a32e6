//! Laws of the coordinator alone: whatever is asked, acknowledged, declined, late or lost, in any order.
//!
//! The oracle knows nothing of the coordinator's inside. It sees what was put in and what came out, and keeps its own
//! small books.

use std::collections::{BTreeMap, BTreeSet};

use lockgate::engine::coordinator::{Beginning, CheckpointCoordinator, Order, Timer};
use lockgate::engine::event::{AbortReason, CheckpointKind, EventKind};
use lockgate::engine::plan::ExecutionGraph;
use lockgate::engine::storage::SubtaskState;
use lockgate::model::{
    BackendKind, CheckpointConfig, CheckpointId, ClaimMode, SavepointFormat, SubtaskId,
};
use proptest::prelude::*;

use crate::rig::{Source, sum_job};

const SAVEPOINT: CheckpointKind = CheckpointKind::Savepoint(SavepointFormat::Canonical);
const STOP: CheckpointKind = CheckpointKind::StopWithSavepoint {
    format: SavepointFormat::Canonical,
    drain: false,
};

/// One thing that the world does to the coordinator. Indices are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Request(CheckpointKind),
    /// One subtask acknowledges the checkpoint so far back from the newest.
    Ack(usize, u64),
    /// All do.
    AckAll(u64),
    Decline(usize, u64),
    Metadata(bool),
    Wait(u64),
    Restart,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => Just(Deed::Request(CheckpointKind::Manual)),
        2 => Just(Deed::Request(SAVEPOINT)),
        1 => Just(Deed::Request(STOP)),
        6 => (0_usize..4, 0_u64..4).prop_map(|(task, back)| Deed::Ack(task, back)),
        8 => (0_u64..3).prop_map(Deed::AckAll),
        2 => (0_usize..4, 0_u64..3).prop_map(|(task, back)| Deed::Decline(task, back)),
        10 => prop::bool::weighted(0.8).prop_map(Deed::Metadata),
        6 => (1_u64..90).prop_map(Deed::Wait),
        1 => Just(Deed::Restart),
    ]
}

/// What is known of a pending checkpoint.
struct Book {
    kind: CheckpointKind,
    since_us: u64,
    must_ack: BTreeSet<SubtaskId>,
    acked: BTreeSet<SubtaskId>,
    is_writing: bool,
}

struct World {
    coordinator: CheckpointCoordinator,
    config: CheckpointConfig,
    tasks: Vec<SubtaskId>,
    now_us: u64,
    newest: u64,
    pending: BTreeMap<CheckpointId, Book>,
    completed: BTreeSet<CheckpointId>,
    aborted: BTreeSet<CheckpointId>,
    /// Whose metadata is to be written.
    writing: Vec<CheckpointId>,
    told_complete: BTreeMap<SubtaskId, CheckpointId>,
    told: BTreeMap<CheckpointId, bool>,
    completed_us: Option<u64>,
    /// The one that was completed last, which need not be the newest.
    last_success: CheckpointId,
    store: Vec<CheckpointId>,
    failures: BTreeSet<CheckpointId>,
    must_fail: bool,
    /// Just completed, and told to all: older checkpoints must be given up.
    subsuming: Option<CheckpointId>,
    /// Savepoints to stop with: a driver lets no checkpoint overtake these, so that nobody hears of them too late.
    stops: BTreeSet<CheckpointId>,
}

impl World {
    fn new(config: CheckpointConfig, start: Option<u64>) -> Self {
        let graph = ExecutionGraph::of(&sum_job(&[Source::new(1, 1)], 2, 2));
        let beginning = Beginning {
            from: start.map(|start| (CheckpointId(start), ClaimMode::NoClaim)),
            processing_time_ms: 0,
        };
        let coordinator = CheckpointCoordinator::new(&graph, config, BackendKind::Heap, beginning);
        let mut world = Self {
            coordinator,
            config,
            tasks: graph.subtasks.iter().map(|subtask| subtask.id).collect(),
            now_us: 0,
            newest: start.unwrap_or(0),
            pending: BTreeMap::new(),
            completed: BTreeSet::new(),
            aborted: BTreeSet::new(),
            writing: Vec::new(),
            told_complete: BTreeMap::new(),
            told: BTreeMap::new(),
            completed_us: None,
            last_success: CheckpointId(0),
            store: start.map(CheckpointId).into_iter().collect(),
            failures: BTreeSet::new(),
            must_fail: false,
            subsuming: None,
            stops: BTreeSet::new(),
        };
        world.begin(Some(17));
        world
    }

    fn begin(&mut self, chance: Option<u64>) {
        for task in &self.tasks {
            self.coordinator.on_running(*task);
        }
        self.coordinator.start_scheduler(self.now_us, chance);
        self.obey(None);
    }

    fn act(&mut self, deed: Deed) {
        let back = |back: u64| CheckpointId(self.newest.saturating_sub(back));
        match deed {
            Deed::Request(kind) => {
                self.coordinator.request(kind, self.now_us);
                self.obey(None);
            }
            Deed::Ack(task, ago) => self.ack(self.tasks[task % self.tasks.len()], back(ago)),
            Deed::AckAll(ago) => {
                let checkpoint = back(ago);
                for task in self.tasks.clone() {
                    self.ack(task, checkpoint);
                }
            }
            Deed::Decline(task, ago) => {
                let task = self.tasks[task % self.tasks.len()];
                let reason = AbortReason::AsyncException;
                self.coordinator
                    .on_decline((task, back(ago)), reason, self.now_us);
                self.obey(Some(task));
            }
            Deed::Metadata(written) => {
                if let Some(checkpoint) = self.writing.pop() {
                    self.coordinator
                        .on_metadata(checkpoint, written, self.now_us);
                    self.obey(None);
                }
            }
            Deed::Wait(ms) => self.wait(ms * 1000),
            Deed::Restart => self.restart(),
        }
        self.check_state();
    }

    fn restart(&mut self) {
        self.coordinator.suspend(self.tasks.clone());
        self.obey(None);
        assert!(self.pending.is_empty(), "what was pending is given up");
        self.must_fail = false;
        self.begin(None);
    }

    fn wait(&mut self, for_us: u64) {
        let until_us = self.now_us + for_us;
        loop {
            let due = self.coordinator.timers().min_by_key(|(at_us, _)| *at_us);
            let Some((at_us, timer)) = due.filter(|(at_us, _)| *at_us <= until_us) else {
                break;
            };
            self.now_us = self.now_us.max(at_us);
            if let Timer::Expire(checkpoint) = timer {
                let since_us = self.pending[&checkpoint].since_us;
                assert_eq!(at_us, since_us + self.config.timeout_ms * 1000);
            }
            self.coordinator.on_timer(timer, self.now_us);
            self.obey(None);
        }
        self.now_us = until_us;
    }

    fn ack(&mut self, task: SubtaskId, checkpoint: CheckpointId) {
        let is_last = self.pending.get_mut(&checkpoint).is_some_and(|book| {
            let is_new = book.must_ack.contains(&task) && book.acked.insert(task);
            is_new && book.acked == book.must_ack
        });
        self.coordinator
            .on_ack((task, checkpoint), SubtaskState::default(), false);
        let before = self.writing.len();
        let is_decided = !self.pending.contains_key(&checkpoint);
        let orders = self.obey(None);
        assert_eq!(
            self.writing.len() > before,
            is_last,
            "complete with the last one"
        );
        if is_decided {
            let changes = |order: &Order| {
                let ignored = matches!(order, Order::Record(EventKind::AckIgnored { .. }));
                let cleans = matches!(order, Order::Discard(id) if *id == checkpoint);
                !(ignored || cleans)
            };
            assert!(!orders.iter().any(changes), "a late one changes nothing");
            let is_ours = self.aborted.contains(&checkpoint);
            let cleans = orders
                .iter()
                .any(|order| matches!(order, Order::Discard(_)));
            assert!(cleans || !is_ours, "and leaves no file");
        }
    }

    /// Keep the books. `decliner`: the subtask whose decline this answers.
    fn obey(&mut self, decliner: Option<SubtaskId>) -> Vec<Order> {
        let mut all = Vec::new();
        loop {
            let orders = self.coordinator.take_orders();
            if orders.is_empty() {
                break;
            }
            for order in &orders {
                self.note(order, decliner);
            }
            all.extend(orders);
        }
        if let Some(id) = self.subsuming.take() {
            let mut older = self.pending.range(..id);
            assert!(older.all(|(_, book)| book.kind.is_savepoint()), "subsumed");
        }
        assert!(!self.must_fail, "one failure too many, and the job goes on");
        all
    }

    fn note(&mut self, order: &Order, decliner: Option<SubtaskId>) {
        match order {
            Order::Begin { checkpoint, .. } => {
                self.coordinator.on_location(*checkpoint, true, self.now_us);
            }
            Order::WriteMetadata(metadata) => {
                let book = self.pending.get_mut(&metadata.checkpoint).unwrap();
                assert!(!std::mem::replace(&mut book.is_writing, true));
                self.writing.push(metadata.checkpoint);
            }
            Order::NotifyComplete {
                subtask,
                checkpoint,
            } => {
                if !self.stops.contains(checkpoint) {
                    let last = self.told_complete.insert(*subtask, *checkpoint);
                    assert!(last.is_none_or(|last| last < *checkpoint), "in order");
                }
                assert!(*self.told.entry(*checkpoint).or_insert(true));
            }
            Order::NotifyAborted { checkpoint, .. } => {
                assert!(!*self.told.entry(*checkpoint).or_insert(false));
            }
            Order::FailJob { .. } => {
                assert!(
                    self.must_fail,
                    "not before the failure that is one too many"
                );
                self.must_fail = false;
            }
            Order::Record(EventKind::Triggered {
                checkpoint,
                kind,
                must_ack,
                ..
            }) => self.note_trigger(*checkpoint, *kind, must_ack),
            Order::Record(EventKind::Completed { checkpoint }) => self.note_complete(*checkpoint),
            Order::Record(EventKind::Aborted { checkpoint, reason }) => {
                self.note_abort(*checkpoint, *reason, decliner);
            }
            _ => {}
        }
    }

    fn note_trigger(&mut self, id: CheckpointId, kind: CheckpointKind, tasks: &[SubtaskId]) {
        assert_eq!(
            id.0,
            self.newest + 1,
            "numbers go up by one, over all kinds"
        );
        self.newest = id.0;
        self.stops.extend((kind == STOP).then_some(id));
        let is_forced = kind.is_savepoint() && !self.config.unaligned;
        let allowed = self.config.max_concurrent as usize;
        assert!(
            is_forced || self.pending.len() < allowed,
            "too many at once"
        );
        if let (CheckpointKind::Periodic, Some(completed_us)) = (kind, self.completed_us) {
            let pause_us = self.config.min_pause_ms * 1000;
            assert!(self.now_us >= completed_us + pause_us, "the pause is kept");
        }
        self.pending.insert(
            id,
            Book {
                kind,
                since_us: self.now_us,
                must_ack: tasks.iter().copied().collect(),
                acked: BTreeSet::new(),
                is_writing: false,
            },
        );
    }

    fn note_complete(&mut self, id: CheckpointId) {
        let book = self.pending.remove(&id).unwrap();
        assert_eq!(book.acked, book.must_ack);
        assert!(self.now_us <= book.since_us + self.config.timeout_ms * 1000);
        self.completed.insert(id);
        self.completed_us = Some(self.now_us);
        self.last_success = id;
        self.failures.clear();
        if !book.kind.is_savepoint() {
            self.store.push(id);
            let surplus = self
                .store
                .len()
                .saturating_sub(self.config.retained as usize);
            self.store.drain(..surplus);
        }
        if book.kind != SAVEPOINT {
            self.subsuming = Some(id);
        }
    }

    fn note_abort(&mut self, id: CheckpointId, reason: AbortReason, task: Option<SubtaskId>) {
        let book = self.pending.remove(&id).unwrap();
        assert!(self.aborted.insert(id) && !self.completed.contains(&id));
        let is_savepoint = book.kind.is_savepoint();
        if reason == AbortReason::Subsumed {
            assert!(!is_savepoint, "a savepoint is never subsumed");
        }
        let by_task = task.is_some() && reason == AbortReason::AsyncException;
        if book.kind == STOP && by_task {
            self.must_fail = true;
        } else if reason.counts_as_failure() && (by_task || !is_savepoint) {
            if id > self.last_success {
                self.failures.insert(id);
            }
            if self.failures.len() > self.config.tolerable_failed as usize {
                self.failures.clear();
                self.must_fail = true;
            }
        }
    }

    fn check_state(&self) {
        let pending: Vec<CheckpointId> = self.coordinator.pending().collect();
        assert!(pending.iter().eq(self.pending.keys()));
        let store: Vec<CheckpointId> = self.coordinator.store().iter().collect();
        assert_eq!(store, self.store, "the newest ones, and no savepoint");
    }
}

fn config() -> impl Strategy<Value = CheckpointConfig> {
    let limits = (1_u32..4, 0_u32..4, 1_u32..4);
    let times = (20_u64..200, 0_u64..80, prop::option::of(10_u64..60));
    (limits, times, any::<bool>()).prop_map(|(limits, times, unaligned)| CheckpointConfig {
        max_concurrent: limits.0,
        tolerable_failed: limits.1,
        retained: limits.2,
        timeout_ms: times.0,
        min_pause_ms: times.1,
        interval_ms: times.2,
        unaligned,
        ..CheckpointConfig::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Laws 11 to 16: numbers go up by one and are never used twice (breaks if a refusal uses one up, or a restart
    /// begins anew); complete with the last acknowledgement and not otherwise (breaks if late or second ones count); no
    /// more at once than allowed, and the pause is kept after a completion (breaks if failures count for it); a newer
    /// one gives up older checkpoints and no savepoint, and each subtask hears rising numbers; the job fails with the
    /// failure that is one too many (breaks if a success does not reset the count, or a savepoint's own failure is
    /// counted); the store holds the newest.
    #[test]
    fn the_coordinator_keeps_its_laws(
        config in config(),
        start in prop::option::of(1_u64..50),
        deeds in prop::collection::vec(deed(), 0..120),
    ) {
        let mut world = World::new(config, start);
        for deed in deeds {
            world.act(deed);
        }
    }
}
