//! What people do, and what goes wrong.

use crate::fuzz::chance::Chance;
use crate::model::{
    BackendKind, CheckpointConfig, CheckpointId, CheckpointMode, Command, Fault, FaultKind,
    JobGraph, OperatorSpec, RestartStrategy, Retention, SavepointFormat, ScriptEntry, SinkKind,
    StorageKind, Uid, Vertex, When,
};

/// When the last scripted command may come, in virtual time: most jobs are near their end then.
const LAST_MS: u64 = 3_000;

pub fn write(chance: &mut Chance, job: &mut JobGraph) {
    let count = chance.between(0, 7);
    let mut script = Vec::new();
    for _ in 0..count {
        script.push(ScriptEntry {
            when: when(chance, job),
            command: command(chance, job),
        });
    }
    if job.config.restart == RestartStrategy::Manual {
        add_restores(chance, &mut script);
    }
    let takes_savepoint = |entry: &ScriptEntry| {
        matches!(
            entry.command,
            Command::Savepoint { .. }
                | Command::StopWithSavepoint { .. }
                | Command::CancelWithSavepoint { .. }
        )
    };
    if script.iter().any(takes_savepoint) {
        job.config.savepoint_dir = Some("savepoints".into());
    }
    job.script = script;
}

/// What chance alone hardly ever comes to: a savepoint that fails at a subtask after a newer checkpoint has been completed;
/// a drain where no barrier goes out. It is drawn after all else, from a chance of its own, so that it changes no other job.
pub fn add_plot(chance: &mut Chance, job: &mut JobGraph) {
    let config = &mut job.config.checkpointing;
    if config.mode == CheckpointMode::StopTheWorld && chance.percent(20) {
        return add_drain(chance, job);
    }
    if config.unaligned || config.mode == CheckpointMode::StopTheWorld || !chance.percent(6) {
        return;
    }
    config.max_concurrent = 2;
    config.tolerable_failed = 0;
    job.config.savepoint_dir = Some("savepoints".into());
    let (uid, subtask) = any_subtask(chance, job);
    let inject = |kind| {
        Command::Inject(Fault {
            kind,
            uid: uid.clone(),
            subtask,
        })
    };
    let begin_ms = chance.between(0, 1_000);
    let slow = FaultKind::StorageSlow { by_ms: 900 };
    let commands = [
        (0, inject(slow)),
        (0, savepoint(chance)),
        (chance.between(1, 300), Command::Checkpoint),
        (chance.between(500, 1_000), inject(FaultKind::AsyncPart)),
    ];
    job.script
        .extend(commands.map(|(after_ms, command)| ScriptEntry {
            when: When::AtMs(begin_ms + after_ms),
            command,
        }));
}

/// Files that a second life can start from: what chance alone hardly ever leaves behind is an incremental checkpoint of a
/// job that was canceled while it ran.
pub fn add_legacy(chance: &mut Chance, job: &mut JobGraph) {
    if !chance.percent(3) {
        return;
    }
    job.config.backend = BackendKind::RocksDb;
    job.config.state.incremental = true;
    job.config.state.compaction_trigger = chance.one_of(&[0, 2, 3]);
    job.config.storage = StorageKind::FileSystem {
        inline_threshold_bytes: chance.one_of(&[0, 0, 1_024]),
    };
    let checkpointing = &mut job.config.checkpointing;
    checkpointing.interval_ms = Some(chance.one_of(&[80, 150, 300]));
    checkpointing.timeout_ms = CheckpointConfig::default().timeout_ms;
    checkpointing.retained = chance.small(1, 3);
    checkpointing.retention = Retention::RetainOnCancellation;
    job.script.push(ScriptEntry {
        when: When::AtMs(chance.between(300, 1_500)),
        command: chance.one_of(&[Command::Stop, Command::Suspend]),
    });
}

fn add_drain(chance: &mut Chance, job: &mut JobGraph) {
    job.config.savepoint_dir = Some("savepoints".into());
    job.script.push(ScriptEntry {
        when: When::AtMs(chance.between(0, 1_000)),
        command: Command::StopWithSavepoint {
            format: chance.one_of(&SavepointFormat::ALL),
            drain: true,
        },
    });
}

/// A job that waits for a person needs one.
fn add_restores(chance: &mut Chance, script: &mut Vec<ScriptEntry>) {
    for turn in 1..=3 {
        script.push(ScriptEntry {
            when: When::AtMs(turn * LAST_MS + chance.between(0, 500)),
            command: Command::Restore { checkpoint: None },
        });
    }
}

