//! What the timeline shows of a recording, gathered from its events as they come: activity, checkpoints, marks.
//!
//! Pure, and incremental: each event is looked at once. The cursor may be anywhere; the timeline shows everything
//! that is recorded.

use std::collections::BTreeMap;

use crate::engine::event::{CommandOrigin, EventKind, JobStatus, SubtaskStatus, TraceEvent};
use crate::model::{CheckpointId, ClaimMode, Command, SubtaskId};

/// The narrowest activity bin.
const MIN_BIN_US: u64 = 5_000;
/// When there would be more bins than this, neighbours are joined.
const MAX_BINS: usize = 512;

#[derive(Clone, Debug, PartialEq)]
pub struct TimelineIndex {
    /// How many events have been looked at.
    scanned: usize,
    /// Identifies the branch that was scanned.
    branch: usize,
    pub bin_us: u64,
    /// Elements taken per bin.
    pub bins: Vec<u32>,
    pub checkpoints: BTreeMap<CheckpointId, CheckpointBar>,
    pub marks: Vec<Mark>,
    pub end_us: u64,
}

impl Default for TimelineIndex {
    fn default() -> Self {
        Self {
            scanned: 0,
            branch: 0,
            bin_us: MIN_BIN_US,
            bins: Vec::new(),
            checkpoints: BTreeMap::new(),
            marks: Vec::new(),
            end_us: 0,
        }
    }
}

/// A checkpoint's life, with the phases in which most of its time goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointBar {
    pub triggered_us: u64,
    /// The first barrier arrived somewhere: travel ends, alignment begins.
    pub first_blocked_us: Option<u64>,
    /// The last subtask captured its state.
    pub last_captured_us: Option<u64>,
    /// The end of the last synchronous part.
    pub sync_end_us: Option<u64>,
    pub decided_us: Option<u64>,
    pub is_aborted: bool,
    pub is_savepoint: bool,
    pub must_ack: usize,
    /// How many subtasks have captured their state.
    pub captured: usize,
}

/// One stretch of a checkpoint's bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Travel,
    Align,
    Sync,
    Async,
}

impl Phase {
    pub const ALL: [Self; 4] = [Self::Travel, Self::Align, Self::Sync, Self::Async];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Travel => "travel",
            Self::Align => "align",
            Self::Sync => "sync",
            Self::Async => "async",
        }
    }

    /// How strongly the checkpoint's colour shows.
    #[must_use]
    pub fn strength(self) -> f32 {
        match self {
            Self::Travel => 0.35,
            Self::Align => 0.68,
            Self::Sync => 1.0,
            Self::Async => 0.5,
        }
    }
}

impl CheckpointBar {
    /// The phases so far, in order, up to `now_us` while it is pending.
    #[must_use]
    pub fn phases(&self, now_us: u64) -> Vec<(Phase, u64, u64)> {
        let end = self.decided_us.unwrap_or(now_us.max(self.triggered_us));
        let all_captured = self.captured >= self.must_ack && self.must_ack > 0;
        let captured = if all_captured {
            self.last_captured_us
        } else {
            None
        };
        let sync_end = captured.and(self.sync_end_us);
        let marks = [
            self.first_blocked_us.or(captured).unwrap_or(end),
            captured.unwrap_or(end),
            sync_end.unwrap_or(end),
            end,
        ];
        let mut from = self.triggered_us;
        let mut phases = Vec::with_capacity(4);
        for (phase, mark) in Phase::ALL.into_iter().zip(marks) {
            let to = mark.clamp(from, end.max(from));
            if to > from {
                phases.push((phase, from, to));
            }
            from = to;
        }
        phases
    }
}

/// A moment worth a mark on the time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub at_us: u64,
    pub kind: MarkKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MarkKind {
    Crash(SubtaskId),
    Restore(Option<CheckpointId>),
    /// A command of the job's script was carried out.
    Script {
        entry: usize,
        command: Command,
    },
    /// The run began with this snapshot of another.
    StartedFrom(CheckpointId, ClaimMode),
    /// The run can do without it.
    Released(CheckpointId),
    End,
}

impl TimelineIndex {
    /// Take in what has been recorded since the last call. `branch` changes when history was left for another.
    pub fn update(&mut self, events: &[TraceEvent], branch: usize) {
        if branch != self.branch || events.len() < self.scanned {
            *self = Self {
                branch,
                ..Self::default()
            };
        }
        for event in &events[self.scanned..] {
            self.take(event);
        }
        self.scanned = events.len();
    }

    fn take(&mut self, event: &TraceEvent) {
        self.end_us = self.end_us.max(event.at_us);
        match &event.kind {
            EventKind::Taken { .. } => self.count(event.at_us),
            EventKind::SubtaskStatus {
                subtask,
                status: SubtaskStatus::Failed,
            } => {
                self.mark(event.at_us, MarkKind::Crash(*subtask));
            }
            EventKind::JobStatus(JobStatus::Restoring { from }) => {
                self.mark(event.at_us, MarkKind::Restore(*from));
            }
            EventKind::JobStatus(JobStatus::Finished | JobStatus::Canceled) => {
                self.mark(event.at_us, MarkKind::End);
            }
            EventKind::CommandAccepted {
                command,
                by: CommandOrigin::Script(entry),
            } => {
                self.mark(
                    event.at_us,
                    MarkKind::Script {
                        entry: *entry,
                        command: command.clone(),
                    },
                );
            }
            EventKind::StartedFrom {
                checkpoint, claim, ..
            } => {
                let kind = MarkKind::StartedFrom(*checkpoint, *claim);
                self.mark(event.at_us, kind);
            }
            EventKind::Released { checkpoint } => {
                self.mark(event.at_us, MarkKind::Released(*checkpoint));
            }
            kind => self.take_checkpoint(event.at_us, kind),
        }
    }

