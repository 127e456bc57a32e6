//! A sink takes what reaches it out of the job.

use super::two_phase_commit::TwoPhaseCommit;
use crate::engine::event::TransactionEnd;
use crate::engine::in_flight;
use crate::engine::storage::{Distribution, ListState};
use crate::engine::subtask::TaskFailure;
use crate::model::{CheckpointId, Key, Record, SinkKind, TransactionId};

/// The system outside the job that a sink subtask writes to. It outlives the subtask, and the job.
pub trait External {
    /// Let `record` out for good: nothing takes it back.
    fn let_out(&mut self, record: Record);
    /// Let it out as the newest value of `key`, in the place of the older one.
    fn overwrite(&mut self, key: Key, record: Record);

    /// Open a transaction with a new id. Older ones that this subtask has left open are aborted (Kafka: fencing).
    fn begin_transaction(&mut self) -> TransactionId;
    /// Write into an open transaction: nobody outside sees it yet.
    ///
    /// # Errors
    /// The transaction is not open any more.
    fn write(&mut self, transaction: TransactionId, record: Record)
    -> Result<(), TransactionError>;
    /// Flush and close it, so that it can be committed whatever happens (Flink: `preCommit`).
    ///
    /// # Errors
    /// The transaction is not open any more.
    fn pre_commit(
        &mut self,
        transaction: TransactionId,
        checkpoint: CheckpointId,
    ) -> Result<(), TransactionError>;
    /// Make it visible, all at once. Once more changes nothing.
    ///
    /// # Errors
    /// It was aborted meanwhile, or the system refuses.
    fn commit(&mut self, transaction: TransactionId) -> Result<(), TransactionError>;
    /// Forget what was written into it. Once more, or after a commit, changes nothing.
    fn abort_transaction(&mut self, transaction: TransactionId, why: TransactionEnd);

    /// For recordings: the sink holds `record` back.
    fn on_buffered(&mut self, _record: &Record) {}
    /// For recordings: all that it has held back comes out now.
    fn on_buffer_flushed(&mut self) {}
}

/// Why the outside system did not do what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    #[error("transaction {0} was aborted, because {why}", why = reason(*.1))]
    Aborted(TransactionId, TransactionEnd),
    #[error("transaction {0} is closed")]
    NotOpen(TransactionId),
    #[error("the outside system refused to commit transaction {0}")]
    Refused(TransactionId),
}

fn reason(end: TransactionEnd) -> &'static str {
    match end {
        TransactionEnd::TaskClosed => "its task had ended",
        TransactionEnd::RecoverAndAbort => "its checkpoint was restored",
        TransactionEnd::Fenced => "its successor had begun",
        TransactionEnd::TimedOut => "its time was over",
    }
}

/// One sink subtask.
#[derive(Debug)]
pub enum Sink {
    /// It has no state, and what it has taken is out of the job.
    Plain,
    /// The same, but a repeated record overwrites itself.
    Upsert,
    TwoPhaseCommit(TwoPhaseCommit),
    /// Records wait until there are `threshold` of them.
    Buffering {
        threshold: usize,
        buffer: Vec<Record>,
    },
}

impl Sink {
    /// The name of a buffering sink's operator state (Flink's documentation, too).
    pub const BUFFER_LIST: &'static str = "buffered-elements";

    /// A buffering sink, with the records of a checkpoint. They wait like the others, even if they are more than enough.
    #[must_use]
    pub fn buffering(threshold: u32, buffer: Vec<Record>) -> Self {
        Self::Buffering {
            threshold: threshold as usize,
            buffer,
        }
    }

