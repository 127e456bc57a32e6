//! The protocol, call by call.

use std::collections::BTreeSet;

use super::*;
use crate::model::{Decimal, EventTime, Key, Origin, SplitId};

/// An outside system that notes what is asked of it.
#[derive(Default)]
struct Notes {
    next: u64,
    calls: Vec<String>,
    /// These cannot be committed.
    refused: BTreeSet<u64>,
    timed_out: BTreeSet<u64>,
}

impl Notes {
    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.calls)
    }
}

impl External for Notes {
    fn let_out(&mut self, _record: Record) {
        panic!("past the transaction");
    }

    fn overwrite(&mut self, _key: Key, _record: Record) {
        panic!("past the transaction");
    }

    fn begin_transaction(&mut self) -> TransactionId {
        self.next += 1;
        self.calls.push(format!("begin {}", self.next));
        id(self.next)
    }

    fn write(&mut self, id: TransactionId, record: Record) -> Result<(), TransactionError> {
        self.calls
            .push(format!("write {} {}", id.number, record.value));
        Ok(())
    }

    fn pre_commit(
        &mut self,
        id: TransactionId,
        checkpoint: CheckpointId,
    ) -> Result<(), TransactionError> {
        self.calls
            .push(format!("pre-commit {} for {checkpoint}", id.number));
        Ok(())
    }

    fn commit(&mut self, id: TransactionId) -> Result<(), TransactionError> {
        self.calls.push(format!("commit {}", id.number));
        if self.timed_out.contains(&id.number) {
            return Err(TransactionError::Aborted(id, TransactionEnd::TimedOut));
        }
        if self.refused.contains(&id.number) {
            return Err(TransactionError::Refused(id));
        }
        Ok(())
    }

    fn abort_transaction(&mut self, id: TransactionId, why: TransactionEnd) {
        self.calls.push(format!("abort {} {why:?}", id.number));
    }
}

fn id(number: u64) -> TransactionId {
    TransactionId {
        subtask: SubtaskId(0),
        number,
    }
}

fn record(value: i64) -> Record {
    let origin = Origin {
        split: SplitId(0),
        offset: 1,
    };
    Record {
        key: None,
        value: Decimal::from(value),
        origin,
        event_time: EventTime::NONE,
    }
}

fn opened(out: &mut Notes) -> TwoPhaseCommit {
    let mut sink = TwoPhaseCommit::new(false, []);
    sink.open(out).unwrap();
    sink
}

fn restored(sink: &TwoPhaseCommit) -> TwoPhaseCommit {
    let state = sink.list_state();
    TwoPhaseCommit::new(false, state.elements.iter().map(|bytes| &**bytes))
}

#[test]
fn a_snapshot_pre_commits_and_begins_the_next_and_its_completion_commits() {
    let mut out = Notes::default();
    let mut sink = opened(&mut out);
    sink.write(record(7), &mut out).unwrap();
    sink.snapshot(CheckpointId(1), false, &mut out).unwrap();
    sink.write(record(8), &mut out).unwrap();
    assert_eq!(
        out.take(),
        [
            "begin 1",
            "write 1 7",
            "pre-commit 1 for 1",
            "begin 2",
            "write 2 8"
        ]
    );
    sink.on_complete(CheckpointId(1), &mut out).unwrap();
    sink.on_complete(CheckpointId(1), &mut out).unwrap();
    assert_eq!(out.take(), ["commit 1"]);
}

/// An aborted checkpoint leaves its transaction in the list; a completion may come after the next snapshot.
#[test]
fn completion_commits_everything_up_to_it_in_order_and_nothing_after() {
    let mut out = Notes::default();
    let mut sink = opened(&mut out);
    for checkpoint in 1..=3 {
        sink.snapshot(CheckpointId(checkpoint), false, &mut out)
            .unwrap();
    }
    out.take();
    sink.on_complete(CheckpointId(2), &mut out).unwrap();
    assert_eq!(out.take(), ["commit 1", "commit 2"]);
    sink.on_complete(CheckpointId(3), &mut out).unwrap();
    assert_eq!(out.take(), ["commit 3"]);
}

