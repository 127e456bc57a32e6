//! What the files of a look are: whose, and which checkpoints refer to each.

use std::collections::BTreeMap;

use crate::model::{CheckpointId, SubtaskId, Uid};
use crate::run::xray::{Reference, Role, StoredLook};

use super::super::super::scene::Scene;

/// The references of all checkpoints, by what they refer to.
pub struct FileIndex<'a> {
    by_path: BTreeMap<&'a str, Known<'a>>,
    /// By operator, subtask and RocksDB's name: the checkpoint that has uploaded it, and where it lies, unless that is inside
    /// of a metadata.
    tables: BTreeMap<(&'a Uid, u32, &'a str), (CheckpointId, Option<&'a str>)>,
}

/// What is known of a file that checkpoints refer to.
pub struct Known<'a> {
    pub reference: &'a Reference,
    /// Oldest first.
    pub users: Vec<CheckpointId>,
}

impl<'a> FileIndex<'a> {
    #[must_use]
    pub fn of(look: &'a StoredLook) -> Self {
        let mut index = Self {
            by_path: BTreeMap::new(),
            tables: BTreeMap::new(),
        };
        for (id, references) in &look.checkpoints {
            for reference in references.iter().flatten() {
                index.put(*id, reference);
            }
        }
        index
    }

    fn put(&mut self, id: CheckpointId, reference: &'a Reference) {
        let path = reference.path.as_deref();
        if let Role::Table { name, created_by } = &reference.role {
            let key = (&reference.uid, reference.subtask, name.as_str());
            self.tables.entry(key).or_insert((*created_by, path));
        }
        if let Some(path) = path {
            let known = self.by_path.entry(path).or_insert(Known {
                reference,
                users: Vec::new(),
            });
            if known.users.last() != Some(&id) {
                known.users.push(id);
            }
        }
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

    /// Who has uploaded a table file of a subtask's database, and where it lies; none: no completed checkpoint refers to
    /// it.
    #[must_use]
    pub fn table(
        &self,
        (uid, subtask, name): (&Uid, u32, &str),
    ) -> Option<(CheckpointId, Option<&'a str>)> {
        self.tables.get(&(uid, subtask, name)).copied()
    }
}

impl Known<'_> {
    /// The checkpoint that has uploaded it, as far as its references tell.
    #[must_use]
    pub fn created_by(&self) -> CheckpointId {
        match &self.reference.role {
            Role::Table { created_by, .. } => *created_by,
            Role::KeyGroups | Role::Private(_) | Role::Timers | Role::InFlight => {
                self.users.first().copied().unwrap_or(CheckpointId(0))
            }
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
