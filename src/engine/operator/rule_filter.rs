//! A filter whose rules come on a stream of their own, to every subtask alike: *broadcast state* (Flink: the broadcast
//! state pattern).
//!
//! Broadcast state is operator state, not keyed: each subtask has its copy of all rules, and writes it into every
//! snapshot. The copies are the same only because every subtask gets the same rules in the same order; when a rule comes
//! between the records of another input is another matter, and differs from run to run.

use std::collections::BTreeMap;

use crate::engine::in_flight;
use crate::engine::router::Router;
use crate::engine::storage::{Distribution, ListState};
use crate::engine::subtask::{Effects, TaskFailure};
use crate::model::{Key, Record};

/// One subtask of a rule filter.
pub struct RuleFilter {
    /// By key; that of none is for the keys without a rule of their own.
    rules: BTreeMap<Option<Key>, Record>,
    /// By input: whether rules come there.
    is_rule_input: Vec<bool>,
}

impl RuleFilter {
    /// The name of its operator state.
    pub const LIST: &'static str = "rules";

    /// With the rules of a restored checkpoint.
    #[must_use]
    pub fn new(is_rule_input: Vec<bool>, rules: Vec<Record>) -> Self {
        let mut filter = Self {
            rules: BTreeMap::new(),
            is_rule_input,
        };
        rules.into_iter().for_each(|rule| filter.set(rule));
        filter
    }

    /// Take `record` from `input`: as a new rule, or to be judged by the rules that are there.
    ///
    /// # Errors
    /// It cannot be routed.
    pub fn process<E: Effects>(
        &mut self,
        (input, record): (usize, Record),
        router: &mut Router,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        if self.is_rule_input.get(input).copied().unwrap_or_default() {
            out.on_rule(&record);
            self.set(record);
            return Ok(());
        }
        if self.passes(&record) {
            return router.route(record, out);
        }
        out.on_filtered(&record);
        Ok(())
    }

    fn set(&mut self, rule: Record) {
        self.rules.insert(rule.key.clone(), rule);
    }

    /// Nobody has forbidden it, or its value is large enough.
    fn passes(&self, record: &Record) -> bool {
        let own = self.rules.get(&record.key);
        let rule = own.or_else(|| self.rules.get(&None));
        rule.is_none_or(|rule| record.value >= rule.value)
    }

    /// The rules, by key.
    pub fn rules(&self) -> impl Iterator<Item = &Record> {
        self.rules.values()
    }

    /// One element for each rule.
    #[must_use]
    pub fn list_state(&self) -> ListState {
        let encode = |rule: &Record| in_flight::encode(std::slice::from_ref(rule)).into();
        ListState {
            name: Self::LIST.to_owned(),
            distribution: Distribution::Broadcast,
            elements: self.rules.values().map(encode).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventTime, Origin, SplitId};

    fn record(key: Option<&str>, value: i64) -> Record {
        Record {
            key: key.map(Key::text),
            value: value.into(),
            origin: Origin {
                split: SplitId(0),
                offset: 1,
            },
            event_time: EventTime::NONE,
        }
    }

    /// Breaks if the rule for all outweighs a key's own, or a newer rule does not replace the older one.
    #[test]
    fn a_keys_own_rule_counts_before_the_one_for_all() {
        let rules = vec![record(None, 10), record(Some("a"), 3), record(Some("a"), 5)];
        let filter = RuleFilter::new(vec![true, false], rules);
        let passes = |key, value| filter.passes(&record(Some(key), value));
        assert!(passes("a", 5) && !passes("a", 4));
        assert!(passes("b", 10) && !passes("b", 9));
        assert_eq!(filter.rules().count(), 2);
        assert!(RuleFilter::new(Vec::new(), Vec::new()).passes(&record(None, -1)));
    }
}
