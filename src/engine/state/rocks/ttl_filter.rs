//! What RocksDB leaves out when it compacts: cells that have expired (Flink: `FlinkCompactionFilter`).
//!
//! The filter is asleep except in a compaction that the engine asks for, which brings the time. RocksDB's own compactions
//! keep everything, so that when an entry goes does not depend on threads.

use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocksdb::CompactionDecision;
use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};

use super::database::read_prefixed;
use crate::engine::state::cell::{CellId, read_entries};
use crate::engine::state::codec::{Slot, Stored};
use crate::engine::state::ttl::Deadline;

const NAME: &CStr = c"lockgate-ttl";

/// What the engine and RocksDB's threads share.
#[derive(Clone, Debug, Default)]
pub(super) struct TtlFilter(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    /// None: everything stays.
    deadline: Option<Deadline>,
    dropped: Vec<(CellId, Stored)>,
}

impl TtlFilter {
    /// From now on, what has expired by then goes.
    pub(super) fn arm(&self, deadline: Option<Deadline>) {
        self.lock().deadline = deadline;
    }

    /// Everything stays again; what went meanwhile.
    pub(super) fn disarm(&self) -> Vec<(CellId, Stored)> {
        let mut shared = self.lock();
        shared.deadline = None;
        std::mem::take(&mut shared.dropped)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cell, if it has expired as a whole. What cannot be read stays: whoever reads it will say so.
    fn expired(&self, encoded: &[u8], value: &[u8]) -> Option<(CellId, Stored)> {
        let deadline = self.lock().deadline?;
        let Ok((_, Slot::Cell(id))) = read_prefixed(encoded) else {
            return None;
        };
        let entries = read_entries(value).ok()?;
        let alive = Deadline::keep(Some(deadline), entries.clone());
        alive.is_empty().then_some((id, Stored::Cell(entries)))
    }
}

impl CompactionFilterFactory for TtlFilter {
    type Filter = Self;

    fn create(&mut self, _context: CompactionFilterContext) -> Self {
        self.clone()
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

impl CompactionFilter for TtlFilter {
    fn filter(&mut self, _level: u32, encoded: &[u8], value: &[u8]) -> CompactionDecision {
        match self.expired(encoded, value) {
            Some(cell) => {
                self.lock().dropped.push(cell);
                CompactionDecision::Remove
            }
            None => CompactionDecision::Keep,
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}