fn when(chance: &mut Chance, job: &JobGraph) -> When {
    let vertex = any_vertex(chance, job);
    match chance.between(0, 9) {
        0..=1 if vertex.is_source() => When::Emitted {
            uid: vertex.uid.clone(),
            records: chance.between(1, 30),
        },
        0..=3 if !vertex.is_source() => When::Processed {
            uid: vertex.uid.clone(),
            subtask: chance.small(0, vertex.parallelism - 1),
            records: chance.between(1, 30),
        },
        _ => When::AtMs(chance.between(0, LAST_MS)),
    }
}

fn command(chance: &mut Chance, job: &JobGraph) -> Command {
    match chance.between(0, 99) {
        35..=49 => crash(chance, job),
        50..=56 => crash_many(chance, job),
        57..=74 => Command::Inject(fault(chance, job)),
        75..=82 => savepoint(chance),
        83..=84 => Command::StopWithSavepoint {
            format: chance.one_of(&SavepointFormat::ALL),
            drain: chance.percent(50),
        },
        85 => Command::CancelWithSavepoint {
            format: chance.one_of(&SavepointFormat::ALL),
        },
        86 => Command::Stop,
        87 => Command::Suspend,
        88..=91 => Command::Restore {
            checkpoint: Some(CheckpointId(chance.between(1, 4))),
        },
        92..=95 => Command::Restore { checkpoint: None },
        _ => Command::Checkpoint,
    }
}

fn savepoint(chance: &mut Chance) -> Command {
    Command::Savepoint {
        format: chance.one_of(&SavepointFormat::ALL),
    }
}

fn any_vertex<'a>(chance: &mut Chance, job: &'a JobGraph) -> &'a Vertex {
    &job.vertices[chance.index(job.vertices.len())]
}

fn any_subtask(chance: &mut Chance, job: &JobGraph) -> (Uid, u32) {
    let vertex = any_vertex(chance, job);
    (vertex.uid.clone(), chance.small(0, vertex.parallelism - 1))
}

fn crash(chance: &mut Chance, job: &JobGraph) -> Command {
    let (uid, subtask) = any_subtask(chance, job);
    Command::Crash { uid, subtask }
}

fn crash_many(chance: &mut Chance, job: &JobGraph) -> Command {
    if chance.percent(50) {
        let widest = job.vertices.iter().map(|vertex| vertex.parallelism).max();
        let slots = job.config.slots_per_task_manager;
        let managers = widest.unwrap_or(1).div_ceil(slots);
        return Command::CrashTaskManager {
            index: chance.small(0, managers - 1),
        };
    }
    let mut subtasks: Vec<(Uid, u32)> = Vec::new();
    for _ in 0..chance.between(1, 3) {
        let next = any_subtask(chance, job);
        if !subtasks.contains(&next) {
            subtasks.push(next);
        }
    }
    Command::CrashSeveral { subtasks }
}

fn fault(chance: &mut Chance, job: &JobGraph) -> Fault {
    let by_ms = chance.between(1, 900);
    let kind = chance.one_of(&[
        FaultKind::SyncPart,
        FaultKind::AsyncPart,
        FaultKind::StorageError,
        FaultKind::StorageSlow { by_ms },
        FaultKind::TornWrite,
        FaultKind::Metadata,
        FaultKind::Commit,
        FaultKind::LoseNotification,
        FaultKind::DelayNotification { by_ms },
    ]);
    let commits = |vertex: &&Vertex| {
        matches!(&vertex.operator, OperatorSpec::Sink(sink)
            if matches!(sink.kind, SinkKind::TwoPhaseCommit { .. }))
    };
    let sinks: Vec<&Vertex> = job.vertices.iter().filter(commits).collect();
    if kind == FaultKind::Commit {
        if sinks.is_empty() {
            let (uid, subtask) = any_subtask(chance, job);
            let kind = FaultKind::AsyncPart;
            return Fault { kind, uid, subtask };
        }
        let vertex = sinks[chance.index(sinks.len())];
        let subtask = chance.small(0, vertex.parallelism - 1);
        let uid = vertex.uid.clone();
        return Fault { kind, uid, subtask };
    }
    let (uid, subtask) = any_subtask(chance, job);
    Fault { kind, uid, subtask }
}
