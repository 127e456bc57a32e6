//! Which subcommand the arguments ask for, with which options.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{FuzzArgs, fuzz, set};
use crate::model::BackendKind;

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Invocation {
    Window(Option<PathBuf>),
    Run(RunArgs),
    Check(PathBuf),
    /// List what `--set` can set.
    Settings,
    /// List the snapshots in a folder.
    Savepoints {
        dir: PathBuf,
        report: ReportFormat,
    },
    /// Tell what is in a snapshot, and for one key.
    Inspect {
        path: PathBuf,
        key: Option<String>,
        report: ReportFormat,
    },
    Fuzz(FuzzArgs),
    Help,
    Version,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportFormat {
    #[default]
    Text,
    Json,
}

/// The options of `lockgate run`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunArgs {
    pub file: PathBuf,
    pub seed: Option<u64>,
    pub backend: Option<BackendKind>,
    pub until_ms: Option<u64>,
    pub live: bool,
    pub report: ReportFormat,
    pub trace: Option<PathBuf>,
    /// Path and value, in the order in which they were given.
    pub set: Vec<(String, String)>,
    pub savepoint_dir: Option<PathBuf>,
    pub checkpoint_dir: Option<PathBuf>,
    /// The savepoint or retained checkpoint to start from.
    pub from: Option<PathBuf>,
    pub claim: bool,
    pub allow_non_restored_state: bool,
}

/// Read the arguments (without the program's name).
///
/// # Errors
/// A sentence about the argument that is wrong.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, String> {
    use lexopt::prelude::{Long, Short, Value};
    let mut parser = lexopt::Parser::from_args(args);
    let next = parser.next().map_err(|error| sentence(&error))?;
    match next {
        None => Ok(Invocation::Window(None)),
        Some(Long("help") | Short('h')) => Ok(Invocation::Help),
        Some(Long("version") | Short('V')) => Ok(Invocation::Version),
        Some(Value(word)) if word == "run" => parse_run(&mut parser),
        Some(Value(word)) if word == "fuzz" => parse_fuzz(&mut parser),
        Some(Value(word)) if word == "savepoints" => {
            let (dir, _, report) = parse_look(&mut parser, "savepoints needs a DIR.", false)?;
            Ok(dir.map_or(Invocation::Help, |dir| Invocation::Savepoints {
                dir,
                report,
            }))
        }
        Some(Value(word)) if word == "inspect" => {
            let needs = "inspect needs the PATH of a savepoint or checkpoint.";
            let (path, key, report) = parse_look(&mut parser, needs, true)?;
            Ok(path.map_or(Invocation::Help, |path| Invocation::Inspect {
                path,
                key,
                report,
            }))
        }
        Some(Value(word)) if word == "settings" => end(&mut parser, Invocation::Settings),
        Some(Value(word)) if word == "check" => {
            match parser.next().map_err(|error| sentence(&error))? {
                Some(Long("help") | Short('h')) => Ok(Invocation::Help),
                Some(Value(file)) if !file.is_empty() => {
                    end(&mut parser, Invocation::Check(file.into()))
                }
                Some(Value(_)) | None => Err("check needs a FILE.".to_owned()),
                Some(other) => Err(sentence(&other.unexpected())),
            }
        }
        Some(Value(file)) if file.is_empty() => Err("The FILE to open has no name.".to_owned()),
        Some(Value(file)) => end(&mut parser, Invocation::Window(Some(file.into()))),
        Some(other) => Err(sentence(&other.unexpected())),
    }
}

