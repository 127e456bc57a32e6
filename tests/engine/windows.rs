//! Event time: watermarks, windows that fire on them, late records, idle sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockgate::engine::driver::StartPoint;
use lockgate::engine::event::{EventKind, JobStatus, SubtaskStatus};
use lockgate::model::{
    BackendKind, CheckpointId, ClaimMode, Command, Decimal, Edge, EventTime, EventTimeSpec,
    JobGraph, Key, KeyExpr, KeyedSumSpec, MapSpec, OperatorSpec, Partitioning, Record,
    SavepointFormat, SinkSpec, SourceKind, SourcePause, SourceSpec, SubtaskId, Uid, Vertex,
    WindowAggregate, WindowSpec,
};

use crate::modes::Mode;
use crate::rig::{MemorySavepoints, Rig, with_backend};

/// Records of one source every 100 ms of event time; none is late.
pub fn on_time() -> EventTimeSpec {
    EventTimeSpec {
        step_ms: 100,
        late_every: 0,
        late_by_ms: 0,
        max_lateness_ms: 0,
        idle_after_ms: None,
    }
}

pub fn source(rate_per_s: u32, end: u64, time: EventTimeSpec) -> SourceSpec {
    let mut spec = SourceSpec::new(SourceKind::Sequence, f64::from(rate_per_s), Some(end));
    spec.event_time = Some(time);
    spec
}

fn add(job: &mut JobGraph, uid: &str, operator: OperatorSpec, parallelism: u32) {
    let mut vertex = Vertex::new(Uid::new(uid), operator);
    vertex.parallelism = parallelism;
    vertex.max_parallelism = Some(12);
    job.vertices.push(vertex);
}

fn connect(job: &mut JobGraph, from: &str, to: &str, partitioning: Partitioning) {
    job.edges.push(Edge {
        from: Uid::new(from),
        to: Uid::new(to),
        partitioning,
    });
}

fn modulo(modulus: u32) -> KeyExpr {
    let labels = vec![];
    KeyExpr::Modulo { modulus, labels }
}

/// Sources `s0`, `s1` … → `window` of 300 ms (by value modulo `modulus`) → `total` per key → `out`.
pub fn window_job(
    sources: &[SourceSpec],
    (modulus, aggregate): (u32, WindowAggregate),
    parallelism: u32,
) -> JobGraph {
    let mut job = JobGraph {
        name: "windows".to_owned(),
        ..JobGraph::default()
    };
    let window = WindowSpec {
        key: Some(modulo(modulus)),
        size_ms: 300,
        aggregate,
    };
    let total = KeyedSumSpec {
        key: Some(KeyExpr::Column),
        ttl: None,
    };
    for (index, spec) in sources.iter().enumerate() {
        let uid = format!("s{index}");
        add(&mut job, &uid, OperatorSpec::Source(spec.clone()), 1);
        connect(&mut job, &uid, "window", Partitioning::Hash);
    }
    add(
        &mut job,
        "window",
        OperatorSpec::Window(window),
        parallelism,
    );
    add(
        &mut job,
        "total",
        OperatorSpec::KeyedSum(total),
        parallelism,
    );
    add(&mut job, "out", OperatorSpec::Sink(SinkSpec::default()), 1);
    connect(&mut job, "window", "total", Partitioning::Hash);
    connect(&mut job, "total", "out", Partitioning::Rebalance);
    assert_eq!(
        lockgate::model::validate(&job),
        [],
        "a test's job must be valid"
    );
    job
}

/// What has fired, in order: the window's last event time and what it came to.
fn fired(rig: &Rig) -> Vec<(i64, String)> {
    let events = rig.recording.events().iter();
    let firing = events.filter_map(|event| match &event.kind {
        EventKind::WindowFired { window, value, .. } => {
            Some((window.max_timestamp().0, value.to_string()))
        }
        _ => None,
    });
    firing.collect()
}

fn view_of<'a>(rig: &'a Rig, uid: &str) -> &'a lockgate::recording::view::SubtaskView {
    &rig.view().subtasks[rig.subtasks(uid)[0].index()]
}

