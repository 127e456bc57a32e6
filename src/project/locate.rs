//! Which place in the text of a job file a problem of the job belongs to.

use super::error::{FileProblem, TextPosition};
use super::outline::{Outline, Step};
use crate::model::{JobGraph, Problem, Site};

/// Gives every problem of `job` its place in the `text` that the job was read from, in the order of the text.
pub fn locate(text: &str, job: &JobGraph, problems: Vec<Problem>) -> Vec<FileProblem> {
    let outline = Outline::of(text);
    let mut placed: Vec<(usize, Problem)> = problems
        .into_iter()
        .map(|problem| (outline.find(&path_to(job, &problem)), problem))
        .collect();
    placed.sort_by_key(|(offset, _)| *offset);

    let mut cursor = Cursor::at_start_of(text);
    placed
        .into_iter()
        .map(|(offset, problem)| FileProblem {
            position: cursor.advance_to(offset),
            problem,
        })
        .collect()
}

/// The way to the problem's place in a file: all formats have their parts in the same places.
fn path_to(job: &JobGraph, problem: &Problem) -> Vec<Step<'static>> {
    match &problem.site {
        Site::Job => job_path(problem.field),
        Site::Vertex(uid) => {
            // Of two operators with one uid, the second is too many.
            let index = job.vertices.iter().rposition(|vertex| vertex.uid == *uid);
            let mut path = vec![Step::Field("operators"), Step::Nth(index.unwrap_or(0))];
            path.extend(vertex_path(problem.field));
            path
        }
        Site::Edge(index) => {
            let mut path = vec![Step::Field("edges"), Step::Nth(*index)];
            path.extend(match problem.field {
                Some("from") => Some(Step::Nth(0)),
                Some("to") => Some(Step::Nth(1)),
                Some("partitioning") => Some(Step::Nth(2)),
                _ => None,
            });
            path
        }
        Site::Script(index) => {
            let part = usize::from(problem.field == Some("command"));
            vec![Step::Field("script"), Step::Nth(*index), Step::Nth(part)]
        }
    }
}

/// A setting is named by its own path: `checkpointing.retained`.
fn job_path(field: Option<&'static str>) -> Vec<Step<'static>> {
    match field {
        None => Vec::new(),
        Some(part @ ("operators" | "edges" | "script")) => vec![Step::Field(part)],
        Some(setting) => std::iter::once("settings")
            .chain(setting.split('.'))
            .map(Step::Field)
            .collect(),
    }
}

fn vertex_path(field: Option<&'static str>) -> Vec<Step<'static>> {
    match field {
        None => Vec::new(),
        Some("position") => vec![Step::Field("at")],
        Some(common @ ("uid" | "generated_uid" | "name" | "parallelism" | "max_parallelism")) => {
            vec![Step::Field(common)]
        }
        Some("kind") => vec![Step::Field("kind")],
        Some(own) => {
            let is_cost = own.starts_with("costs");
            let kind = (!is_cost).then_some("kind");
            kind.into_iter()
                .chain(own.split('.'))
                .map(Step::Field)
                .collect()
        }
    }
}

/// Counts lines and characters on the way through a text, once.
pub struct Cursor<'t> {
    text: &'t str,
    offset: usize,
    position: TextPosition,
}

impl<'t> Cursor<'t> {
    pub fn at_start_of(text: &'t str) -> Self {
        let position = TextPosition { line: 1, column: 1 };
        Self {
            text,
            offset: 0,
            position,
        }
    }

    /// The position of `offset`, which must not lie before the last one asked for.
    pub fn advance_to(&mut self, offset: usize) -> TextPosition {
        let passed = self.text.get(self.offset..offset).unwrap_or_default();
        for c in passed.chars() {
            if c == '\n' {
                self.position.line += 1;
                self.position.column = 1;
            } else {
                self.position.column += 1;
            }
        }
        self.offset = self.offset.max(offset);
        self.position
    }
}
