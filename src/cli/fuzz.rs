//! `lockgate fuzz`: random jobs against the laws of checkpointing.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread;

use indicatif::ProgressBar;

use super::Exit;
use crate::fuzz::play::Limits;
use crate::fuzz::{self, Failure, Outcome};

/// The options of `lockgate fuzz`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FuzzArgs {
    /// From the first to before the last.
    pub seeds: (u64, u64),
    pub max_ms: Option<u64>,
    /// Where failing jobs are written; none: the current folder.
    pub out: Option<PathBuf>,
}

/// `A..B` as two numbers.
pub fn seeds(text: &str) -> Result<(u64, u64), String> {
    let numbers = text
        .split_once("..")
        .and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)));
    match numbers {
        Some((first, end)) if first < end => Ok((first, end)),
        Some(_) => Err(format!(
            "--seeds {text} is empty: write A..B with A below B."
        )),
        None => Err(format!("--seeds is A..B, two whole numbers, not {text:?}.")),
    }
}

pub fn fuzz(args: &FuzzArgs) -> Exit {
    let (first, end) = args.seeds;
    if let Some(folder) = &args.out
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        let folder = folder.display();
        eprintln!("Failing jobs cannot be written into {folder}: {error}. Choose another --out.");
        return Exit::CannotRun;
    }
    let limits = Limits {
        until_us: args.max_ms.map(|ms| ms.saturating_mul(1000)),
        ..Limits::default()
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let bar = if io::stderr().is_terminal() {
        ProgressBar::new(end - first)
    } else {
        ProgressBar::hidden()
    };
    let (mut seen, mut events, mut failed) = (0_u64, 0_usize, 0_u64);
    let mut trouble = None;
    let run = fuzz::run(first..end, threads, limits, |outcome: Outcome| {
        bar.inc(1);
        seen += 1;
        events += outcome.events;
        let Some(failure) = outcome.failure else {
            return true;
        };
        failed += 1;
        let told = bar.suspend(|| tell(&failure, args.out.as_deref()));
        trouble = told.err();
        trouble.is_none()
    });
    bar.finish_and_clear();
    let unable = run
        .err()
        .map(|error| format!("The temporary folder cannot be made: {error}."));
    if let Some(sentence) = trouble.or(unable) {
        eprintln!("{sentence}");
        return Exit::CannotRun;
    }
    let summary = format!("{seen} seeds, {events} events, {failed} seeds break a law.\n");
    match super::print(&summary) {
        Exit::Well if failed > 0 => Exit::JobDown,
        printed => printed,
    }
}

/// Says what is wrong, and writes the job that shows it.
fn tell(failure: &Failure, out: Option<&Path>) -> Result<(), String> {
    let folder = out.unwrap_or(Path::new("."));
    let path = failure.write(folder).map_err(|error| {
        let folder = folder.display();
        format!("The failing job cannot be written into {folder}: {error}. Choose another --out.")
    })?;
    let (seed, found) = (failure.seed, &failure.violation);
    let line = format!(
        "seed {seed} breaks law {} ({}): {}. See {}\n",
        found.law,
        fuzz::laws::sentence(found.law),
        found.sentence,
        path.display()
    );
    // Whoever reads may have seen enough.
    let _ = io::stdout().write_all(line.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::seeds;

    #[test]
    fn seeds_are_a_range() {
        assert_eq!(seeds("3..7"), Ok((3, 7)));
        for wrong in ["", "3", "..", "7..3", "4..4", "a..b", "-1..3"] {
            let error = seeds(wrong).unwrap_err();
            assert!(error.ends_with('.') && error.contains("--seeds"), "{error}");
        }
    }
}
