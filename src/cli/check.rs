//! `lockgate check`: whether a file is a job that runs.

use std::path::Path;

use super::Exit;
use crate::project;

/// Silent if all is well; else every error on stderr, with line and column where there is one.
pub fn check(file: &Path) -> Exit {
    match project::check(file) {
        Ok(_) => Exit::Well,
        Err(error) => {
            eprintln!("{error}");
            Exit::BadFile
        }
    }
}
