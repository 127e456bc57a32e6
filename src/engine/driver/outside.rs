//! The system outside the job that a sink writes to: its transactions and its table. Both drivers have one for each
//! sink; it outlives every attempt of the job.
//!
//! A transaction is open, then pre-committed, then committed or aborted; a committed one stays so. One that is not
//! committed in time is aborted by the system itself, whether it is pre-committed or not (Kafka:
//! `transaction.timeout.ms`, counted from its beginning). A subtask that begins a transaction proves that it is the
//! newest one of its name: what an older one has left *open* is aborted (Kafka: fencing). What was left *pre-committed*
//! without being part of a restored checkpoint is only ended by its timeout.

use std::collections::BTreeMap;

use crate::engine::event::TransactionEnd;
use crate::engine::operator::TransactionError;
use crate::engine::plan::ExecutionGraph;
use crate::model::{CheckpointId, Key, OperatorSpec, Record, SinkKind, SubtaskId, TransactionId};

/// The outside system of one sink, all its subtasks together.
#[derive(Debug, Default)]
pub struct Outside {
    timeout_us: u64,
    /// So many records of one transaction are kept at most; all are counted.
    max_records: usize,
    /// The number of the newest transaction of each subtask.
    newest: BTreeMap<SubtaskId, u64>,
    uncommitted: BTreeMap<TransactionId, Transaction>,
    /// How the others ended; none: committed.
    ended: BTreeMap<TransactionId, Option<TransactionEnd>>,
    /// Of an upsert sink: the newest record of each key.
    table: BTreeMap<Key, Record>,
}

/// A transaction that is not committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction {
    pub stage: Stage,
    /// When the system aborts it; none: it is of an earlier run.
    pub timeout_us: Option<u64>,
    pub count: u64,
    pub records: Vec<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Open,
    PreCommitted(CheckpointId),
    /// Known from the checkpoint of an earlier run only: its records are in that run's outside system.
    Foreign,
}

/// A transaction that has just begun.
#[derive(Debug)]
pub struct Begun {
    pub transaction: TransactionId,
    pub timeout_us: u64,
    /// What its beginning has aborted.
    pub fenced: Vec<TransactionId>,
}

/// What a commit has made visible.
#[derive(Debug, PartialEq)]
pub enum Commit {
    Now {
        count: u64,
        records: Vec<Record>,
    },
    /// It was committed before.
    Again,
}

impl Outside {
    /// By subtask: the place of its sink's outside system in the second list; none: it is no sink.
    #[must_use]
    pub fn all(plan: &ExecutionGraph, max_records: usize) -> (Vec<Option<usize>>, Vec<Self>) {
        let (mut places, mut systems) = (Vec::new(), Vec::new());
        for subtask in &plan.subtasks {
            let OperatorSpec::Sink(spec) = &subtask.operator else {
                places.push(None);
                continue;
            };
            if subtask.index == 0 {
                let timeout_us = match spec.kind {
                    SinkKind::TwoPhaseCommit {
                        transaction_timeout_ms,
                        ..
                    } => transaction_timeout_ms.saturating_mul(1000),
                    SinkKind::Plain | SinkKind::Upsert | SinkKind::Buffering { .. } => u64::MAX,
                };
                systems.push(Self {
                    timeout_us,
                    max_records,
                    ..Self::default()
                });
            }
            places.push(systems.len().checked_sub(1));
        }
        (places, systems)
    }

    /// A restored checkpoint tells of this transaction: its number is taken, even if an earlier run began it.
    pub fn make_known(&mut self, id: TransactionId) {
        let newest = self.newest.entry(id.subtask).or_default();
        *newest = (*newest).max(id.number);
        if !self.ended.contains_key(&id) {
            let foreign = Transaction {
                stage: Stage::Foreign,
                timeout_us: None,
                count: 0,
                records: Vec::new(),
            };
            self.uncommitted.entry(id).or_insert(foreign);
        }
    }

