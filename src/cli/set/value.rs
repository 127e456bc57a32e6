//! What the texts of values mean.

use std::path::PathBuf;

/// Why a text is no value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueError {
    /// It is none of the values.
    NotOne,
    /// It is a number, and too large a one for any setting.
    TooLarge,
    /// It would be, but for this: a sentence.
    NotNow(String),
}

impl ValueError {
    pub fn sentence(self, path: &str, values: &str, value: &str) -> String {
        match self {
            Self::NotOne => format!("{path} is {values}, not {value:?}."),
            Self::TooLarge => format!("{path} is {values}, and {value} is too large."),
            Self::NotNow(sentence) => sentence,
        }
    }
}

pub type Value<T> = Result<T, ValueError>;

pub fn number<T: std::str::FromStr>(text: &str) -> Value<T> {
    let plain = text.replace(['_', ','], "");
    let is_number = !plain.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit());
    plain.parse().map_err(|_| {
        if is_number {
            ValueError::TooLarge
        } else {
            ValueError::NotOne
        }
    })
}

/// A number, or `unlimited`: the largest.
pub fn amount(text: &str) -> Value<u32> {
    match &*squeezed(text) {
        "unlimited" | "infinite" => Ok(u32::MAX),
        _ => number(text),
    }
}

pub fn switch(text: &str) -> Value<bool> {
    match &*squeezed(text) {
        "true" | "on" | "yes" => Ok(true),
        "false" | "off" | "no" => Ok(false),
        _ => Err(ValueError::NotOne),
    }
}

/// Milliseconds, or a number with a unit.
pub fn millis(text: &str) -> Value<u64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '_')
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor = match &*unit.trim().to_lowercase() {
        "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1,
        "s" | "sec" | "second" | "seconds" => 1_000,
        "m" | "min" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        _ => return Err(ValueError::NotOne),
    };
    let number: u64 = number(digits)?;
    number.checked_mul(factor).ok_or(ValueError::TooLarge)
}

/// Bytes, or a number with a unit.
pub fn bytes(text: &str) -> Value<u32> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '_')
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor = match &*unit.trim().to_lowercase() {
        "" | "b" | "bytes" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        _ => return Err(ValueError::NotOne),
    };
    let number: u32 = number(digits)?;
    number.checked_mul(factor).ok_or(ValueError::TooLarge)
}

/// `none`, or what `read` makes of it.
pub fn or_none<T>(text: &str, read: impl FnOnce(&str) -> Value<T>) -> Value<Option<T>> {
    if squeezed(text) == "none" {
        return Ok(None);
    }
    read(text).map(Some)
}

pub fn folder(text: &str) -> Value<PathBuf> {
    if text.trim().is_empty() {
        return Err(ValueError::NotOne);
    }
    Ok(PathBuf::from(text))
}

/// The one of `all` whose name this is, however it is spelt: `exactly-once`, `EXACTLY_ONCE`, `ExactlyOnce`.
pub fn word<T: Copy>(text: &str, all: &[(&str, T)]) -> Value<T> {
    let wanted = squeezed(text);
    all.iter()
        .find(|(name, _)| squeezed(name) == wanted)
        .map(|(_, value)| *value)
        .ok_or(ValueError::NotOne)
}

fn squeezed(text: &str) -> String {
    let letters = text.chars().filter(|c| !"-_ ".contains(*c));
    letters.flat_map(char::to_lowercase).collect()
}