#[test]
fn all_commits_are_tried_and_the_first_failure_is_told() {
    let mut out = Notes {
        refused: [1, 2].into(),
        ..Notes::default()
    };
    let mut sink = opened(&mut out);
    for checkpoint in 1..=3 {
        sink.snapshot(CheckpointId(checkpoint), false, &mut out)
            .unwrap();
    }
    out.take();
    let result = sink.on_complete(CheckpointId(3), &mut out);
    assert_eq!(result, Err(TransactionError::Refused(id(1))));
    assert_eq!(out.take(), ["commit 1", "commit 2", "commit 3"]);
}

#[test]
fn after_the_end_of_the_data_no_transaction_begins() {
    let mut out = Notes::default();
    let mut sink = opened(&mut out);
    sink.snapshot(CheckpointId(1), true, &mut out).unwrap();
    sink.snapshot(CheckpointId(2), true, &mut out).unwrap();
    sink.on_complete(CheckpointId(2), &mut out).unwrap();
    sink.close(&mut out);
    assert_eq!(out.take(), ["begin 1", "pre-commit 1 for 1", "commit 1"]);
}

#[test]
fn a_restored_sink_commits_what_was_filed_and_aborts_what_was_current() {
    let mut out = Notes::default();
    let mut sink = opened(&mut out);
    sink.snapshot(CheckpointId(1), false, &mut out).unwrap();
    sink.snapshot(CheckpointId(2), false, &mut out).unwrap();
    let mut again = restored(&sink);
    assert_eq!(again.restored().collect::<Vec<_>>(), [id(1), id(2), id(3)]);
    out.take();
    again.open(&mut out).unwrap();
    assert_eq!(
        out.take(),
        ["commit 1", "commit 2", "abort 3 RecoverAndAbort", "begin 4"]
    );
    again.on_complete(CheckpointId(2), &mut out).unwrap();
    assert_eq!(out.take(), [""; 0], "they are done with");
}

/// Fewer subtasks than before: one has the elements of several; more than before: some have none.
#[test]
fn a_rescaled_sink_takes_over_the_transactions_of_several_subtasks() {
    let mut out = Notes::default();
    let sinks = [opened(&mut out), opened(&mut out)];
    let states = sinks.each_ref().map(TwoPhaseCommit::list_state);
    let elements = states.iter().flat_map(|state| &state.elements);
    let mut sink = TwoPhaseCommit::new(false, elements.map(|bytes| &**bytes));
    out.take();
    sink.open(&mut out).unwrap();
    assert_eq!(
        out.take(),
        [
            "abort 1 RecoverAndAbort",
            "abort 2 RecoverAndAbort",
            "begin 3"
        ]
    );
}

#[test]
fn a_transaction_whose_time_was_over_stops_a_restored_sink_unless_that_may_be_ignored() {
    let mut out = Notes::default();
    let mut sink = opened(&mut out);
    sink.snapshot(CheckpointId(1), false, &mut out).unwrap();
    out.timed_out.insert(1);
    assert!(restored(&sink).open(&mut out).is_err());
    let mut lenient = restored(&sink);
    lenient.ignore_failures_after_timeout = true;
    out.take();
    lenient.open(&mut out).unwrap();
    assert_eq!(
        out.take(),
        ["commit 1", "abort 2 RecoverAndAbort", "begin 3"]
    );
    out.timed_out.clear();
    out.refused.insert(1);
    let mut lenient = restored(&sink);
    lenient.ignore_failures_after_timeout = true;
    assert!(
        lenient.open(&mut out).is_err(),
        "only the time may be ignored"
    );
}

#[test]
fn closing_aborts_the_current_one_once_and_leaves_what_is_filed() {
    let mut out = Notes::default();
    let mut sink = opened(&mut out);
    sink.snapshot(CheckpointId(1), false, &mut out).unwrap();
    out.take();
    sink.close(&mut out);
    sink.close(&mut out);
    assert_eq!(out.take(), ["abort 2 TaskClosed"]);
}

#[test]
fn an_element_of_the_state_is_read_as_it_was_written_and_garbage_is_told_apart() {
    for saved in [
        Saved::default(),
        Saved {
            current: Some(id(9)),
            pending: vec![],
        },
        Saved {
            current: None,
            pending: vec![id(u64::MAX), id(1)],
        },
    ] {
        assert_eq!(Saved::decode(&saved.encode()), Some(saved));
    }
    for garbage in [&b""[..], b"\x01", b"\x02", b"\x00\x00\x00"] {
        assert_eq!(Saved::decode(garbage), None);
    }
}
