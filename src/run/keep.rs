//! What may outlive a run: its savepoints, and the checkpoints that its retention keeps.
//!
//! Both lie in folders that the job names, beside other runs' and other people's files. So every run makes a folder of
//! its own there, and removes nothing else.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::coordinator::{JobEnd, keeps};
use crate::engine::driver::SavepointTarget;
use crate::engine::event::JobStatus;
use crate::engine::storage::{CheckpointStorage, FileSystemStorage, SHARED, snapshots_in};
use crate::model::{Retention, StorageKind};

/// More savepoints of one name than this are not looked for.
const MAX_NAMESAKES: u32 = 1000;

/// Flink's folders beside the checkpoints, for files that several of them share, and for such as belong to tasks, of
/// which there are none here.
const BESIDE: [&str; 2] = [SHARED, "taskowned"];

/// 32 hex digits that no other run has. Not the id by which the job's own seed calls it: two runs of the same job must not
/// meet in the same folder.
fn new_job_id() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// The folder for one run's checkpoints within the job's checkpoint folder (Flink: `<dir>/<job-id>`).
#[derive(Debug)]
pub struct KeptFolder {
    path: PathBuf,
    retention: Retention,
    /// How the job ended; none: it has not, so the run is canceled with it.
    end: Mutex<Option<JobEnd>>,
    /// The run goes on elsewhere: nobody wants what is here.
    is_abandoned: AtomicBool,
}

impl KeptFolder {
    /// # Errors
    /// The folder cannot be made.
    pub fn create(parent: &Path, retention: Retention) -> io::Result<Self> {
        let path = parent.join(new_job_id());
        fs::create_dir_all(parent)?;
        fs::create_dir(&path)?;
        for name in BESIDE {
            fs::create_dir(path.join(name))?;
        }
        Ok(Self {
            path,
            retention,
            end: Mutex::new(None),
            is_abandoned: AtomicBool::new(false),
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn note(&self, status: &JobStatus) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = JobEnd::of(status);
    }

    pub fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
    }

    fn is_wanted(&self) -> bool {
        let end = *self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let end = end.unwrap_or(JobEnd::Canceled);
        !self.is_abandoned.load(Ordering::Relaxed) && keeps(self.retention, end)
    }
}

impl Drop for KeptFolder {
    /// What is wanted stays. A folder without checkpoints goes in any case; what cannot be removed is left.
    fn drop(&mut self) {
        let _ = if self.is_wanted() && !snapshots_in(&self.path).is_empty() {
            Ok(())
        } else {
            fs::remove_dir_all(&self.path)
        };
    }
}

/// The folder in which the savepoints of a job lie, each in one of its own.
pub struct SavepointFolder {
    dir: PathBuf,
    /// In which they are made while the run is lived through once more: the person has them already.
    scratch: PathBuf,
    is_replaying: AtomicBool,
    /// What the run calls each of them, and where it lies.
    places: Mutex<Vec<(String, PathBuf)>>,
    /// The same of the executions before this one: where those lie that are only lived through again.
    earlier: Mutex<Vec<(String, PathBuf)>>,
    /// Why the latest that had no place had none, as a sentence.
    trouble: Mutex<Option<String>>,
}

impl SavepointFolder {
    /// `scratch` lies in the run's temporary folder.
    #[must_use]
    pub fn new(dir: PathBuf, scratch: PathBuf, is_replaying: bool) -> Self {
        Self {
            dir,
            scratch,
            is_replaying: AtomicBool::new(is_replaying),
            places: Mutex::default(),
            earlier: Mutex::default(),
            trouble: Mutex::default(),
        }
    }

    /// From now on, what happens is new.
    pub fn end_replay(&self) {
        self.is_replaying.store(false, Ordering::Relaxed);
    }

    /// This execution repeats what was made in `other`.
    pub fn follow(&self, other: &Self) {
        let mut earlier = lock(&self.earlier);
        earlier.extend(lock(&other.earlier).iter().cloned());
        let made = lock(&other.places);
        let kept = made
            .iter()
            .filter(|(_, path)| !path.starts_with(&other.scratch));
        earlier.extend(kept.cloned());
    }