    /// A sink of this kind, with the elements of its transactions' list in a checkpoint.
    #[must_use]
    pub fn new<'a>(kind: SinkKind, elements: impl IntoIterator<Item = &'a [u8]>) -> Self {
        match kind {
            SinkKind::Plain => Self::Plain,
            SinkKind::Upsert => Self::Upsert,
            SinkKind::TwoPhaseCommit {
                ignore_failures_after_timeout,
                ..
            } => Self::TwoPhaseCommit(TwoPhaseCommit::new(ignore_failures_after_timeout, elements)),
            SinkKind::Buffering { threshold } => Self::buffering(threshold, Vec::new()),
        }
    }

    /// Take records, in order.
    ///
    /// # Errors
    /// A record for an upsert has no key, or the transaction is not open any more.
    pub fn collect<E: External>(
        &mut self,
        records: impl IntoIterator<Item = Record>,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        match self {
            Self::Plain => records.into_iter().for_each(|record| out.let_out(record)),
            Self::Upsert => {
                for record in records {
                    let key = record.key.clone().ok_or(TaskFailure::NoKey)?;
                    out.overwrite(key, record);
                }
            }
            Self::TwoPhaseCommit(sink) => {
                for record in records {
                    sink.write(record, out)?;
                }
            }
            Self::Buffering { threshold, buffer } => {
                for record in records {
                    out.on_buffered(&record);
                    buffer.push(record);
                    if buffer.len() >= *threshold {
                        out.on_buffer_flushed();
                        buffer.drain(..).for_each(|record| out.let_out(record));
                    }
                }
            }
        }
        Ok(())
    }

    fn transactional(&mut self) -> Option<&mut TwoPhaseCommit> {
        match self {
            Self::TwoPhaseCommit(sink) => Some(sink),
            Self::Plain | Self::Upsert | Self::Buffering { .. } => None,
        }
    }

    /// The records that wait.
    #[must_use]
    pub fn buffer(&self) -> &[Record] {
        match self {
            Self::Buffering { buffer, .. } => buffer,
            Self::Plain | Self::Upsert | Self::TwoPhaseCommit(_) => &[],
        }
    }

    /// Before the first record.
    ///
    /// # Errors
    /// A transaction of the restored checkpoint cannot be committed.
    pub fn open<E: External>(&mut self, out: &mut E) -> Result<(), TransactionError> {
        self.transactional().map_or(Ok(()), |sink| sink.open(out))
    }

    /// In the synchronous part of a snapshot, before the state is captured.
    ///
    /// # Errors
    /// The current transaction cannot be pre-committed.
    pub fn snapshot<E: External>(
        &mut self,
        checkpoint: CheckpointId,
        is_at_end: bool,
        out: &mut E,
    ) -> Result<(), TransactionError> {
        self.transactional()
            .map_or(Ok(()), |sink| sink.snapshot(checkpoint, is_at_end, out))
    }

    /// The checkpoint is complete.
    ///
    /// # Errors
    /// A transaction cannot be committed.
    pub fn on_complete<E: External>(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut E,
    ) -> Result<(), TransactionError> {
        self.transactional()
            .map_or(Ok(()), |sink| sink.on_complete(checkpoint, out))
    }

    /// The task ends, well or not.
    pub fn close<E: External>(&mut self, out: &mut E) {
        if let Self::TwoPhaseCommit(sink) = self {
            sink.close(out);
        }
    }

    #[must_use]
    pub fn list_state(&self) -> Option<ListState> {
        match self {
            Self::TwoPhaseCommit(sink) => Some(sink.list_state()),
            Self::Buffering { buffer, .. } => {
                let encode = |record: &Record| in_flight::encode(std::slice::from_ref(record));
                Some(ListState {
                    name: Self::BUFFER_LIST.to_owned(),
                    distribution: Distribution::Split,
                    elements: buffer.iter().map(|record| encode(record).into()).collect(),
                })
            }
            Self::Plain | Self::Upsert => None,
        }
    }

    /// The transactions that a restored checkpoint tells of.
    #[must_use]
    pub fn restored_transactions(&self) -> Vec<TransactionId> {
        match self {
            Self::TwoPhaseCommit(sink) => sink.restored().collect(),
            Self::Plain | Self::Upsert | Self::Buffering { .. } => Vec::new(),
        }
    }
}
