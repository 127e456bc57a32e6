//! Sentences about the other kinds of state.

use super::{Recording, describe_record};
use crate::engine::event::EventKind;
use crate::model::{StateEntry, StateKind, SubtaskId, entries_text};

impl Recording {
    pub(super) fn describe_state(&self, event: &EventKind) -> String {
        match event {
            EventKind::EntriesChanged {
                subtask,
                key,
                entries,
                origin,
            } => format!(
                "{} takes record {} of {}: {key} has {}.",
                self.name(*subtask),
                origin.offset,
                self.plan.split_name(origin.split),
                self.entries(*subtask, entries)
            ),
            EventKind::EntriesCleaned {
                subtask,
                key,
                entries,
            } => format!(
                "{} cleans up what has expired of {key}, and keeps {}.",
                self.name(*subtask),
                self.entries(*subtask, entries)
            ),
            EventKind::RuleSet { subtask, rule } => {
                let whose = match &rule.key {
                    Some(key) => format!("records of {key}"),
                    None => "records without a rule of their own".to_owned(),
                };
                format!(
                    "{} has a new rule: {whose} go on from {} on.",
                    self.name(*subtask),
                    rule.value
                )
            }
            EventKind::Filtered { subtask, record } => format!(
                "{} leaves out {}: it is against the rules.",
                self.name(*subtask),
                describe_record(record)
            ),
            EventKind::Buffered { subtask, record } => format!(
                "{} holds back {}.",
                self.name(*subtask),
                describe_record(record)
            ),
            EventKind::BufferFlushed { subtask } => format!(
                "{} has enough records in its buffer, and lets them out.",
                self.name(*subtask)
            ),
            _ => String::new(),
        }
    }

    fn entries(&self, subtask: SubtaskId, entries: &[StateEntry]) -> String {
        let kind = self.plan.subtask(subtask).operator.entries_kind();
        match entries {
            [] => "nothing".to_owned(),
            some => entries_text(kind.unwrap_or(StateKind::Value), some),
        }
    }
}
