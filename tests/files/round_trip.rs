//! Properties: what is saved is what loads, and no text whatever does harm.

use lockgate::model::{Severity, validate};
use lockgate::project;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::FileFailurePersistence;

use super::jobs::{good_job, job};

/// A good file with a few bytes taken out, put in or doubled.
fn spoilt_file() -> impl Strategy<Value = String> {
    let files = vec![
        include_str!("v1-everything.ron"),
        include_str!("v2-everything.ron"),
        include_str!("v1-draft.ron"),
        include_str!("v2-draft.ron"),
        include_str!("../../samples/odd-even.ron"),
        include_str!("../../samples/weather.ron"),
    ];
    let cut = (
        any::<Index>(),
        0..40_usize,
        "[(){}\\[\\],:\"'/*#a0-9-]{0,4}",
    );
    (select(files), vec(cut, 1..4)).prop_map(|(file, cuts)| {
        let mut text: Vec<char> = file.chars().collect();
        for (at, length, new) in cuts {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, new.chars());
        }
        text.into_iter().collect()
    })
}

/// Whatever loads has no problem, or says that it is a draft; whatever does not says why in this many characters.
fn loads_or_says_why(text: &str) -> Result<(), TestCaseError> {
    match project::parse(text, "any.ron") {
        Ok(loaded) => {
            let problems = validate(&loaded.job);
            prop_assert_eq!(loaded.is_draft(), !problems.is_empty());
            prop_assert!(
                problems
                    .iter()
                    .all(|each| each.severity == Severity::Unfinished)
            );
        }
        Err(error) => {
            let message = error.to_string();
            prop_assert!(message.starts_with("any.ron"), "{}", message);
            prop_assert!(message.ends_with('.'), "{}", message);
        }
    }
    Ok(())
}

/// Files of failed cases lie beside their source, and are committed.
pub fn with_regressions() -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        failure_persistence: Some(Box::new(beside)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(with_regressions())]

    #[test]
    fn a_job_that_runs_comes_back_as_it_was(job in good_job()) {
        prop_assert_eq!(validate(&job), []);
        let loaded = project::parse(&project::to_text(&job), "good.ron");
        let job_again = loaded.and_then(project::LoadedJob::into_runnable);
        prop_assert_eq!(job_again.map_err(|error| error.to_string()), Ok(job));
    }

    #[test]
    fn a_job_in_the_making_comes_back_as_it_was(job in job()) {
        let problems = validate(&job);
        prop_assert!(problems.iter().all(|each| each.severity == Severity::Unfinished));
        let text = project::to_text(&job);
        let loaded = project::parse(&text, "draft.ron").map_err(|error| error.to_string());
        prop_assert_eq!(loaded.as_ref().map(project::LoadedJob::is_draft), Ok(!problems.is_empty()));
        prop_assert_eq!(loaded.map(|loaded| loaded.job), Ok(job));
    }

    #[test]
    fn a_spoilt_file_loads_or_says_why(text in spoilt_file()) {
        loads_or_says_why(&text)?;
    }

    #[test]
    fn any_text_loads_or_says_why(text in any::<String>(), soup in "(\\(version: ?[12],)?[(){}\\[\\],:\"'/*#a0-9 -]{0,60}") {
        loads_or_says_why(&text)?;
        loads_or_says_why(&soup)?;
    }
}
