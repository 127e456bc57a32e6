//! From a job to a file, in one step or not at all.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ron::ser::PrettyConfig;
use tempfile::NamedTempFile;

use super::error::ProjectError;
use super::load::{MAX_FILE_BYTES, base_dir};
use super::{ron_options, v2};
use crate::model::{JobGraph, Severity, validate};

/// Down to this depth every value has a line of its own: an operator is one line.
const LINES_TO_DEPTH: usize = 2;

/// The text of a job file that holds `job`; a draft if the job has problems.
///
/// [`super::parse`] gives the same job back, to the last digit, unless the job is [`Severity::Absurd`].
#[must_use]
pub fn to_text(job: &JobGraph) -> String {
    let file = v2::Job::from_model(job, !validate(job).is_empty());
    let layout = PrettyConfig::new()
        .depth_limit(LINES_TO_DEPTH)
        .new_line("\n");
    let mut text = String::new();
    let written = ron_options().to_writer_pretty(&mut text, &file, layout);
    debug_assert!(
        written.is_ok(),
        "a string takes all that is written: {written:?}"
    );
    text.push('\n');
    text
}

/// Writes `job` to `path`: into a temporary file beside it, which then takes its place. Whoever reads `path` meanwhile
/// sees the old file or the new one, and so does a machine whose power fails.
///
/// An existing file keeps its permissions; a symbolic link stays one, and its target is replaced.
///
/// # Errors
/// The job is [`Severity::Absurd`] or larger than a file may be, or the file cannot be written. The old file is as it was then.
pub fn save(path: &Path, job: &JobGraph) -> Result<(), ProjectError> {
    let file = || path.display().to_string();
    let problems = validate(job);
    if let Some(absurd) = problems
        .into_iter()
        .find(|each| each.severity == Severity::Absurd)
    {
        return Err(ProjectError::Unsavable {
            file: file(),
            message: absurd.message,
        });
    }
    let text = to_text(job);
    if text.len() as u64 > MAX_FILE_BYTES {
        let message = format!(
            "It would have {} bytes, and {MAX_FILE_BYTES} are possible: shorten notes, names or labels.",
            text.len()
        );
        return Err(ProjectError::Unsavable {
            file: file(),
            message,
        });
    }
    replace(path, |file| file.write_all(text.as_bytes())).map_err(|source| ProjectError::Write {
        file: file(),
        hint: hint_for(&source),
        source,
    })
}

fn hint_for(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "Check that its folder exists.",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Save it under another name, or in a folder where you may write."
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Free some space, or save it elsewhere."
        }
        io::ErrorKind::IsADirectory => "Choose a file name that no folder has.",
        _ => "Save it under another name, or elsewhere.",
    }
}

/// Lets `write` fill a temporary file, which then takes the place of `path`.
fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (target, old) = target_of(path)?;
    let folder = base_dir(&target);
    // Dropped on every way out but the last one, and with it the temporary file.
    let mut temporary = create_in(&folder)?;
    write(temporary.as_file_mut())?;
    if let Some(old) = old {
        temporary.as_file().set_permissions(old.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&target)?;
    sync_folder(&folder);
    Ok(())
}

/// The file behind `path`, links followed, and what is there now.
fn target_of(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    let old = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((path.into(), None)),
        other => other?,
    };
    if !old.is_file() {
        let message = "it is a folder or a device";
        return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
    }
    if old.permissions().readonly() {
        let message = "it is write-protected";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok((fs::canonicalize(path)?, Some(old)))
}

fn create_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".lockgate-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any new file: what the person's umask leaves. (A temporary file's own default is 0600.)
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The error's own text would name the temporary file, which nobody has asked for.
    builder
        .tempfile_in(folder)
        .map_err(|error| error.kind().into())
}

/// Makes the renaming itself last. The file is complete under its name by now, so where a system cannot do this, the
/// save has not failed.
fn sync_folder(folder: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The disk is full after a few bytes, say.
    #[test]
    fn a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("job.ron");
        fs::write(&path, "old")?;
        let half = |file: &mut File| {
            file.write_all(b"ne")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        let error = replace(&path, half).map_err(|error| error.kind());
        assert_eq!(error, Err(io::ErrorKind::StorageFull));
        assert_eq!(fs::read_to_string(&path)?, "old");
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }
}
