//! The temporary folder of a run, which goes when the run goes, even if the process was killed.
//!
//! A folder is `lockgate-run-…` with two files in it: a *lock*, held as long as its owner lives (the operating system
//! lets go of it however the process ends), and a *marker*, written once the lock is held. So a folder with our name, our
//! marker and a free lock is what a dead process left, and such a folder is swept away. One that is being made has no
//! marker yet; one in use has its lock taken; anything else is not ours. A process killed in the very moment of making
//! one leaves at most an unlocked lock in it: that goes, too, once it is old enough not to be in the making.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "lockgate-run-";
const LOCK: &str = ".lock";
const MARKER: &str = ".lockgate-run";
const MARKER_TEXT: &str =
    "A run of Lockgate works in this folder. It is removed when the run ends.\n";

/// A unique folder, removed with all it holds when this is dropped.
#[derive(Debug)]
pub struct WorkDir {
    /// Before `_lock`: the folder goes while the lock is still held.
    folder: tempfile::TempDir,
    _lock: File,
}

impl WorkDir {
    /// Make a folder in `parent`, or where the system keeps temporary files; and sweep away there what crashed
    /// processes left.
    ///
    /// # Errors
    /// The folder cannot be made or its lock not taken. What cannot be swept is left, silently.
    pub fn create(parent: Option<&Path>) -> io::Result<Self> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        // It may belong to someone else. That must not keep anyone from working.
        let _ = Self::sweep(&parent);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(&parent)?;
        let lock = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(folder.path().join(LOCK))?;
        lock.try_lock()?;
        fs::write(folder.path().join(MARKER), MARKER_TEXT)?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Remove the folders in `parent` that no living process holds; returns those removed, sorted.
    ///
    /// # Errors
    /// `parent` cannot be read. A folder that cannot be removed is skipped.
    pub fn sweep(parent: &Path) -> io::Result<Vec<PathBuf>> {
        let mut removed = Vec::new();
        for entry in fs::read_dir(parent)? {
            let Ok(entry) = entry else { continue };
            let is_named_as_ours = entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.starts_with(PREFIX));
            if is_named_as_ours && matches!(remove_if_abandoned(&entry.path()), Ok(true)) {
                removed.push(entry.path());
            }
        }
        removed.sort_unstable();
        Ok(removed)
    }
}

/// Nobody takes this long from making a folder to locking it.
const STILLBORN_AFTER: Duration = Duration::from_hours(1);

/// A folder of our name without a marker, with nothing but perhaps a lock in it, and old.
fn remove_if_stillborn(folder: &Path) -> io::Result<bool> {
    let age = fs::symlink_metadata(folder)?.modified()?.elapsed();
    let only_a_lock = || -> io::Result<bool> {
        let mut names = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name()));
        Ok(names.all(|name| name.is_ok_and(|name| name == LOCK)))
    };
    if !age.is_ok_and(|age| age > STILLBORN_AFTER) || !only_a_lock()? {
        return Ok(false);
    }
    match fs::remove_file(folder.join(LOCK)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::remove_dir(folder).map(|()| true),
    }
}

