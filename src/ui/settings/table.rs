//! What is said of each setting: its label, Flink's name, one sentence, and where articles tell it otherwise.

use super::Setting;

pub const INTERVAL: Setting = Setting::flink(
    "Interval",
    "execution.checkpointing.interval",
    "How often the coordinator begins a checkpoint by itself; off, only a person or the script does.",
)
.but("The first one comes at a random moment between the minimum pause and the interval.");

pub const MODE: Setting = Setting::flink(
    "Mode",
    "execution.checkpointing.mode",
    "Whether records behind a barrier wait (each counts exactly once) or go on (after a restore some count again).",
)
.but("Stop-the-world is not Flink’s: it pauses the sources and drains the job, to show what barriers save.");

pub const TIMEOUT: Setting = Setting::flink(
    "Timeout",
    "execution.checkpointing.timeout",
    "A checkpoint that is not complete this long after its trigger is aborted, and its late answers are discarded.",
);

pub const MIN_PAUSE: Setting = Setting::flink(
    "Minimum pause",
    "execution.checkpointing.min-pause",
    "So long after a completed checkpoint the next periodic one may begin at the earliest.",
)
.but(
    "Articles and the documentation say that a pause allows only one checkpoint at a time. No version of Flink \
     enforces that: the pause counts from the last completion, and several may be pending.",
);

pub const MAX_CONCURRENT: Setting = Setting::flink(
    "Max. concurrent",
    "execution.checkpointing.max-concurrent-checkpoints",
    "As many checkpoints may be pending at once; further requests wait in a queue and are not dropped.",
)
.but("Savepoints do not wait for this, unless checkpoints are unaligned.");

pub const TOLERABLE: Setting = Setting::flink(
    "Tolerable failed",
    "execution.checkpointing.tolerable-failed-checkpoints",
    "As many checkpoints in a row may fail; one more fails the job over, and each success counts from 0 again.",
)
.but("An exception in the synchronous part of a snapshot fails the task whatever this says.");

pub const FAIL_ON_ERRORS: Setting = Setting::flink(
    "Fail on errors",
    "setFailOnCheckpointingErrors",
    "The old name for the same number: true is 0 tolerable failures, false is any number.",
)
.but("Removed from Flink; before 1.9 the task itself failed or declined.");

pub const RETAINED: Setting = Setting::flink(
    "Retained",
    "execution.checkpointing.num-retained",
    "As many completed checkpoints are kept; the newest is never dropped.",
)
.formerly("state.checkpoints.num-retained");

pub const RETENTION: Setting = Setting::flink(
    "After the job’s end",
    "execution.checkpointing.externalized-checkpoint-retention",
    "Which completed checkpoints outlive the job: none, those of a failed job, or also those of a canceled or \
     suspended one.",
)
.formerly("enableExternalizedCheckpoints")
.but("A job that finishes deletes its checkpoints under each setting; savepoints always stay.");

pub const UNALIGNED: Setting = Setting::flink(
    "Unaligned",
    "execution.checkpointing.unaligned.enabled",
    "Barriers overtake records, which become part of the checkpoint, so that backpressure does not slow it down.",
)
.formerly("execution.checkpointing.unaligned")
.but("Savepoints stay aligned; so do forward and broadcast edges.");

pub const ALIGNED_TIMEOUT: Setting = Setting::flink(
    "Aligned timeout",
    "execution.checkpointing.aligned-checkpoint-timeout",
    "A checkpoint begins aligned, and so long after its trigger its barriers begin to overtake; 0: at once.",
)
.formerly("alignment-timeout")
.but("It counts from the trigger at the JobManager, not from the beginning of an alignment.");

pub const AFTER_FINISH: Setting = Setting::flink(
    "After tasks finish",
    "execution.checkpointing.checkpoints-after-tasks-finish",
    "Checkpoints go on when some tasks have finished, and one last checkpoint commits the end of the data.",
);

pub const RESTART: Setting = Setting::flink(
    "Restart strategy",
    "restart-strategy.type",
    "Whether a failed job begins again by itself, and when.",
)
.but("Waiting for a person is not Flink’s: it is for looking around. Flink’s own default is exponential delay.");

pub const ATTEMPTS: Setting = Setting::flink(
    "Attempts",
    "restart-strategy.fixed-delay.attempts",
    "So many restarts are allowed in all; the next failure fails the job for good.",
);

