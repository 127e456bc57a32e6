//! What the files of a look are: whose, and which checkpoints refer to each.

use std::collections::BTreeMap;

use crate::model::{CheckpointId, SubtaskId};
use crate::run::xray::{Reference, Role, StoredLook};

use super::super::super::figures::list;
use super::super::super::scene::Scene;

/// The references of all checkpoints, by what they refer to.
pub struct FileIndex<'a> {
    by_path: BTreeMap<&'a str, Known<'a>>,
}

/// What is known of a file that checkpoints refer to.
pub struct Known<'a> {
    pub reference: &'a Reference,
    /// Oldest first, each with the checkpoint that has uploaded it, as this one knows. (What was not known to be complete is
    /// uploaded again.)
    pub users: Vec<(CheckpointId, CheckpointId)>,
}

impl<'a> FileIndex<'a> {
    #[must_use]
    pub fn of(look: &'a StoredLook) -> Self {
        let mut by_path: BTreeMap<&'a str, Known<'a>> = BTreeMap::new();
        for id in look.checkpoints.keys() {
            for reference in look.references(*id) {
                let Some(path) = &reference.path else {
                    continue;
                };
                let created_by = match &reference.role {
                    Role::Table { created_by, .. } => *created_by,
                    Role::KeyGroups | Role::Private(_) | Role::Timers | Role::InFlight => *id,
                };
                let known = by_path.entry(path).or_insert(Known {
                    reference,
                    users: Vec::new(),
                });
                known.users.push((*id, created_by));
            }
        }
        Self { by_path }
    }

    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Known<'a>> {
        self.by_path.get(path)
    }

    /// All shared files that checkpoints refer to.
    pub fn shared(&self) -> impl Iterator<Item = (&'a str, &Known<'a>)> {
        let files = self.by_path.iter();
        files
            .filter(|(path, _)| is_shared(path))
            .map(|(path, known)| (*path, known))
    }
}

impl Known<'_> {
    /// The checkpoint that has uploaded it first.
    #[must_use]
    pub fn created_by(&self) -> CheckpointId {
        let creators = self.users.iter().map(|(_, created_by)| *created_by);
        creators.min().unwrap_or(CheckpointId(0))
    }

    /// The same, if it does not refer to it (any more).
    #[must_use]
    pub fn gone_creator(&self) -> Option<CheckpointId> {
        let creator = self.created_by();
        let is_user = self.users.iter().any(|(id, _)| *id == creator);
        (!is_user).then_some(creator)
    }

    /// Whether `checkpoint` has uploaded it anew; none: it does not refer to it.
    #[must_use]
    pub fn is_new_in(&self, checkpoint: CheckpointId) -> Option<bool> {
        let (_, created_by) = self.users.iter().find(|(id, _)| *id == checkpoint)?;
        Some(*created_by == checkpoint)
    }

    /// `Uploaded by checkpoint 3; 4 and 5 refer to it.`
    #[must_use]
    pub fn words(&self) -> String {
        let creator = self.created_by();
        let others = self.users.iter().filter(|(id, _)| *id != creator);
        let others: Vec<String> = others
            .map(|(id, created_by)| {
                let again = if created_by == id {
                    " (which has uploaded it again)"
                } else {
                    ""
                };
                format!("{id}{again}")
            })
            .collect();
        match others.len() {
            0 => format!("Uploaded by checkpoint {creator}."),
            1 => format!(
                "Uploaded by checkpoint {creator}; {} refers to it.",
                others[0]
            ),
            _ => format!(
                "Uploaded by checkpoint {creator}; {} refer to it.",
                list(&others)
            ),
        }
    }
}

#[must_use]
pub fn is_shared(path: &str) -> bool {
    path.starts_with("shared/")
}

/// The subtask that wrote what `reference` is, if it is still part of the job.
#[must_use]
pub fn owner(scene: Scene<'_>, reference: &Reference) -> Option<SubtaskId> {
    let subtasks = scene.plan.subtasks_of(&reference.uid).into_iter();
    let mut own = subtasks.filter(|id| scene.plan.subtask(*id).index == reference.subtask);
    own.next()
}

/// What a file is called on its tile: `sum 1 · 000009.sst`, `_metadata`, `sum 1 · key groups`.
#[must_use]
pub fn tile_name(scene: Scene<'_>, path: &str, known: Option<&Known<'_>>) -> String {
    let last = path.rsplit('/').next().unwrap_or(path);
    let Some(known) = known else {
        return last.strip_prefix("state-").unwrap_or(last).to_owned();
    };
    let who = match owner(scene, known.reference) {
        Some(id) => scene.short_name(id),
        None => known.reference.uid.to_string(),
    };
    let what = match &known.reference.role {
        Role::Table { name, .. } | Role::Private(name) => name.as_str(),
        Role::KeyGroups => "key groups",
        Role::Timers => "timers",
        Role::InFlight => "in flight",
    };
    format!("{who} · {what}")
}
