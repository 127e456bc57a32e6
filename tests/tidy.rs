//! What lints cannot say about the house: which way imports go, what the core must not know, how long a file may be.

#![allow(clippy::unwrap_used, reason = "a test may end where it stands")]

use std::fs;
use std::path::{Path, PathBuf};

const MAX_LINES: usize = 500;

struct Source {
    /// Relative to `src`, with forward slashes.
    path: String,
    text: String,
}

impl Source {
    /// The lines that are code, numbered, up to the tests at the end of the file.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = (1..).zip(self.text.lines());
        let code = lines.take_while(|(_, line)| line.trim() != "#[cfg(test)]");
        code.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// The first folder of the path, or the file's name without its ending.
    fn layer(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap()
    }
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    let source = |file: PathBuf| Source {
        path: file
            .strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/"),
        text: fs::read_to_string(&file).unwrap(),
    };
    let is_test =
        |source: &Source| source.path.contains("/tests/") || source.path.ends_with("/tests.rs");
    let sources: Vec<Source> = files
        .into_iter()
        .map(source)
        .filter(|source| !is_test(source))
        .collect();
    assert!(sources.len() > 30, "the walk has missed the sources");
    sources
}

/// Every place in `sources` chosen by `scope` where one of `words` stands in code.
fn offences(scope: impl Fn(&Source) -> bool, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| scope(source)) {
        for (number, line) in source.code() {
            for word in words.iter().filter(|word| has_word(line, word)) {
                found.push(format!("src/{}:{number}: {word}", source.path));
            }
        }
    }
    found
}

/// Whether `word` is in there, other than as the beginning of a longer name such as `HashMapStateBackend`.
fn has_word(line: &str, word: &str) -> bool {
    let mut found = line.match_indices(word);
    found.any(|(at, _)| !line[at + word.len()..].starts_with(|c: char| c.is_ascii_uppercase()))
}

fn assert_none(offences: &[String], law: &str) {
    assert!(offences.is_empty(), "{law}\n{}", offences.join("\n"));
}

/// `ui, cli → run → recording → engine → model`, `project → model`, `cli → fuzz → recording, project`.
#[test]
fn imports_go_one_way() {
    let forbidden: [(&str, &[&str]); 7] = [
        (
            "model",
            &["engine", "recording", "run", "project", "fuzz", "ui", "cli"],
        ),
        (
            "engine",
            &["recording", "run", "project", "fuzz", "ui", "cli"],
        ),
        ("recording", &["run", "project", "fuzz", "ui", "cli"]),
        (
            "project",
            &["engine", "recording", "run", "fuzz", "ui", "cli"],
        ),
        ("run", &["fuzz", "ui", "cli"]),
        ("fuzz", &["run", "ui", "cli"]),
        ("cli", &["ui"]),
    ];
    for (layer, above) in forbidden {
        let words: Vec<String> = above
            .iter()
            .map(|above| format!("crate::{above}"))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let found = offences(|source| source.layer() == layer, &words);
        assert_none(&found, &format!("{layer} must not know what is above it"));
    }
    let drivers = |source: &Source| source.layer() == "recording" || source.layer() == "ui";
    let found = offences(
        drivers,
        &["engine::driver", "engine::coordinator", "engine::subtask"],
    );
    assert_none(&found, "what draws or records must not know what runs");
}

/// The state machines have no clock, thread, file, chance or hash order of their own.
#[test]
fn the_core_of_the_engine_owns_nothing_of_the_world() {
    let core = |source: &Source| {
        let outside = ["engine/driver/", "engine/state/", "engine/storage/"];
        source.path.starts_with("engine/")
            && !outside.iter().any(|dir| source.path.starts_with(dir))
    };
    let words = [
        "std::time",
        "Instant",
        "SystemTime",
        "std::thread",
        "std::fs",
        "std::io",
        "std::env",
        "HashMap",
        "HashSet",
        "rand",
        "crossbeam",
        "Mutex",
        "println!",
    ];
    assert_none(
        &offences(core, &words),
        "the core must be handed these by a driver",
    );
    let stepper = |source: &Source| source.path.starts_with("engine/driver/stepper");
    let words = [
        "std::time",
        "Instant",
        "std::thread",
        "HashMap",
        "HashSet",
        "crossbeam",
        "Mutex",
    ];
    assert_none(
        &offences(stepper, &words),
        "virtual time is all the time the stepper knows",
    );
    let folded = |source: &Source| matches!(source.layer(), "recording" | "model");
    let words = ["std::time", "std::thread", "std::fs", "HashMap", "HashSet"];
    assert_none(
        &offences(folded, &words),
        "a recording and a model are pure",
    );
}

#[test]
fn every_queue_has_a_bound() {
    assert_none(
        &offences(|_| true, &["unbounded(", "mpsc::channel("]),
        "use bounded channels",
    );
}

#[test]
fn colours_are_in_the_theme_only() {
    let ui = |source: &Source| source.layer() == "ui" && !source.path.starts_with("ui/theme");
    let words = [
        "from_rgb",
        "from_gray",
        "from_hex",
        "from_black_alpha",
        "from_white_alpha",
        "hex_color!",
        "Color32::WHITE",
        "Color32::BLACK",
        "Color32::RED",
    ];
    assert_none(&offences(ui, &words), "take it from the theme");
}

#[test]
fn nothing_sleeps_and_nothing_is_left_for_later() {
    let words = ["thread::sleep", "todo!(", "unimplemented!(", "dbg!("];
    assert_none(
        &offences(|_| true, &words),
        "wait for a message; finish the work",
    );
}

#[test]
fn files_are_short_enough_to_read() {
    let long = |source: &Source| {
        let lines = source.text.lines().count();
        (lines > MAX_LINES).then(|| format!("src/{}: {lines} lines", source.path))
    };
    let found: Vec<String> = sources().iter().filter_map(long).collect();
    assert_none(&found, "a file holds one idea");
}

#[test]
fn every_module_says_what_it_is() {
    let silent = |source: &Source| !source.text.starts_with("//!");
    let all = sources();
    let found: Vec<String> = all
        .iter()
        .filter(|source| silent(source))
        .map(|source| format!("src/{}", source.path))
        .collect();
    assert_none(&found, "open the file with a sentence about it");
}
