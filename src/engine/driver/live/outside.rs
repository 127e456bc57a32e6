//! The outside systems of a live job's sinks: shared by all attempts, and locked once per buffer.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::wire::{MAX_KEPT_RECORDS, Report, Wire};
use crate::engine::driver::outside::{Commit, Outside};
use crate::engine::driver::resources::Prepared;
use crate::engine::event::{EventKind, TransactionEnd};
use crate::engine::operator::{External, TransactionError};
use crate::engine::plan::{ExecutionGraph, SubtaskPlan};
use crate::model::{
    CheckpointId, FaultKind, Key, OperatorSpec, Record, SinkKind, SubtaskId, TransactionId, Uid,
};

/// All of them, one for each sink, and the clock by which their timeouts run.
pub struct Outsides {
    started: Instant,
    /// By subtask.
    places: Vec<Option<usize>>,
    systems: Vec<Mutex<Outside>>,
}

impl Outsides {
    pub fn of(plan: &ExecutionGraph, started: Instant) -> Self {
        let (places, systems) = Outside::all(plan, MAX_KEPT_RECORDS);
        Self {
            started,
            places,
            systems: systems.into_iter().map(Mutex::new).collect(),
        }
    }

    pub fn of_subtask(&self, subtask: SubtaskId) -> Option<MutexGuard<'_, Outside>> {
        let place = *self.places.get(subtask.index())?;
        self.systems.get(place?).map(lock)
    }

    /// What the restored states tell of.
    pub fn make_known(&self, plan: &ExecutionGraph, prepared: &[Prepared]) {
        for (subtask, prepared) in plan.subtasks.iter().zip(prepared) {
            if let Some(mut outside) = self.of_subtask(subtask.id) {
                let known = prepared.operator.restored_transactions();
                known.into_iter().for_each(|id| outside.make_known(id));
            }
        }
    }

    pub fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// What readers see of each upsert sink.
    pub fn tables(&self, plan: &ExecutionGraph) -> BTreeMap<Uid, BTreeMap<Key, Record>> {
        let is_upsert = |subtask: &&SubtaskPlan| matches!(&subtask.operator, OperatorSpec::Sink(spec) if spec.kind == SinkKind::Upsert);
        let first = plan.subtasks.iter().filter(|subtask| subtask.index == 0);
        first
            .filter(is_upsert)
            .filter_map(|subtask| {
                let table = self.of_subtask(subtask.id)?.table().clone();
                Some((subtask.uid.clone(), table))
            })
            .collect()
    }

    /// The systems abort what is not committed in time.
    pub fn time_out(&self) -> Vec<EventKind> {
        let now_us = self.now_us();
        let over = self
            .systems
            .iter()
            .flat_map(|outside| lock(outside).time_out(now_us));
        over.map(|transaction| aborted(transaction.subtask, transaction, TransactionEnd::TimedOut))
            .collect()
    }
}

fn lock(outside: &Mutex<Outside>) -> MutexGuard<'_, Outside> {
    outside.lock().unwrap_or_else(PoisonError::into_inner)
}

fn aborted(subtask: SubtaskId, transaction: TransactionId, why: TransactionEnd) -> EventKind {
    EventKind::TransactionAborted {
        subtask,
        transaction,
        why,
    }
}

impl<'a> Wire<'a> {
    fn outside(
        &self,
        transaction: TransactionId,
    ) -> Result<MutexGuard<'a, Outside>, TransactionError> {
        let outside = self.outsides.of_subtask(self.id);
        outside.ok_or(TransactionError::NotOpen(transaction))
    }

    /// Hand the collected records to the outside system.
    pub fn flush_collected(&mut self) {
        let Some(transaction) = self.transaction else {
            if self.is_upsert
                && let Some(mut outside) = self.outsides.of_subtask(self.id)
            {
                for record in &self.collected {
                    if let Some(key) = &record.key {
                        outside.overwrite(key.clone(), record.clone());
                    }
                }
            }
            let count = self.collected.len() as u64;
            return self.meter.collect(count, self.collected.drain(..));
        };
        let result = self
            .outside(transaction)
            .and_then(|mut outside| outside.write(transaction, self.collected.drain(..)));
        if let Err(error) = result {
            self.collected.clear();
            self.write_failure.get_or_insert(error);
        }
    }

    fn tell_of(&mut self, event: EventKind) {
        self.report(Report::Event(event));
    }
}

impl External for Wire<'_> {
    #[inline]
    fn let_out(&mut self, record: Record) {
        self.collected.push(record);
    }

    #[inline]
    fn overwrite(&mut self, _key: Key, record: Record) {
        self.is_upsert = true;
        self.collected.push(record);
    }

    fn begin_transaction(&mut self) -> TransactionId {
        let subtask = self.id;
        let now_us = self.outsides.now_us();
        let begun = self
            .outsides
            .of_subtask(subtask)
            .map(|mut outside| outside.begin(subtask, now_us));
        let Some(begun) = begun else {
            // Only sinks begin transactions, and each sink has an outside system.
            return TransactionId { subtask, number: 0 };
        };
        for fenced in begun.fenced {
            self.tell_of(aborted(subtask, fenced, TransactionEnd::Fenced));
        }
        self.tell_of(EventKind::TransactionBegun {
            subtask,
            transaction: begun.transaction,
            timeout_us: begun.timeout_us,
        });
        begun.transaction
    }

    #[inline]
    fn write(&mut self, id: TransactionId, record: Record) -> Result<(), TransactionError> {
        if let Some(failure) = self.write_failure {
            return Err(failure);
        }
        self.transaction = Some(id);
        self.collected.push(record);
        Ok(())
    }

    fn pre_commit(
        &mut self,
        id: TransactionId,
        checkpoint: CheckpointId,
    ) -> Result<(), TransactionError> {
        self.flush_collected();
        self.transaction = None;
        self.write_failure.map_or(Ok(()), Err)?;
        self.outside(id)?.pre_commit(id, checkpoint)?;
        let subtask = self.id;
        self.tell_of(EventKind::PreCommitted {
            subtask,
            transaction: id,
            checkpoint,
        });
        Ok(())
    }

    fn commit(&mut self, id: TransactionId) -> Result<(), TransactionError> {
        let subtask = self.id;
        let is_meant = |kind| kind == FaultKind::Commit;
        let result = match self.faults.strike(Some(subtask), is_meant) {
            Some(_) => Err(TransactionError::Refused(id)),
            None => self.outside(id).and_then(|mut outside| outside.commit(id)),
        };
        self.tell_of(match &result {
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
        if let Commit::Now { count, records } = result? {
            self.meter.collect(count, records);
        }
        Ok(())
    }

    fn abort_transaction(&mut self, id: TransactionId, why: TransactionEnd) {
        if self.transaction == Some(id) {
            self.collected.clear();
            self.transaction = None;
        }
        let is_news = self
            .outside(id)
            .is_ok_and(|mut outside| outside.abort(id, why));
        if is_news {
            self.tell_of(aborted(self.id, id, why));
        }
    }
}
