//! What RocksDB leaves out when it compacts by itself: cells that have expired (Flink: `FlinkCompactionFilter`).
//!
//! In the stepper RocksDB does nothing by itself and the filter is never armed: when an entry goes does not depend on
//! threads there. See [`super::RocksDbBackend::compact`] for what goes in a merge that the engine asks for.
//!
//! A compaction sees *some* version of a cell, perhaps an old one. So it is never known from here what is gone, and nothing
//! is counted.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocksdb::CompactionDecision;
use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};

use super::database::read_prefixed;
use crate::engine::state::cell::{CellId, read_entries};
use crate::engine::state::codec::Slot;
use crate::engine::state::ttl::Deadline;

const NAME: &CStr = c"lockgate-ttl";

/// So many lists at most wait to be cut. The others are found by the next compaction.
const MAX_TO_CUT: usize = 1024;

/// What the engine and RocksDB's threads share.
#[derive(Clone, Debug, Default)]
pub(super) struct TtlFilter(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    /// None: everything stays.
    deadline: Option<Deadline>,
    /// Lists that begin with elements that have expired. Flink's filter cuts them (`ListDecide`); the binding to RocksDB
    /// takes new values from memory that is never freed only, so that the engine has to.
    to_cut: BTreeSet<CellId>,
}

impl TtlFilter {
    /// From now on, what has expired by then goes. Lists that were found since the last call and are to be cut.
    pub(super) fn arm(&self, deadline: Deadline) -> BTreeSet<CellId> {
        let mut shared = self.lock();
        shared.deadline = Some(deadline);
        std::mem::take(&mut shared.to_cut)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CompactionFilterFactory for TtlFilter {
    type Filter = Sieve;

    fn create(&mut self, _context: CompactionFilterContext) -> Sieve {
        Sieve {
            deadline: self.lock().deadline,
            filter: self.clone(),
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

/// The filter of one compaction, which has one time.
pub(super) struct Sieve {
    deadline: Option<Deadline>,
    filter: TtlFilter,
}

impl Sieve {
    /// None: it is no cell, or cannot be read. Whoever reads it will say so.
    fn decide(&self, encoded: &[u8], value: &[u8]) -> Option<CompactionDecision> {
        let deadline = self.deadline?;
        let Ok((_, Slot::Cell(id))) = read_prefixed(encoded) else {
            return None;
        };
        let entries = read_entries(value).ok()?;
        let count = entries.len();
        let left = Deadline::cut(Some(deadline), entries).len();
        if left == 0 {
            return Some(CompactionDecision::Remove);
        }
        if left < count {
            let mut shared = self.filter.lock();
            if shared.to_cut.len() < MAX_TO_CUT {
                shared.to_cut.insert(id);
            }
        }
        Some(CompactionDecision::Keep)
    }
}

impl CompactionFilter for Sieve {
    fn filter(&mut self, _level: u32, encoded: &[u8], value: &[u8]) -> CompactionDecision {
        let decision = self.decide(encoded, value);
        decision.unwrap_or(CompactionDecision::Keep)
    }

    fn name(&self) -> &CStr {
        NAME
    }
}