/// Times are 0, 100, 200, **-100**, 400, 500, 600, **300**, 800 ms: every fourth record is 400 ms late, and the watermark
/// stays 50 ms behind. Breaks if lateness is judged by the record's time alone: the second late one still finds its
/// window open, since the watermark is at 549 ms.
#[test]
fn a_record_is_late_when_its_window_has_fired() {
    let time = EventTimeSpec {
        late_every: 4,
        late_by_ms: 400,
        max_lateness_ms: 50,
        ..on_time()
    };
    let job = window_job(&[source(50, 9, time)], (1, WindowAggregate::Sum), 1);
    let mut rig = Rig::new(&job);
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    let expected = [(299, 1 + 2 + 3), (599, 5 + 6 + 8), (899, 7 + 9)];
    assert_eq!(fired(&rig), expected.map(|(at, sum)| (at, sum.to_string())));
    let window = view_of(&rig, "window");
    assert_eq!((window.late, window.windows.len()), (1, 0));
    assert_eq!(
        window.watermark,
        EventTime::MAX,
        "the end of data ends time"
    );
    let ledger = rig.recording.ledger(rig.view());
    let state = ledger.state.unwrap();
    assert_eq!((state.zero, state.once, state.more), (0, 8, 0));
    assert_eq!(ledger.late, 1, "a late record is no violation");
    assert_eq!(ledger.output, None, "a result has no single origin");
}

#[test]
fn a_count_window_counts_one_for_each_record_and_keys_fire_in_order() {
    let job = window_job(&[source(50, 7, on_time())], (2, WindowAggregate::Count), 1);
    let mut rig = Rig::new(&job);
    rig.run_to_end();
    let expected = [(299, "1"), (299, "2"), (599, "2"), (599, "1"), (899, "1")];
    assert_eq!(
        fired(&rig),
        expected.map(|(at, count)| (at, count.to_owned()))
    );
}

/// A map between source and window: the time of its records and its watermarks are its input's.
#[test]
fn a_map_keeps_the_time_of_its_records() {
    let mut job = window_job(&[source(50, 6, on_time())], (1, WindowAggregate::Sum), 1);
    add(
        &mut job,
        "ten",
        OperatorSpec::Map(MapSpec { factor: 10 }),
        1,
    );
    job.edges[0].to = Uid::new("ten");
    job.edges[0].partitioning = Partitioning::Forward;
    connect(&mut job, "ten", "window", Partitioning::Hash);
    let mut rig = Rig::new(&job);
    rig.run_to_end();
    let expected = [(299, "60"), (599, "150")];
    assert_eq!(fired(&rig), expected.map(|(at, sum)| (at, sum.to_owned())));
}

/// Breaks if a subtask takes the newest watermark, or one input's, for its own.
#[test]
fn the_slowest_source_decides() {
    let sources = [source(80, 30, on_time()), source(15, 12, on_time())];
    let job = window_job(&sources, (3, WindowAggregate::Sum), 2);
    let mut rig = Rig::new(&job);
    let inputs: Vec<SubtaskId> = [rig.subtasks("s0"), rig.subtasks("s1")].concat();
    let windows = rig.subtasks("window");
    let mut waited = 0;
    while rig.step() {
        let mark = |id: &SubtaskId| rig.view().subtasks[id.index()].watermark;
        let least = inputs.iter().map(mark).min().unwrap();
        let most = inputs.iter().map(mark).max().unwrap();
        assert!(windows.iter().map(mark).all(|own| own <= least));
        waited += usize::from(least.is_some() && most.0 - least.0 > 300);
    }
    assert!(waited > 20, "the sources were never apart");
    assert_eq!(rig.view().job, JobStatus::Finished);
    let late = windows
        .iter()
        .map(|id| rig.view().subtasks[id.index()].late);
    assert_eq!(late.sum::<u64>(), 0);
}

/// Two sources, of which the second falls silent for ten seconds after two records.
fn job_with_silence(idle_after_ms: Option<u64>) -> JobGraph {
    let mut silent = source(50, 20, on_time());
    silent.pause = Some(SourcePause {
        after_records: 2,
        for_ms: 10_000,
    });
    silent.event_time = Some(EventTimeSpec {
        idle_after_ms,
        ..on_time()
    });
    window_job(
        &[source(50, 20, on_time()), silent],
        (1, WindowAggregate::Sum),
        1,
    )
}

