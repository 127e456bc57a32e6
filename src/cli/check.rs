//! `lockgate check`: whether a file is a job that runs.

use std::path::Path;

use super::Exit;
use crate::project;
use crate::run::{Blueprint, RunOptions};

/// Silent if all is well; else every error on stderr, with line and column where there is one.
pub fn check(file: &Path) -> Exit {
    let job = match project::load(file).and_then(project::LoadedJob::into_runnable) {
        Ok(job) => job,
        Err(error) => {
            eprintln!("{error}");
            return Exit::BadFile;
        }
    };
    let options = RunOptions {
        base_dir: project::base_dir(file),
        ..RunOptions::default()
    };
    let feeds = Blueprint::new(&job, &options, None).and_then(|blueprint| blueprint.read_feeds());
    match feeds {
        Ok(_) => Exit::Well,
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            Exit::BadFile
        }
    }
}
