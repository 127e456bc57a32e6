//! A hand-made moment of a run, for tests of what is drawn and said: two sources of different speeds, checkpoint 3
//! aligning at both sums. Every record is accounted for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rust_decimal::Decimal;

use crate::engine::event::{CheckpointKind, JobStatus, SubtaskStatus};
use crate::engine::plan::ExecutionGraph;
use crate::model::{
    CheckpointBarrier, CheckpointId, Edge, EventTime, JobGraph, Key, KeyExpr, KeyedSumSpec,
    OperatorSpec, Origin, Partitioning, Position, Record, SinkSpec, SourceKind, SourceSpec,
    SplitId, StreamElement, StreamEvent, SubtaskId, Uid, Vertex, VertexCosts,
};
use crate::recording::LoadMeter;
use crate::recording::View;
use crate::recording::sink_view::SinkView;
use crate::recording::view::{
    ChannelView, CheckpointStatus, CheckpointView, InFlight, Lineage, Row, SnapshotView, SplitView,
    SubtaskView,
};

use super::scene::Scene;

pub struct Moment {
    pub job: JobGraph,
    pub plan: ExecutionGraph,
    pub view: View,
    pub clock_us: u64,
}

impl Moment {
    #[must_use]
    pub fn scene(&self) -> Scene<'_> {
        Scene {
            job: &self.job,
            plan: &self.plan,
            view: &self.view,
            clock_us: self.clock_us,
        }
    }
}

const NOW_US: u64 = 472_000;
const TRAVEL_US: u64 = 100_000;

fn odd() -> Key {
    Key::Int {
        value: 1,
        label: Some(Arc::from("odd")),
    }
}

fn even() -> Key {
    Key::Int {
        value: 0,
        label: Some(Arc::from("even")),
    }
}

fn idle_subtask() -> SubtaskView {
    SubtaskView {
        status: SubtaskStatus::Running,
        offset: 0,
        splits: Vec::new(),
        rows: BTreeMap::new(),
        at_finish: None,
        is_restored_finished: false,
        windows: BTreeMap::new(),
        entries: BTreeMap::new(),
        rules: BTreeMap::new(),
        filtered: 0,
        cleaned: 0,
        late: 0,
        watermark: EventTime::NONE,
        is_idle: false,
        collected: 0,
        recent: VecDeque::new(),
        sink: SinkView::default(),
        processed: 0,
        emitted: 0,
        busy_until_us: 0,
        meter: LoadMeter::default(),
        processed_bytes: 0,
        sync: None,
        writing: Vec::new(),
        counted: Lineage::default(),
    }
}

/// An element that has covered `progress` of its way.
fn on_the_way(element: StreamElement, progress: f64) -> InFlight {
    let sent_us = NOW_US - (progress * TRAVEL_US as f64) as u64;
    InFlight {
        element,
        sent_us,
        ready_us: sent_us + TRAVEL_US,
    }
}

fn record(source: u32, value: i64, progress: f64) -> InFlight {
    let origin = Origin {
        split: SplitId(source),
        offset: value as u64,
    };
    let record = Record {
        key: None,
        value: Decimal::from(value),
        origin,
        event_time: EventTime::NONE,
    };
    on_the_way(StreamElement::Record(record), progress)
}

fn barrier(progress: f64) -> InFlight {
    let barrier = CheckpointBarrier::aligned(CheckpointId(3), 380_000);
    on_the_way(
        StreamElement::Event(StreamEvent::Barrier(barrier)),
        progress,
    )
}

fn channel(blocked: bool, queue: Vec<InFlight>) -> ChannelView {
    ChannelView {
        queue: queue.into(),
        blocked: blocked.then_some((CheckpointId(3), 387_000)),
        ended: false,
        restored: 0,
    }
}

fn checkpoint(
    id: u64,
    status: CheckpointStatus,
    at_us: [u64; 5],
    acknowledged: usize,
) -> CheckpointView {
    let decided = status != CheckpointStatus::Pending;
    let subtasks = (0..5).map(|index| {
        let done = |us: u64| (decided || index < acknowledged).then_some(us);
        let snapshot = SnapshotView {
            first_barrier_us: Some(at_us[1]),
            last_barrier_us: done(at_us[2]),
            captured_us: done(at_us[2]),
            sync_until_us: done(at_us[3]),
            written_us: done(at_us[4]),
            acknowledged_us: done(at_us[4]),
            size_bytes: 30 + 9 * id,
            upload_bytes: 30 + 9 * id,
            ..SnapshotView::default()
        };
        (SubtaskId(index as u32), snapshot)
    });
    CheckpointView {
        id: CheckpointId(id),
        kind: CheckpointKind::Manual,
        status,
        triggered_us: at_us[0],
        decided_us: decided.then_some(at_us[4]),
        subtasks: subtasks.collect(),
        finished: Vec::new(),
        retained: status == CheckpointStatus::Completed,
    }
}

