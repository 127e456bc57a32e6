//! Which states a backend holds, and whether they are those that its operator wants.
//!
//! Snapshots say of each state its name, its kind, and whether it has a time to live; an operator says the same of what it
//! is about to use. Flink compares the two when the operator asks for its state, before the first record.

use std::collections::BTreeSet;

use super::cell::{StateDescriptor, StateId};
use super::codec::{Slot, Stored};
use super::{KeyedBackend, StateError};
use crate::model::{KeyKind, StateKind};

/// The states of one backend.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    /// Restored ones, each with whether it has a time to live.
    found: BTreeSet<(StateId, bool)>,
    keys: BTreeSet<KeyKind>,
    wanted: Option<StateDescriptor>,
}

/// What a snapshot says of a state.
pub(super) type StateHeader = (StateId, bool);

impl KeyedBackend {
    /// The operator is about to use this state, before its first record.
    ///
    /// # Errors
    /// [`StateError::TtlMigration`] or [`StateError::OtherState`]: what was restored is not it.
    pub fn declare(&mut self, state: StateDescriptor) -> Result<(), StateError> {
        match self {
            Self::Heap(heap) => heap.declared.declare(state),
            Self::RocksDb(rocks) => rocks.declared.declare(state),
        }
    }

    /// The operator's keys are of this kind.
    ///
    /// # Errors
    /// [`StateError::KeyMigration`]: keys of another kind were restored.
    pub fn check_keys(&self, kind: KeyKind) -> Result<(), StateError> {
        match self {
            Self::Heap(heap) => heap.declared.check_keys(kind),
            Self::RocksDb(rocks) => rocks.declared.check_keys(kind),
        }
    }

    /// The states of which something was restored, for whoever looks into a snapshot.
    #[must_use]
    pub fn restored_states(&self) -> Vec<StateId> {
        match self {
            Self::Heap(heap) => heap.declared.found(),
            Self::RocksDb(rocks) => rocks.declared.found(),
        }
    }
}

impl Declared {
    /// An entry was restored.
    pub(super) fn note(&mut self, slot: &Slot, stored: &Stored) {
        self.found.insert((slot.state(), stored.has_ttl()));
        self.keys.insert(slot.key().kind());
    }

    /// The operator's keys are of this kind (Flink: the serializer's `resolveSchemaCompatibility`).
    ///
    /// # Errors
    /// Keys of another kind were restored.
    pub(super) fn check_keys(&self, wanted: KeyKind) -> Result<(), StateError> {
        match self.keys.iter().find(|found| **found != wanted) {
            None => Ok(()),
            Some(found) => Err(StateError::KeyMigration {
                wanted: wanted.name(),
                found: found.name(),
            }),
        }
    }

    /// The snapshot says that it holds this state, with entries or without.
    pub(super) fn note_header(&mut self, header: StateHeader) {
        self.found.insert(header);
    }

    /// The operator is about to use this state (Flink: `StateSerializerProvider`, `TtlStateFactory`).
    ///
    /// # Errors
    /// Another state was restored, or the same with a time to live where there was none, or without.
    pub(super) fn declare(&mut self, wanted: StateDescriptor) -> Result<(), StateError> {
        for (found, had_ttl) in self.found.iter().copied() {
            if found.name() != wanted.id.name() {
                return Err(StateError::OtherState {
                    wanted: title(wanted.id),
                    found: title(found),
                });
            }
            if had_ttl != wanted.ttl.is_some() || found != wanted.id {
                return Err(StateError::TtlMigration {
                    state: wanted.id.name(),
                    had_ttl,
                });
            }
        }
        self.wanted = Some(wanted);
        Ok(())
    }

    pub(super) fn found(&self) -> Vec<StateId> {
        self.found.iter().map(|(state, _)| *state).collect()
    }

    pub(super) fn wanted(&self) -> Option<StateDescriptor> {
        self.wanted
    }

    /// What a snapshot has to say; where nobody has said anything, all that was found.
    pub(super) fn headers(&self) -> Vec<StateHeader> {
        match self.wanted {
            Some(StateDescriptor { id, ttl }) => vec![(id, ttl.is_some())],
            None => self.found.iter().copied().collect(),
        }
    }
}

fn title(state: StateId) -> String {
    format!("“{}” ({})", state.name(), state.kind().name())
}

/// The number of a kind in a snapshot.
pub(super) fn number_of_kind(kind: StateKind) -> u8 {
    match kind {
        StateKind::Value => 0,
        StateKind::List => 1,
        StateKind::Map => 2,
        StateKind::Reducing => 3,
        StateKind::Aggregating => 4,
    }
}
