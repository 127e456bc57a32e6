//! Why a job file does not load or save: sentences that say what, where, and what to do.

use std::fmt;
use std::io;

use super::FORMAT_VERSION;
use crate::model::Problem;

/// A place in a text, as editors count: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A problem of a job, and where its file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    pub position: TextPosition,
    pub problem: Problem,
}

/// Why a file was not loaded or not saved. Nothing has changed then, neither in the program nor on the disk.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("{file}: there is no such file. Check its name and folder.")]
    Missing { file: String },
    #[error("{file} is a folder or a device. Name a job file, one that ends in .ron.")]
    NotAFile { file: String },
    #[error("{file} cannot be read: {source}. Check that you may read it.")]
    Read { file: String, source: io::Error },
    #[error(
        "{file} has {size_bytes} bytes and is no job file: those have at most {max_bytes}. Check its name."
    )]
    TooLarge {
        file: String,
        size_bytes: u64,
        max_bytes: u64,
    },
    #[error("{file}:{position}: this is not text (UTF-8), so this is no job file. Check its name.")]
    NotText {
        file: String,
        position: TextPosition,
    },
    #[error("{file} is empty. Choose another file, or start a new job and save it there.")]
    Empty { file: String },
    #[error(
        "{file}:{position}: the format’s version is missing. A job file begins with `(version: {FORMAT_VERSION},`: add it."
    )]
    NoVersion {
        file: String,
        position: TextPosition,
    },
    #[error(
        "{file}:{position}: `{found}` is no version of the format. Set it to {FORMAT_VERSION}."
    )]
    BadVersion {
        file: String,
        position: TextPosition,
        found: String,
    },
    #[error(
        "{file}:{position}: this file was written by a newer Lockgate (format {found}; this one reads up to {FORMAT_VERSION}). Update Lockgate."
    )]
    NewerVersion {
        file: String,
        position: TextPosition,
        found: String,
    },
    #[error("{file}:{position}: {reason}. Correct it there, then open the file again.")]
    Syntax {
        file: String,
        position: TextPosition,
        reason: String,
    },
    /// All of them, in the order of the file: one line each.
    #[error("{}", lines_of(file, problems, *could_be_draft))]
    Problems {
        file: String,
        problems: Vec<FileProblem>,
        /// The file would open if it said that it is a draft.
        could_be_draft: bool,
    },
    #[error("{file} was not saved, because no file can hold this job. {message}")]
    Unsavable { file: String, message: String },
    #[error("{file} was not saved: {source}. {hint}")]
    Write {
        file: String,
        source: io::Error,
        hint: &'static str,
    },
}

fn lines_of(file: &str, problems: &[FileProblem], could_be_draft: bool) -> String {
    let mut lines: Vec<String> = problems
        .iter()
        .map(|FileProblem { position, problem }| format!("{file}:{position}: {}", problem.message))
        .collect();
    if could_be_draft {
        lines.push(format!(
            "{file}: To open an unfinished job as it is, write `draft: true,` after its version."
        ));
    }
    lines.join("\n")
}

/// RON's own error in a person's words.
pub fn syntax_reason(error: &ron::Error) -> String {
    use ron::Error;
    match error {
        Error::Eof | Error::ExpectedStringEnd | Error::UnclosedBlockComment => {
            "the file ends too early: a bracket, quote or comment is not closed".into()
        }
        Error::ExceededRecursionLimit => "brackets are nested too deeply for a job file".into(),
        Error::IntegerOutOfBounds => {
            "this number is too large, or negative where it must not be".into()
        }
        Error::ExpectedComma => "a comma or a closing bracket is missing".into(),
        Error::ExpectedFloat => "a number is expected here".into(),
        Error::ExpectedInteger => "a whole number is expected here".into(),
        Error::ExpectedString => "a text in quotes is expected here".into(),
        Error::TrailingCharacters => "the job ends before here, and nothing may follow it".into(),
        Error::ExpectedStructLike | Error::ExpectedNamedStructLike(_) => {
            "an opening bracket is expected here, with named values in it where there are any, such as `(by_ms: 500)`"
                .into()
        }
        Error::SuggestRawIdentifier(found) | Error::InvalidIdentifier(found) => {
            let found = excerpt(found);
            format!("a name is expected here, as in `(by_ms: 500)`, not `{found}`")
        }
        Error::ExpectedDifferentLength { expected, found } => {
            format!("{expected} is expected here, not one with {found}")
        }
        Error::NoSuchStructField {
            expected,
            found,
            outer,
        } => format!(
            "{} no field `{found}`; it may have {}",
            subject(outer.as_deref(), "has"),
            alternatives(expected)
        ),
        Error::NoSuchEnumVariant {
            expected, found, ..
        } => {
            format!(
                "`{found}` is not possible here; choose one of {}",
                alternatives(expected)
            )
        }
        Error::MissingStructField { field, outer } => {
            format!("{} the field `{field}`", subject(outer.as_deref(), "lacks"))
        }
        Error::DuplicateStructField { field, outer } => {
            format!(
                "{} the field `{field}` twice",
                subject(outer.as_deref(), "has")
            )
        }
        other => lowercase_first(&other.to_string()),
    }
}

/// The beginning of a text found in a file: short, and safe for a terminal.
pub fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(MAX_CHARS).map(visible).collect()
}

fn subject(outer: Option<&str>, verb: &str) -> String {
    match outer {
        Some(name) => format!("{name} {verb}"),
        None => format!("this {verb}"),
    }
}

fn alternatives(names: &[&str]) -> String {
    match names {
        [] => "none".into(),
        names => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

fn lowercase_first(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}
