//! `lockgate run`: a job and its script without a window.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

use super::live::run_live;
use super::report::Report;
use super::report::not_taken::explain_places;
use super::{Exit, ReportFormat, RunArgs, set};
use crate::engine::event::JobStatus;
use crate::model::{
    CheckpointId, ClaimMode, Command, JobGraph, OperatorSpec, SourceKind, SourceSpec, validate,
};
use crate::project::{self, JobSource, ProjectError};
use crate::recording::{Recording, View};
use crate::run::{Run, RunError, RunOptions};

pub fn run(args: &RunArgs) -> Exit {
    let job = match job_of(args) {
        Ok(job) => job,
        Err((sentence, exit)) => {
            eprintln!("{sentence}");
            return exit;
        }
    };
    let options = RunOptions {
        backend: args.backend,
        seed: args.seed,
        base_dir: project::base_dir(&args.file),
        start: args.from.clone(),
        claim: if args.claim {
            ClaimMode::Claim
        } else {
            ClaimMode::NoClaim
        },
        allow_non_restored_state: args.allow_non_restored_state,
        takes_looks: false,
    };
    if args.until_ms.is_none() && !ends_by_itself(&job) {
        eprintln!(
            "This job has a source without an end, so the run would never end. Say how long with --until-ms T, give the \
             source an end, or let the script stop the job."
        );
        return Exit::CannotRun;
    }
    let report = if args.live {
        run_live(&job, &options, args.until_ms)
    } else {
        run_stepped(&job, &options, args)
    };
    match report.and_then(|report| print(&report, args.report).map(|()| report)) {
        Ok(report) if report.ended_badly() => Exit::JobDown,
        Ok(_) => Exit::Well,
        Err(RunError(sentence)) => {
            eprintln!("{sentence}");
            Exit::CannotRun
        }
    }
}

/// The job in the file, with what the command line changes of it.
fn job_of(args: &RunArgs) -> Result<JobGraph, (String, Exit)> {
    let bad_file = |error: ProjectError| (error.to_string(), Exit::BadFile);
    let bad_usage = |sentence: String| (sentence, Exit::BadUsage);
    let source = JobSource::read(&args.file).map_err(bad_file)?;
    let mut job = source.job.clone();
    change(&mut job, args).map_err(bad_usage)?;
    let mut problems = validate(&job).into_iter();
    // What the file says is right, so the command line is wrong.
    if source.check(&source.job).is_ok()
        && let Some(first) = problems.next()
    {
        let sentence = format!("With these settings the job cannot run: {}", first.message);
        return Err(bad_usage(sentence));
    }
    source.check(&job).map_err(bad_file)?;
    Ok(job)
}

fn change(job: &mut JobGraph, args: &RunArgs) -> Result<(), String> {
    if let Some(folder) = &args.savepoint_dir {
        job.config.savepoint_dir = Some(folder.clone());
    }
    if let Some(folder) = &args.checkpoint_dir {
        job.config.checkpoint_dir = Some(folder.clone());
        // Flink: a folder for checkpoints implies that they are stored in files.
        job.config.storage = job.config.storage.in_files();
    }
    args.set
        .iter()
        .try_for_each(|(path, value)| set::set(job, path, value))
}

fn run_stepped(job: &JobGraph, options: &RunOptions, args: &RunArgs) -> Result<Report, RunError> {
    if let Some(path) = &args.trace {
        refuse_to_overwrite(job, options, &args.file, path)?;
    }
    let mut run = Run::start(job, options)?;
    let until_us = args.until_ms.map(|ms| ms.saturating_mul(1000));
    let bar = progress_bar();
    run.finish(until_us, |view| show(&bar, view))?;
    bar.finish_and_clear();
    let view = run.view();
    let stored = |id| run.stored_bytes(id);
    let mut report = Report::of_recording(run.recording(), view, run.clock_us(), stored);
    let waits = matches!(view.job, JobStatus::Running | JobStatus::Restoring { .. });
    report.is_stuck = waits && run.is_quiet();
    name_places(&mut report, &run, args);
    report.trace_sha256 = Some(hash(run.recording())?);
    if let Some(path) = &args.trace {
        write_trace(run.recording(), path)?;
    }
    Ok(report)
}