fn channels() -> Vec<ChannelView> {
    vec![
        channel(
            true,
            vec![record(0, 7, 1.0), record(0, 9, 1.0), record(0, 11, 0.33)],
        ),
        channel(
            true,
            vec![record(0, 6, 1.0), record(0, 8, 0.8), record(0, 10, 0.4)],
        ),
        channel(
            false,
            vec![record(1, 3, 0.93), record(1, 5, 0.6), barrier(0.36)],
        ),
        channel(
            false,
            vec![record(1, 4, 0.88), barrier(0.44), record(1, 6, 0.27)],
        ),
        channel(
            false,
            vec![InFlight {
                ..record(0, 10, 0.5)
            }],
        ),
        channel(false, Vec::new()),
    ]
}

/// The scene of the aligning checkpoint.
#[must_use]
pub fn two_sources() -> Moment {
    let mut job = two_sources_job();
    job.config.checkpointing.retained = 2;
    let plan = ExecutionGraph::of(&job);
    let row = |key: Key, value: i64, changed_us| {
        BTreeMap::from([(
            key,
            Row {
                value: Decimal::from(value),
                changed_us: Some(changed_us),
            },
        )])
    };
    let subtasks = vec![
        SubtaskView {
            offset: 11,
            ..idle_subtask()
        },
        SubtaskView {
            offset: 6,
            ..idle_subtask()
        },
        SubtaskView {
            rows: row(odd(), 10, 10_000),
            ..idle_subtask()
        },
        SubtaskView {
            rows: row(even(), 8, NOW_US - 60_000),
            ..idle_subtask()
        },
        SubtaskView {
            collected: 6,
            ..idle_subtask()
        },
    ];
    let channels = channels();
    let checkpoints = [
        checkpoint(
            1,
            CheckpointStatus::Completed,
            [70_000, 96_000, 127_000, 138_000, 169_000],
            5,
        ),
        checkpoint(
            2,
            CheckpointStatus::Completed,
            [256_000, 272_000, 320_000, 331_000, 363_000],
            5,
        ),
        checkpoint(
            3,
            CheckpointStatus::Pending,
            [389_000, 403_000, 404_000, 405_000, 450_000],
            2,
        ),
    ];
    let view = View {
        position: 214,
        step: 190,
        at_us: NOW_US,
        job: JobStatus::Running,
        restarts: 0,
        splits: vec![SplitView::default(); 2],
        subtasks,
        channels,
        tables: BTreeMap::new(),
        checkpoints: checkpoints
            .into_iter()
            .map(|checkpoint| (checkpoint.id, Arc::new(checkpoint)))
            .collect(),
        started_from: None,
        queued: Vec::new(),
        refused_triggers: 0,
        failover: None,
        faults: Vec::new(),
        savepoints: Vec::new(),
        paused_for: Vec::new(),
        script_fired_us: Vec::new(),
        shared: BTreeMap::new(),
        store: vec![CheckpointId(1), CheckpointId(2)],
        state_changes: 0,
        begun_ms: 0,
    };
    Moment {
        job,
        plan,
        view,
        clock_us: NOW_US,
    }
}

fn vertex(
    uid: &str,
    name: &str,
    parallelism: u32,
    (x, y): (f32, f32),
    operator: OperatorSpec,
) -> Vertex {
    Vertex {
        has_explicit_uid: true,
        costs: VertexCosts::default(),
        uid: Uid::new(uid),
        name: name.to_owned(),
        parallelism,
        max_parallelism: None,
        position: Position { x, y },
        operator,
    }
}

fn sequence(uid: &str, name: &str, rate_per_s: f64, at: (f32, f32)) -> Vertex {
    let spec = SourceSpec::new(SourceKind::Sequence, rate_per_s, None);
    vertex(uid, name, 1, at, OperatorSpec::Source(spec))
}

fn edge(from: &str, to: &str, partitioning: Partitioning) -> Edge {
    Edge {
        from: Uid::new(from),
        to: Uid::new(to),
        partitioning,
    }
}

/// Two sources of different speeds, a sum by parity, a sink.
#[must_use]
pub fn two_sources_job() -> JobGraph {
    let labels = vec![Arc::from("even"), Arc::from("odd")];
    let key = Some(KeyExpr::Modulo { modulus: 2, labels });
    let mut sum = vertex(
        "sum",
        "sum",
        2,
        (560.0, 311.0),
        OperatorSpec::KeyedSum(KeyedSumSpec { key, ttl: None }),
    );
    sum.max_parallelism = Some(6);
    JobGraph {
        name: "two-sources".to_owned(),
        vertices: vec![
            sequence("a", "source a", 40.0, (40.0, 200.0)),
            sequence("b", "source b", 15.0, (40.0, 440.0)),
            sum,
            vertex(
                "sink",
                "sink",
                1,
                (900.0, 311.0),
                OperatorSpec::Sink(SinkSpec::default()),
            ),
        ],
        edges: vec![
            edge("a", "sum", Partitioning::Hash),
            edge("b", "sum", Partitioning::Hash),
            edge("sum", "sink", Partitioning::Rebalance),
        ],
        ..JobGraph::default()
    }
}
