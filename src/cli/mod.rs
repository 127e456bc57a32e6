//! The command line: which subcommand, with which options, and the headless ones themselves.

mod args;
mod check;
mod fuzz;
mod headless;
mod inspect;
mod live;
pub mod report;
mod set;

use std::io::{self, Write};
use std::process::ExitCode;

pub use args::{Invocation, ReportFormat, RunArgs, parse};
pub use fuzz::FuzzArgs;

pub const USAGE: &str = "\
Lockgate: build a small streaming job, run it, and watch its checkpoints.

  lockgate [FILE]            open the window, with the built-in sample or with FILE
  lockgate run FILE [...]    run FILE and its script without a window, and print a report
      --seed N               decides ties in virtual time          (default: the file's)
      --backend heap|rocksdb where working state lives             (default: the file's)
      --set PATH=VALUE       any setting of the job, by its path or by Flink's name; may be given several times:
                             checkpointing.mode=at-least-once, execution.checkpointing.interval=500ms,
                             restart=fixed-delay, operators.UID.parallelism=3 … (all: lockgate settings)
      --from DIR             start from the savepoint or retained checkpoint in DIR, which stays as it is
      --claim                … which then belongs to the run, and is deleted when it is not needed any more
      --allow-non-restored-state   leave out state of operators that the job does not have
      --savepoint-dir DIR    where savepoints go                   (default: the file's savepoint_dir)
      --checkpoint-dir DIR   where checkpoints go that may outlive the run; storage is the file system then
      --until-ms T           stop at this time; without it, the run goes on to the end of bounded sources
      --live                 threads and the wall clock instead of virtual time
      --report text|json     how to print the report               (default: text)
      --trace FILE.jsonl     write every event, one JSON object a line
  lockgate savepoints DIR    list the savepoints and retained checkpoints in DIR
  lockgate inspect PATH      what is in one: operators, uids and ids, parallelism, handles, sizes
      --key K                … and what is held for this key
      --report text|json     of both: how to print it              (default: text)
  lockgate settings          list every PATH that --set takes, with its values, default and Flink's name
  lockgate check FILE        say nothing and exit with 0 if FILE can run; else list what is wrong
  lockgate fuzz --seeds A..B run the random jobs of these seeds and check every law of checkpointing
      --max-ms T             look only at so much virtual time of each
      --out DIR              where failing jobs are written        (default: here)
  lockgate --help | --version

Exit codes: 0 all is well; 1 the file (or a file it names) is wrong; 2 the command line is wrong;
3 the run ended with the job down or a scripted command refused, or a seed breaks a law; 4 the run could not be carried
out, or not be started from there.
";

/// How a program ends (see [`USAGE`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Well = 0,
    BadFile = 1,
    BadUsage = 2,
    JobDown = 3,
    CannotRun = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Carry out a headless invocation.
#[must_use]
pub fn carry_out(invocation: &Invocation) -> Exit {
    match invocation {
        Invocation::Run(args) => headless::run(args),
        Invocation::Check(file) => check::check(file),
        Invocation::Settings => print(&set::list()),
        Invocation::Savepoints { dir, report } => inspect::list(dir, *report),
        Invocation::Inspect { path, key, report } => {
            inspect::inspect(path, key.as_deref(), *report)
        }
        Invocation::Fuzz(args) => fuzz::fuzz(args),
        Invocation::Version => print(concat!("lockgate ", env!("CARGO_PKG_VERSION"), "\n")),
        Invocation::Help | Invocation::Window(_) => print(USAGE),
    }
}

/// Whoever reads may have seen enough.
fn print(text: &str) -> Exit {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("The text cannot be printed: {error}.");
            Exit::CannotRun
        }
        _ => Exit::Well,
    }
}
