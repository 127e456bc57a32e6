//! One stepped execution of a job with everything it needs: files read, a folder of its own, the engine, and the
//! commands given so far. Knows no thread; [`super::worker`] gives it one.

use std::path::PathBuf;
use std::sync::Arc;

use super::home::Home;
use super::start::Start;
use super::xray::{self, FileContents, FileRef, StorageLook, StoredLook};
use super::{RunError, RunOptions};
use crate::engine::driver::stepper::Stepper;
use crate::engine::driver::{Feeds, Resources, fit};
use crate::engine::event::TraceEvent;
use crate::engine::operator::CsvRow;
use crate::engine::plan::ExecutionGraph;
use crate::model::{Command, JobGraph, OperatorSpec, SourceKind, validate};
use crate::project::csv_source;

/// What an execution is made from. The same blueprint and commands always give the same events.
#[derive(Clone)]
pub struct Blueprint {
    pub job: Arc<JobGraph>,
    pub plan: Arc<ExecutionGraph>,
    pub base_dir: PathBuf,
    pub start: Option<Start>,
    /// Somebody wants to see where the state lies.
    pub takes_looks: bool,
}

impl Blueprint {
    /// `start`, or else what the options name, is what the execution starts from. The job then follows it in what nobody
    /// has chosen: key groups and splits.
    ///
    /// # Errors
    /// The job has problems; the sentence is the first of them. Or the snapshot to start from is not one, or does not fit.
    pub fn new(
        job: &JobGraph,
        options: &RunOptions,
        start: Option<Start>,
    ) -> Result<Self, RunError> {
        let mut job = job.clone();
        job.config.backend = options.backend.unwrap_or(job.config.backend);
        job.config.seed = options.seed.unwrap_or(job.config.seed);
        if let Some(problem) = validate(&job).into_iter().next() {
            return Err(RunError(problem.message));
        }
        let start = match (start, &options.start) {
            (None, Some(path)) => Some(Start::from_folder(path, options)?),
            (start, _) => start,
        };
        if let Some(start) = &start {
            job = fit::adapt(&job, &start.metadata()?).map_err(RunError)?;
        }
        Ok(Self {
            plan: Arc::new(ExecutionGraph::of(&job)),
            job: Arc::new(job),
            base_dir: options.base_dir.clone(),
            start,
            takes_looks: options.takes_looks,
        })
    }

    /// Read the CSV files of the job.
    ///
    /// # Errors
    /// A file cannot be read; the sentence says which, where and why.
    pub fn read_feeds(&self) -> Result<Feeds, RunError> {
        let mut feeds = Feeds::new();
        for vertex in &self.job.vertices {
            if let OperatorSpec::Source(source) = &vertex.operator
                && let SourceKind::Csv(spec) = &source.kind
            {
                let rows = csv_source::read(spec, &self.base_dir)
                    .map_err(|error| RunError(format!("Source {}: {error}", vertex.name)))?;
                let rows = rows.into_iter().map(|row| CsvRow {
                    key: row.key,
                    value: row.value,
                });
                feeds.insert(vertex.uid.clone(), rows.collect());
            }
        }
        Ok(feeds)
    }

    /// A fresh place to run in.
    ///
    /// # Errors
    /// The temporary folder cannot be made.
    pub fn resources(&self, feeds: Feeds) -> Result<(Resources, Arc<Home>), RunError> {
        self.place(feeds, false)
    }

    fn place(&self, feeds: Feeds, is_replay: bool) -> Result<(Resources, Arc<Home>), RunError> {
        let home = Home::create(&self.job.config, &self.base_dir, is_replay)?;
        let start = match &self.start {
            Some(start) if is_replay => Some(start.point_in(home.dir())?),
            start => start.as_ref().map(Start::point),
        };
        let resources = Resources {
            feeds,
            storage: home.storage.clone(),
            dir: home.dir().to_owned(),
            start,
            savepoints: home.savepoint_target(),
        };
        Ok((resources, Arc::new(home)))
    }
}

/// A person's command, and the step that it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub step: u64,
    pub at_us: u64,
    pub command: Command,
}

/// A stepped execution.
pub struct Session {
    blueprint: Blueprint,
    feeds: Feeds,
    home: Arc<Home>,
    stepper: Stepper,
    given: Vec<Given>,
    /// How many events were taken from the log.
    taken: usize,
    /// Not yet taken.
    looks: Vec<StorageLook>,
    last_look: Option<StorageLook>,
}

impl Session {
    /// # Errors
    /// A sentence: a CSV file, the temporary folder, or the checkpoint to start from.
    pub fn open(blueprint: Blueprint) -> Result<Self, RunError> {
        let feeds = blueprint.read_feeds()?;
        Self::with_feeds(blueprint, feeds, false)
    }

    fn with_feeds(blueprint: Blueprint, feeds: Feeds, is_replay: bool) -> Result<Self, RunError> {
        let (resources, home) = blueprint.place(feeds.clone(), is_replay)?;
        let (job, plan) = (blueprint.job.clone(), blueprint.plan.clone());
        let stepper = Stepper::new(job, plan, resources).map_err(RunError)?;
        Ok(Self {
            blueprint,
            feeds,
            home,
            stepper,
            given: Vec::new(),
            taken: 0,
            looks: Vec::new(),
            last_look: None,
        })
    }

