//! Reads the arguments, then opens the window or runs headless.

use std::path::PathBuf;
use std::process::ExitCode;

use lockgate::cli::{self, Exit, Invocation};

fn main() -> ExitCode {
    match cli::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Window(file)) => window(file).into(),
        Ok(invocation) => cli::carry_out(&invocation).into(),
        Err(sentence) => {
            eprintln!("{sentence} See lockgate --help.");
            Exit::BadUsage.into()
        }
    }
}

/// Open the window with the job in `file`, or with the built-in sample.
fn window(file: Option<PathBuf>) -> Exit {
    let job = match file.map(|path| (lockgate::project::load(&path), path)) {
        None => None,
        Some((Ok(loaded), path)) => Some((loaded.job, path)),
        Some((Err(error), _)) => {
            eprintln!("{error}");
            return Exit::BadFile;
        }
    };
    match lockgate::ui::run(job) {
        Ok(()) => Exit::Well,
        Err(error) => {
            eprintln!(
                "The window cannot be opened: {error}. `lockgate run FILE` works without one."
            );
            Exit::CannotRun
        }
    }
}
