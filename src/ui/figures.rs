//! Figures as people read them: always with a unit, never longer than they need be.

use rust_decimal::Decimal;

use crate::model::{
    EntryValue, EventTime, Record, StateEntry, StateKind, TimeWindow, entries_text,
};
use rust_decimal::prelude::ToPrimitive;

/// `0.472 s`
#[must_use]
pub fn seconds(us: u64) -> String {
    format!("{:.3} s", us as f64 / 1e6)
}

/// A span of time: `85 ms`, `0.4 ms`, `1.25 s`.
#[must_use]
pub fn span(us: u64) -> String {
    match us {
        0 => "0 ms".to_owned(),
        1..=9_999 => format!("{} ms", trimmed(format!("{:.1}", us as f64 / 1e3))),
        10_000..=999_999 => format!("{:.0} ms", us as f64 / 1e3),
        _ => format!("{} s", trimmed(format!("{:.2}", us as f64 / 1e6))),
    }
}

/// `186 B`, `1.2 KiB`
#[must_use]
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 || unit == "GiB" {
            return if unit == "B" {
                format!("{bytes} B")
            } else {
                format!("{} {unit}", trimmed(format!("{value:.1}")))
            };
        }
        value /= 1024.0;
    }
    unreachable!("the last unit always returns")
}

/// `40/s`, `0.5/s`
#[must_use]
pub fn rate(per_s: f64) -> String {
    format!("{}/s", trimmed(format!("{per_s:.2}")))
}

/// The value in full, without zeros that mean nothing.
#[must_use]
pub fn value(value: Decimal) -> String {
    value.normalize().to_string()
}

/// All entries of a key in one line, without zeros that mean nothing.
#[must_use]
pub fn entries_figure(kind: StateKind, entries: &[StateEntry]) -> String {
    let trimmed = |entry: &StateEntry| StateEntry {
        user_key: entry.user_key.map(|user_key| user_key.normalize()),
        value: match entry.value {
            EntryValue::Number(number) => EntryValue::Number(number.normalize()),
            EntryValue::Average { count, sum } => EntryValue::Average {
                count,
                sum: sum.normalize(),
            },
        },
        ..*entry
    };
    let entries: Vec<StateEntry> = entries.iter().map(trimmed).collect();
    entries_text(kind, &entries)
}

/// For which records a rule is.
#[must_use]
pub fn rule_name(rule: &Record) -> String {
    match &rule.key {
        Some(key) => key.to_string(),
        None => "all others".to_owned(),
    }
}

/// The value in at most about four characters, for a token.
#[must_use]
pub fn short_value(exact: Decimal) -> String {
    let full = value(exact);
    if full.len() <= 4 {
        return full;
    }
    let Some(approx) = exact.to_f64() else {
        return full;
    };
    let (scaled, suffix) = match approx.abs() {
        a if a < 1e3 => (approx, ""),
        a if a < 1e6 => (approx / 1e3, "k"),
        a if a < 1e9 => (approx / 1e6, "M"),
        a if a < 1e12 => (approx / 1e9, "G"),
        _ => return format!("{approx:.0e}"),
    };
    let decimals = usize::from(scaled.abs() < 100.0);
    format!("{}{suffix}", trimmed(format!("{scaled:.decimals$}")))
}

/// `1 record`, `3 records`
#[must_use]
pub fn count(n: u64, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}

/// `a`, `a and b`, `a, b and c`
#[must_use]
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

fn trimmed(mut text: String) -> String {
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}

/// A moment of event time: `1.200 s`, `end` once nothing follows.
#[must_use]
pub fn event_time(time: EventTime) -> String {
    match time {
        EventTime::MAX => "end".to_owned(),
        EventTime(ms) if ms < 0 => format!("−{}", span(ms.unsigned_abs().saturating_mul(1_000))),
        EventTime(ms) => seconds(ms.unsigned_abs().saturating_mul(1_000)),
    }
}

/// A watermark, or that there is none yet.
#[must_use]
pub fn watermark_words(watermark: EventTime) -> String {
    match watermark {
        EventTime::NONE => "none".to_owned(),
        time => event_time(time),
    }
}

/// A window's begin and end: `1.0–2.0 s`.
#[must_use]
pub fn window_span(window: TimeWindow) -> String {
    let tenths = |ms: i64| ms % 100 == 0;
    if tenths(window.start_ms) && tenths(window.end_ms) {
        let s = |ms: i64| ms as f64 / 1e3;
        format!("{:.1}–{:.1} s", s(window.start_ms), s(window.end_ms))
    } else {
        window.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_carry_their_unit() {
        assert_eq!(seconds(472_000), "0.472 s");
        assert_eq!(span(85_000), "85 ms");
        assert_eq!(span(400), "0.4 ms");
        assert_eq!(span(1_250_000), "1.25 s");
    }

    #[test]
    fn sizes_grow_through_their_units() {
        assert_eq!(bytes(186), "186 B");
        assert_eq!(bytes(1_229), "1.2 KiB");
        assert_eq!(bytes(5 << 20), "5 MiB");
    }

    #[test]
    fn tokens_hold_any_number() {
        let short = |text: &str| short_value(text.parse().unwrap());
        assert_eq!(short("7"), "7");
        assert_eq!(short("10.90"), "10.9");
        assert_eq!(short("123.45"), "123");
        assert_eq!(short("1234"), "1234");
        assert_eq!(short("12345"), "12.3k");
        assert_eq!(short("-2500000"), "-2.5M");
    }

    #[test]
    fn lists_read_as_sentences_do() {
        let items: Vec<String> = ["3", "5", "7"].map(str::to_owned).into();
        assert_eq!(list(&items), "3, 5 and 7");
        assert_eq!(list(&items[..1]), "3");
    }
}