fn parse_run(parser: &mut lexopt::Parser) -> Result<Invocation, String> {
    use lexopt::prelude::{Long, Short, Value};
    let mut run = RunArgs::default();
    let mut file = None;
    while let Some(argument) = parser.next().map_err(|error| sentence(&error))? {
        match argument {
            Long("seed") => run.seed = Some(number(parser, "--seed")?),
            Long("until-ms") => run.until_ms = Some(number(parser, "--until-ms")?),
            Long("backend") => run.backend = Some(backend(&word(parser, "--backend")?)?),
            Long("live") => run.live = true,
            Long("report") => run.report = format(&word(parser, "--report")?)?,
            Long("trace") => run.trace = Some(word(parser, "--trace")?.into()),
            Long("set") => run.set.push(setting(parser)?),
            Long("from") => run.from = Some(word(parser, "--from")?.into()),
            Long("claim") => run.claim = true,
            Long("allow-non-restored-state") => run.allow_non_restored_state = true,
            Long("savepoint-dir") => run.savepoint_dir = Some(folder(parser, "--savepoint-dir")?),
            Long("checkpoint-dir") => {
                run.checkpoint_dir = Some(folder(parser, "--checkpoint-dir")?);
            }
            Long("help") | Short('h') => return Ok(Invocation::Help),
            Value(path) if file.is_none() && !path.is_empty() => file = Some(PathBuf::from(path)),
            Value(path) if path.is_empty() => return Err("run needs a FILE.".to_owned()),
            other => return Err(sentence(&other.unexpected())),
        }
    }
    run.file = file.ok_or("run needs a FILE.")?;
    if run.from.is_none() {
        for (is_given, option) in [
            (run.claim, "--claim"),
            (run.allow_non_restored_state, "--allow-non-restored-state"),
        ] {
            if is_given {
                return Err(format!(
                    "{option} is about what --from names: give that, too."
                ));
            }
        }
    }
    Ok(Invocation::Run(run))
}

fn parse_fuzz(parser: &mut lexopt::Parser) -> Result<Invocation, String> {
    use lexopt::prelude::{Long, Short};
    let mut args = FuzzArgs::default();
    let mut seeds = None;
    while let Some(argument) = parser.next().map_err(|error| sentence(&error))? {
        match argument {
            Long("seeds") => {
                let range = word(parser, "--seeds")?;
                seeds = Some(fuzz::seeds(&range.to_string_lossy())?);
            }
            Long("max-ms") => args.max_ms = Some(number(parser, "--max-ms")?),
            Long("out") => args.out = Some(word(parser, "--out")?.into()),
            Long("help") | Short('h') => return Ok(Invocation::Help),
            other => return Err(sentence(&other.unexpected())),
        }
    }
    args.seeds = seeds.ok_or("fuzz needs --seeds A..B.")?;
    Ok(Invocation::Fuzz(args))
}

/// What to look at, for which key, told how; no path: help is asked for.
fn parse_look(
    parser: &mut lexopt::Parser,
    needs: &str,
    takes_key: bool,
) -> Result<(Option<PathBuf>, Option<String>, ReportFormat), String> {
    use lexopt::prelude::{Long, Short, Value};
    let (mut path, mut key, mut report) = (None, None, ReportFormat::Text);
    while let Some(argument) = parser.next().map_err(|error| sentence(&error))? {
        match argument {
            Long("key") if takes_key => {
                key = Some(word(parser, "--key")?.to_string_lossy().into_owned());
            }
            Long("report") => report = format(&word(parser, "--report")?)?,
            Long("help") | Short('h') => return Ok((None, None, report)),
            Value(word) if path.is_none() && !word.is_empty() => path = Some(PathBuf::from(word)),
            other => return Err(sentence(&other.unexpected())),
        }
    }
    let path = path.ok_or_else(|| needs.to_owned())?;
    Ok((Some(path), key, report))
}

fn end(parser: &mut lexopt::Parser, result: Invocation) -> Result<Invocation, String> {
    match parser.next().map_err(|error| sentence(&error))? {
        None => Ok(result),
        Some(extra) => Err(sentence(&extra.unexpected())),
    }
}

fn word(parser: &mut lexopt::Parser, option: &str) -> Result<OsString, String> {
    let word = parser.value();
    word.ok()
        .filter(|word| !word.is_empty())
        .ok_or_else(|| format!("{option} needs a value."))
}

fn setting(parser: &mut lexopt::Parser) -> Result<(String, String), String> {
    let word = word(parser, "--set")?;
    let Some(text) = word.to_str() else {
        return Err(format!("--set takes text, not {}.", word.display()));
    };
    let (path, value) = set::split(text)?;
    Ok((path.to_owned(), value.to_owned()))
}

/// A folder, from wherever the command was given: a job's own paths are relative to its file.
fn folder(parser: &mut lexopt::Parser, option: &str) -> Result<PathBuf, String> {
    let word = word(parser, option)?;
    std::path::absolute(&word)
        .map_err(|error| format!("{option} {:?} is no folder: {error}.", word.display()))
}