pub const DELAY: Setting = Setting::flink(
    "Delay",
    "restart-strategy.fixed-delay.delay",
    "The time between the failure and the restart.",
);

pub const FAILURES: Setting = Setting::flink(
    "Max. failures",
    "restart-strategy.failure-rate.max-failures-per-interval",
    "More failures than this within the interval fail the job for good.",
);

pub const FAILURE_INTERVAL: Setting = Setting::flink(
    "Within",
    "restart-strategy.failure-rate.failure-rate-interval",
    "The interval in which failures are counted.",
);

pub const FAILURE_DELAY: Setting = Setting::flink(
    "Delay",
    "restart-strategy.failure-rate.delay",
    "The time between the failure and the restart.",
);

pub const INITIAL_DELAY: Setting = Setting::flink(
    "First delay",
    "restart-strategy.exponential-delay.initial-backoff",
    "The delay before the first restart, and again after a quiet time.",
);

pub const MAX_DELAY: Setting = Setting::flink(
    "Longest delay",
    "restart-strategy.exponential-delay.max-backoff",
    "The delay grows no longer than this.",
);

pub const MULTIPLIER: Setting = Setting::flink(
    "Multiplier",
    "restart-strategy.exponential-delay.backoff-multiplier",
    "Each delay is so many times the one before.",
);

pub const JITTER: Setting = Setting::flink(
    "Jitter",
    "restart-strategy.exponential-delay.jitter-factor",
    "Each delay is longer or shorter by a random share of at most this.",
);

pub const RESET_AFTER: Setting = Setting::flink(
    "Reset after",
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    "After running so long without a failure the first delay applies again.",
);

pub const EXPONENTIAL_ATTEMPTS: Setting = Setting::flink(
    "Attempts",
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    "So many restarts are allowed before a reset; unlimited by default.",
);

pub const FAILOVER: Setting = Setting::flink(
    "Failover",
    "jobmanager.execution.failover-strategy",
    "What begins again: the subtasks that channels connect with the failed one, or all.",
)
.but("A hash, rebalance or broadcast edge connects all with all: such a job is one region.");

pub const BACKEND: Setting = Setting::flink(
    "Backend",
    "state.backend.type",
    "Where keyed operators keep their working state: maps in memory, or one RocksDB for each subtask.",
)
.formerly("state.backend");

pub const STORAGE: Setting = Setting::flink(
    "Storage",
    "execution.checkpointing.storage",
    "Where completed checkpoints lie: in the JobManager’s memory (5 MiB at most per state) or in files.",
)
.formerly("state.checkpoint-storage");

pub const INLINE: Setting = Setting::flink(
    "Inline up to",
    "execution.checkpointing.data-inline-threshold",
    "State of at most this size lies in the _metadata file itself, larger state in files of its own.",
)
.formerly("state.storage.fs.memory-threshold");

pub const NAMES: Setting = Setting::own(
    "Names",
    "Flink 1.13 parted where state lives from where checkpoints lie; before, one name said both.",
);

pub const CLASSIC: Setting = Setting::flink(
    "State backend",
    "state.backend",
    "Up to 1.12 one name said both where state lives and where checkpoints lie; the line below says what it is today.",
)
.but("The classes were removed in 2.0.");

pub const INCREMENTAL: Setting = Setting::flink(
    "Incremental",
    "execution.checkpointing.incremental",
    "RocksDB uploads only the files that the last confirmed checkpoint does not have, into shared/.",
)
.formerly("state.backend.incremental")
.but("The heap takes no notice: its snapshots are always whole.");

pub const ASYNCHRONOUS: Setting = Setting::flink(
    "Asynchronous",
    "state.backend.async",
    "Off, the heap writes its whole snapshot in the synchronous part: the subtask stands still for as long.",
)
.but("Without effect since 1.13: snapshots are always asynchronous.");

pub const COMPACTION: Setting = Setting::flink(
    "Compaction at",
    "level0_file_num_compaction_trigger",
    "So many new files of a database are merged into one, which the next checkpoint uploads whole; 0: only by hand.",
)
.but("RocksDB merges in the background; in the stepper it happens right after a snapshot, so that runs repeat.");

