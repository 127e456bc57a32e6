//! The job being edited: where it came from, what can be undone, what is wrong with it.

use std::path::{Path, PathBuf};

use crate::model::validate::{Hint, Problem, Site, hints, validate};
use crate::model::{JobGraph, Uid};

/// How many edits can be taken back.
const MAX_UNDO: usize = 200;
/// Edits of the same thing within this time are one.
const MERGE_S: f64 = 1.0;

pub struct Document {
    job: JobGraph,
    path: Option<PathBuf>,
    /// The job as last saved or opened.
    saved: JobGraph,
    past: Vec<JobGraph>,
    future: Vec<JobGraph>,
    /// What the last edit changed, and when; a further edit of the same soon after joins it.
    last_edit: Option<(EditSite, f64)>,
    problems: Vec<Problem>,
    /// What to consider, once there is no problem.
    hints: Vec<Hint>,
}

/// What an edit is an edit *of*, so that typing a name is one step and not ten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditSite {
    /// Never joins another edit.
    Structure,
    Position(Uid),
    Vertex(Uid),
    Config,
    JobText,
    /// Parameters of an entry of the script, by its place.
    ScriptEntry(usize),
}

impl Document {
    #[must_use]
    pub fn new(job: JobGraph, path: Option<PathBuf>) -> Self {
        let (problems, hints) = judged(&job);
        Self {
            saved: job.clone(),
            job,
            path,
            past: Vec::new(),
            future: Vec::new(),
            last_edit: None,
            problems,
            hints,
        }
    }

    #[must_use]
    pub fn job(&self) -> &JobGraph {
        &self.job
    }

    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What a person calls this job: its name, else its file's.
    #[must_use]
    pub fn title(&self) -> String {
        let stem = || self.path.as_ref()?.file_stem()?.to_str().map(str::to_owned);
        if self.job.name.trim().is_empty() {
            stem().unwrap_or_else(|| "untitled".to_owned())
        } else {
            self.job.name.clone()
        }
    }

    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.job != self.saved
    }

    pub fn mark_saved(&mut self, path: PathBuf) {
        self.path = Some(path);
        self.saved = self.job.clone();
    }

    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Advice on settings of a job that runs; none while it has problems.
    #[must_use]
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }

    pub fn problems_of<'a>(&'a self, uid: &'a Uid) -> impl Iterator<Item = &'a Problem> {
        self.problems
            .iter()
            .filter(move |problem| problem.site == Site::Vertex(uid.clone()))
    }

    /// Change the job by `edit`, at `now_s` of any clock that does not go back.
    pub fn edit(&mut self, site: EditSite, now_s: f64, edit: impl FnOnce(&mut JobGraph)) {
        let before = self.job.clone();
        edit(&mut self.job);
        if self.job == before {
            return;
        }
        let joins = site != EditSite::Structure
            && self
                .last_edit
                .as_ref()
                .is_some_and(|(last, at_s)| *last == site && now_s - at_s < MERGE_S);
        if !joins {
            self.past.push(before);
            if self.past.len() > MAX_UNDO {
                self.past.remove(0);
            }
        }
        self.future.clear();
        self.last_edit = Some((site, now_s));
        (self.problems, self.hints) = judged(&self.job);
    }

    #[must_use]
    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    #[must_use]
    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }

    pub fn undo(&mut self) {
        if let Some(job) = self.past.pop() {
            self.future.push(std::mem::replace(&mut self.job, job));
            self.after_time_travel();
        }
    }

    pub fn redo(&mut self) {
        if let Some(job) = self.future.pop() {
            self.past.push(std::mem::replace(&mut self.job, job));
            self.after_time_travel();
        }
    }

    fn after_time_travel(&mut self) {
        self.last_edit = None;
        (self.problems, self.hints) = judged(&self.job);
    }
}

/// What is wrong with `job`, and, if nothing is, what to consider.
fn judged(job: &JobGraph) -> (Vec<Problem>, Vec<Hint>) {
    let problems = validate(job);
    let hints = if problems.is_empty() {
        hints(job)
    } else {
        Vec::new()
    };
    (problems, hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rename(document: &mut Document, name: &str, now_s: f64) {
        document.edit(EditSite::JobText, now_s, |job| job.name = name.to_owned());
    }

    #[test]
    fn typing_a_name_is_one_step_back() {
        let mut document = Document::new(JobGraph::default(), None);
        rename(&mut document, "a", 0.0);
        rename(&mut document, "ab", 0.5);
        rename(&mut document, "abc", 1.2);
        rename(&mut document, "other", 9.0);
        document.undo();
        assert_eq!(document.job().name, "abc");
        document.undo();
        assert_eq!(document.job().name, "");
        assert!(!document.can_undo());
        document.redo();
        assert_eq!(document.job().name, "abc");
    }

    #[test]
    fn undoing_everything_leaves_nothing_unsaved() {
        let mut document = Document::new(JobGraph::default(), None);
        rename(&mut document, "a", 0.0);
        assert!(document.is_dirty());
        document.undo();
        assert!(!document.is_dirty());
    }

    #[test]
    fn an_edit_after_undo_ends_what_could_be_redone() {
        let mut document = Document::new(JobGraph::default(), None);
        rename(&mut document, "a", 0.0);
        document.undo();
        rename(&mut document, "b", 5.0);
        assert!(!document.can_redo());
    }

    #[test]
    fn an_edit_that_changes_nothing_is_none() {
        let mut document = Document::new(JobGraph::default(), None);
        rename(&mut document, "", 0.0);
        assert!(!document.can_undo());
    }
}
