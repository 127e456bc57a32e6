//! What can go wrong with keyed state, as a sentence each.

use std::io;
use std::path::{Path, PathBuf};

use crate::engine::storage::StorageError;
use crate::engine::storage::bytes::Malformed;
use crate::model::{Decimal, Key};

/// Why keyed state could not be kept, snapshotted or restored.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "{value} cannot be added to the sum {sum} of key {key} exactly: \
         a decimal has 96 bits, about 28 digits, and a sum is never rounded. Use smaller or less precise values"
    )]
    Inexact {
        key: Key,
        sum: Decimal,
        value: Decimal,
    },

    #[error(
        "key {key} is in key group {group}, which another subtask owns. Partition by hash before a keyed operator"
    )]
    ForeignKey { key: Key, group: u32 },

    #[error(
        "key groups {first} to {last} are not within 0 to {max_parallelism} (exclusive), or that is above 32768"
    )]
    BadKeyGroups {
        first: u32,
        last: u32,
        max_parallelism: u32,
    },

    #[error(
        "the checkpoint holds key group {group}, which this subtask does not own. \
         Restore with the parallelism and max parallelism that the checkpoint was taken with"
    )]
    GroupNotOwned { group: u32 },

    /// Flink: `StateUtil.unexpectedStateHandleException`.
    #[error(
        "the checkpoint was taken on the {found} backend, and the {wanted} backend cannot read its native format: \
         \"Unexpected state handle type\", as Flink says; only a canonical savepoint could change backends. \
         Restore it on {found}, or start from the beginning"
    )]
    WrongBackend {
        wanted: &'static str,
        found: &'static str,
    },

    /// Flink: `StateMigrationException`.
    #[error(
        "the state “{state}” in the checkpoint {}: adding or removing TTL on existing state is not possible \
         (StateMigrationException). Set its TTL as it was, give the operator another uid to begin without state, \
         or start from the beginning",
        if *had_ttl { "has a time to live (TTL), and in this job it has none" }
        else { "has no time to live (TTL), and in this job it has one" }
    )]
    TtlMigration { state: &'static str, had_ttl: bool },

    /// Flink: `StateMigrationException`.
    #[error(
        "the keys of the state in the checkpoint are {found}, and those of this operator are {wanted}: \"The new key \
         serializer must be compatible\", as Flink says (StateMigrationException). Key it as it was, or give it another \
         uid to begin without state"
    )]
    KeyMigration {
        wanted: &'static str,
        found: &'static str,
    },

    #[error(
        "the operator keeps the state {wanted}, and the checkpoint holds {found} of it. \
         Choose what the operator did then, or give it another uid to begin without state"
    )]
    OtherState { wanted: String, found: String },

    /// In Flink such timers stay where they are, unseen.
    #[error(
        "the checkpoint has the timers of its windows in RocksDB, and this job has timers on the heap \
         (state.backend.rocksdb.timer-service.factory): in Flink those windows would never fire, and only a canonical \
         savepoint could take their timers along. Set the timers to rocksdb, or start from such a savepoint"
    )]
    TimersInDatabase,

    #[error("what is stored there cannot be read: {reason}. Take another checkpoint or savepoint")]
    Malformed { reason: &'static str },

    #[error("{} exists already; each attempt of a subtask needs a new folder", path.display())]
    FolderExists { path: PathBuf },

    #[error("could not {action} {}: {source}. Check that the disk has room and that the folder may be written to", path.display())]
    Io {
        /// A verb: "make the folder", "write" …
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    #[error("RocksDB could not {action} in {}: {source}", path.display())]
    RocksDb {
        /// A verb: "open its database", "read" …
        action: &'static str,
        path: PathBuf,
        source: rocksdb::Error,
    },

    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl StateError {
    pub(crate) fn inexact(key: &Key, sum: Decimal, value: Decimal) -> Self {
        Self::Inexact {
            key: key.clone(),
            sum,
            value,
        }
    }

    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

impl From<Malformed> for StateError {
    fn from(Malformed(reason): Malformed) -> Self {
        Self::Malformed { reason }
    }
}
