//! What would break if a file was deleted.

use super::{StoredLook, checkpoint_of};
use crate::model::CheckpointId;

/// The checkpoints that a job counts on at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Those that can be restored, the latest last.
    pub store: Vec<CheckpointId>,
    /// The one among them that lies elsewhere: the run was started from it.
    pub elsewhere: Option<CheckpointId>,
    /// Those that are being taken.
    pub pending: Vec<CheckpointId>,
}

/// What the loss of a file, or of a checkpoint's folder, means for a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// The checkpoints in the job's store that could not be restored any more, oldest first.
    pub lost: Vec<CheckpointId>,
    /// Those that a restore would try instead, in that order.
    pub left: Vec<CheckpointId>,
    /// The next restore would have begun with one that is lost.
    pub is_latest: bool,
    /// Later checkpoints would refer to it, too.
    pub is_base: bool,
    /// It was (or may have been) written for a checkpoint that is being taken, and whether in that one's own folder.
    pub pending: Option<(CheckpointId, bool)>,
}

impl StoredLook {
    /// What happens if `path` (`shared/…`, `chk-3/_metadata`, `chk-3`) is deleted.
    #[must_use]
    pub fn loss_of(&self, path: &str, counted: &Counted) -> Loss {
        let is_folder = !path.contains('/');
        let is_metadata = path.ends_with("/_metadata");
        let is_shared = path.starts_with("shared/");
        let owner = checkpoint_of(path);
        let whole = owner.filter(|_| is_folder || is_metadata);
        let users: Vec<CheckpointId> = self.users(path).chain(whole).collect();
        let can_be_read = |id: &CheckpointId| {
            counted.elsewhere == Some(*id)
                || self.checkpoints.contains_key(id) && self.damage(*id).is_none()
        };
        let store = counted.store.iter().copied();
        let readable: Vec<CheckpointId> = store.filter(can_be_read).collect();
        let (lost, mut left): (Vec<_>, Vec<_>) = readable.iter().partition(|id| users.contains(id));
        // What is newer than the latest belongs to a course that was given up: no restore takes it by itself.
        let latest = counted.store.last().copied();
        left.retain(|id| Some(*id) <= latest);
        left.sort_unstable();
        left.reverse();
        let own = owner.filter(|id| counted.pending.contains(id));
        let other = counted.pending.first().copied();
        Loss {
            is_latest: latest.is_some_and(|latest| lost.contains(&latest)),
            is_base: is_shared
                && self
                    .checkpoints
                    .keys()
                    .max()
                    .is_some_and(|id| users.contains(id)),
            pending: match own {
                Some(own) => Some((own, true)),
                None => other
                    .filter(|_| is_shared && users.is_empty())
                    .map(|id| (id, false)),
            },
            lost,
            left,
        }
    }
}

