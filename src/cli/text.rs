//! The report as text.

use std::fmt::{self, Display, Formatter, Write};

use super::report::{Checkpoint, OperatorState, Report, SinkOutput, TallyReport};

/// At most so many of a sink's records are printed; JSON has them all.
const SHOWN_RECORDS: usize = 10;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} · {} · {} backend · {} · seed {}",
            self.job, self.driver, self.backend, self.storage, self.seed
        )?;
        write!(
            f,
            "{} after {} ({})",
            self.status,
            Time(self.ended_us),
            self.time
        )?;
        match &self.cause {
            Some(cause) => writeln!(f, ": {cause}")?,
            None => f.write_char('\n')?,
        }
        f.write_char('\n')?;
        for operator in &self.state {
            let lost = if self.state_is_lost {
                ", lost since"
            } else {
                ""
            };
            writeln!(f, "state of {}{lost}: {}", operator.uid, Rows(operator))?;
        }
        for sink in &self.sinks {
            write_sink(f, sink)?;
        }
        f.write_char('\n')?;
        if self.checkpoints.is_empty() {
            writeln!(f, "no checkpoint was triggered")?;
        }
        for checkpoint in &self.checkpoints {
            write_checkpoint(f, checkpoint, self.time)?;
        }
        for restart in &self.restarts {
            let from = match restart.from {
                Some(id) => format!("from checkpoint {id}"),
                None => "afresh".to_owned(),
            };
            writeln!(
                f,
                "restored {from} at {}: {}",
                Time(restart.at_us),
                restart.cause
            )?;
        }
        for refused in &self.refused {
            writeln!(f, "refused: {refused}")?;
        }
        for entry in &self.never_fired {
            writeln!(
                f,
                "script entry {entry} never fired: its moment did not come"
            )?;
        }
        f.write_char('\n')?;
        self.write_ledger(f)?;
        write!(f, "trace: {} events", self.events)?;
        match &self.trace_sha256 {
            Some(hash) => writeln!(f, ", sha256 {hash}"),
            None => writeln!(f),
        }
    }
}

impl Report {
    fn write_ledger(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(ledger) = &self.ledger else {
            return Ok(());
        };
        writeln!(f, "ledger: {} source records emitted", ledger.emitted)?;
        for (place, tally) in [("in state", ledger.state), ("put out", ledger.output)] {
            if let Some(TallyReport { zero, once, more }) = tally {
                writeln!(
                    f,
                    "  {place:8}  0 times: {zero}   exactly once: {once}   more often: {more}"
                )?;
            }
        }
        if ledger.late > 0 {
            writeln!(
                f,
                "  dropped, because their window had fired: {}",
                ledger.late
            )?;
        }
        Ok(())
    }
}

fn write_sink(f: &mut Formatter<'_>, sink: &SinkOutput) -> fmt::Result {
    write!(
        f,
        "output of {}: {}",
        sink.uid,
        count(sink.collected, "record")
    )?;
    if sink.collected > sink.records.len() as u64 {
        return writeln!(f, " (the first {} are kept)", sink.records.len());
    }
    let first = sink.records.len().saturating_sub(SHOWN_RECORDS);
    for (index, record) in sink.records[first..].iter().enumerate() {
        let lead = match (index, first) {
            (0, 0) => ": ",
            (0, _) => ": … ",
            _ => ", ",
        };
        match &record.key {
            Some(key) => write!(f, "{lead}{key} {}", record.value)?,
            None => write!(f, "{lead}{}", record.value)?,
        }
    }
    writeln!(f)
}

fn write_checkpoint(f: &mut Formatter<'_>, checkpoint: &Checkpoint, time: &str) -> fmt::Result {
    write!(
        f,
        "{} {}: {}",
        checkpoint.kind, checkpoint.id, checkpoint.status
    )?;
    if let Some(reason) = checkpoint.reason {
        write!(f, " ({reason})")?;
    }
    write!(f, " · triggered {}", Time(checkpoint.triggered_us))?;
    if let Some(duration_us) = checkpoint.duration_us {
        write!(f, " · took {} ({time})", Time(duration_us))?;
    }
    if let Some(bytes) = checkpoint.size_bytes {
        write!(f, " · {bytes} B of state ({time})")?;
    }
    if let Some(bytes) = checkpoint.stored_bytes {
        write!(f, " · {bytes} B stored (measured)")?;
    }
    writeln!(f)?;
    let sources: Vec<String> = checkpoint
        .sources
        .iter()
        .map(|source| {
            format!(
                "{}[{}] at offset {}",
                source.uid, source.subtask, source.offset
            )
        })
        .collect();
    if !sources.is_empty() {
        writeln!(f, "  {}", sources.join(", "))?;
    }
    for operator in checkpoint
        .state
        .iter()
        .filter(|operator| !operator.rows.is_empty())
    {
        writeln!(f, "  {}: {}", operator.uid, Rows(operator))?;
    }
    Ok(())
}

/// Microseconds as seconds, or as milliseconds where those say more.
struct Time(u64);

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            us @ 0..10_000 => write!(f, "{}.{:03} ms", us / 1000, us % 1000),
            us => write!(f, "{}.{:03} s", us / 1_000_000, us / 1000 % 1000),
        }
    }
}

/// `even 6, odd 9`
struct Rows<'a>(&'a OperatorState);

impl Display for Rows<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.rows.is_empty() {
            return f.write_str("empty");
        }
        for (index, row) in self.0.rows.iter().enumerate() {
            let lead = if index == 0 { "" } else { ", " };
            write!(f, "{lead}{} {}", row.key, row.value)?;
        }
        Ok(())
    }
}

/// `1 record`, `2 records`
fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