    /// The same execution again, from its beginning to just after step `step`, in a fresh place. Its events up to
    /// there are those already known, so they are dropped.
    ///
    /// `is_wanted` is asked now and then; where it is not, what comes back is unfinished and nobody looks at it.
    ///
    /// # Errors
    /// As for [`Session::open`].
    pub fn replay(
        &self,
        given: &[Given],
        (step, at_us): (u64, u64),
        is_wanted: impl Fn() -> bool,
    ) -> Result<Self, RunError> {
        let mut copy = Self::with_feeds(self.blueprint.clone(), self.feeds.clone(), true)?;
        copy.home.follow(&self.home);
        for entry in given.iter().take_while(|entry| entry.step <= step) {
            copy.run_to_step(entry.step.saturating_sub(1), &is_wanted);
            copy.stepper.wait_until(entry.at_us);
            copy.command(entry.command.clone());
        }
        copy.run_to_step(step, &is_wanted);
        copy.stepper.wait_until(at_us);
        copy.take_log();
        // Where it has come to, it will be asked; on the way, all was seen before.
        copy.looks.clear();
        copy.last_look = None;
        copy.home.end_replay();
        self.home.abandon();
        Ok(copy)
    }

    fn run_to_step(&mut self, step: u64, is_wanted: impl Fn() -> bool) {
        while self.stepper.step_number() < step && is_wanted() && self.stepper.step() {
            self.take_log();
        }
    }

    #[must_use]
    pub fn stepper(&self) -> &Stepper {
        &self.stepper
    }

    #[must_use]
    pub fn home(&self) -> &Arc<Home> {
        &self.home
    }

    /// The commands so far.
    #[must_use]
    pub fn given(&self) -> &[Given] {
        &self.given
    }

    /// One step, whenever it is due. False: nothing can happen any more.
    pub fn step(&mut self) -> bool {
        let logged = self.log().len();
        let has_stepped = self.stepper.step();
        self.look_after(logged);
        has_stepped
    }

    /// One step if it is due until `until_us`; otherwise time just passes. False: nothing more is due.
    pub fn step_until(&mut self, until_us: u64) -> bool {
        let logged = self.log().len();
        let has_stepped = self.stepper.step_until(until_us);
        self.look_after(logged);
        has_stepped
    }

    /// A person's command, now.
    pub fn command(&mut self, command: Command) {
        let logged = self.log().len();
        self.stepper.command(&command);
        self.look_after(logged);
        self.given.push(Given {
            step: self.stepper.step_number(),
            at_us: self.stepper.now_us(),
            command,
        });
    }

    /// The events since the log was last taken.
    #[must_use]
    pub fn log(&self) -> &[TraceEvent] {
        self.stepper.log()
    }

    /// The events since the last call.
    pub fn take_log(&mut self) -> Vec<TraceEvent> {
        let log = self.stepper.take_log();
        self.taken += log.len();
        log
    }

    /// The looks since the last call.
    pub fn take_looks(&mut self) -> Vec<StorageLook> {
        std::mem::take(&mut self.looks)
    }

    /// Look, if what was logged after the first `logged` events has to do with where state lies.
    fn look_after(&mut self, logged: usize) {
        let mut new = self.log().iter().skip(logged);
        if new.any(|event| xray::concerns_storage(&event.kind)) {
            self.look();
        }
    }

    /// Look at where the state lies now, if anybody wants to know.
    pub fn look(&mut self) {
        if let Some(look) = self.present_look()
            && self.last_look.as_ref() != Some(&look)
        {
            self.looks.push(look.clone());
            self.last_look = Some(look);
        }
    }

    /// How it is at this moment, which is not worth keeping; none: nobody wants to know.
    pub fn present_look(&self) -> Option<StorageLook> {
        let last = self.last_look.as_ref();
        self.blueprint.takes_looks.then(|| StorageLook {
            position: self.position(),
            at_us: self.stepper.now_us(),
            stored: StoredLook::take(&*self.home.storage, last.map(|last| &last.stored)),
            local: xray::local(&self.stepper, last.map_or(&[], |last| &last.local)),
        })
    }

    /// After how many events it stands.
    #[must_use]
    pub fn position(&self) -> usize {
        self.taken + self.log().len()
    }

    /// Read a file of the checkpoint storage, or working state as it is now.
    ///
    /// # Errors
    /// A sentence: it is gone or damaged.
    pub fn look_into(&self, file: &FileRef) -> Result<FileContents, String> {
        let work = self.home.dir().join("looked-into");
        // Left over only if an earlier look failed to clean up.
        let _ = std::fs::remove_dir_all(&work);
        xray::Reader {
            storage: &*self.home.storage,
            stepper: &self.stepper,
            work: &work,
        }
        .read(file)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.home.note(self.stepper.status());
    }
}