pub const MEMORY: Setting = Setting::flink(
    "Memory",
    "state.backend.rocksdb.memory.fixed-per-slot",
    "What each database takes for what it has not yet written, and for what it has read.",
);

pub const TIMERS: Setting = Setting::flink(
    "Timers",
    "state.backend.rocksdb.timer-service.factory",
    "Where the timers of windows are: in the database, or on the heap and then written in the synchronous part.",
)
.but("Timers in the database cannot be had on the heap later, except through a canonical savepoint.");

pub const MAX_STATE: Setting = Setting::flink(
    "At most",
    "maxStateSize",
    "The largest piece of state that the JobManager’s heap takes; a larger one fails its checkpoint, not the job.",
)
.but("Whatever this says: all that a subtask acknowledges must fit into one message of 10 MiB (pekko.framesize).");

pub const CHECKPOINT_DIR: Setting = Setting::flink(
    "Checkpoint folder",
    "execution.checkpointing.dir",
    "Where checkpoints lie that may outlive the run, relative to the job file; empty: a folder that goes with the run.",
)
.formerly("state.checkpoints.dir");

pub const SAVEPOINT_DIR: Setting = Setting::flink(
    "Savepoint folder",
    "execution.checkpointing.savepoint-dir",
    "Where savepoints are written, relative to the job file; they stay until you delete them.",
)
.formerly("state.savepoints.dir");

pub const SLOTS: Setting = Setting::flink(
    "Slots",
    "taskmanager.numberOfTaskSlots",
    "How many slots a TaskManager has; slot i holds subtask i of every operator, and fails with its TaskManager.",
);

pub const CAPACITY: Setting = Setting::own(
    "Channel holds",
    "So many records fit into one channel; when it is full its sender waits, which is backpressure.",
)
.but("In Flink: buffers of 32 KB, 2 of each channel’s own and 8 shared by an input gate, granted as credit.");

pub const SEED: Setting = Setting::own(
    "Seed",
    "Decides what happens first among things due at the same moment; the same seed gives the same run.",
);

pub const TRANSFER: Setting = Setting::own(
    "Transfer",
    "From a record’s being sent to its being ready at the other end of a channel.",
);

pub const PROCESS: Setting = Setting::own(
    "Process a record",
    "A subtask takes nothing else for so long.",
);

pub const RPC: Setting = Setting::own(
    "JobManager call",
    "A message between the JobManager and a subtask, one way.",
);

pub const SYNC: Setting = Setting::own(
    "Snapshot, sync",
    "The synchronous part of a snapshot: the subtask processes nothing meanwhile.",
);

pub const ASYNC: Setting = Setting::own(
    "Snapshot, async",
    "The asynchronous part: state is written while the subtask works on.",
);

pub const ASYNC_KIB: Setting = Setting::own(
    "… and per KiB",
    "So much longer for each begun KiB of state.",
);

pub const RESTORE: Setting =
    Setting::own("Restore", "From the restore to all subtasks running again.");

/// All settings of a job.
#[cfg(test)]
pub const ALL: [&Setting; 48] = [
    &INTERVAL,
    &MODE,
    &TIMEOUT,
    &MIN_PAUSE,
    &MAX_CONCURRENT,
    &TOLERABLE,
    &FAIL_ON_ERRORS,
    &RETAINED,
    &RETENTION,
    &UNALIGNED,
    &ALIGNED_TIMEOUT,
    &AFTER_FINISH,
    &RESTART,
    &ATTEMPTS,
    &DELAY,
    &FAILURES,
    &FAILURE_INTERVAL,
    &FAILURE_DELAY,
    &INITIAL_DELAY,
    &MAX_DELAY,
    &MULTIPLIER,
    &JITTER,
    &RESET_AFTER,
    &EXPONENTIAL_ATTEMPTS,
    &FAILOVER,
    &BACKEND,
    &STORAGE,
    &INLINE,
    &NAMES,
    &CLASSIC,
    &INCREMENTAL,
    &ASYNCHRONOUS,
    &COMPACTION,
    &MEMORY,
    &TIMERS,
    &MAX_STATE,
    &CHECKPOINT_DIR,
    &SAVEPOINT_DIR,
    &SLOTS,
    &CAPACITY,
    &SEED,
    &TRANSFER,
    &PROCESS,
    &RPC,
    &SYNC,
    &ASYNC,
    &ASYNC_KIB,
    &RESTORE,
];