    fn mark(&mut self, at_us: u64, kind: MarkKind) {
        self.marks.push(Mark { at_us, kind });
    }

    fn take_checkpoint(&mut self, at_us: u64, kind: &EventKind) {
        match kind {
            EventKind::Triggered {
                checkpoint,
                must_ack,
                kind,
                ..
            } => {
                let bar = CheckpointBar {
                    triggered_us: at_us,
                    must_ack: must_ack.len(),
                    is_savepoint: kind.is_savepoint(),
                    ..CheckpointBar::default()
                };
                self.checkpoints.insert(*checkpoint, bar);
            }
            EventKind::InputBlocked { checkpoint, .. } => self.change(*checkpoint, |bar| {
                bar.first_blocked_us.get_or_insert(at_us);
            }),
            EventKind::SnapshotStarted {
                checkpoint,
                sync_until_us,
                ..
            } => self.change(*checkpoint, |bar| {
                bar.captured += 1;
                bar.last_captured_us = Some(at_us);
                bar.sync_end_us = bar.sync_end_us.max(Some(*sync_until_us));
            }),
            EventKind::Completed { checkpoint } => {
                self.change(*checkpoint, |bar| bar.decided_us = Some(at_us));
            }
            EventKind::Aborted { checkpoint, .. } => self.change(*checkpoint, |bar| {
                bar.decided_us = Some(at_us);
                bar.is_aborted = true;
            }),
            _ => {}
        }
    }

    fn change(&mut self, id: CheckpointId, change: impl FnOnce(&mut CheckpointBar)) {
        if let Some(bar) = self.checkpoints.get_mut(&id) {
            change(bar);
        }
    }

    fn count(&mut self, at_us: u64) {
        while at_us / self.bin_us >= MAX_BINS as u64 {
            self.halve();
        }
        let bin = (at_us / self.bin_us) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
    }

    fn halve(&mut self) {
        self.bins = self.bins.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.bin_us *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::CheckpointKind;
    use crate::model::ChannelId;

    fn event(at_us: u64, kind: EventKind) -> TraceEvent {
        TraceEvent {
            at_us,
            step: 0,
            kind,
        }
    }

    fn aligned_checkpoint() -> Vec<TraceEvent> {
        let checkpoint = CheckpointId(1);
        let channel = ChannelId(0);
        let subtask = SubtaskId(0);
        vec![
            event(
                10_000,
                EventKind::Triggered {
                    checkpoint,
                    kind: CheckpointKind::Manual,
                    must_ack: vec![subtask],
                    finished: Vec::new(),
                },
            ),
            event(
                20_000,
                EventKind::InputBlocked {
                    channel,
                    checkpoint,
                },
            ),
            event(
                50_000,
                EventKind::SnapshotStarted {
                    subtask,
                    checkpoint,
                    sync_until_us: 60_000,
                    size_bytes: 9,
                    upload_bytes: 0,
                    expired_ms: None,
                },
            ),
            event(90_000, EventKind::Completed { checkpoint }),
        ]
    }

    #[test]
    fn a_bar_tells_travel_alignment_and_snapshot_apart() {
        let mut index = TimelineIndex::default();
        index.update(&aligned_checkpoint(), 0);
        let phases = index.checkpoints[&CheckpointId(1)].phases(90_000);
        assert_eq!(
            phases,
            [
                (Phase::Travel, 10_000, 20_000),
                (Phase::Align, 20_000, 50_000),
                (Phase::Sync, 50_000, 60_000),
                (Phase::Async, 60_000, 90_000),
            ]
        );
    }

    #[test]
    fn a_pending_bar_grows_to_the_present() {
        let mut index = TimelineIndex::default();
        index.update(&aligned_checkpoint()[..2], 0);
        let phases = index.checkpoints[&CheckpointId(1)].phases(34_000);
        assert_eq!(phases.last(), Some(&(Phase::Align, 20_000, 34_000)));
    }

    #[test]
    fn scanning_in_pieces_is_scanning_at_once() {
        let mut events = aligned_checkpoint();
        events.extend((0..5_000).map(|i| {
            event(
                100_000 + i * 1_000,
                EventKind::Taken {
                    channel: ChannelId(0),
                },
            )
        }));
        let mut whole = TimelineIndex::default();
        whole.update(&events, 0);
        let mut pieces = TimelineIndex::default();
        for end in (0..events.len()).step_by(7) {
            pieces.update(&events[..end], 0);
        }
        pieces.update(&events, 0);
        assert_eq!(whole, pieces);
        assert_eq!(whole.bins.iter().sum::<u32>(), 5_000);
        assert!(whole.bins.len() <= MAX_BINS);
    }

    #[test]
    fn a_start_from_a_snapshot_and_its_release_are_marks() {
        let (checkpoint, claim) = (CheckpointId(7), ClaimMode::NoClaim);
        let events = [
            event(
                0,
                EventKind::StartedFrom {
                    checkpoint,
                    claim,
                    processing_time_ms: 0,
                },
            ),
            event(90_000, EventKind::Released { checkpoint }),
        ];
        let mut index = TimelineIndex::default();
        index.update(&events, 0);
        let kinds: Vec<_> = index.marks.into_iter().map(|mark| mark.kind).collect();
        let started = MarkKind::StartedFrom(checkpoint, claim);
        assert_eq!(kinds, [started, MarkKind::Released(checkpoint)]);
    }

    #[test]
    fn another_branch_is_read_from_its_beginning() {
        let mut index = TimelineIndex::default();
        index.update(&aligned_checkpoint(), 0);
        index.update(&aligned_checkpoint()[..1], 1);
        assert_eq!(index.checkpoints[&CheckpointId(1)].decided_us, None);
    }
}
