//! The same for what one operator is told.

use super::Setting;

pub const UID: Setting = Setting::flink(
    "Uid",
    "DataStream.uid(…)",
    "The name by which state finds its operator when a changed job starts from a savepoint.",
)
.but(
    "Without an explicit one Flink derives an id from the structure of the graph; a change of the graph changes it, \
     and the state finds its operator no more.",
);

pub const EXPLICIT_UID: Setting = Setting::own(
    "Uid is",
    "Whether you have given the uid, or it is generated from the structure of the graph.",
);

pub const PARALLELISM: Setting = Setting::flink(
    "Parallelism",
    "parallelism.default",
    "How many subtasks run side by side.",
);

pub const MAX_PARALLELISM: Setting = Setting::flink(
    "Max. parallelism",
    "pipeline.max-parallelism",
    "The number of key groups, into which keyed state is cut: parallelism can never be higher.",
)
.but("Set explicitly it cannot change when the job is restored; by default it adopts the snapshot’s.");

pub const RATE: Setting = Setting::own("Rate", "So many records per second from each subtask.");

pub const END: Setting = Setting::own(
    "End",
    "After so many records, over all subtasks, the source has ended; otherwise it never does.",
);

pub const SPLITS: Setting = Setting::own(
    "Splits",
    "The records are dealt into so many splits, which subtasks read and checkpoint the offsets of.",
)
.but("As Kafka’s partitions: when the parallelism changes, splits move to other subtasks with their offsets.");

pub const PAUSE: Setting = Setting::own(
    "Pause",
    "Once, each subtask falls silent: after so many records, for so long.",
);

pub const PAUSE_FOR: Setting = Setting::own("Pause lasts", "For so long it emits nothing.");

pub const EVENT_TIME: Setting = Setting::flink(
    "Event time",
    "WatermarkStrategy.withTimestampAssigner",
    "Each record says when it happened: the n-th at n times this step.",
);

pub const LATE: Setting = Setting::own(
    "Late",
    "Of every so many records the last happened earlier than its place says.",
);

pub const LATE_BY: Setting = Setting::own("Late by", "By so much those happened earlier.");

pub const OUT_OF_ORDER: Setting = Setting::flink(
    "Out of order",
    "WatermarkStrategy.forBoundedOutOfOrderness",
    "The watermark stays so much behind the newest record, so that records this late still count.",
);

pub const IDLE: Setting = Setting::flink(
    "Idle after",
    "WatermarkStrategy.withIdleness",
    "Silent for so long, a subtask does not hold back the watermark any more.",
)
.but("It still takes part in checkpoints: its barriers are waited for.");

pub const FACTOR: Setting = Setting::own("Times", "Each value goes on multiplied by this.");

pub const WINDOW_SIZE: Setting = Setting::flink(
    "Size",
    "TumblingEventTimeWindows.of(…)",
    "Each window is so long and begins where the last one ends.",
)
.but("A window fires when the watermark passes its end; records that come later are dropped and counted.");

pub const AGGREGATE: Setting = Setting::own(
    "Result",
    "What a window comes to: the sum of its values, or how many there were.",
);

pub const FUNCTION: Setting = Setting::flink(
    "Function",
    "KeyedProcessFunction",
    "What is done with each record of a key, and in which kind of state it is remembered.",
);

pub const EVERY: Setting = Setting::own(
    "Every",
    "After so many records of a key their average goes on, as a whole number, and the state is cleared.",
);

pub const LAST: Setting = Setting::own(
    "Last",
    "So many of the newest values of a key are kept; their sum goes on.",
);

pub const TTL: Setting = Setting::flink(
    "Time to live",
    "StateTtlConfig.newBuilder(…)",
    "An entry of state expires so long after its last use, in processing time; of lists and maps each for itself.",
)
.but("Time goes on while the job is down. Adding or removing it on existing state is refused at the restore.");

pub const TTL_UPDATE: Setting = Setting::flink(
    "Lives on with",
    "setUpdateType",
    "Which uses make an entry live anew: only writing it, or reading it, too.",
);

pub const TTL_VISIBILITY: Setting = Setting::flink(
    "Expired state",
    "setStateVisibility",
    "Whether a read may still return what has expired and is not cleaned up; reading it cleans it up either way.",
);

pub const TTL_BACKGROUND: Setting = Setting::flink(
    "In background",
    "cleanupIncrementally / cleanupInRocksdbCompactFilter",
    "What has expired goes without being read: on the heap 5 entries are looked at with each access, in RocksDB when it compacts.",
)
.but("Off is disableCleanupInBackground.");

pub const TTL_FULL_SNAPSHOT: Setting = Setting::flink(
    "In snapshots",
    "cleanupFullSnapshot",
    "What has expired is left out of full snapshots; the working state keeps it.",
)
.but("Never out of RocksDB’s own files: those are uploaded as they are.");

pub const THRESHOLD: Setting = Setting::own(
    "Gathers",
    "So many records come out together; until then they wait in operator list state.",
);

pub const TRANSACTION_TIMEOUT: Setting = Setting::flink(
    "Tx timeout",
    "transaction.timeout.ms (Kafka)",
    "The outside system aborts a transaction that is open for longer, and what is in it is lost.",
)
.but(
    "Longer than interval, checkpoint and the longest outage together. Flink’s Kafka sink asks for 1 h, a broker \
     allows 15 min unless told otherwise.",
);

pub const GIVE_UP: Setting = Setting::flink(
    "Timed out",
    "ignoreFailuresAfterTransactionTimeout",
    "A commit that fails after the timeout is given up: its records are lost, and the job goes on.",
)
.but("Otherwise the job fails and tries again, without end.");

pub const ONLY_SUBTASK: Setting = Setting::own(
    "Only subtask",
    "These costs are those of one subtask, which is then slower than its siblings.",
);

/// All that an operator can be told, of every kind.
#[cfg(test)]
pub const ALL: [&Setting; 29] = [
    &UID,
    &EXPLICIT_UID,
    &PARALLELISM,
    &MAX_PARALLELISM,
    &RATE,
    &END,
    &SPLITS,
    &PAUSE,
    &PAUSE_FOR,
    &EVENT_TIME,
    &LATE,
    &LATE_BY,
    &OUT_OF_ORDER,
    &IDLE,
    &FACTOR,
    &WINDOW_SIZE,
    &AGGREGATE,
    &FUNCTION,
    &EVERY,
    &LAST,
    &TTL,
    &TTL_UPDATE,
    &TTL_VISIBILITY,
    &TTL_BACKGROUND,
    &TTL_FULL_SNAPSHOT,
    &THRESHOLD,
    &TRANSACTION_TIMEOUT,
    &GIVE_UP,
    &ONLY_SUBTASK,
];
