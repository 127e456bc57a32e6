//! Format 2 ⇄ model: keyed functions, and how long state lives.

use serde::{Deserialize, Serialize};

use super::part::{is_false, unless_default, words};
use crate::model;

/// What is done with each record, and in which kind of state it is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Function {
    /// `ValueState`: of every so many records the average.
    CountAverage { every: u32 },
    /// `ListState`: the newest so many values; their sum goes on.
    LastN { n: u32 },
    /// `MapState`: how many different values there were.
    Distinct,
    /// `ReducingState`: the largest value.
    Max,
    /// `AggregatingState`: the average of all.
    Average,
}

/// For how long an entry of state lives after its last use, in processing time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ttl {
    #[expect(clippy::struct_field_names, reason = "as the model and Flink call it")]
    pub ttl_ms: u64,
    /// Left out: `OnCreateAndWrite`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<Update>,
    /// Left out: `NeverReturnExpired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// What has expired goes only when it is read.
    #[serde(default, skip_serializing_if = "is_false")]
    pub no_background_cleanup: bool,
    /// What has expired is left out of full snapshots.
    #[serde(default, skip_serializing_if = "is_false")]
    pub full_snapshot_cleanup: bool,
}

words! {
    pub enum Update = model::TtlUpdate { OnCreateAndWrite, OnReadAndWrite }
}

words! {
    pub enum Visibility = model::TtlVisibility { NeverReturnExpired, ReturnExpiredIfNotCleanedUp }
}

impl Function {
    pub(super) fn from_model(function: model::KeyedFunction) -> Self {
        match function {
            model::KeyedFunction::CountAverage { every } => Self::CountAverage { every },
            model::KeyedFunction::LastN { n } => Self::LastN { n },
            model::KeyedFunction::Distinct => Self::Distinct,
            model::KeyedFunction::Max => Self::Max,
            model::KeyedFunction::Average => Self::Average,
        }
    }

    pub(super) fn into_model(self) -> model::KeyedFunction {
        match self {
            Self::CountAverage { every } => model::KeyedFunction::CountAverage { every },
            Self::LastN { n } => model::KeyedFunction::LastN { n },
            Self::Distinct => model::KeyedFunction::Distinct,
            Self::Max => model::KeyedFunction::Max,
            Self::Average => model::KeyedFunction::Average,
        }
    }
}

impl Ttl {
    pub(super) fn from_model(ttl: model::TtlSpec) -> Self {
        let default = model::TtlSpec::new(ttl.ttl_ms);
        Self {
            ttl_ms: ttl.ttl_ms,
            update: unless_default(ttl.update, &default.update).map(Update::from_model),
            visibility: unless_default(ttl.visibility, &default.visibility)
                .map(Visibility::from_model),
            no_background_cleanup: !ttl.background_cleanup,
            full_snapshot_cleanup: ttl.full_snapshot_cleanup,
        }
    }

    pub(super) fn into_model(self) -> model::TtlSpec {
        let default = model::TtlSpec::new(self.ttl_ms);
        model::TtlSpec {
            ttl_ms: self.ttl_ms,
            update: self.update.map_or(default.update, Update::into_model),
            visibility: self
                .visibility
                .map_or(default.visibility, Visibility::into_model),
            background_cleanup: !self.no_background_cleanup,
            full_snapshot_cleanup: self.full_snapshot_cleanup,
        }
    }
}
