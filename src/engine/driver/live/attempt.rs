//! One attempt of a live job: its threads, from start to end.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::LiveOptions;
use super::faults::LiveFaults;
use super::outside::Outsides;
use super::pace::Pace;
use super::task::{FinalState, Inlet, LiveTask};
use super::wire::{Buffer, Clock, Control, Meter, Outlet, Report, Wire};
use crate::engine::driver::places::Places;
use crate::engine::driver::resources::Prepared;
use crate::engine::event::EventKind;
use crate::engine::plan::{ExecutionGraph, SubtaskPlan};
use crate::engine::subtask::Subtask;
use crate::model::{CheckpointId, SubtaskId};

/// More messages than this never wait for one subtask: their number is bounded by the pending checkpoints.
const CONTROLS: usize = 1024;
const REPORTS: usize = 1024;

/// The running threads of one attempt.
pub struct Attempt<'scope> {
    controls: Vec<Sender<Control>>,
    pub reports: Receiver<(SubtaskId, Report)>,
    /// As long as it is there, the attempt goes on.
    alive: Sender<Infallible>,
    threads: Vec<ScopedJoinHandle<'scope, FinalState>>,
}

/// One channel's two ends, each taken by its subtask.
type Ends = (Option<Sender<Buffer>>, Option<Receiver<Buffer>>);

impl<'scope> Attempt<'scope> {
    /// Start a thread for each subtask.
    pub fn spawn<'a: 'scope>(
        scope: &'scope Scope<'scope, '_>,
        (plan, meters, outsides, options): (
            &'a ExecutionGraph,
            &'a [Meter],
            &'a Outsides,
            LiveOptions,
        ),
        (from, prepared): (Option<CheckpointId>, Vec<Prepared>),
        (places, faults, clock): &(Arc<Places>, Arc<LiveFaults>, Clock),
    ) -> Self {
        let (report, reports) = bounded(REPORTS);
        let (alive, over) = bounded(0);
        let open = |_| {
            let (sender, receiver) = bounded(options.channel_buffers.max(1));
            (Some(sender), Some(receiver))
        };
        let mut ends: Vec<Ends> = plan.channels.iter().map(open).collect();
        let (mut controls, mut threads) = (Vec::new(), Vec::new());
        for (subtask, mut prepared) in plan.subtasks.iter().zip(prepared) {
            let in_flight = std::mem::take(&mut prepared.in_flight);
            let (to_self, control) = bounded(CONTROLS);
            controls.push(to_self.clone());
            let meter = &meters[subtask.id.index()];
            let task = LiveTask {
                pace: Pace::new(
                    subtask,
                    options.is_unpaced,
                    meter.emitted.load(Ordering::Relaxed),
                    Instant::now(),
                ),
                finish_at_once: prepared.finished,
                in_flight,
                subtask: Subtask::new(subtask, prepared.operator, from),
                inlets: inlets_of(subtask, &mut ends),
                control,
                to_self,
                over: over.clone(),
                wire: wire_of(
                    subtask,
                    &mut ends,
                    options,
                    (report.clone(), meter, faults.clone(), outsides),
                    *clock,
                ),
                places: places.clone(),
                owner: format!("{}-{}", subtask.uid, subtask.index),
            };
            threads.push(scope.spawn(move || task.live(scope)));
        }
        Self {
            controls,
            reports,
            alive,
            threads,
        }
    }

    /// A subtask whose thread has ended although nobody told it to: it panicked.
    pub fn first_dead(&self) -> Option<SubtaskId> {
        let place = self
            .threads
            .iter()
            .position(ScopedJoinHandle::is_finished)?;
        u32::try_from(place).ok().map(SubtaskId)
    }

    /// Send a message; false: the subtask has stopped listening.
    pub fn tell(&self, subtask: SubtaskId, control: Control) -> bool {
        self.controls[subtask.index()].try_send(control).is_ok()
    }

    /// End all threads and wait for them, hearing out whatever they still want to report. What became of transactions
    /// on the way is returned.
    pub fn end(self, last_word: fn() -> Control) -> (Vec<FinalState>, Vec<EventKind>) {
        drop(self.alive);
        let mut events = Vec::new();
        let mut hear = |report| {
            if let (_, Report::Event(event)) = report {
                events.push(event);
            }
        };
        let mut untold: Vec<&Sender<Control>> = self.controls.iter().collect();
        while self.threads.iter().any(|thread| !thread.is_finished()) {
            // A thread that is gone needs no word; one that has many unread is told later.
            untold.retain(|control| {
                matches!(control.try_send(last_word()), Err(TrySendError::Full(_)))
            });
            let report = self.reports.recv_timeout(Duration::from_millis(1));
            report.into_iter().for_each(&mut hear);
        }
        self.reports.try_iter().for_each(&mut hear);
        // A thread that panicked has no state to bring home.
        let threads = self.threads.into_iter();
        let states = threads.map(|thread| thread.join().unwrap_or_default());
        (states.collect(), events)
    }
}

fn inlets_of(subtask: &SubtaskPlan, ends: &mut [Ends]) -> Vec<Inlet> {
    let take = |channel: &crate::model::ChannelId| {
        let receiver = ends[channel.index()].1.take()?;
        Some(Inlet {
            channel: *channel,
            receiver,
            is_dead: false,
        })
    };
    subtask.inputs.iter().filter_map(take).collect()
}

fn wire_of<'a>(
    subtask: &SubtaskPlan,
    ends: &mut [Ends],
    options: LiveOptions,
    (reports, meter, faults, outsides): (
        Sender<(SubtaskId, Report)>,
        &'a Meter,
        Arc<LiveFaults>,
        &'a Outsides,
    ),
    clock: Clock,
) -> Wire<'a> {
    let channels = || {
        subtask
            .outputs
            .iter()
            .flat_map(|output| output.channels.iter().copied())
    };
    let first_channel = channels().map(|channel| channel.0).min().unwrap_or(0);
    let last_channel = channels().map(|channel| channel.0).max().unwrap_or(0);
    let mut outlet_of = vec![0; (last_channel - first_channel + 1) as usize];
    let mut outlets = Vec::new();
    for channel in channels() {
        if let Some(sender) = ends[channel.index()].0.take() {
            outlet_of[(channel.0 - first_channel) as usize] = outlets.len();
            outlets.push(Outlet {
                sender,
                buffer: Vec::with_capacity(options.buffer_records),
            });
        }
    }
    Wire {
        id: subtask.id,
        outlets,
        outlet_of,
        first_channel,
        buffer_records: options.buffer_records.max(1),
        reports,
        meter,
        faults,
        collected: Vec::new(),
        transaction: None,
        write_failure: None,
        is_upsert: false,
        outsides,
        blocked: Vec::new(),
        started: Vec::new(),
        clock,
        now_ms: 0,
        is_cut: false,
    }
}
