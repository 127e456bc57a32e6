//! The 33 laws of checkpointing, and what fails when one of them breaks.
//!
//! *Fuzz n* is the oracle of law n in `src/fuzz/laws`: it reads the event log of a random run and nothing else, and is
//! named by `lockgate fuzz`. The seeds below run in every test; whoever changes the engine runs thousands more by hand.
//!
//! | law | what it says | breaks if | found by |
//! |---|---|---|---|
//! | 1 | aligned: state n reflects exactly the records before barrier n | a snapshot is taken before the last barrier, an input is not shut | fuzz 1, `cut`, `abort_laws` |
//! | 2 | Σ source offsets in n = Σ records counted in n | a record is lost or doubled at a restore | fuzz 2, `cut` |
//! | 3 | unaligned: in state or in flight, each once | in-flight records are forgotten or kept twice | fuzz 3 |
//! | 4 | barrier first, on every output | a barrier follows the snapshot, or a record slips between | fuzz 4 |
//! | 5 | barriers increase, each once | two barriers overtake each other | fuzz 5 |
//! | 6 | at-least-once: nothing before barrier n is missing | a snapshot is taken before the last barrier | fuzz 6, fuzz 10, `at_least_once` (on threads, too), `abort_laws` |
//! | 7 | a shut input is not read | a blocked channel is polled | fuzz 7, `alignment` |
//! | 8 | only what precedes a barrier is kept in flight | an aligned checkpoint keeps records | fuzz 3, fuzz 8 |
//! | 9 | aligned until its timeout, then unaligned | the deadline runs from another moment than the trigger, or is not kept | fuzz 9 |
//! | 10 | a failed and recovered run ends as a failure-free one | anything at all is lost on the way | fuzz 10, `crashes` |
//! | 11 | ids increase by one | a refused request or a restart uses one up | fuzz 11, `coordinator` |
//! | 12 | complete ⇔ all acknowledged in time; no file is left | a late acknowledgement counts, an abort leaves its files | fuzz 12 (with what is stored at the end), `coordinator_laws` |
//! | 13 | not more pending than allowed; the pause is kept | the pause counts from a failed one | fuzz 13, `coordinator_laws` |
//! | 14 | completion aborts older ones, never savepoints | a task hears both outcomes | fuzz 14, `coordinator` |
//! | 15 | the job fails when the tolerable count is exceeded | the counter is wrong by one, or not reset | fuzz 15, `coordinator_laws` |
//! | 16 | the newest is kept and restored, never a savepoint | a savepoint gets into the store | fuzz 16, `coordinator` |
//! | 17 | no snapshot once the abort is known; a marker goes on | a subtask forgets the news, a marker ends | fuzz 17, `abort_laws`, `alignment` |
//! | 18 | inputs are opened once; nothing is lost meanwhile | a newer barrier or a marker leaves an input shut | fuzz 18 (with 1), `abort_laws` |
//! | 19 | a snapshot does not change after its synchronous part | copy-on-write is forgotten | fuzz 19, `tests/state/conformance.rs` (every backend and storage), `tests/state/snapshots.rs` |
//! | 20 | an incremental checkpoint restores what a full one would; its files are there | a base is taken for more than it is, a file goes too early | fuzz 20 (with what a second run leaves of the first one's files), `incremental`, `tests/state/{incremental,conformance}.rs` |
//! | 21 | a shared file goes when no retained checkpoint needs it, and not before | an abort deletes files, orphans stay | fuzz 21, `incremental`, `tests/state/{incremental,conformance}.rs` (the real folder) |
//! | 22 | the base is the last confirmed checkpoint | an upload counts before its checkpoint is complete | fuzz 22, `tests/state/incremental.rs` |
//! | 23 | too large a stream fails its checkpoint alone; what is small has no file | the limit is not checked, or fails the job | `what_fits` (each backend), `storage_faults`, `tests/state/refusals.rs` |
//! | 24 | each record is committed once | a commit is lost or repeated | fuzz 24, `transaction_laws`, `transactions` |
//! | 25 | nothing is visible before its checkpoint completes | a sink commits at the barrier | fuzz 25, `transaction_laws`, `transactions` |
//! | 26 | an aborted checkpoint's transaction commits with the next | an abort loses it | fuzz 26, `transaction_laws`, `transactions` |
//! | 27 | a plain savepoint commits nothing | savepoints are announced | fuzz 27 (with 14 and 25), `transaction_ends` |
//! | 28 | each key is at its owner | a key group is assigned wrongly, a record is sent to another | fuzz 28, `model::key_group` (against Flink's own numbers), `tests/state/{conformance,rescaling}.rs` |
//! | 29 | lists are split evenly, or given to all | a restore forgets an element, or gives it to two | fuzz 29 (splits and transactions), `redistribute` (union and broadcast lists) |
//! | 30 | nothing is read whose time to live is over; a restore renews none | the clock is not asked, timestamps are not kept | fuzz 30, `tests/state/{conformance,kinds}.rs` |
//! | 31 | a window fires once, when its time has come | a timer is lost, or fires again after a restore; a drain leaves one open | fuzz 31, `windows`, `sync_part` and `tests/state/conformance.rs` (timers in either place) |
//! | 32 | a bounded job ends after a checkpoint of its end | a subtask finishes too early | fuzz 32, `end_of_data` |
//! | 33 | without a checkpoint a restart is a fresh run | something survives | fuzz 33, `crashes` |

use std::fs;
use std::path::Path;

use lockgate::fuzz::{self, Outcome, play::Limits, play::play};
use lockgate::project;

/// Breaks if any of the laws that an event log can show does, in any of these jobs. What breaks is told with its seed;
/// `lockgate fuzz --seeds N..N+1` writes the job.
#[test]
fn two_hundred_random_jobs_break_no_law() {
    let mut failures = Vec::new();
    let told = |outcome: Outcome| {
        if let Some(failure) = outcome.failure {
            let found = failure.violation;
            let law = fuzz::laws::sentence(found.law);
            failures.push(format!(
                "seed {}: law {} ({law}): {}",
                outcome.seed, found.law, found.sentence
            ));
        }
        true
    };
    fuzz::run(0..200, 2, Limits::default(), told).unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Each of these broke a law once, by the mechanism that its first lines name.
#[test]
fn jobs_that_once_broke_a_law_break_none() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let name = path.display();
        let job = project::parse(&text, &name.to_string()).unwrap().job;
        let dir = tempfile::tempdir().unwrap();
        let played = play(&job, dir.path(), Limits::default());
        assert_eq!(played.violations, [], "{name}");
        seen += 1;
    }
    assert!(seen > 0);
}
