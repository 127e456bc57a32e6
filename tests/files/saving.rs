//! A save replaces the file in one step, or leaves the old one as it was.

use std::fs;
use std::path::{Path, PathBuf};

use lockgate::model::{JobGraph, Position};
use lockgate::project;

fn odd_even() -> JobGraph {
    project::load(Path::new("samples/odd-even.ron"))
        .unwrap()
        .job
}

fn names_in(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A new folder with the file `job.ron`, which holds `old`.
fn folder_with_old_file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.ron");
    fs::write(&path, "old").unwrap();
    (folder, path)
}

fn save_error(path: &Path, job: &JobGraph) -> String {
    let error = project::save(path, job).unwrap_err().to_string();
    error.replace(&path.display().to_string(), "FILE")
}

#[test]
fn a_saved_job_is_the_job_that_loads() {
    let (folder, path) = folder_with_old_file();
    let job = odd_even();
    project::save(&path, &job).unwrap();
    assert_eq!(project::load(&path).unwrap().into_runnable().unwrap(), job);
    assert_eq!(names_in(folder.path()), ["job.ron"], "nothing is left over");
}

#[test]
fn an_unfinished_job_is_saved_as_a_draft() {
    let (_folder, path) = folder_with_old_file();
    let mut job = odd_even();
    job.edges.pop();
    project::save(&path, &job).unwrap();
    let loaded = project::load(&path).unwrap();
    assert!(loaded.is_draft());
    assert_eq!(loaded.job, job);

    project::save(&path, &odd_even()).unwrap();
    assert!(!project::load(&path).unwrap().is_draft(), "finished again");
    assert!(!fs::read_to_string(&path).unwrap().contains("draft"));
}

#[test]
fn an_absurd_job_is_not_saved_over_a_good_file() {
    let (folder, path) = folder_with_old_file();
    let mut job = odd_even();
    job.vertices[0].position = Position {
        x: f32::NAN,
        y: 0.0,
    };
    assert_eq!(
        save_error(&path, &job),
        "FILE was not saved, because no file can hold this job. The position of “numbers” is not on the canvas: set both coordinates to numbers between -1,000,000 and 1,000,000."
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(folder.path()), ["job.ron"]);
}

/// It could not be opened again.
#[test]
fn a_job_larger_than_any_file_is_not_saved() {
    let (folder, path) = folder_with_old_file();
    let mut job = odd_even();
    job.note = "long ".repeat(1_000_000);
    let error = save_error(&path, &job);
    assert!(
        error
            .starts_with("FILE was not saved, because no file can hold this job. It would have 50"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(folder.path()), ["job.ron"]);
}

#[test]
fn a_save_that_fails_leaves_everything_as_it_was() {
    let (folder, path) = folder_with_old_file();
    let nowhere = folder.path().join("nowhere/job.ron");
    assert!(save_error(&nowhere, &odd_even()).ends_with("Check that its folder exists."));
    let below_a_file = path.join("job.ron");
    assert!(save_error(&below_a_file, &odd_even()).starts_with("FILE was not saved: "));
    assert_eq!(
        save_error(folder.path(), &odd_even()),
        "FILE was not saved: it is a folder or a device. Choose a file name that no folder has."
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(folder.path()), ["job.ron"]);
}

#[test]
fn a_write_protected_file_is_not_replaced() {
    let (folder, path) = folder_with_old_file();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert_eq!(
        save_error(&path, &odd_even()),
        "FILE was not saved: it is write-protected. Save it under another name, or in a folder where you may write."
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(folder.path()), ["job.ron"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_file_keeps_its_permissions() {
        let (folder, path) = folder_with_old_file();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        project::save(&path, &odd_even()).unwrap();
        assert_eq!(mode(&path), 0o640);

        let new = folder.path().join("new.ron");
        let plain = folder.path().join("plain");
        project::save(&new, &odd_even()).unwrap();
        fs::write(&plain, "").unwrap();
        assert_eq!(mode(&new), mode(&plain), "a new file is like any new file");
    }

    #[test]
    fn a_link_stays_a_link() {
        let (folder, path) = folder_with_old_file();
        let link = folder.path().join("link.ron");
        symlink(&path, &link).unwrap();
        project::save(&link, &odd_even()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(project::load(&path).is_ok());
    }

    /// Half-way: the new content is written, and then cannot take its place.
    #[test]
    fn a_folder_without_write_permission_keeps_its_file() {
        let (folder, path) = folder_with_old_file();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let result = project::save(&path, &odd_even());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // Root may write everywhere; anybody else is refused.
        if result.is_err() {
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        }
        assert_eq!(names_in(folder.path()), ["job.ron"]);
    }
}
