//! `--set PATH=VALUE`: any setting of a job by its path, which is that of the job file, or by Flink's name for it.

mod flink;
mod job;
mod operator;
mod state;
mod value;

use crate::model::validate::{bounds, grouped};
use crate::model::{JobConfig, JobGraph};

/// Sets what `path` names to what `value` says.
///
/// # Errors
/// A sentence: there is no such setting (and which is nearest), or the value is none of it.
pub fn set(job: &mut JobGraph, path: &str, value: &str) -> Result<(), String> {
    if let Some(setting) = job::settings().find(|setting| setting.path == path) {
        return (setting.set)(&mut job.config, value)
            .map_err(|error| error.sentence(path, setting.values, value));
    }
    if let Some(name) = flink::find(path) {
        job::check_strategy(&job.config, path)?;
        let translated = name
            .translate(value)
            .map_err(|error| error.sentence(path, name.values(), value))?;
        return set(job, name.path, &translated);
    }
    if let Some((vertex, field)) = operator::resolve(job, path) {
        return operator::set(vertex, path, &field, value);
    }
    Err(unknown(job, path))
}

/// Splits `PATH=VALUE`.
///
/// # Errors
/// A sentence: there is no `=`, or nothing before it.
pub fn split(text: &str) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() => Ok((path.trim(), value.trim())),
        _ => Err(format!(
            "--set needs PATH=VALUE, such as checkpointing.unaligned=true, not {text:?}."
        )),
    }
}

fn unknown(job: &JobGraph, path: &str) -> String {
    let names = job::settings()
        .map(|setting| setting.path.to_owned())
        .chain(flink::NAMES.iter().map(|name| name.name.to_owned()))
        .chain(operator::paths(job));
    let hint = match nearest(path, names) {
        Some(nearest) => format!("Did you mean {nearest}?"),
        None => "`lockgate settings` lists them all.".to_owned(),
    };
    format!("There is no setting {path:?}. {hint}")
}

/// The name that takes the fewest changes to become; none if all are far away.
fn nearest(wanted: &str, names: impl Iterator<Item = String>) -> Option<String> {
    const MAX_CHARS: usize = 200;
    if wanted.chars().count() > MAX_CHARS {
        return None;
    }
    let far = wanted.chars().count().max(6) / 2;
    let ends_so = |name: &str| name.ends_with(&format!(".{wanted}"));
    names
        .map(|name| {
            // Whoever names the last word alone means this one.
            let distance = if ends_so(&name) {
                0
            } else {
                distance(wanted, &name)
            };
            (distance, name)
        })
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Levenshtein's: characters put in, taken out or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// All paths with what they may be set to, for people.
#[must_use]
pub fn list() -> String {
    let defaults = JobConfig::default();
    let mut lines = vec![
        "Settings of the job: path, values (default), and Flink's name where there is one"
            .to_owned(),
        String::new(),
    ];
    for setting in job::settings() {
        let default = (setting.get)(&defaults);
        let default = default.map_or(String::new(), |default| format!(" ({default})"));
        lines.push(format!("  {}", setting.path));
        let within = within(setting.path);
        lines.push(format!("      {}{within}{default}", setting.values));
        let names = flink::NAMES.iter().filter(|name| name.path == setting.path);
        lines.extend(names.map(|name| format!("      Flink: {}", name.name)));
    }
    lines.push(String::new());
    lines.push("Settings of the operator whose uid is UID".to_owned());
    lines.push(String::new());
    for field in operator::FIELDS {
        lines.push(format!("  operators.UID.{}", field.name));
        lines.push(format!("      {} ({})", field.values, field.of));
    }
    lines.push(String::new());
    lines.push(
        "A time may have a unit (ms, s, min, h, d); without one it is in the unit of the path."
            .to_owned(),
    );
    lines.push(String::new());
    lines.join("\n")
}

/// `, 1 to 100` for a setting with bounds. Some belong to a choice, so every choice is looked at.
fn within(path: &str) -> String {
    let field = match path {
        "storage.inline_threshold_bytes" => "storage",
        path => path,
    };
    let mut job = JobGraph::default();
    let choices = ["manual", "fixed-delay", "failure-rate", "exponential-delay"];
    let found = choices.iter().find_map(|strategy| {
        for (path, value) in [
            ("restart", *strategy),
            ("storage", "filesystem"),
            ("checkpointing.interval_ms", "1s"),
        ] {
            set(&mut job, path, value).ok()?;
        }
        bounds(&job.config).find(|(known, _)| *known == field)
    });
    match found.filter(|_| path != "storage") {
        Some((_, bounds)) => format!(
            ", {} to {}",
            grouped(*bounds.start()),
            grouped(*bounds.end())
        ),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