    pub fn begin(&mut self, subtask: SubtaskId, now_us: u64) -> Begun {
        let of_subtask = |id: &TransactionId| id.subtask == subtask;
        let left_open = self
            .uncommitted
            .iter()
            .filter(|(id, transaction)| of_subtask(id) && transaction.stage == Stage::Open);
        let fenced: Vec<TransactionId> = left_open.map(|(id, _)| *id).collect();
        for id in &fenced {
            self.abort(*id, TransactionEnd::Fenced);
        }
        let newest = self.newest.entry(subtask).or_default();
        *newest += 1;
        let number = *newest;
        let transaction = TransactionId { subtask, number };
        let timeout_us = now_us.saturating_add(self.timeout_us);
        let begun = Transaction {
            stage: Stage::Open,
            timeout_us: Some(timeout_us),
            count: 0,
            records: Vec::new(),
        };
        self.uncommitted.insert(transaction, begun);
        Begun {
            transaction,
            timeout_us,
            fenced,
        }
    }

    /// # Errors
    /// It is not open.
    pub fn write(
        &mut self,
        id: TransactionId,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<(), TransactionError> {
        let max_records = self.max_records;
        let transaction = self.open(id)?;
        for record in records {
            transaction.count += 1;
            if transaction.records.len() < max_records {
                transaction.records.push(record);
            }
        }
        Ok(())
    }

    /// # Errors
    /// It is not open.
    pub fn pre_commit(
        &mut self,
        id: TransactionId,
        checkpoint: CheckpointId,
    ) -> Result<(), TransactionError> {
        self.open(id)?.stage = Stage::PreCommitted(checkpoint);
        Ok(())
    }

    fn open(&mut self, id: TransactionId) -> Result<&mut Transaction, TransactionError> {
        let not_open = match self.ended.get(&id) {
            Some(Some(end)) => TransactionError::Aborted(id, *end),
            Some(None) | None => TransactionError::NotOpen(id),
        };
        let transaction = self.uncommitted.get_mut(&id);
        transaction
            .filter(|transaction| transaction.stage == Stage::Open)
            .ok_or(not_open)
    }

    /// # Errors
    /// It was aborted.
    pub fn commit(&mut self, id: TransactionId) -> Result<Commit, TransactionError> {
        match self.ended.get(&id) {
            Some(None) => return Ok(Commit::Again),
            Some(Some(end)) => return Err(TransactionError::Aborted(id, *end)),
            None => {}
        }
        let transaction = self
            .uncommitted
            .remove(&id)
            .ok_or(TransactionError::NotOpen(id))?;
        self.ended.insert(id, None);
        Ok(Commit::Now {
            count: transaction.count,
            records: transaction.records,
        })
    }

    /// False: it had ended before, and stays as it is.
    pub fn abort(&mut self, id: TransactionId, why: TransactionEnd) -> bool {
        let is_news = self.uncommitted.remove(&id).is_some();
        if is_news {
            self.ended.insert(id, Some(why));
        }
        is_news
    }

    /// Abort those whose time is over; returns them.
    pub fn time_out(&mut self, now_us: u64) -> Vec<TransactionId> {
        let over = self.timeouts().filter(|(_, at_us)| *at_us <= now_us);
        let over: Vec<TransactionId> = over.map(|(id, _)| id).collect();
        for id in &over {
            self.abort(*id, TransactionEnd::TimedOut);
        }
        over
    }

    /// When the system aborts those that are not committed.
    pub fn timeouts(&self) -> impl Iterator<Item = (TransactionId, u64)> + '_ {
        let transactions = self.uncommitted.iter();
        transactions.filter_map(|(id, transaction)| Some((*id, transaction.timeout_us?)))
    }

    /// Set the value of a key.
    pub fn overwrite(&mut self, key: Key, record: Record) {
        self.table.insert(key, record);
    }

