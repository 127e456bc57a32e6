//! How the parts of a file that may be left out are written down and read back.
//!
//! A struct of [`silent!`] holds an optional value for each field of a struct of the model: a file is silent about
//! those that have their default. An enum of [`words!`] is spelt as its namesake in the model.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A value as a file has it.
pub trait Part: Sized {
    type Model: PartialEq;

    /// None: a file says this by being silent.
    fn of(model: &Self::Model) -> Option<Self>;

    fn into_value(self) -> Self::Model;
}

/// Numbers and switches are themselves.
macro_rules! plain {
    ($($kind:ty),*) => {$(
        impl Part for $kind {
            type Model = Self;

            fn of(model: &Self) -> Option<Self> {
                Some(*model)
            }

            fn into_value(self) -> Self {
                self
            }
        }
    )*};
}
plain!(bool, u32, u64);

/// A number that a silent file does not set at all.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Set<T>(T);

impl<T: PartialEq + Copy> Part for Set<T> {
    type Model = Option<T>;

    fn of(model: &Option<T>) -> Option<Self> {
        model.map(Self)
    }

    fn into_value(self) -> Option<T> {
        Some(self.0)
    }
}

/// A folder, relative to that of the job file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Folder(String);

impl Part for Folder {
    type Model = Option<PathBuf>;

    fn of(model: &Option<PathBuf>) -> Option<Self> {
        let path = model.as_ref()?;
        Some(Self(path.to_string_lossy().into_owned()))
    }

    fn into_value(self) -> Option<PathBuf> {
        Some(self.0.into())
    }
}

/// A number of times, or `Unlimited`: the largest number in the model.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a whole number or `Unlimited` is expected before here"
)]
pub enum Amount {
    Number(u32),
    Word(Unlimited),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Unlimited {
    Unlimited,
}

impl Part for Amount {
    type Model = u32;

    fn of(model: &u32) -> Option<Self> {
        Some(match *model {
            u32::MAX => Self::Word(Unlimited::Unlimited),
            number => Self::Number(number),
        })
    }

    fn into_value(self) -> u32 {
        match self {
            Self::Number(number) => number,
            Self::Word(Unlimited::Unlimited) => u32::MAX,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for this signature"
)]
pub fn is_false(value: &bool) -> bool {
    !value
}

/// `value`, unless the file may be silent about it.
pub fn unless_default<T: PartialEq>(value: T, default: &T) -> Option<T> {
    (value != *default).then_some(value)
}

/// An enum of bare words, each of which is called as in the model.
macro_rules! words {
    ($(#[$doc:meta])* pub enum $name:ident = $model:ty { $($(#[$word_doc:meta])* $word:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$word_doc])* $word),* }

        impl $name {
            fn from_model(model: $model) -> Self {
                match model { $(<$model>::$word => Self::$word),* }
            }

            fn into_model(self) -> $model {
                match self { $(Self::$word => <$model>::$word),* }
            }
        }

        impl $crate::project::v2::part::Part for $name {
            type Model = $model;

            fn of(model: &$model) -> Option<Self> {
                Some(Self::from_model(*model))
            }

            fn into_value(self) -> $model {
                self.into_model()
            }
        }
    };
}
pub(super) use words;

/// A struct of parts that may all be left out. The expression says what each is then.
macro_rules! silent {
    ($(#[$doc:meta])* pub struct $name:ident = $model:ty, $default:expr => {
        $($(#[$field_doc:meta])* $field:ident: $kind:ty),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[$field_doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<$kind>,
            )*
        }

        impl $crate::project::v2::part::Part for $name {
            type Model = $model;

            fn of(model: &$model) -> Option<Self> {
                let default: $model = $default;
                let part = Self {
                    $($field: if model.$field == default.$field {
                        None
                    } else {
                        $crate::project::v2::part::Part::of(&model.$field)
                    },)*
                };
                (part != Self::default()).then_some(part)
            }

            fn into_value(self) -> $model {
                type Whole = $model;
                let default: Whole = $default;
                Whole {
                    $($field: self
                        .$field
                        .map_or(default.$field, $crate::project::v2::part::Part::into_value),)*
                }
            }
        }
    };
}
pub(super) use silent;