fn remove_if_abandoned(folder: &Path) -> io::Result<bool> {
    if fs::symlink_metadata(folder)?.is_dir() && !folder.join(MARKER).exists() {
        return remove_if_stillborn(folder);
    }
    // None of the three may be a link: what it points to is not ours.
    let is_ours = fs::symlink_metadata(folder)?.is_dir()
        && fs::symlink_metadata(folder.join(MARKER))?.is_file()
        && fs::symlink_metadata(folder.join(LOCK))?.is_file();
    if !is_ours {
        return Ok(false);
    }
    let lock = File::open(folder.join(LOCK))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Ok(false),
        Err(fs::TryLockError::Error(error)) => return Err(error),
    }
    // Marker and lock last, so that whoever comes after a sweep that was itself killed can finish it.
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == LOCK || entry.file_name() == MARKER {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    use super::*;

    const CHILD_PARENT: &str = "LOCKGATE_TEST_WORKDIR_PARENT";

    fn parent() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    /// What a process leaves that was killed: everything but the hold on the lock.
    fn abandoned(parent: &Path, name: &str) -> PathBuf {
        let folder = parent.join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(LOCK), "").unwrap();
        fs::write(folder.join(MARKER), MARKER_TEXT).unwrap();
        fs::create_dir(folder.join("db")).unwrap();
        fs::write(folder.join("db").join("000001.sst"), "data").unwrap();
        folder
    }

    fn names(parent: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(parent)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn it_goes_with_its_owner() {
        let parent = parent();
        let work = WorkDir::create(Some(parent.path())).unwrap();
        fs::write(work.path().join("state"), "data").unwrap();
        assert!(work.path().starts_with(parent.path()));
        drop(work);
        assert!(names(parent.path()).is_empty());
    }

    /// Catches a sweep that does not ask for the lock.
    #[test]
    fn a_held_folder_is_never_swept() {
        let parent = parent();
        let first = WorkDir::create(Some(parent.path())).unwrap();
        let second = WorkDir::create(Some(parent.path())).unwrap();
        assert_eq!(
            WorkDir::sweep(parent.path()).unwrap(),
            Vec::<PathBuf>::new()
        );
        assert!(first.path().is_dir() && second.path().is_dir());
        assert_ne!(first.path(), second.path());
    }

    #[test]
    fn creating_one_sweeps_what_was_left() {
        let parent = parent();
        abandoned(parent.path(), "lockgate-run-dead");
        let work = WorkDir::create(Some(parent.path())).unwrap();
        let own = work.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(names(parent.path()), [own]);
    }

    #[test]
    fn a_folder_whose_maker_died_at_once_goes_when_it_is_old() {
        let parent = parent();
        let (fresh, old) = (
            parent.path().join("lockgate-run-a"),
            parent.path().join("lockgate-run-b"),
        );
        for folder in [&fresh, &old] {
            fs::create_dir(folder).unwrap();
        }
        let long_ago = std::time::SystemTime::now() - 2 * STILLBORN_AFTER;
        File::open(&old).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(WorkDir::sweep(parent.path()).unwrap(), [old]);
        assert!(fresh.is_dir());
    }

    /// Catches a sweep that goes by the name alone.
    #[test]
    fn what_is_not_ours_stays() {
        let parent = parent();
        abandoned(parent.path(), "someone-elses");
        let unmarked = abandoned(parent.path(), "lockgate-run-unmarked");
        fs::remove_file(unmarked.join(MARKER)).unwrap();
        let unlocked = abandoned(parent.path(), "lockgate-run-without-lock");
        fs::remove_file(unlocked.join(LOCK)).unwrap();
        fs::write(parent.path().join("lockgate-run-file"), "").unwrap();
        let before = names(parent.path());
        assert!(WorkDir::sweep(parent.path()).unwrap().is_empty());
        assert_eq!(names(parent.path()), before);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (parent, elsewhere) = (parent(), parent());
        let target = abandoned(elsewhere.path(), "lockgate-run-target");
        symlink(&target, parent.path().join("lockgate-run-link")).unwrap();
        let dead = abandoned(parent.path(), "lockgate-run-dead");
        symlink(&target, dead.join("inner")).unwrap();

        assert_eq!(WorkDir::sweep(parent.path()).unwrap(), [dead]);
        assert_eq!(names(parent.path()), ["lockgate-run-link"]);
        assert!(target.join("db").join("000001.sst").is_file());
    }

    /// Not a test by itself: the process that [`a_killed_process_leaves_what_the_next_one_sweeps`] kills.
    #[test]
    fn child_that_holds_a_folder() {
        let Some(parent) = std::env::var_os(CHILD_PARENT) else {
            return;
        };
        let work = WorkDir::create(Some(Path::new(&parent))).unwrap();
        fs::write(work.path().join("state"), "data").unwrap();
        println!("holds {}", work.path().display());
        // Until the parent process kills this one, or ends and so closes the pipe.
        let _ = io::stdin().read(&mut [0]);
    }

    #[test]
    fn a_killed_process_leaves_what_the_next_one_sweeps() {
        let parent = parent();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("run::workdir::tests::child_that_holds_a_folder")
            .env(CHILD_PARENT, parent.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let held = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .find_map(|line| Some(PathBuf::from(line.unwrap().split_once("holds ")?.1)))
            .expect("the child says which folder it holds");

        assert!(WorkDir::sweep(parent.path()).unwrap().is_empty());
        assert!(held.join("state").is_file(), "the child lives");

        child.kill().unwrap();
        child.wait().unwrap();
        assert!(held.join("state").is_file(), "no one cleaned up");
        assert_eq!(WorkDir::sweep(parent.path()).unwrap(), [held]);
        assert!(names(parent.path()).is_empty());
    }
}
