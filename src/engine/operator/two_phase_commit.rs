//! The two-phase commit sink: what it writes becomes visible with the checkpoint that contains its effect.
//!
//! This is the protocol of Flink's `TwoPhaseCommitSinkFunction`. At the barrier of checkpoint `n` the current transaction
//! is *pre-committed*: flushed and closed, so that committing it cannot fail for want of data. It is filed under `n`,
//! and a new one begins. Both go into the state. The news that `n` is complete commits everything up to `n`. The news
//! that `n` was aborted does nothing: what is filed waits for the next completed checkpoint. A restored sink commits what
//! its checkpoint has filed (once more, perhaps), and aborts what was current.

use super::sink::{External, TransactionError};
use crate::engine::event::TransactionEnd;
use crate::engine::storage::{Distribution, ListState};
use crate::model::{CheckpointId, Record, SubtaskId, TransactionId};

/// One subtask of a two-phase commit sink.
#[derive(Debug)]
pub struct TwoPhaseCommit {
    ignore_failures_after_timeout: bool,
    /// What the restored checkpoint holds, until [`TwoPhaseCommit::open`]. After a change of parallelism it may be the
    /// state of several former subtasks, or of none.
    restored: Vec<Saved>,
    current: Option<TransactionId>,
    /// Pre-committed and not yet committed, by checkpoint, in order.
    pending: Vec<(CheckpointId, TransactionId)>,
}

/// One element of the list state (Flink: `TwoPhaseCommitSinkFunction.State`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Saved {
    current: Option<TransactionId>,
    pending: Vec<TransactionId>,
}

/// What an encoded id takes: the subtask (4 bytes) and the number (8), big-endian.
const ID_BYTES: usize = 12;

impl TwoPhaseCommit {
    /// The name of its operator state.
    pub const LIST: &'static str = "transactions";

    /// With the elements of its list state in a checkpoint.
    #[must_use]
    pub fn new<'a>(
        ignore_failures_after_timeout: bool,
        elements: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        Self {
            ignore_failures_after_timeout,
            restored: elements.into_iter().filter_map(Saved::decode).collect(),
            current: None,
            pending: Vec::new(),
        }
    }

    /// The transactions of the restored checkpoint.
    pub fn restored(&self) -> impl Iterator<Item = TransactionId> {
        let ids = |saved: &Saved| saved.pending.clone().into_iter().chain(saved.current);
        self.restored.iter().flat_map(ids)
    }

    /// Begin: commit what the restored checkpoint had pre-committed, abort what was current in it, and start anew
    /// (Flink: `initializeState`).
    ///
    /// # Errors
    /// A commit failed. The data are lost if that never changes.
    pub fn open<E: External>(&mut self, out: &mut E) -> Result<(), TransactionError> {
        for saved in std::mem::take(&mut self.restored) {
            for transaction in saved.pending {
                match out.commit(transaction) {
                    Err(TransactionError::Aborted(_, TransactionEnd::TimedOut))
                        if self.ignore_failures_after_timeout => {}
                    result => result?,
                }
            }
            if let Some(transaction) = saved.current {
                out.abort_transaction(transaction, TransactionEnd::RecoverAndAbort);
            }
        }
        self.current = Some(out.begin_transaction());
        Ok(())
    }

    /// Write into the current transaction.
    ///
    /// # Errors
    /// It is not open any more.
    pub fn write<E: External>(
        &mut self,
        record: Record,
        out: &mut E,
    ) -> Result<(), TransactionError> {
        match self.current {
            Some(transaction) => out.write(transaction, record),
            None => Ok(()),
        }
    }

    /// Pre-commit the current transaction for `checkpoint` and begin the next one; none after the end of the data.
    ///
    /// # Errors
    /// It cannot be pre-committed: the task fails.
    pub fn snapshot<E: External>(
        &mut self,
        checkpoint: CheckpointId,
        is_at_end: bool,
        out: &mut E,
    ) -> Result<(), TransactionError> {
        if let Some(transaction) = self.current {
            out.pre_commit(transaction, checkpoint)?;
            self.pending.push((checkpoint, transaction));
            self.current = (!is_at_end).then(|| out.begin_transaction());
        }
        Ok(())
    }

    /// Commit all that was pre-committed up to `checkpoint`, also that of checkpoints which never completed. All are tried.
    ///
    /// # Errors
    /// The first that failed: the task fails.
    pub fn on_complete<E: External>(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut E,
    ) -> Result<(), TransactionError> {
        let of_it = |(filed, _): &(CheckpointId, TransactionId)| *filed <= checkpoint;
        let (due, later) = self.pending.iter().partition(|entry| of_it(entry));
        self.pending = later;
        let due: Vec<(CheckpointId, TransactionId)> = due;
        due.into_iter()
            .map(|(_, transaction)| out.commit(transaction))
            .fold(Ok(()), Result::and)
    }

    /// The task ends: nobody will pre-commit what is open (Flink: `close`). What is pre-committed stays.
    pub fn close<E: External>(&mut self, out: &mut E) {
        if let Some(transaction) = self.current.take() {
            out.abort_transaction(transaction, TransactionEnd::TaskClosed);
        }
    }

    /// One element: the current transaction and all that are pending.
    #[must_use]
    pub fn list_state(&self) -> ListState {
        let saved = Saved {
            current: self.current,
            pending: self.pending.iter().map(|(_, id)| *id).collect(),
        };
        ListState {
            name: Self::LIST.to_owned(),
            distribution: Distribution::Split,
            elements: vec![saved.encode().into()],
        }
    }

    /// Transaction ids in an element of [`TwoPhaseCommit::list_state`], for people: the current one and the pending.
    /// None: it is no such element.
    #[must_use]
    pub fn read_element(element: &[u8]) -> Option<(Option<TransactionId>, Vec<TransactionId>)> {
        Saved::decode(element).map(|saved| (saved.current, saved.pending))
    }
}

impl Saved {
    /// Whether there is a current one (1 byte), then all ids, the current one first.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.current.is_some())];
        for id in self.current.iter().chain(&self.pending) {
            bytes.extend_from_slice(&id.subtask.0.to_be_bytes());
            bytes.extend_from_slice(&id.number.to_be_bytes());
        }
        bytes
    }

    fn decode(element: &[u8]) -> Option<Self> {
        let (has_current, ids) = element.split_first()?;
        let read = |bytes: &[u8]| {
            let (subtask, number) = bytes.split_first_chunk::<4>()?;
            Some(TransactionId {
                subtask: SubtaskId(u32::from_be_bytes(*subtask)),
                number: u64::from_be_bytes(number.try_into().ok()?),
            })
        };
        let mut ids = ids.chunks(ID_BYTES).map(read);
        let current = match has_current {
            0 => None,
            1 => Some(ids.next()??),
            _ => return None,
        };
        Some(Self {
            current,
            pending: ids.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests;