/// Where snapshots lie is no part of what happened: it differs from run to run.
fn name_places(report: &mut Report, run: &Run, args: &RunArgs) {
    for savepoint in &mut report.savepoints {
        let path = run.savepoint_path(CheckpointId(savepoint.id));
        savepoint.path = path.map(|path| path.display().to_string());
    }
    explain_places(&mut report.not_taken, run.savepoint_trouble());
    if let (Some(start), Some(path)) = (&mut report.started_from, &args.from) {
        start.path = Some(path.display().to_string());
    }
}

/// Every source has an end, or the script stops the job.
fn ends_by_itself(job: &JobGraph) -> bool {
    let ends = |operator: &OperatorSpec| match operator {
        OperatorSpec::Source(source) => {
            source.end.is_some() || matches!(source.kind, SourceKind::Csv(_))
        }
        _ => true,
    };
    job.vertices.iter().all(|vertex| ends(&vertex.operator))
        || job.script.iter().any(|entry| {
            matches!(
                entry.command,
                Command::Stop
                    | Command::Suspend
                    | Command::StopWithSavepoint { .. }
                    | Command::CancelWithSavepoint { .. }
            )
        })
}

/// A bar on a terminal, and only for runs that take a while.
fn progress_bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn show(bar: &ProgressBar, view: &View) {
    let (events, seconds) = (view.position, view.at_us / 1_000_000);
    bar.set_message(format!("{events} events, {seconds} s of virtual time"));
}

fn print(report: &Report, format: ReportFormat) -> Result<(), RunError> {
    let text = match format {
        ReportFormat::Text => report.to_string(),
        ReportFormat::Json => {
            let json = serde_json::to_string_pretty(report);
            json.map_err(|error| {
                RunError(format!("The report cannot be written as JSON: {error}."))
            })? + "\n"
        }
    };
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever reads may have seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => {
            result.map_err(|error| RunError(format!("The report cannot be printed: {error}.")))
        }
    }
}

/// Every event as one line of JSON.
fn write_events(recording: &Recording, sink: &mut impl Write) -> io::Result<()> {
    for event in recording.events() {
        serde_json::to_writer(&mut *sink, event)?;
        sink.write_all(b"\n")?;
    }
    sink.flush()
}

/// The SHA-256 of exactly what `--trace` writes.
fn hash(recording: &Recording) -> Result<String, RunError> {
    let mut hasher = BufWriter::new(Sha256::new());
    write_events(recording, &mut hasher)
        .map_err(|error| RunError(format!("The trace cannot be hashed: {error}.")))?;
    let hasher = hasher
        .into_inner()
        .map_err(|error| RunError(error.to_string()))?;
    let digest = hasher.finalize();
    Ok(format!("{digest:x}"))
}

/// A trace must not take the place of what the run is made from.
fn refuse_to_overwrite(
    job: &JobGraph,
    options: &RunOptions,
    file: &Path,
    trace: &Path,
) -> Result<(), RunError> {
    let data = job
        .vertices
        .iter()
        .filter_map(|vertex| match &vertex.operator {
            OperatorSpec::Source(SourceSpec {
                kind: SourceKind::Csv(spec),
                ..
            }) => Some(options.base_dir.join(&spec.path)),
            _ => None,
        });
    let Ok(target) = trace.canonicalize() else {
        return Ok(());
    };
    let mut read = data.chain([file.to_owned()]);
    if read.any(|path| path.canonicalize().is_ok_and(|path| path == target)) {
        let trace = trace.display();
        return Err(RunError(format!(
            "The trace would overwrite {trace}, which the run reads. Choose another place."
        )));
    }
    Ok(())
}

fn write_trace(recording: &Recording, path: &Path) -> Result<(), RunError> {
    let file = File::create(path);
    let written = file.and_then(|file| write_events(recording, &mut BufWriter::new(file)));
    written.map_err(|error| {
        let path = path.display();
        RunError(format!(
            "The trace cannot be written to {path}: {error}. Choose another place."
        ))
    })
}