/// Breaks if an idle input counts in the minimum; and, with the checkpoint, if it does not align.
#[test]
fn an_idle_source_holds_back_no_window_and_still_sends_barriers() {
    let mut rig = Rig::new(&job_with_silence(Some(300)));
    rig.run_until(|view| view.subtasks[1].is_idle);
    assert!(rig.view().at_us < 1_000_000);
    rig.checkpoint();
    rig.run_until(|view| !view.store.is_empty());
    assert!(view_of(&rig, "s1").is_idle, "and still is");
    rig.run_until(|view| view.subtasks[2].windows.is_empty() && view.subtasks[2].processed > 20);
    assert!(rig.view().at_us < 10_000_000, "all has fired without it");
    rig.run_until(|view| !view.subtasks[1].is_idle);
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(
        view_of(&rig, "window").late,
        18,
        "what it brings then is late"
    );
    assert_eq!(rig.recording.ledger(rig.view()).state.unwrap().zero, 0);
}

#[test]
fn without_idleness_everything_waits_for_the_silent_source() {
    let mut rig = Rig::new(&job_with_silence(None));
    rig.run_until(|view| view.at_us > 9_000_000 || view.subtasks[1].offset > 2);
    assert_eq!(fired(&rig), []);
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    assert_eq!(view_of(&rig, "window").late, 0);
}

/// Breaks if a restore makes a record out of nothing: what a silent source has not got, it cannot replay.
#[test]
fn a_silence_outlasts_a_crash() {
    let mut rig = Rig::new(&job_with_silence(None));
    rig.run_until(|view| view.subtasks[1].offset == 2);
    let silent_until_us = rig.view().at_us + 10_000_000;
    rig.crash("window", 0);
    rig.restore();
    rig.run_until(|view| view.subtasks[1].offset == 1);
    assert_eq!(rig.view().at_us, silent_until_us);
}

#[test]
fn a_source_may_begin_with_its_silence() {
    let mut job = job_with_silence(None);
    for vertex in &mut job.vertices {
        if let OperatorSpec::Source(spec) = &mut vertex.operator {
            spec.pause = Some(SourcePause {
                after_records: 0,
                for_ms: 700,
            });
        }
    }
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.subtasks[0].offset == 1);
    assert_eq!(rig.view().at_us, 700_000);
    rig.run_until(|view| view.subtasks[0].offset == 20);
    assert_eq!(rig.view().at_us, 700_000 + 19 * 20_000, "only once");
}

fn two_sources() -> [SourceSpec; 2] {
    [source(40, 14, on_time()), source(25, 9, on_time())]
}

/// Checkpoint early, crash `uid` after `steps` steps, restore, run to the end.
fn crash_after(job: &JobGraph, steps: usize, uid: &str) -> Option<Rig> {
    let mut rig = Rig::new(job);
    for step in 0..steps {
        if [25, 70, 120].contains(&step) {
            rig.checkpoint();
        }
        if !rig.step() {
            return None;
        }
    }
    rig.crash(uid, 0);
    rig.restore();
    rig.run_to_end();
    Some(rig)
}

/// Every result that came out at `window`, by key and window.
fn results(rig: &Rig) -> BTreeMap<(Key, i64), BTreeSet<Decimal>> {
    let mut results = BTreeMap::new();
    for event in rig.recording.events() {
        if let EventKind::WindowFired {
            key, window, value, ..
        } = &event.kind
        {
            let place = (key.clone(), window.start_ms);
            let values: &mut BTreeSet<Decimal> = results.entry(place).or_default();
            values.insert(*value);
        }
    }
    results
}

/// Crash at each of `steps`, another operator each time, and compare with a run without a crash.
fn assert_crashes_change_nothing(job: &JobGraph, steps: impl Iterator<Item = usize>) -> usize {
    let mut calm = Rig::new(job);
    calm.run_to_end();
    assert!(results(&calm).values().all(|values| values.len() == 1));
    for (tried, step) in steps.enumerate() {
        let uid = ["s1", "window", "total"][tried % 3];
        let Some(rig) = crash_after(job, step, uid) else {
            return tried;
        };
        let context = format!("{uid} crashed after step {step}");
        assert_eq!(rig.view().job, JobStatus::Finished, "{context}");
        assert_eq!(results(&rig), results(&calm), "{context}");
        assert_eq!(rig.sums("total"), calm.sums("total"), "{context}");
        let ledger = rig.recording.ledger(rig.view());
        let state = ledger.state.unwrap();
        assert_eq!(
            (state.zero, state.more, ledger.late),
            (0, 0, 0),
            "{context}"
        );
    }
    panic!("the job does not end");
}