    #[must_use]
    pub fn uncommitted(&self) -> &BTreeMap<TransactionId, Transaction> {
        &self.uncommitted
    }

    #[must_use]
    pub fn table(&self) -> &BTreeMap<Key, Record> {
        &self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Decimal, EventTime, Origin, SplitId};

    const SINK: SubtaskId = SubtaskId(4);

    fn outside(timeout_us: u64) -> Outside {
        Outside {
            timeout_us,
            max_records: 2,
            ..Outside::default()
        }
    }

    fn record(offset: u64) -> Record {
        let split = SplitId(0);
        Record {
            key: None,
            value: Decimal::from(offset),
            origin: Origin { split, offset },
            event_time: EventTime::NONE,
        }
    }

    #[test]
    fn a_commit_makes_records_visible_once() {
        let mut outside = outside(100);
        let id = outside.begin(SINK, 0).transaction;
        outside.write(id, (1..=3).map(record)).unwrap();
        outside.pre_commit(id, CheckpointId(1)).unwrap();
        assert_eq!(
            outside.write(id, [record(9)]),
            Err(TransactionError::NotOpen(id))
        );
        let records = vec![record(1), record(2)];
        assert_eq!(
            outside.commit(id),
            Ok(Commit::Now { count: 3, records }),
            "more are counted than kept"
        );
        assert_eq!(outside.commit(id), Ok(Commit::Again));
        assert!(!outside.abort(id, TransactionEnd::RecoverAndAbort));
        assert_eq!(outside.commit(id), Ok(Commit::Again));
    }

    #[test]
    fn time_ends_open_and_pre_committed_transactions_but_not_committed_ones() {
        let mut outside = outside(100);
        let [committed, filed, open] = [0, 0, 10].map(|at| {
            let id = outside.begin(SINK, at).transaction;
            let checkpoint = CheckpointId(1);
            if at == 0 {
                outside.pre_commit(id, checkpoint).unwrap();
            }
            id
        });
        outside.commit(committed).unwrap();
        assert_eq!(outside.time_out(99), []);
        assert_eq!(outside.time_out(100), [filed]);
        assert_eq!(outside.time_out(110), [open]);
        let end = TransactionEnd::TimedOut;
        assert_eq!(
            outside.commit(filed),
            Err(TransactionError::Aborted(filed, end))
        );
        assert_eq!(
            outside.write(open, [record(1)]),
            Err(TransactionError::Aborted(open, end))
        );
        assert_eq!(outside.commit(committed), Ok(Commit::Again));
    }

    #[test]
    fn a_beginning_fences_what_the_same_subtask_left_open_and_nothing_else() {
        let mut outside = outside(100);
        let other = outside.begin(SubtaskId(5), 0).transaction;
        let filed = outside.begin(SINK, 0).transaction;
        outside.pre_commit(filed, CheckpointId(1)).unwrap();
        let open = outside.begin(SINK, 0).transaction;
        let begun = outside.begin(SINK, 0);
        assert_eq!(begun.fenced, [open]);
        assert!(outside.abort(other, TransactionEnd::TaskClosed));
        assert!(outside.abort(filed, TransactionEnd::TimedOut));
    }

    /// Breaks if a job that starts from a savepoint gives a new transaction the id of one that the savepoint holds.
    #[test]
    fn the_numbers_of_an_earlier_run_are_not_used_again() {
        let mut outside = outside(100);
        let old = TransactionId {
            subtask: SINK,
            number: 7,
        };
        outside.make_known(old);
        assert_eq!(outside.begin(SINK, 0).transaction.number, 8);
        assert_eq!(outside.time_out(u64::MAX - 1).len(), 1, "not the old one");
        assert!(matches!(
            outside.commit(old),
            Ok(Commit::Now { count: 0, .. })
        ));
        outside.make_known(old);
        assert_eq!(outside.commit(old), Ok(Commit::Again));
    }
}
