//! What would break if a file was deleted.

use super::{StoredLook, checkpoint_of};
use crate::model::CheckpointId;

/// What the loss of a file, or of a checkpoint's folder, means for a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// The checkpoints in the job's store that could not be restored any more, oldest first.
    pub lost: Vec<CheckpointId>,
    /// Those that still could, in the order in which a restore would try them.
    pub left: Vec<CheckpointId>,
    /// The next restore would have begun with one that is lost.
    pub is_latest: bool,
}

impl StoredLook {
    /// What happens if `path` (`shared/…`, `chk-3/_metadata`, `chk-3`) is deleted. `store`: the checkpoints that can be
    /// restored, the latest last.
    #[must_use]
    pub fn loss_of(&self, path: &str, store: &[CheckpointId]) -> Loss {
        let is_folder = !path.contains('/');
        let is_metadata = path.ends_with("/_metadata");
        let owner = checkpoint_of(path).filter(|_| is_folder || is_metadata);
        let users: Vec<CheckpointId> = self.users(path).chain(owner).collect();
        let is_whole =
            |id: &CheckpointId| self.checkpoints.contains_key(id) && self.damage(*id).is_none();
        let whole: Vec<CheckpointId> = store.iter().copied().filter(is_whole).collect();
        let (lost, left): (Vec<_>, Vec<_>) = whole.iter().partition(|id| users.contains(id));
        Loss {
            is_latest: whole.last().is_some_and(|latest| lost.contains(latest)),
            lost,
            left: left.into_iter().rev().collect(),
        }
    }
}

impl Loss {
    /// The same as sentences.
    #[must_use]
    pub fn sentences(&self) -> String {
        let Some(first) = self.lost.first() else {
            return "Nothing would break: no checkpoint that could be restored refers to it."
                .to_owned();
        };
        let lost = match &self.lost[..] {
            [_] => format!("Checkpoint {first} could not be restored any more."),
            more => {
                let ids: Vec<String> = more.iter().map(ToString::to_string).collect();
                format!(
                    "Checkpoints {} could not be restored any more.",
                    ids.join(", ")
                )
            }
        };
        let next = match (self.left.first(), self.is_latest) {
            (Some(next), true) => format!(
                "The next restore would fail to read it, and fall back to checkpoint {next}: what \
                 came after that one is computed again, and results that were committed since may \
                 be committed twice."
            ),
            (Some(next), false) => {
                format!("The next restore would not notice: it takes checkpoint {next}.")
            }
            (None, _) => "No other one is left: a job that fails could not be restored.".to_owned(),
        };
        format!("{lost} {next}")
    }
}

#[cfg(test)]
mod tests {
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
                (one, Ok(vec![needs("shared/gone")])),
                (two, Ok(vec![needs("shared/a")])),
                (three, Ok(vec![needs("shared/a"), needs("shared/b")])),
            ]
            .into(),
            trouble: None,
        }
    }

    /// Breaks if what is damaged already counts as something to fall back to, or the order of the store is not that of a restore.
    #[test]
    fn what_would_break_follows_from_who_refers_to_it() {
        let [one, two, three] = [1, 2, 3].map(CheckpointId);
        let store = [one, two, three];
        let look = look();
        let loss = |path: &str| look.loss_of(path, &store);
        assert_eq!(
            loss("shared/b"),
            Loss {
                lost: vec![three],
                left: vec![two],
                is_latest: true
            }
        );
        assert_eq!(
            loss("shared/a"),
            Loss {
                lost: vec![two, three],
                left: vec![],
                is_latest: true
            }
        );
        assert_eq!(loss("chk-2"), loss("chk-2/_metadata"));
        assert!(!loss("chk-2").is_latest);
        assert_eq!(
            loss("chk-1/_metadata").lost,
            vec![],
            "it was damaged before"
        );
        // A person went back to checkpoint 2: now that is the latest.
        let promoted = look.loss_of("chk-2", &[one, three, two]);
        assert!(promoted.is_latest && promoted.left == [three]);
        assert!(
            look.loss_of("shared/c", &store)
                .sentences()
                .starts_with("Nothing")
        );
    }
}