/// Laws 10 and 31: breaks if a timer is lost with a crash, fires again although its result is in the checkpoint (then
/// `total` counts it twice), or is in the snapshot without what its window has come to.
#[test]
fn a_crash_at_every_single_step_fires_every_window_once() {
    let job = window_job(&two_sources(), (2, WindowAggregate::Sum), 2);
    assert!(assert_crashes_change_nothing(&job, 0..) > 150);
}

#[test]
fn a_crash_now_and_then_fires_every_window_once_on_rocksdb() {
    let job = window_job(&two_sources(), (2, WindowAggregate::Count), 2);
    let job = with_backend(job, BackendKind::RocksDb);
    assert!(assert_crashes_change_nothing(&job, (5..).step_by(31)) > 5);
}

/// Breaks if the result of a window that fired before the barrier comes after it, or the other way round: at every
/// checkpoint, what windows hold and what has been counted behind them is what was emitted.
#[test]
fn a_window_is_in_the_checkpoint_or_its_result_is_before_the_barrier() {
    let sources = [source(40, 60, on_time()), source(25, 40, on_time())];
    let job = window_job(&sources, (2, WindowAggregate::Count), 2);
    let mut rig = Rig::new(&job);
    let mut steps = 0;
    while rig.step() {
        steps += 1;
        if steps % 9 == 0 {
            rig.checkpoint();
        }
    }
    let completed = rig
        .view()
        .checkpoints
        .values()
        .filter(|c| c.retained || c.acknowledged() > 0);
    let mut split = 0;
    for checkpoint in completed {
        let captured = checkpoint.subtasks.values();
        if captured
            .clone()
            .any(|snapshot| snapshot.captured_us.is_none())
        {
            continue;
        }
        let offsets: u64 = captured
            .clone()
            .filter_map(|snapshot| snapshot.offset)
            .sum();
        let open: Decimal = captured.clone().flat_map(|s| s.windows.values()).sum();
        let counted: Decimal = captured.clone().flat_map(|s| s.rows.values()).sum();
        let finished = checkpoint.finished.len();
        if finished == 0 {
            assert_eq!(
                open + counted,
                Decimal::from(offsets),
                "checkpoint {}",
                checkpoint.id
            );
            split += usize::from(!open.is_zero() && !counted.is_zero());
        }
    }
    assert!(split > 2, "no checkpoint has seen both");
}

#[test]
fn a_record_without_event_time_fails_the_window_with_a_sentence() {
    let mut job = window_job(&two_sources(), (2, WindowAggregate::Sum), 1);
    for vertex in &mut job.vertices {
        if let OperatorSpec::Source(spec) = &mut vertex.operator {
            spec.event_time = None;
        }
    }
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.job != JobStatus::Running);
    let JobStatus::Restarting { cause } = &rig.view().job else {
        panic!("the job must be down");
    };
    assert!(
        cause.contains("a record without event time reached a window"),
        "{cause}"
    );
}

