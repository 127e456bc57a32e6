//! From a file's bytes to a job: read, check the version, parse, validate. Any step may refuse; none changes anything.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::{FileProblem, ProjectError, TextPosition, excerpt, syntax_reason};
use super::locate::{Cursor, locate};
use super::outline::Outline;
use super::{FORMAT_VERSION, csv_source, ron_options, v1, v2};
use crate::model::{JobGraph, OperatorSpec, Problem, Severity, Site, SourceKind, Vertex, validate};

/// Larger files are not even read: a job of every bound's size has a tenth of it.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// A job as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedJob {
    pub job: JobGraph,
    /// What is still to do, in the order of the file. Only a file that says `draft: true` loads with any.
    pub problems: Vec<FileProblem>,
    /// The file's name, for messages.
    pub file: String,
}

impl LoadedJob {
    /// The job is not finished: it opens, and does not run.
    #[must_use]
    pub fn is_draft(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The job, if it runs.
    ///
    /// # Errors
    /// [`ProjectError::Problems`]: it is a draft.
    pub fn into_runnable(self) -> Result<JobGraph, ProjectError> {
        let Self {
            job,
            problems,
            file,
        } = self;
        if problems.is_empty() {
            Ok(job)
        } else {
            Err(ProjectError::Problems {
                file,
                problems,
                could_be_draft: false,
            })
        }
    }
}

/// The folder that CSV paths of the job file at `path` are relative to.
#[must_use]
pub fn base_dir(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.into(),
        _ => PathBuf::from("."),
    }
}

/// The job in the file at `path`. Its CSV files are not read: that is a run's first act, and [`check`]'s.
///
/// # Errors
/// The file cannot be read, is no job file, or holds a job that cannot be run and does not say that it is a draft.
pub fn load(path: &Path) -> Result<LoadedJob, ProjectError> {
    let file = path.display().to_string();
    let bytes = read(path, &file)?;
    let text = decode(bytes, &file)?;
    parse(&text, &file)
}

/// The job in the file at `path`, if it and its CSV files are ready to run.
///
/// # Errors
/// As for [`load`]; or it is a draft; or a CSV file is not as the job says.
pub fn check(path: &Path) -> Result<JobGraph, ProjectError> {
    let source = JobSource::read(path)?;
    source.check(&source.job)?;
    Ok(source.job)
}

/// A job file that may be run with some settings changed: what it lacks may come from elsewhere.
pub struct JobSource {
    /// As the file has it, with whatever problems.
    pub job: JobGraph,
    text: String,
    file: String,
    base_dir: PathBuf,
    is_draft: bool,
}

impl JobSource {
    /// # Errors
    /// The file cannot be read, or is no job file.
    pub fn read(path: &Path) -> Result<Self, ProjectError> {
        let file = path.display().to_string();
        let text = decode(read(path, &file)?, &file)?;
        let (job, is_draft) = parse_unchecked(&text, &file)?;
        Ok(Self {
            job,
            text,
            file,
            base_dir: base_dir(path),
            is_draft,
        })
    }

    /// Whether `job`, which is that of the file or made from it, is ready to run with its CSV files.
    ///
    /// # Errors
    /// All its problems, where they are in the file.
    pub fn check(&self, job: &JobGraph) -> Result<(), ProjectError> {
        let mut problems = validate(job);
        let is_unfinished = problems
            .iter()
            .all(|each| each.severity == Severity::Unfinished);
        let could_be_draft = !problems.is_empty() && is_unfinished && !self.is_draft;
        if problems.is_empty() {
            problems = data_problems(job, &self.base_dir);
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(ProjectError::Problems {
            problems: locate(without_mark(&self.text), job, problems),
            file: self.file.clone(),
            could_be_draft,
        })
    }
}

/// The job that `text` holds; `file` is its name in messages, and the job's own name if the text has none.
///
/// # Errors
/// The text is no job of a known format, or one that cannot be run and does not say that it is a draft.
pub fn parse(text: &str, file: &str) -> Result<LoadedJob, ProjectError> {
    let text = without_mark(text);
    let (job, is_draft) = parse_unchecked(text, file)?;
    let problems = validate(&job);
    let is_absurd = problems
        .iter()
        .any(|each| each.severity == Severity::Absurd);
    let is_unfinished = !problems.is_empty() && !is_absurd;
    let file = file.to_owned();
    let problems = locate(text, &job, problems);
    if is_absurd || (is_unfinished && !is_draft) {
        return Err(ProjectError::Problems {
            file,
            problems,
            could_be_draft: is_unfinished,
        });
    }
    Ok(LoadedJob {
        job,
        problems,
        file,
    })
}

/// The job that `text` holds, with whatever problems; and whether it says that it is a draft.
fn parse_unchecked(text: &str, file: &str) -> Result<(JobGraph, bool), ProjectError> {
    let text = without_mark(text);
    read_version(version_of(text, file)?, text, file)
}

/// Some editors begin a text with a mark of its encoding.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The job that `text`, of this version of the format, holds; and whether it says that it is a draft.
fn read_version(version: u32, text: &str, file: &str) -> Result<(JobGraph, bool), ProjectError> {
    let name = default_name(file);
    let parsed = match version {
        1 => ron_options()
            .from_str(text)
            .map(|job: v1::Job| (job.draft, job.into_model(name))),
        _ => ron_options()
            .from_str(text)
            .map(|job: v2::Job| (job.draft, job.into_model(name))),
    };
    let (is_draft, job) = parsed.map_err(|error| syntax_error(&error, text, file))?;
    Ok((job, is_draft))
}

fn read(path: &Path, file: &str) -> Result<Vec<u8>, ProjectError> {
    let file = || file.to_owned();
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => ProjectError::Missing { file: file() },
        _ => ProjectError::Read {
            file: file(),
            source,
        },
    };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(ProjectError::NotAFile { file: file() });
    }
    let too_large = |size_bytes| ProjectError::TooLarge {
        file: file(),
        size_bytes,
        max_bytes: MAX_FILE_BYTES,
    };
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::new();
    let mut limited = File::open(path).map_err(failed)?.take(MAX_FILE_BYTES + 1);
    limited.read_to_end(&mut bytes).map_err(failed)?;
    // It may have grown since it was measured.
    match bytes.len() as u64 {
        size_bytes if size_bytes > MAX_FILE_BYTES => Err(too_large(size_bytes)),
        _ => Ok(bytes),
    }
}

