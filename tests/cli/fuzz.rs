//! What `lockgate fuzz` writes of a failing seed replays it.

use std::fs;
use std::path::Path;

use lockgate::fuzz::play::{Limits, Played, play};
use lockgate::fuzz::{Failure, generate};
use lockgate::model::{ClaimMode, JobGraph};

use super::lockgate;

/// A seed whose run leaves something behind that a second job takes up so.
fn seed_with_a_second(claim: ClaimMode) -> (u64, JobGraph, Played) {
    let mut seeds = (0..200).map(|seed| {
        let job = generate::job(seed);
        let dir = tempfile::tempdir().unwrap();
        let played = play(&job, dir.path(), Limits::default());
        (seed, job, played)
    });
    let is_wanted = |played: &Played| {
        let second = played.second.as_ref();
        second.is_some_and(|second| second.claim == claim)
    };
    seeds.find(|(_, _, played)| is_wanted(played)).unwrap()
}

/// What a person does who reads the first lines of `file`, in its folder.
fn follow(folder: &Path, file: &str) -> String {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("// lockgate "));
    let arguments = line.unwrap().split(' ').map(|word| match word {
        word if word.starts_with("fuzz-") => folder.join(word).to_str().unwrap().to_owned(),
        word => word.to_owned(),
    });
    let trace = folder.join("trace.jsonl");
    let trace_option = ["--trace".to_owned(), trace.to_str().unwrap().to_owned()];
    let arguments: Vec<String> = arguments.chain(trace_option).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = lockgate(&arguments);
    // It may end badly: 0, 1, or 3 where the job has failed.
    assert!(
        matches!(output.status.code(), Some(0 | 1 | 3)),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::read_to_string(trace).unwrap()
}

/// Breaks if the second job's file, or the snapshot beside it, lacks something that the run depended on.
#[test]
fn a_failing_seed_and_its_second_job_can_be_replayed_from_their_files() {
    for claim in [ClaimMode::NoClaim, ClaimMode::Claim] {
        let (seed, job, played) = seed_with_a_second(claim);
        let violation = lockgate::fuzz::laws::Violation {
            law: 0,
            sentence: "nothing is wrong with it".to_owned(),
            at: 0,
        };
        let failure = Failure {
            seed,
            violation: violation.clone(),
            job,
            shrunk: violation,
            events: played.events,
            second: played.second,
        };
        let folder = tempfile::tempdir().unwrap();
        // What an earlier failure has left there is replaced.
        failure.write(folder.path()).unwrap();
        failure.write(folder.path()).unwrap();
        for name in [format!("fuzz-{seed}"), format!("fuzz-{seed}.second")] {
            let replayed = follow(folder.path(), &format!("{name}.ron"));
            let trace = fs::read_to_string(folder.path().join(format!("{name}.jsonl"))).unwrap();
            for (number, pair) in replayed.lines().zip(trace.lines()).enumerate() {
                assert_eq!(pair.0, pair.1, "{name}, line {number}");
            }
            assert_eq!(replayed.len(), trace.len(), "{name}");
        }
    }
}

/// Breaks if hours of fuzzing end with nowhere to write what they have found.
#[test]
fn a_folder_that_cannot_be_is_told_before_the_first_seed() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("file");
    fs::write(&blocked, "in the way").unwrap();
    let blocked = blocked.to_str().unwrap();
    let output = lockgate(&["fuzz", "--seeds", "0..1", "--max-ms", "0", "--out", blocked]);
    assert_eq!(output.status.code(), Some(4));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("Choose another --out."), "{told}");
}
