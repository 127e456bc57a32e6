//! The files of a failing seed: the job, and where it is a second one that fails, that one too with the snapshot that it
//! starts from. `lockgate run` replays both; how is said in the first lines of each.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::play::SecondRun;
use super::{Failure, laws};
use crate::engine::event::{EventKind, JobStatus, TraceEvent};
use crate::engine::storage::{CheckpointStorage, FileSystemStorage};
use crate::model::ClaimMode;
use crate::project;

impl Failure {
    /// Write `fuzz-<seed>.ron` into `folder`, beside it as `.jsonl` what happens in it (each event as one line of
    /// JSON), and the same for a second job. Returns the job file's path.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let name = format!("fuzz-{}", self.seed);
        let path = folder.join(format!("{name}.ron"));
        fs::write(&path, self.to_text(&name))?;
        write_trace(&self.events, &path.with_extension("jsonl"))?;
        if let Some(second) = &self.second {
            let text = second.to_text(&name, self.seed);
            fs::write(path.with_extension("second.ron"), text)?;
            write_trace(&second.events, &path.with_extension("second.jsonl"))?;
            write_snapshot(second, &path.with_extension("start"))?;
        }
        Ok(path)
    }

    fn to_text(&self, name: &str) -> String {
        let law = self.shrunk.law;
        let second = match self.second {
            Some(_) => format!("// What it leaves is taken up by {name}.second.ron.\n"),
            None => String::new(),
        };
        format!(
            "// From seed {}. It breaks law {law} ({}):\n// {}.\n// lockgate run {name}.ron{}\n{second}{}",
            self.seed,
            laws::sentence(law),
            self.shrunk.sentence,
            until(&self.events),
            project::to_text(&self.job)
        )
    }
}

impl SecondRun {
    fn to_text(&self, name: &str, seed: u64) -> String {
        let claim = match self.claim {
            ClaimMode::NoClaim => "",
            // It deletes the snapshot when it needs it no more.
            ClaimMode::Claim => " --claim",
        };
        format!(
            "// From seed {seed}: it takes up what {name}.ron has left.\n\
             // lockgate run {name}.second.ron --from {name}.start{claim}{}\n{}",
            until(&self.events),
            project::to_text(&self.job)
        )
    }
}

/// The option that ends a run which does not end by itself.
fn until(events: &[TraceEvent]) -> String {
    let mut statuses = events.iter().rev().filter_map(|event| match &event.kind {
        EventKind::JobStatus(status) => Some(status),
        _ => None,
    });
    let has_ended = statuses.next().is_none_or(JobStatus::is_terminal);
    match events.last() {
        Some(last) if !has_ended => format!(" --until-ms {}", last.at_us.div_ceil(1000)),
        _ => String::new(),
    }
}

fn write_snapshot(second: &SecondRun, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // That of an earlier failure of this seed.
    match fs::remove_file(folder.join("_metadata")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let storage = FileSystemStorage::single(folder, 0);
    let begun = storage.begin(second.snapshot.checkpoint);
    let written = begun.and_then(|()| storage.write_metadata(&second.snapshot));
    written.map(drop).map_err(io::Error::other)
}

fn write_trace(events: &[TraceEvent], path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for event in events {
        serde_json::to_writer(&mut file, event)?;
        file.write_all(b"\n")?;
    }
    file.flush()
}