/// Breaks if a finished source goes on holding the watermark back, or if it does so after a restore.
#[test]
fn windows_fire_on_after_one_source_has_finished() {
    let sources = [source(50, 4, on_time()), source(20, 30, on_time())];
    let job = window_job(&sources, (1, WindowAggregate::Count), 1);
    let mut rig = Rig::new(&job);
    rig.run_until(|view| view.subtasks[0].status == SubtaskStatus::EndOfData);
    rig.checkpoint();
    rig.run_until(|view| view.subtasks[0].status == SubtaskStatus::Finished);
    // The coordinator must have heard of it.
    let heard_us = rig.view().at_us + job.config.costs.rpc_us;
    rig.run_until(|view| view.at_us > heard_us);
    rig.checkpoint();
    rig.run_until(|view| view.store == [CheckpointId(2)]);
    let finished = &rig.view().checkpoints[&CheckpointId(2)].finished;
    assert_eq!(*finished, rig.subtasks("s0"));
    let before = fired(&rig).len();
    rig.crash("window", 0);
    rig.restore();
    rig.run_until(|view| view.job == JobStatus::Running);
    assert_eq!(rig.view().subtasks[0].status, SubtaskStatus::Finished);
    assert_eq!(rig.view().subtasks[0].watermark, EventTime::MAX);
    rig.run_until(|view| view.subtasks[1].offset == 29);
    assert!(
        fired(&rig).len() > before + 2,
        "before the other one has ended"
    );
    rig.run_to_end();
    assert_eq!(
        rig.sums("total").values().sum::<Decimal>(),
        Decimal::from(34)
    );
}

/// A record as far as a window's result goes.
pub fn result_of(record: &Record) -> (Option<Key>, Decimal, EventTime) {
    (record.key.clone(), record.value, record.event_time)
}

/// Stop with a savepoint as soon as five records are counted. The run, what then is open in windows, what is counted
/// behind them, and how many records were emitted.
fn stopped(mode: Mode, drain: bool) -> (Arc<MemorySavepoints>, [Decimal; 3]) {
    let job = mode.on(window_job(&two_sources(), (2, WindowAggregate::Count), 2));
    let savepoints = Arc::new(MemorySavepoints::default());
    let target = savepoints.clone();
    let mut rig = Rig::with_resources(&job, |resources| resources.savepoints = Some(target));
    rig.run_until(|view| view.subtasks[2].processed + view.subtasks[3].processed == 5);
    rig.command(&Command::StopWithSavepoint {
        format: SavepointFormat::Canonical,
        drain,
    });
    rig.run_to_end();
    assert_eq!(rig.view().job, JobStatus::Finished);
    let subtasks = || rig.view().subtasks.iter();
    let open = subtasks().flat_map(|subtask| subtask.windows.values());
    let open = open.map(|row| row.value).sum();
    let counted = rig.sums("total").values().sum();
    let emitted: u64 = rig.view().splits.iter().map(|split| split.offset).sum();
    assert!(emitted < 20, "the job was stopped before its end");
    (savepoints, [open, counted, emitted.into()])
}

const STOPPING_MODES: [Mode; 3] = [Mode::Aligned, Mode::AtLeastOnce, Mode::StopTheWorld];

/// Breaks if a drain ends the data without the last watermark, or if nobody ends them where no barrier goes out.
#[test]
fn a_drain_fires_all_windows() {
    for mode in STOPPING_MODES {
        let (_, [open, counted, emitted]) = stopped(mode, true);
        assert_eq!((open, counted), (Decimal::ZERO, emitted), "{mode:?}");
    }
}

/// Breaks if windows fire that the next job must still find open: they would come out half full, and again.
#[test]
fn a_stop_without_drain_leaves_windows_open_for_the_next_job() {
    for mode in STOPPING_MODES {
        let (savepoints, [open, counted, emitted]) = stopped(mode, false);
        assert!(open > Decimal::ZERO);
        assert_eq!(open + counted, emitted);
        goes_on_with(&savepoints, open);
    }
}

/// A job that starts from the savepoint begins with so much in its windows, and ends as one that was never stopped.
fn goes_on_with(savepoints: &MemorySavepoints, open: Decimal) {
    let job = window_job(&two_sources(), (2, WindowAggregate::Count), 2);
    let start = StartPoint {
        storage: savepoints.get(&savepoints.names()[0]),
        checkpoint: CheckpointId(1),
        claim: ClaimMode::NoClaim,
        allow_non_restored_state: false,
    };
    let mut next = Rig::with_resources(&job, |resources| resources.start = Some(start));
    let windows = next
        .view()
        .subtasks
        .iter()
        .flat_map(|it| it.windows.values());
    assert_eq!(windows.map(|row| row.value).sum::<Decimal>(), open);
    next.run_to_end();
    let mut calm = Rig::new(&job);
    calm.run_to_end();
    assert_eq!(next.sums("total"), calm.sums("total"));
}