impl Loss {
    /// Whether anything would break.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.lost.is_empty() && self.pending.is_none() && !self.is_base
    }

    /// The same as sentences.
    #[must_use]
    pub fn sentences(&self) -> String {
        if self.is_none() {
            return "Nothing would break: no checkpoint that could be restored refers to it."
                .to_owned();
        }
        let mut sentences = Vec::new();
        match self.pending {
            Some((id, true)) => sentences.push(format!(
                "Checkpoint {id} is being written there: what is still to be written would fail, and the checkpoint with it."
            )),
            Some((id, false)) => sentences.push(format!(
                "Checkpoint {id}, which is being taken, may have written it: it would complete, and could not be restored."
            )),
            None => {}
        }
        if let Some(first) = self.lost.first() {
            sentences.push(match &self.lost[..] {
                [_] => format!("Checkpoint {first} could not be restored any more."),
                more => {
                    let ids: Vec<String> = more.iter().map(ToString::to_string).collect();
                    format!(
                        "Checkpoints {} could not be restored any more.",
                        ids.join(", ")
                    )
                }
            });
            sentences.push(self.next_restore());
        }
        if self.is_base {
            sentences.push(
                "Later checkpoints would refer to it without looking, and could not be restored either, until RocksDB has \
                 merged it into another file."
                    .to_owned(),
            );
        }
        sentences.join(" ")
    }

    fn next_restore(&self) -> String {
        match (self.left.first(), self.is_latest) {
            (Some(next), true) => format!(
                "The next restore would fail to read it, and fall back to checkpoint {next}: what \
                 came after that one is computed again, and results that were committed since may \
                 be committed twice."
            ),
            (Some(next), false) => {
                format!("The next restore would not notice: it takes checkpoint {next}.")
            }
            (None, _) => "No other one is left: a job that fails could not be restored.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::storage::StoredFile;
    use crate::run::xray::{Reference, Role};

    fn look() -> StoredLook {
        let file = |path: &str| StoredFile {
            path: path.to_owned(),
            size_bytes: 10,
        };
        let needs = |path: &str| Reference {
            uid: "sum".into(),
            subtask: 0,
            role: Role::KeyGroups,
            path: Some(path.to_owned()),
            size_bytes: 10,
        };
        let [one, two, three] = [1, 2, 3].map(CheckpointId);
        StoredLook {
            folder: None,
            files: [
                "chk-1/_metadata",
                "chk-2/_metadata",
                "chk-3/_metadata",
                "shared/a",
                "shared/b",
            ]
            .map(file)
            .to_vec(),
            checkpoints: [
                (one, Arc::new(Ok(vec![needs("shared/gone")]))),
                (two, Arc::new(Ok(vec![needs("shared/a")]))),
                (
                    three,
                    Arc::new(Ok(vec![needs("shared/a"), needs("shared/b")])),
                ),
            ]
            .into(),
            trouble: None,
        }
    }

    /// Breaks if what is damaged already counts as something to fall back to, or the order is not that of a restore.
    #[test]
    fn what_would_break_follows_from_who_refers_to_it() {
        let [one, two, three] = [1, 2, 3].map(CheckpointId);
        let counted = |store: &[CheckpointId]| Counted {
            store: store.to_vec(),
            ..Counted::default()
        };
        let look = look();
        let loss = |path: &str| look.loss_of(path, &counted(&[one, two, three]));
        let b = loss("shared/b");
        assert_eq!(
            (b.lost, b.left, b.is_latest, b.is_base),
            (vec![three], vec![two], true, true)
        );
        let a = loss("shared/a");
        assert_eq!((a.lost, a.left), (vec![two, three], vec![]));
        assert_eq!(loss("chk-2"), loss("chk-2/_metadata"));
        assert!(!loss("chk-2").is_latest && !loss("chk-2").is_base);
        assert_eq!(
            loss("chk-1/_metadata").lost,
            vec![],
            "it was damaged before"
        );
        assert!(loss("shared/c").is_none());
        // A person went back to checkpoint 2: now that is the latest, and 3 is taken by name only.
        let promoted = look.loss_of("chk-2", &counted(&[one, three, two]));
        assert!(promoted.is_latest && promoted.left.is_empty());
    }

    /// Breaks if what is being written is nobody's, or what a run began with is forgotten because it lies elsewhere.
    #[test]
    fn what_is_being_taken_and_what_lies_elsewhere_count() {
        let [two, three, four, nine] = [2, 3, 4, 9].map(CheckpointId);
        let look = look();
        let counted = Counted {
            store: vec![two, three],
            elsewhere: Some(two),
            pending: vec![four],
        };
        assert_eq!(look.loss_of("chk-3", &counted).left, [two]);
        assert_eq!(look.loss_of("chk-4", &counted).pending, Some((four, true)));
        let fresh = look.loss_of("shared/new", &counted);
        assert_eq!(fresh.pending, Some((four, false)));
        assert!(!fresh.sentences().starts_with("Nothing"));
        let foreign = Counted {
            store: vec![nine, three],
            elsewhere: Some(nine),
            pending: Vec::new(),
        };
        assert_eq!(look.loss_of("shared/a", &foreign).lost, [three]);
    }
}