fn decode(bytes: Vec<u8>, file: &str) -> Result<String, ProjectError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid_up_to = error.utf8_error().valid_up_to();
        let valid = String::from_utf8_lossy(&error.as_bytes()[..valid_up_to]);
        ProjectError::NotText {
            file: file.into(),
            position: Cursor::at_start_of(&valid).advance_to(valid.len()),
        }
    })
}

/// The version is looked up before anything else is understood: what a newer format holds, nobody knows here.
fn version_of(text: &str, file: &str) -> Result<u32, ProjectError> {
    let file = || file.to_owned();
    let outline = Outline::of(text);
    if outline.is_blank() {
        return Err(ProjectError::Empty { file: file() });
    }
    let position_of = |offset| Cursor::at_start_of(text).advance_to(offset);
    let Some((offset, word)) = outline.word("version") else {
        return Err(ProjectError::NoVersion {
            file: file(),
            position: position_of(outline.find(&[])),
        });
    };
    let position = position_of(offset);
    let found = excerpt(word);
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    match word.trim_start_matches('0').parse() {
        Ok(version @ 1..=FORMAT_VERSION) => Ok(version),
        _ if is_number && !word.trim_start_matches('0').is_empty() => {
            Err(ProjectError::NewerVersion {
                file: file(),
                position,
                found,
            })
        }
        _ => Err(ProjectError::BadVersion {
            file: file(),
            position,
            found,
        }),
    }
}

fn syntax_error(error: &ron::error::SpannedError, text: &str, file: &str) -> ProjectError {
    let start = error.span.start;
    let mut rest = text.lines().skip(start.line.saturating_sub(1));
    let line = rest.next().unwrap_or_default();
    let is_blank = |text: &str| text.chars().all(char::is_whitespace);
    let line_is_over = line
        .chars()
        .skip(start.col.saturating_sub(1))
        .all(char::is_whitespace);
    let is_at_end = line_is_over && rest.all(is_blank);
    ProjectError::Syntax {
        file: file.into(),
        position: TextPosition {
            line: start.line,
            column: start.col,
        },
        reason: syntax_reason(if is_at_end {
            &ron::Error::Eof
        } else {
            &error.code
        }),
    }
}

/// `odd-even` of `samples/odd-even.ron`.
fn default_name(file: &str) -> &str {
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
    stem.unwrap_or(file)
}

fn data_problems(job: &JobGraph, base_dir: &Path) -> Vec<Problem> {
    job.vertices
        .iter()
        .filter_map(|vertex| data_problem(vertex, base_dir))
        .collect()
}

fn data_problem(vertex: &Vertex, base_dir: &Path) -> Option<Problem> {
    let OperatorSpec::Source(spec) = &vertex.operator else {
        return None;
    };
    let SourceKind::Csv(csv) = &spec.kind else {
        return None;
    };
    let error = csv_source::read(csv, base_dir).err()?;
    Some(Problem {
        site: Site::Vertex(vertex.uid.clone()),
        field: Some(error.field()),
        severity: Severity::Unfinished,
        message: error.to_string(),
    })
}