fn number(parser: &mut lexopt::Parser, option: &str) -> Result<u64, String> {
    let word = word(parser, option)?;
    let text = word.to_string_lossy();
    text.parse()
        .map_err(|_| format!("{option} needs a whole number, not {text:?}."))
}

fn backend(word: &OsString) -> Result<BackendKind, String> {
    let found = BackendKind::ALL
        .into_iter()
        .find(|kind| word == kind.name());
    found.ok_or_else(|| format!("--backend is heap or rocksdb, not {}.", word.display()))
}

fn format(word: &OsString) -> Result<ReportFormat, String> {
    match word.to_str() {
        Some("text") => Ok(ReportFormat::Text),
        Some("json") => Ok(ReportFormat::Json),
        _ => Err(format!("--report is text or json, not {}.", word.display())),
    }
}

fn sentence(error: &lexopt::Error) -> String {
    let mut text = error.to_string();
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Invocation, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_options_of_run() {
        let line =
            "run a.ron --seed 7 --backend rocksdb --until-ms 90 --live --report json --trace t";
        let expected = RunArgs {
            file: "a.ron".into(),
            seed: Some(7),
            backend: Some(BackendKind::RocksDb),
            until_ms: Some(90),
            live: true,
            report: ReportFormat::Json,
            trace: Some("t".into()),
            ..RunArgs::default()
        };
        assert_eq!(parsed(line), Ok(Invocation::Run(expected)));
    }

    /// Breaks if later values no longer win over earlier ones.
    #[test]
    fn settings_keep_their_order() {
        let line = "run a.ron --set seed=1 --set storage=filesystem --set seed=2";
        let Ok(Invocation::Run(run)) = parsed(line) else {
            panic!("{line}");
        };
        let texts: Vec<String> = run
            .set
            .iter()
            .map(|(path, value)| format!("{path}={value}"))
            .collect();
        assert_eq!(texts, ["seed=1", "storage=filesystem", "seed=2"]);
    }

    #[test]
    fn folders_are_where_the_command_was_given() {
        let Ok(Invocation::Run(run)) = parsed("run a.ron --savepoint-dir saves") else {
            panic!("it is a run");
        };
        assert!(run.savepoint_dir.unwrap().is_absolute());
    }

    #[test]
    fn a_word_is_a_file_to_open() {
        assert_eq!(parsed(""), Ok(Invocation::Window(None)));
        assert_eq!(
            parsed("a.ron"),
            Ok(Invocation::Window(Some("a.ron".into())))
        );
        assert_eq!(parsed("check a.ron"), Ok(Invocation::Check("a.ron".into())));
    }

    #[test]
    fn help_is_given_wherever_it_is_asked_for() {
        for line in [
            "--help",
            "-h",
            "run --help",
            "run a -h",
            "check --help",
            "inspect --help",
            "savepoints -h",
        ] {
            assert_eq!(parsed(line), Ok(Invocation::Help), "{line}");
        }
    }

    #[test]
    fn mistakes_are_told_in_a_sentence() {
        for (line, part) in [
            ("run", "needs a FILE"),
            ("check", "needs a FILE"),
            ("check --frob", "--frob"),
            ("fuzz", "--seeds"),
            ("fuzz --seeds 9", "A..B"),
            ("run a --seed x", "whole number"),
            ("run a --seed", "needs a value"),
            ("run a --from=", "--from needs a value"),
            ("run a --savepoint-dir=", "--savepoint-dir needs a value"),
            ("run a --backend disk", "heap or rocksdb"),
            ("run a --report xml", "text or json"),
            ("run a --from", "needs a value"),
            ("run a --claim", "--from"),
            ("run a --allow-non-restored-state", "--from"),
            ("run a --set", "needs a value"),
            ("run a --set checkpointing.mode", "PATH=VALUE"),
            ("run a --savepoint-dir", "needs a value"),
            ("settings more", "unexpected"),
            ("savepoints", "needs a DIR"),
            ("savepoints a --key k", "--key"),
            ("inspect", "needs the PATH"),
            ("inspect a --key", "needs a value"),
            ("inspect a --report xml", "text or json"),
            ("inspect a b", "unexpected"),
            ("run a b", "unexpected"),
            ("a b", "unexpected"),
            ("--frob", "--frob"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
            assert!(error.ends_with('.'), "{line}: {error}");
        }
    }
}
