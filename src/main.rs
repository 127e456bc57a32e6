//! Reads the arguments, then opens the window or runs headless.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use lockgate::cli::{self, Exit, Invocation};
use lockgate::ui::Opening;

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
    let opening = match opening(file) {
        Ok(opening) => opening,
        Err(sentence) => {
            eprintln!("{sentence}");
            return Exit::BadFile;
        }
    };
    let trouble = if has_no_display() {
        Some("there is no display (DISPLAY and WAYLAND_DISPLAY are not set)".to_owned())
    } else {
        let opened = lockgate::ui::run(opening);
        opened.err().map(|error| cause(&error.to_string()))
    };
    let Some(cause) = trouble else {
        return Exit::Well;
    };
    eprintln!("The window cannot be opened: {cause}. `lockgate run FILE` works without one.");
    Exit::CannotRun
}

/// A file that cannot be read ends a command in a terminal; started from a desktop, the window says so.
fn opening(file: Option<PathBuf>) -> Result<Opening, String> {
    let Some(path) = file else {
        return Ok(Opening::Sample);
    };
    match lockgate::project::load(&path) {
        Ok(loaded) => Ok(Opening::Job(Box::new(loaded.job), path)),
        Err(error) if std::io::stderr().is_terminal() || has_no_display() => Err(error.to_string()),
        Err(error) => Ok(Opening::Trouble(error.to_string())),
    }
}

fn has_no_display() -> bool {
    let is_unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    cfg!(target_os = "linux") && ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().all(is_unset)
}

/// The first line of an error, without the place in somebody's source code that it may begin with.
fn cause(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    let told = line.rsplit_once(".rs:").map_or(line, |(_, rest)| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || ": ".contains(c))
    });
    told.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::cause;

    #[test]
    fn an_error_tells_no_place_in_source_code() {
        let error = "os error at /home/a/.cargo/x/mod.rs:760: the server is gone.\nmore";
        assert_eq!(cause(error), "the server is gone");
        assert_eq!(cause("no adapter"), "no adapter");
    }
}
