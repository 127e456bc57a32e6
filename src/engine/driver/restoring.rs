//! Which checkpoint a restore goes back to: the one that is named, or else the newest that can be read.
//!
//! Flink's restart strategies only ever try the latest one of the `CompletedCheckpointStore`; to go back to another is a
//! person's decision. Here the older ones that are retained are tried, too, each with a word: so that what a lost file
//! costs can be seen.

use crate::engine::coordinator::CompletedStore;
use crate::engine::event::{CommandOrigin, EventKind};
use crate::model::{CheckpointId, Command};

/// What a restore has tried.
pub struct Tried<T> {
    /// What could not be read, in order: what the recording is told of each.
    pub refused: Vec<EventKind>,
    /// Why nothing could be read, as far as that is so: what was wrong with the first.
    pub cause: String,
    /// What was read, and the command that asks for just that.
    pub found: Option<(Command, T)>,
}

/// Read `wanted`; none: the latest of `store`, and where that cannot be read, the next older one, and so on. A fresh
/// start takes the place of a checkpoint only where there is none.
///
/// `read` is handed the checkpoint; none: the snapshot that the run began with, or a fresh start.
pub fn first_readable<T>(
    store: &CompletedStore,
    (wanted, by): (Option<CheckpointId>, CommandOrigin),
    mut read: impl FnMut(Option<CheckpointId>) -> Result<T, String>,
) -> Tried<T> {
    let order = match wanted {
        Some(_) => vec![wanted],
        None => store.restore_order(),
    };
    let mut tried = Tried {
        refused: Vec::new(),
        cause: String::new(),
        found: None,
    };
    for (place, asked) in order.iter().enumerate() {
        let checkpoint = asked.or(store.latest());
        let command = Command::Restore { checkpoint: *asked };
        match read(checkpoint) {
            Ok(read) => {
                tried.found = Some((command, read));
                return tried;
            }
            Err(error) => {
                let next = order.get(place + 1).copied().flatten();
                let (what, advice) = match (checkpoint, wanted) {
                    (None, _) => (error, String::new()),
                    (Some(id), None) => (cannot(id, &error), what_next(next, place > 0)),
                    (Some(id), Some(_)) => (cannot(id, &error), alternatives(id, store)),
                };
                let reason = format!("{what}{advice}");
                if place == 0 {
                    tried.cause = what;
                }
                if next.is_none() {
                    tried.cause.push_str(&advice);
                }
                tried.refused.push(EventKind::CommandRefused {
                    command,
                    by,
                    reason,
                });
            }
        }
    }
    tried
}

fn cannot(checkpoint: CheckpointId, error: &str) -> String {
    let error = error.trim_end_matches('.');
    format!("Checkpoint {checkpoint} cannot be restored: {error}.")
}

/// What comes after a checkpoint that cannot be read, to be put behind the reason. `has_tried`: it is not the first.
fn what_next(next: Option<CheckpointId>, has_tried: bool) -> String {
    match next {
        Some(next) => {
            format!(
                " Checkpoint {next} is tried instead, the newest of the others that are retained."
            )
        }
        None if has_tried => {
            " None of the retained checkpoints can be restored. Start a new run.".to_owned()
        }
        None => " No other checkpoint is retained. Start a new run.".to_owned(),
    }
}

/// Which others there are for whoever has chosen this one, to be put behind the reason.
fn alternatives(chosen: CheckpointId, store: &CompletedStore) -> String {
    let others = store.iter().rev().filter(|id| *id != chosen);
    let list: Vec<String> = others.map(|id| id.to_string()).collect();
    match &list[..] {
        [] => " No other checkpoint is retained.".to_owned(),
        ids => format!(
            " Still retained: checkpoint {}. Restore that one.",
            ids.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ClaimMode;

    /// Checkpoints 1 to 3, of which those in `readable` can be read.
    fn restore(wanted: Option<u64>, readable: &[u64]) -> Tried<Option<CheckpointId>> {
        let mut store = CompletedStore::default();
        store.start_from(CheckpointId(1), ClaimMode::NoClaim);
        store.add(CheckpointId(2), 3);
        store.add(CheckpointId(3), 3);
        let wanted = (wanted.map(CheckpointId), CommandOrigin::Person);
        first_readable(&store, wanted, |id| match id {
            Some(CheckpointId(number)) if readable.contains(&number) => Ok(id),
            _ => Err("it is torn.".to_owned()),
        })
    }

    fn reasons(tried: &Tried<Option<CheckpointId>>) -> Vec<String> {
        let reason = |event: &EventKind| match event {
            EventKind::CommandRefused { reason, .. } => reason.clone(),
            other => panic!("{other:?}"),
        };
        tried.refused.iter().map(reason).collect()
    }

    #[test]
    fn the_newest_that_can_be_read_is_taken() {
        for (readable, expected, tries) in [(&[1, 2, 3][..], 3, 0), (&[1, 2], 2, 1), (&[1], 1, 2)] {
            let tried = restore(None, readable);
            assert_eq!(tried.refused.len(), tries);
            let (command, read) = tried.found.unwrap();
            assert_eq!(read, Some(CheckpointId(expected)));
            let named = (tries > 0).then_some(CheckpointId(expected));
            assert_eq!(command, Command::Restore { checkpoint: named });
        }
    }

    #[test]
    fn each_refusal_says_what_comes_next() {
        let tried = restore(None, &[]);
        assert!(tried.found.is_none());
        assert_eq!(
            reasons(&tried),
            [
                "Checkpoint 3 cannot be restored: it is torn. Checkpoint 2 is tried instead, the newest of the others that \
                 are retained.",
                "Checkpoint 2 cannot be restored: it is torn. Checkpoint 1 is tried instead, the newest of the others that \
                 are retained.",
                "Checkpoint 1 cannot be restored: it is torn. None of the retained checkpoints can be restored. Start a \
                 new run.",
            ]
        );
        assert_eq!(
            tried.cause,
            "Checkpoint 3 cannot be restored: it is torn. None of the retained checkpoints can be restored. Start a new run."
        );
    }

    /// Breaks if someone who has chosen gets another one.
    #[test]
    fn what_is_named_is_not_replaced() {
        let tried = restore(Some(3), &[1, 2]);
        assert!(tried.found.is_none());
        assert_eq!(
            reasons(&tried),
            [
                "Checkpoint 3 cannot be restored: it is torn. Still retained: checkpoint 2, 1. Restore that one."
            ]
        );
    }
}
