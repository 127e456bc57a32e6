//! The fold of what leaves the job: transactions, and the tables of upsert sinks.

use std::sync::Arc;

use crate::engine::event::EventKind;
use crate::engine::plan::ExecutionGraph;
use crate::model::{OperatorSpec, Record, SinkKind, SubtaskId, TransactionId};
use crate::recording::sink_view::{EndedTransaction, SinkView, TransactionView};
use crate::recording::view::{SubtaskView, View};

impl View {
    pub(super) fn apply_sink(&mut self, plan: &ExecutionGraph, event: &EventKind) {
        let at_us = self.at_us;
        match event {
            EventKind::Collected {
                subtask,
                record,
                transaction,
            } => {
                self.subtask(*subtask).collected += 1;
                match transaction {
                    Some(id) => self.write(*subtask, *id, record),
                    None => self.let_out(plan, *subtask, record),
                }
            }
            EventKind::TransactionBegun {
                subtask,
                transaction,
                timeout_us,
            } => self.sink(*subtask).uncommitted.push(TransactionView {
                id: *transaction,
                begun_us: at_us,
                timeout_us: *timeout_us,
                pre_committed: None,
                records: Vec::new(),
            }),
            EventKind::PreCommitted {
                subtask,
                transaction,
                checkpoint,
            } => {
                if let Some(view) = self.sink(*subtask).find(*transaction) {
                    view.pre_committed = Some(*checkpoint);
                }
            }
            EventKind::Committed {
                subtask,
                transaction,
                again: false,
            } => self.commit(*subtask, *transaction),
            EventKind::CommitFailed { subtask, .. } => self.sink(*subtask).failed_commits += 1,
            EventKind::TransactionAborted {
                subtask,
                transaction,
                why,
            } => {
                let sink = self.sink(*subtask);
                sink.aborted += 1;
                sink.end(*transaction, |records| EndedTransaction {
                    id: *transaction,
                    at_us,
                    records: records.len(),
                    aborted: Some(*why),
                });
            }
            _ => {}
        }
    }

    fn sink(&mut self, id: SubtaskId) -> &mut SinkView {
        &mut self.subtask(id).sink
    }

    fn write(&mut self, subtask: SubtaskId, id: TransactionId, record: &Record) {
        if let Some(transaction) = self.sink(subtask).find(id) {
            transaction.records.push(record.clone());
        }
    }

    fn let_out(&mut self, plan: &ExecutionGraph, subtask: SubtaskId, record: &Record) {
        let plan = plan.subtask(subtask);
        let is_upsert =
            matches!(&plan.operator, OperatorSpec::Sink(spec) if spec.kind == SinkKind::Upsert);
        if let (true, Some(key)) = (is_upsert, &record.key) {
            let table = self.tables.entry(plan.uid.clone()).or_default();
            Arc::make_mut(table).write(key, record, self.at_us);
        }
        self.show(subtask, std::slice::from_ref(record));
    }

    fn commit(&mut self, subtask: SubtaskId, id: TransactionId) {
        let at_us = self.at_us;
        let sink = self.sink(subtask);
        sink.committed += 1;
        let records = sink.end(id, |records| EndedTransaction {
            id,
            at_us,
            records: records.len(),
            aborted: None,
        });
        self.show(subtask, &records);
    }

    /// Readers see `records` from now on.
    fn show(&mut self, subtask: SubtaskId, records: &[Record]) {
        let view = self.subtask(subtask);
        view.sink.visible += records.len() as u64;
        view.recent.extend(records.iter().cloned());
        let surplus = view.recent.len().saturating_sub(SubtaskView::RECENT);
        view.recent.drain(..surplus);
    }
}

impl SinkView {
    fn find(&mut self, id: TransactionId) -> Option<&mut TransactionView> {
        self.uncommitted.iter_mut().find(|view| view.id == id)
    }

    /// Take `id` off the list, and remember how it ended. Of a transaction of an earlier run nothing is known.
    fn end(
        &mut self,
        id: TransactionId,
        how: impl FnOnce(&[Record]) -> EndedTransaction,
    ) -> Vec<Record> {
        let place = self.uncommitted.iter().position(|view| view.id == id);
        let records = place.map(|place| self.uncommitted.remove(place).records);
        let records = records.unwrap_or_default();
        self.last_end = Some(how(&records));
        records
    }
}