    /// Where the savepoint lies that the run calls `name`: as made by this execution, or else by an earlier one.
    #[must_use]
    pub fn path_of(&self, name: &str) -> Option<PathBuf> {
        let newest = |places: &[(String, PathBuf)], is_kept: bool| {
            let mut places = places.iter().rev();
            let found = places.find(|(known, path)| {
                known == name && (!is_kept || !path.starts_with(&self.scratch))
            });
            found.map(|(_, path)| path.clone())
        };
        let places = lock(&self.places);
        newest(&places, true)
            .or_else(|| newest(&lock(&self.earlier), false))
            .or_else(|| newest(&places, false))
    }

    /// Why the latest savepoint that had no place had none, as a sentence.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock();
        trouble.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn parent(&self) -> &Path {
        if self.is_replaying.load(Ordering::Relaxed) {
            &self.scratch
        } else {
            &self.dir
        }
    }
}

impl SavepointTarget for SavepointFolder {
    /// The run calls it `name` in any case, so that the same run always tells the same. Where that name is taken, its
    /// folder has a number behind it.
    fn open(&self, name: &str) -> Result<(String, Arc<dyn CheckpointStorage>), String> {
        let parent = self.parent();
        let folder = new_folder(parent, name).map_err(|error| {
            let parent = parent.display();
            let sentence = format!("The savepoint could not be put into {parent}: {error}.");
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence.clone());
            sentence
        })?;
        let threshold_bytes = StorageKind::DEFAULT_INLINE_THRESHOLD_BYTES;
        let storage = FileSystemStorage::single(&folder, threshold_bytes);
        lock(&self.places).push((name.to_owned(), folder));
        Ok((name.to_owned(), Arc::new(storage)))
    }

    fn drop_empty(&self, name: &str) {
        let places = lock(&self.places);
        if let Some((_, folder)) = places.iter().rev().find(|(known, _)| known == name) {
            // Only an empty folder can be removed so.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that was not there before, called `name`, or `name-2`, `name-3` … where that is taken.
fn new_folder(parent: &Path, name: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(parent)?;
    let names = (2..MAX_NAMESAKES).map(|number| format!("{name}-{number}"));
    for name in std::iter::once(name.to_owned()).chain(names) {
        let folder = parent.join(&name);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may end where it stands")]

    use super::*;

    #[test]
    fn a_savepoint_never_takes_anothers_place() {
        let dir = tempfile::tempdir().unwrap();
        let (real, scratch) = (dir.path().join("real"), dir.path().join("scratch"));
        let target = SavepointFolder::new(real.clone(), scratch.clone(), true);
        assert_eq!(target.open("savepoint-a").unwrap().0, "savepoint-a");
        assert!(!real.exists(), "a replay touches nothing of the person's");
        target.end_replay();
        assert_eq!(target.open("savepoint-a").unwrap().0, "savepoint-a");
        assert_eq!(target.open("savepoint-a").unwrap().0, "savepoint-a");
        assert_eq!(
            target.path_of("savepoint-a"),
            Some(real.join("savepoint-a-2"))
        );
        assert!(real.join("savepoint-a-2").is_dir());
        target.drop_empty("savepoint-a");
        assert!(!real.join("savepoint-a-2").exists());
    }

    #[test]
    fn a_runs_folder_stays_only_where_its_retention_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let failed = JobStatus::Failed {
            cause: String::new(),
        };
        let stays = |retention, status: Option<&JobStatus>, is_abandoned: bool| {
            let folder = KeptFolder::create(dir.path(), retention).unwrap();
            let path = folder.path().to_owned();
            assert!(path.join("shared").is_dir() && path.join("taskowned").is_dir());
            fs::create_dir(path.join("chk-1")).unwrap();
            fs::write(path.join("chk-1").join("_metadata"), "x").unwrap();
            status.into_iter().for_each(|status| folder.note(status));
            if is_abandoned {
                folder.abandon();
            }
            drop(folder);
            path.exists()
        };
        assert!(stays(Retention::DeleteOnCancellation, Some(&failed), false));
        assert!(!stays(Retention::DeleteOnCancellation, None, false));
        assert!(stays(Retention::RetainOnCancellation, None, false));
        assert!(!stays(Retention::RetainOnCancellation, None, true));
        assert!(!stays(Retention::NoExternalized, Some(&failed), false));
    }
}
