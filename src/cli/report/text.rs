//! The report as text.

use std::fmt::{self, Display, Formatter, Write};

use super::facts::{SubtaskLoad, Transactions, WindowResult, Windows};
use super::{Checkpoint, OperatorState, Report, TallyReport};

/// At most so many of a window operator's results are printed; JSON has them all.
const SHOWN_RECORDS: usize = 10;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} · {} · {}{} · {} backend · {} · seed {}",
            self.job,
            self.driver,
            self.mode,
            if self.unaligned { ", unaligned" } else { "" },
            self.backend,
            self.storage,
            self.seed
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
            None if self.is_stuck => writeln!(f, ", and nothing can happen any more")?,
            None => f.write_char('\n')?,
        }
        if let Some(start) = &self.started_from {
            write!(f, "started from snapshot {}", start.id)?;
            match &start.path {
                Some(path) => writeln!(f, " in {path} ({})", start.claim)?,
                None => writeln!(f, " ({})", start.claim)?,
            }
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
            sink.write(f)?;
        }
        self.windows
            .iter()
            .try_for_each(|each| write_windows(f, each))?;
        self.transactions
            .iter()
            .try_for_each(|each| write_transactions(f, each))?;
        f.write_char('\n')?;
        if self.checkpoints.is_empty() {
            writeln!(f, "no checkpoint was triggered")?;
        }
        for checkpoint in &self.checkpoints {
            write_checkpoint(f, checkpoint, self.time)?;
        }
        self.write_requests(f)?;
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
            for unreadable in &restart.unreadable {
                writeln!(f, "  {unreadable}")?;
            }
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
        for hint in &self.hints {
            writeln!(f, "hint: {hint}")?;
        }
        f.write_char('\n')?;
        self.load.iter().try_for_each(|each| write_load(f, each))?;
        self.write_ledger(f)?;
        write!(f, "trace: {} events", self.events)?;
        match &self.trace_sha256 {
            Some(hash) => writeln!(f, ", sha256 {hash}"),
            None => writeln!(f),
        }
    }
}

impl Report {
    fn write_requests(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for savepoint in &self.savepoints {
            let place = savepoint.path.as_ref().unwrap_or(&savepoint.name);
            writeln!(f, "savepoint {} lies in {place}", savepoint.id)?;
        }
        for it in &self.not_taken {
            let (kind, at, reason) = (it.kind, Time(it.at_us), it.reason);
            writeln!(f, "{kind} not taken at {at}: {reason}. {}", it.sentence)?;
        }
        for left in &self.not_deleted {
            writeln!(f, "not deleted: {left}")?;
        }
        for rejected in &self.rejected {
            let times = if rejected.count == 1 { "time" } else { "times" };
            writeln!(
                f,
                "no checkpoint, {} {times}: {}",
                rejected.count, rejected.reason
            )?;
        }
        for failover in &self.failovers {
            writeln!(
                f,
                "failover at {}: {} begin again",
                Time(failover.at_us),
                failover.restarting.join(", ")
            )?;
        }
        Ok(())
    }

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

fn write_windows(f: &mut Formatter<'_>, windows: &Windows) -> fmt::Result {
    let Windows {
        uid,
        fired,
        open,
        late,
    } = windows;
    let late = count(*late, "late record");
    writeln!(f, "windows of {uid}: {} fired, {late}", fired.len())?;
    for (title, results) in [("fired", fired), ("open", open)] {
        if !results.is_empty() {
            let first = results.len().saturating_sub(SHOWN_RECORDS);
            let shown: Vec<String> = results[first..].iter().map(window_text).collect();
            let lead = if first > 0 { "… " } else { "" };
            writeln!(f, "  {title}: {lead}{}", shown.join(", "))?;
        }
    }
    Ok(())
}

fn window_text(result: &WindowResult) -> String {
    let WindowResult {
        start_ms,
        end_ms,
        key,
        value,
    } = result;
    format!("{start_ms}–{end_ms} ms {key} {value}")
}

fn write_transactions(f: &mut Formatter<'_>, counts: &Transactions) -> fmt::Result {
    write!(
        f,
        "transactions of {}: {} begun, {} pre-committed, {} committed",
        counts.uid, counts.begun, counts.pre_committed, counts.committed
    )?;
    if counts.committed_again > 0 {
        write!(f, ", {} committed again", counts.committed_again)?;
    }
    if counts.commits_failed > 0 {
        write!(f, ", {} failed", count(counts.commits_failed, "commit"))?;
    }
    for (why, number) in &counts.aborted {
        write!(f, ", {number} aborted ({why})")?;
    }
    writeln!(f)
}

fn write_load(f: &mut Formatter<'_>, load: &SubtaskLoad) -> fmt::Result {
    writeln!(
        f,
        "{}: busy {}, backpressured {}, idle {}",
        load.subtask,
        Time(load.busy_us),
        Time(load.backpressured_us),
        Time(load.idle_us)
    )
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
        write!(f, " · {bytes} B of state")?;
        if let Some(upload_bytes) = checkpoint.upload_bytes.filter(|upload| *upload != bytes) {
            write!(f, ", {upload_bytes} B uploaded")?;
        }
        write!(f, " ({time})")?;
    }
    if checkpoint.persisted_records > 0 {
        write!(
            f,
            " · {} in flight ({} B)",
            count(checkpoint.persisted_records, "record"),
            checkpoint.persisted_bytes
        )?;
    }
    if let Some(bytes) = checkpoint.stored_bytes {
        write!(f, " · {bytes} B stored (measured)")?;
    }
    if checkpoint.late_acknowledgements > 0 {
        let late = count(checkpoint.late_acknowledgements, "acknowledgement");
        write!(f, " · {late} came too late")?;
    }
    writeln!(f)?;
    if let Some(failure) = &checkpoint.failure {
        writeln!(f, "  could not be written: {failure}")?;
    }
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
pub(super) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
