//! The outside systems of a stepped job's sinks: they stand beside the job, and no failure of it touches them.

use super::net::Turn;
use super::{Action, Stepper};
use crate::engine::driver::outside::{Commit, Outside};
use crate::engine::event::{EventKind, TransactionEnd};
use crate::engine::operator::{External, TransactionError};
use crate::engine::plan::ExecutionGraph;
use crate::model::{CheckpointId, FaultKind, Key, Record, SubtaskId, TransactionId};

/// All of them, one for each sink.
#[derive(Default)]
pub struct Outsides {
    /// By subtask.
    places: Vec<Option<usize>>,
    systems: Vec<Outside>,
}

impl Outsides {
    pub fn of(plan: &ExecutionGraph) -> Self {
        let (places, systems) = Outside::all(plan, usize::MAX);
        Self { places, systems }
    }

    pub fn of_subtask(&self, subtask: SubtaskId) -> Option<&Outside> {
        let place = *self.places.get(subtask.index())?;
        self.systems.get(place?)
    }

    fn of_subtask_mut(&mut self, subtask: SubtaskId) -> Option<&mut Outside> {
        let place = *self.places.get(subtask.index())?;
        self.systems.get_mut(place?)
    }

    /// The restored state of `subtask` tells of these.
    pub fn make_known(&mut self, subtask: SubtaskId, transactions: Vec<TransactionId>) {
        if let Some(outside) = self.of_subtask_mut(subtask) {
            transactions
                .into_iter()
                .for_each(|id| outside.make_known(id));
        }
    }

    /// The moment at which each transaction's time is over, if it is not committed by then.
    pub fn timeouts(&self) -> impl Iterator<Item = (u64, Action)> + '_ {
        let all = self.systems.iter().flat_map(Outside::timeouts);
        all.map(|(id, at_us)| (at_us, Action::TimeOut(id)))
    }
}

impl Stepper {
    /// The outside system's patience with this transaction ends.
    pub(super) fn time_out(&mut self, transaction: TransactionId) {
        let subtask = transaction.subtask;
        let why = TransactionEnd::TimedOut;
        let outside = self.net.outside.of_subtask_mut(subtask);
        if outside.is_some_and(|outside| outside.abort(transaction, why)) {
            self.net.record(EventKind::TransactionAborted {
                subtask,
                transaction,
                why,
            });
        }
    }
}

impl Turn<'_> {
    fn outside(&mut self, id: TransactionId) -> Result<&mut Outside, TransactionError> {
        let outside = self.net.outside.of_subtask_mut(self.subtask);
        outside.ok_or(TransactionError::NotOpen(id))
    }

    fn try_commit(&mut self, id: TransactionId) -> Result<Commit, TransactionError> {
        let is_meant = |kind| kind == FaultKind::Commit;
        if self.net.strike(Some(self.subtask), is_meant).is_some() {
            return Err(TransactionError::Refused(id));
        }
        self.outside(id)?.commit(id)
    }
}

impl External for Turn<'_> {
    fn on_buffered(&mut self, record: &Record) {
        let (subtask, record) = (self.subtask, record.clone());
        self.net.record(EventKind::Buffered { subtask, record });
    }

    fn on_buffer_flushed(&mut self) {
        let subtask = self.subtask;
        self.net.record(EventKind::BufferFlushed { subtask });
    }

    fn let_out(&mut self, record: Record) {
        let subtask = self.subtask;
        self.net.record(EventKind::Collected {
            subtask,
            record,
            transaction: None,
        });
    }

    fn overwrite(&mut self, key: Key, record: Record) {
        if let Some(outside) = self.net.outside.of_subtask_mut(self.subtask) {
            outside.overwrite(key, record.clone());
        }
        self.let_out(record);
    }

    fn begin_transaction(&mut self) -> TransactionId {
        let (subtask, now_us) = (self.subtask, self.net.now_us);
        let Some(outside) = self.net.outside.of_subtask_mut(subtask) else {
            // Only sinks begin transactions, and each sink has an outside system.
            return TransactionId { subtask, number: 0 };
        };
        let begun = outside.begin(subtask, now_us);
        for fenced in begun.fenced {
            self.net.record(EventKind::TransactionAborted {
                subtask,
                transaction: fenced,
                why: TransactionEnd::Fenced,
            });
        }
        self.net.record(EventKind::TransactionBegun {
            subtask,
            transaction: begun.transaction,
            timeout_us: begun.timeout_us,
        });
        begun.transaction
    }

    fn write(&mut self, id: TransactionId, record: Record) -> Result<(), TransactionError> {
        self.outside(id)?.write(id, [record.clone()])?;
        let subtask = self.subtask;
        self.net.record(EventKind::Collected {
            subtask,
            record,
            transaction: Some(id),
        });
        Ok(())
    }

    fn pre_commit(
        &mut self,
        id: TransactionId,
        checkpoint: CheckpointId,
    ) -> Result<(), TransactionError> {
        self.outside(id)?.pre_commit(id, checkpoint)?;
        let subtask = self.subtask;
        self.net.record(EventKind::PreCommitted {
            subtask,
            transaction: id,
            checkpoint,
        });
        Ok(())
    }

    fn commit(&mut self, id: TransactionId) -> Result<(), TransactionError> {
        let subtask = self.subtask;
        let result = self.try_commit(id);
        self.net.record(match &result {
            Ok(commit) => EventKind::Committed {
                subtask,
                transaction: id,
                again: *commit == Commit::Again,
            },
            Err(error) => EventKind::CommitFailed {
                subtask,
                transaction: id,
                reason: error.to_string(),
            },
        });
        result.map(|_| ())
    }

    fn abort_transaction(&mut self, id: TransactionId, why: TransactionEnd) {
        let subtask = self.subtask;
        if self.outside(id).is_ok_and(|outside| outside.abort(id, why)) {
            self.net.record(EventKind::TransactionAborted {
                subtask,
                transaction: id,
                why,
            });
        }
    }
}
