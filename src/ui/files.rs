//! Job files as the window sees them: open, save, and the system's dialogs on a thread of their own.
//!
//! The only place of the window that touches the disk.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError, bounded};

use crate::model::{JobGraph, Uid};
use crate::project;

use super::samples::Sample;

/// A dialog that closes this quickly was never shown: there is no desktop portal.
const NEVER_SHOWN: Duration = Duration::from_millis(400);

/// Read the job in `path`.
///
/// # Errors
/// A sentence: what is wrong, where in the file, what to do.
pub fn open(path: &Path) -> Result<JobGraph, String> {
    let loaded = project::load(path).map_err(|error| error.to_string())?;
    Ok(loaded.job)
}

/// Write `job` to `path`, whole or not at all.
///
/// # Errors
/// A sentence: what went wrong.
pub fn save(job: &JobGraph, path: &Path) -> Result<(), String> {
    project::save(path, job).map_err(|error| error.to_string())
}

/// `path`, with the ending of job files if it has none.
#[must_use]
pub fn with_extension(path: &Path) -> PathBuf {
    if path.extension().is_some() {
        path.to_owned()
    } else {
        path.with_extension("ron")
    }
}

/// `path` as a job file at `job` names it: relative where it lies inside the job's folder.
#[must_use]
pub fn relative_to(path: &Path, job: Option<&Path>) -> PathBuf {
    let inside = || {
        let folder = project::base_dir(job?).canonicalize().ok()?;
        let path = path.canonicalize().ok()?;
        path.strip_prefix(folder).ok().map(Path::to_owned)
    };
    inside().unwrap_or_else(|| path.to_owned())
}

/// Put the data that a sample reads below `folder`, unless it is there. Does nothing for a sample without.
///
/// # Errors
/// A sentence: the folder cannot be written.
pub fn unpack(sample: &Sample, folder: &Path) -> Result<(), String> {
    sample
        .data()
        .try_for_each(|(place, content)| unpack_one(&folder.join(place), content))
}

fn unpack_one(target: &Path, content: &str) -> Result<(), String> {
    if target.exists() {
        return Ok(());
    }
    let written = match target.parent() {
        Some(parent) => std::fs::create_dir_all(parent),
        None => Ok(()),
    };
    written
        .and_then(|()| std::fs::write(target, content))
        .map_err(|error| format!("{} cannot be written: {error}.", target.display()))
}

/// What a system dialog is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    Open,
    Save,
    /// The folder of a savepoint or checkpoint.
    Snapshot,
    /// The file of this CSV source.
    Csv(Uid),
}

/// A system dialog that is open somewhere.
pub struct PendingDialog {
    pub purpose: Purpose,
    started: Instant,
    answer: Receiver<Option<PathBuf>>,
}

/// How a system dialog ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Chosen(PathBuf),
    Cancelled,
    /// This desktop shows no dialogs: ask for a path instead.
    Unavailable,
}

impl PendingDialog {
    /// Show a dialog on its own thread; `ctx` is woken when it closes.
    #[must_use]
    pub fn start(purpose: Purpose, suggested: Option<&Path>, ctx: &egui::Context) -> Self {
        let (sender, answer) = bounded(1);
        let ctx = ctx.clone();
        let mut dialog = match purpose {
            Purpose::Csv(_) => rfd::FileDialog::new().add_filter("CSV", &["csv", "txt"]),
            _ => rfd::FileDialog::new().add_filter("Lockgate job", &["ron"]),
        };
        if let Some(folder) = suggested
            .and_then(Path::parent)
            .filter(|folder| folder.is_dir())
        {
            dialog = dialog.set_directory(folder);
        }
        if let (Purpose::Save, Some(name)) = (&purpose, suggested.and_then(Path::file_name)) {
            dialog = dialog.set_file_name(name.to_string_lossy());
        }
        let (is_new, is_folder) = (purpose == Purpose::Save, purpose == Purpose::Snapshot);
        std::thread::spawn(move || {
            let path = if is_new {
                dialog.save_file()
            } else if is_folder {
                dialog.pick_folder()
            } else {
                dialog.pick_file()
            };
            // The window may be gone by now; then nobody wants the answer.
            let _ = sender.send(path);
            ctx.request_repaint();
        });
        Self {
            purpose,
            started: Instant::now(),
            answer,
        }
    }

    /// The answer, if the dialog has closed.
    #[must_use]
    pub fn poll(&self) -> Option<Answer> {
        match self.answer.try_recv() {
            Ok(Some(path)) => Some(Answer::Chosen(path)),
            Ok(None) if self.started.elapsed() < NEVER_SHOWN => Some(Answer::Unavailable),
            Ok(None) => Some(Answer::Cancelled),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Answer::Unavailable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_inside_the_folder_of_the_job_is_named_relative_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let job = folder.path().join("job.ron");
        let inside = folder.path().join("data/a.csv");
        std::fs::create_dir(folder.path().join("data")).unwrap();
        std::fs::write(&inside, "k,v").unwrap();
        let outside = elsewhere.path().join("b.csv");
        std::fs::write(&outside, "k,v").unwrap();
        assert_eq!(relative_to(&inside, Some(&job)), Path::new("data/a.csv"));
        assert_eq!(relative_to(&outside, Some(&job)), outside);
        assert_eq!(relative_to(&inside, None), inside);
    }
}
