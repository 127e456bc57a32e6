//! Law: the log is complete. What the window folds from it is what the engine itself holds, and every way of getting
//! to a position gives the same view.

use std::sync::Arc;

use lockgate::engine::event::SubtaskStatus;
use lockgate::fuzz::fold::projection_of;
use lockgate::model::{
    BackendKind, Command, EventTimeSpec, Fault, FaultKind, JobGraph, KeyedFunction,
    RestartStrategy, SavepointFormat, SinkKind, SourcePause, TtlSpec, TtlUpdate, Uid,
    WindowAggregate,
};
use lockgate::recording::View;
use proptest::prelude::*;

use crate::rig::{MemorySavepoints, Rig, Source, lanes_job, set_sink, sum_job, transactional};
use crate::windows::{on_time, source, window_job};

fn assert_fold_is_the_engine(rig: &Rig) {
    let engine = rig.stepper.project();
    let folded = projection_of(rig.view(), &rig.recording.plan, &engine);
    assert_eq!(folded, engine, "after event {}", rig.view().position);
}

/// What a person might do.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Checkpoint,
    Crash(u32),
    CrashTaskManager(u32),
    Restore,
    Savepoint,
    /// The metadata of the checkpoint of this number, or all of it.
    DeleteStored(u64, bool),
    Inject(FaultKind, u32),
}

fn fault() -> impl Strategy<Value = FaultKind> {
    prop_oneof![
        Just(FaultKind::SyncPart),
        Just(FaultKind::AsyncPart),
        Just(FaultKind::StorageSlow { by_ms: 90 }),
        Just(FaultKind::TornWrite),
        Just(FaultKind::Metadata),
        Just(FaultKind::LoseNotification),
        Just(FaultKind::DelayNotification { by_ms: 70 }),
    ]
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => Just(Deed::Checkpoint),
        1 => (0_u32..2).prop_map(Deed::Crash),
        1 => (0_u32..3).prop_map(Deed::CrashTaskManager),
        2 => Just(Deed::Restore),
        1 => Just(Deed::Savepoint),
        1 => (1_u64..5, any::<bool>()).prop_map(|(id, all)| Deed::DeleteStored(id, all)),
        2 => (fault(), 0_u32..2).prop_map(|(kind, subtask)| Deed::Inject(kind, subtask)),
    ]
}

fn play(deeds: &[(usize, Deed)], seed: u64) -> Rig {
    let mut job = sum_job(&[Source::new(60, 40), Source::new(25, 16)], 3, 2);
    let kind = match seed % 3 {
        0 => SinkKind::Plain,
        1 => SinkKind::Upsert,
        _ => transactional(400),
    };
    set_sink(&mut job, kind, 2);
    play_job(job, "sum", deeds, seed)
}

/// Late records, and a source that falls silent and goes idle.
fn play_windows(deeds: &[(usize, Deed)], seed: u64) -> Rig {
    let time = EventTimeSpec {
        late_every: 5,
        late_by_ms: 600,
        idle_after_ms: Some(150),
        ..on_time()
    };
    let mut silent = source(25, 16, time.clone());
    silent.pause = Some(SourcePause {
        after_records: 3,
        for_ms: 400,
    });
    let job = window_job(
        &[source(60, 40, time), silent],
        (3, WindowAggregate::Sum),
        2,
    );
    play_job(job, "window", deeds, seed)
}

/// Entries that expire, rules, and a buffer.
fn play_states(deeds: &[(usize, Deed)], seed: u64) -> Rig {
    let function = KeyedFunction::ALL[usize::try_from(seed % 5).unwrap()];
    let ttl = TtlSpec {
        update: TtlUpdate::ALL[usize::try_from(seed / 5 % 2).unwrap()],
        ..TtlSpec::new(120)
    };
    let mut job = crate::state_kinds::states_job(function, Some(ttl));
    job.config.backend = BackendKind::ALL[usize::try_from(seed / 10 % 2).unwrap()];
    play_job(job, "function", deeds, seed)
}

/// Periodic checkpoints, two at once, and failed lanes that begin again by themselves.
fn play_lanes(deeds: &[(usize, Deed)], seed: u64) -> Rig {
    let mut job = lanes_job(Source::new(60, 120), 3);
    job.config.restart = RestartStrategy::FixedDelay {
        attempts: 5,
        delay_ms: 60,
    };
    let checkpointing = &mut job.config.checkpointing;
    checkpointing.interval_ms = Some(150);
    checkpointing.tolerable_failed = 1;
    checkpointing.max_concurrent = 2;
    play_job(job, "map", deeds, seed)
}

