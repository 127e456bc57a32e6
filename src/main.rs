//! Reads the arguments, then opens the window or runs headless.

use std::process::ExitCode;

use lockgate::cli::{self, Exit, Invocation};

fn main() -> ExitCode {
    match cli::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Window(_file)) => Exit::Well.into(),
        Ok(invocation) => cli::carry_out(&invocation).into(),
        Err(sentence) => {
            eprintln!("{sentence} See lockgate --help.");
            Exit::BadUsage.into()
        }
    }
}
