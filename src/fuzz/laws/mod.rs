//! The laws of checkpointing as oracles: each looks at the event log alone, never at the engine.
//!
//! One function for each law. What only shows while a log is being read (a channel that gives what it does not hold, a
//! sum that does not add up) is found by [`History::read`] and carries the law's number as well.

mod coordinator;
mod cut;
mod ending;
mod entries;
mod gate;
mod handover;
mod multiplicity;
mod shared;
mod sinks;
mod state;
mod storage;
mod time;

pub use super::history::{History, Violation};
pub(super) use cut::taken_by;
pub(super) use handover::saved;
pub(super) use storage::{Stored, leaked};

/// A law by its number, in one sentence, with the function that finds what breaks it.
pub struct Law {
    pub number: u8,
    pub sentence: &'static str,
    check: fn(&History) -> Vec<Violation>,
}

/// Those that an event log can show. The others are about files and access to state, and have tests of their own.
pub const LAWS: [Law; 30] = [
    law(
        1,
        "aligned: state n reflects exactly the records before barrier n",
        cut::aligned,
    ),
    law(
        2,
        "conservation: source offsets in n are the records counted in n",
        cut::conservation,
    ),
    law(
        3,
        "unaligned: records before barrier n are in the state or in flight, once",
        cut::in_flight,
    ),
    law(
        4,
        "barrier n goes out on every output with the snapshot, nothing between",
        cut::barrier_first,
    ),
    law(
        5,
        "barriers of a channel come in increasing order, each once",
        gate::increasing,
    ),
    law(
        6,
        "at-least-once: state n has all before barrier n, and more only behind it",
        cut::at_least_once,
    ),
    law(7, "nothing is taken from a blocked input", gate::blocked),
    law(
        8,
        "only unaligned checkpoints keep records in flight",
        cut::kept_only_unaligned,
    ),
    law(
        9,
        "before its timeout a checkpoint is aligned, after it unaligned",
        gate::aligned_timeout,
    ),
    law(
        10,
        "a run that ends has counted every record once",
        ending::counted,
    ),
    law(
        11,
        "ids increase by one, over restarts too",
        coordinator::ids,
    ),
    law(
        12,
        "complete if and only if all acknowledged in time; decided once",
        coordinator::decisions,
    ),
    law(
        13,
        "no more pending than allowed, and the pause is kept",
        coordinator::limits,
    ),
    law(
        14,
        "completion aborts older checkpoints; news of one outcome only",
        coordinator::notifications,
    ),
    law(
        15,
        "the job fails at the tolerable count exceeded, not before",
        coordinator::failures,
    ),
    law(
        16,
        "the store keeps the newest, and restores use its latest",
        coordinator::store,
    ),
    law(
        17,
        "no snapshot of a checkpoint that was aborted before its barrier",
        gate::aborted_early,
    ),
    law(
        18,
        "every input that is shut is opened once, and channels end empty",
        gate::freed,
    ),
    law(19, "what is restored is what was captured", state::restored),
    law(
        20,
        "files are there while a retained checkpoint needs them, and no longer",
        shared::kept,
    ),
    law(
        22,
        "what is not uploaded again is in a checkpoint known to be complete",
        shared::confirmed,
    ),
    law(24, "each record is committed once", sinks::committed_once),
    law(
        25,
        "nothing is visible before its checkpoint completes",
        sinks::visible,
    ),
    law(
        26,
        "news of completion commits all that is pre-committed up to it",
        sinks::together,
    ),
    law(
        28,
        "each key is at its owner, after a change of parallelism, too",
        state::owned,
    ),
    law(29, "lists are split evenly, nothing lost", handover::lists),
    law(
        30,
        "entries live as long as their time to live says, and functions count them rightly",
        entries::changes,
    ),
    law(
        31,
        "windows fire once, when their time has come",
        time::windows,
    ),
    law(
        32,
        "a job ends after a checkpoint begun at the end of its data",
        ending::final_checkpoint,
    ),
    law(
        33,
        "without a checkpoint a restart is a fresh run",
        state::fresh,
    ),
];

const fn law(number: u8, sentence: &'static str, check: fn(&History) -> Vec<Violation>) -> Law {
    Law {
        number,
        sentence,
        check,
    }
}

/// What the law of this number says.
#[must_use]
pub fn sentence(number: u8) -> &'static str {
    let found = LAWS.iter().find(|law| law.number == number);
    match (found, number) {
        (Some(law), _) => law.sentence,
        (None, 27) => "a plain savepoint commits nothing",
        _ => "the run as a whole is sound",
    }
}

/// Everything that breaks a law, in the order of the log.
#[must_use]
pub fn check(history: &History) -> Vec<Violation> {
    let mut all = history.found.clone();
    all.extend(LAWS.iter().flat_map(|law| (law.check)(history)));
    all.sort_by_key(|violation| (violation.at, violation.law));
    all
}

fn violation(law: u8, at: usize, sentence: String) -> Violation {
    Violation { law, sentence, at }
}