fn play_job(mut job: JobGraph, victim: &str, deeds: &[(usize, Deed)], seed: u64) -> Rig {
    job.config.seed = seed;
    job.config.checkpointing.retained = 2;
    let mut rig = Rig::with_resources(&job, |resources| {
        resources.savepoints = Some(Arc::new(MemorySavepoints::default()));
    });
    for (steps, deed) in deeds {
        for _ in 0..*steps {
            rig.step();
            assert_fold_is_the_engine(&rig);
        }
        match deed {
            Deed::Checkpoint => rig.checkpoint(),
            Deed::Crash(subtask) => rig.crash(victim, *subtask),
            Deed::CrashTaskManager(index) => {
                rig.command(&Command::CrashTaskManager { index: *index });
            }
            Deed::Restore => rig.restore(),
            Deed::Savepoint => rig.command(&Command::Savepoint {
                format: SavepointFormat::Canonical,
            }),
            Deed::DeleteStored(id, is_all) => {
                let rest = if *is_all { "" } else { "/_metadata" };
                rig.command(&Command::DeleteStored {
                    path: format!("chk-{id}{rest}"),
                });
            }
            Deed::Inject(kind, subtask) => rig.command(&Command::Inject(Fault {
                kind: *kind,
                uid: Uid::new(victim),
                subtask: *subtask,
            })),
        }
        assert_fold_is_the_engine(&rig);
    }
    for _ in 0..300 {
        rig.step();
        assert_fold_is_the_engine(&rig);
    }
    rig
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Breaks if the engine changes anything without an event, or the fold forgets one.
    #[test]
    fn the_fold_of_the_log_is_the_engines_own_state(
        deeds in prop::collection::vec((0_usize..80, deed()), 0..12),
        seed in any::<u64>(),
    ) {
        play(&deeds, seed);
        play_windows(&deeds, seed);
        play_lanes(&deeds, seed);
        play_states(&deeds, seed);
    }

    /// The same where barriers overtake, where nothing waits for them, and where the world stands still.
    #[test]
    fn and_so_it_is_in_every_mode(
        deeds in prop::collection::vec((0_usize..80, deed()), 0..12),
        seed in any::<u64>(),
        mode in crate::modes::any_mode(),
    ) {
        let mut job = sum_job(&[Source::new(200, 60), Source::new(90, 26)], 3, 2);
        mode.set(&mut job);
        job.config.channel_capacity = 4;
        play_job(job, "sum", &deeds, seed);
    }

    /// Breaks if a keyframe is wrong, or if applying an event looks at anything but the view.
    #[test]
    fn seeking_is_folding(
        deeds in prop::collection::vec((0_usize..80, deed()), 0..8),
        positions in prop::collection::vec(any::<prop::sample::Index>(), 20),
    ) {
        let recording = play(&deeds, 7).recording;
        let mut views = vec![View::new(&recording.plan, recording.job.script.len())];
        for event in recording.events() {
            let mut next = views[views.len() - 1].clone();
            next.apply(&recording.plan, event);
            views.push(next);
        }
        for position in positions {
            let position = position.index(views.len());
            prop_assert!(recording.seek(position) == views[position], "position {}", position);
        }
    }

    /// Breaks if anything but job, seed and commands decides what happens (a hash order, a clock).
    #[test]
    fn the_same_seed_and_deeds_give_the_same_events(
        deeds in prop::collection::vec((0_usize..80, deed()), 0..8),
        seed in any::<u64>(),
    ) {
        let (one, other) = (play(&deeds, seed), play(&deeds, seed));
        prop_assert!(one.recording.events() == other.recording.events());
    }
}

#[test]
fn stepping_back_goes_to_just_before_the_step() {
    let rig = play(
        &[
            (120, Deed::Checkpoint),
            (60, Deed::Crash(0)),
            (0, Deed::Restore),
        ],
        1,
    );
    let recording = &rig.recording;
    let mut position = recording.events().len();
    let mut steps_back = 0;
    while position > 0 {
        let before = recording.before_step(position);
        assert!(before < position);
        assert_eq!(
            recording.after_step(before),
            position,
            "forward again is where it was"
        );
        position = before;
        steps_back += 1;
    }
    let first = recording.events()[0].step;
    let last = recording.events().last().unwrap().step;
    assert!(steps_back <= last - first + 1);
    assert!(
        recording
            .seek(0)
            .subtasks
            .iter()
            .all(|s| s.status == SubtaskStatus::Initializing)
    );
}
