//! The life of one live subtask on its own thread.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Scope;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Select, Sender, TryRecvError};

use super::pace::Pace;
use super::wire::{Buffer, Control, Meter, Report, Wire};
use crate::engine::driver::places::{Places, told};
use crate::engine::event::{ChannelSide, EventKind};
use crate::engine::in_flight::InFlight;
use crate::engine::operator::{Contents, Operator};
use crate::engine::subtask::{SnapshotTask, Subtask, TaskFailure};
use crate::model::ChannelId;

/// The longest that a source waits before it looks at its clock again.
const SOURCE_PATIENCE: Duration = Duration::from_millis(5);

/// One incoming channel.
pub struct Inlet {
    pub channel: ChannelId,
    pub receiver: Receiver<Buffer>,
    /// The sender's thread is gone: nothing comes any more.
    pub is_dead: bool,
}

/// A subtask with its surroundings.
pub struct LiveTask<'a> {
    pub subtask: Subtask,
    pub inlets: Vec<Inlet>,
    pub control: Receiver<Control>,
    /// For the writers of snapshots.
    pub to_self: Sender<Control>,
    /// Closed when the attempt is over.
    pub over: Receiver<Infallible>,
    pub wire: Wire<'a>,
    pub places: Arc<Places>,
    /// Names this subtask's files.
    pub owner: String,
    /// A source's.
    pub pace: Pace,
    pub finish_at_once: bool,
    /// Records that go on first: they were under way in the checkpoint that this subtask begins with.
    pub in_flight: Vec<InFlight>,
}

/// What a released thread brings home.
pub type FinalState = Option<Contents>;

enum Next {
    Control(Control),
    Buffer(usize, Buffer),
    Nothing,
    Cut,
}

impl LiveTask<'_> {
    /// Run until released (then with the state), killed, or cut off.
    pub fn live<'scope>(mut self, scope: &'scope Scope<'scope, '_>) -> FinalState {
        let mut result = self.begin();
        loop {
            if let Err(failure) = result {
                self.wire.report(Report::Failed(failure.to_string()));
                return self.wait_for_the_end();
            }
            self.start_writers(scope);
            if self.wire.is_cut {
                return self.wait_for_the_end();
            }
            result = match self.next() {
                Next::Control(Control::Die) | Next::Cut => {
                    self.subtask.close(&mut self.wire);
                    return None;
                }
                Next::Control(Control::Lose) => return None,
                Next::Control(Control::Release) => return self.release(),
                Next::Control(control) => self.obey(control),
                Next::Buffer(input, buffer) => self.take(input, buffer),
                Next::Nothing => self.emit(),
            };
        }
    }

    /// In Flink's order: what was at the outputs goes back there; the operator is opened; what was at the inputs is
    /// processed, before anything else is.
    fn begin(&mut self) -> Result<(), TaskFailure> {
        let in_flight = std::mem::take(&mut self.in_flight).into_iter();
        let (inputs, outputs): (Vec<_>, Vec<_>) =
            in_flight.partition(|it| it.side == ChannelSide::Input);
        for InFlight {
            channel, records, ..
        } in outputs
        {
            self.wire.put_back(channel, records);
        }
        if self.finish_at_once {
            return self.subtask.finish_restored(&mut self.wire);
        }
        self.subtask.open(&mut self.wire)?;
        for InFlight { place, records, .. } in inputs {
            let event = None;
            self.take(place as usize, Buffer { records, event })?;
        }
        Ok(())
    }

    /// This attempt is over; somebody will say how. Whoever still sends to this subtask need not wait for it.
    fn wait_for_the_end(mut self) -> FinalState {
        self.inlets.clear();
        loop {
            match self.control.recv() {
                Ok(Control::Release) => return self.release(),
                Ok(Control::Lose) => return None,
                Ok(Control::Die) | Err(_) => {
                    self.subtask.close(&mut self.wire);
                    return None;
                }
                Ok(_) => {}
            }
        }
    }

    /// End, and bring the state home.
    fn release(&mut self) -> FinalState {
        self.subtask.close(&mut self.wire);
        self.subtask.operator().contents().ok()
    }

    fn is_open(&self, inlet: &Inlet) -> bool {
        !inlet.is_dead && !self.wire.blocked.contains(&inlet.channel)
    }

    fn is_emitting(&self) -> bool {
        self.subtask.is_reading()
    }

    /// What is next: a message of the coordinator before everything else, then any input that is not blocked.
    fn next(&mut self) -> Next {
        match self.control.try_recv() {
            Ok(control) => return Next::Control(control),
            Err(TryRecvError::Disconnected) => return Next::Cut,
            Err(TryRecvError::Empty) => {}
        }
        if self.is_emitting() {
            return self.wait_for_turn();
        }
        let mut select = Select::new();
        let control = select.recv(&self.control);
        let mut inputs = Vec::with_capacity(self.inlets.len());
        for (input, inlet) in self
            .inlets
            .iter()
            .enumerate()
            .filter(|(_, inlet)| self.is_open(inlet))
        {
            select.recv(&inlet.receiver);
            inputs.push(input);
        }
        let ready = select.select();
        let index = ready.index();
        if index == control {
            return ready.recv(&self.control).map_or(Next::Cut, Next::Control);
        }
        let input = inputs[index - 1];
        if let Ok(buffer) = ready.recv(&self.inlets[input].receiver) {
            Next::Buffer(input, buffer)
        } else {
            self.inlets[input].is_dead = true;
            self.next()
        }
    }

    /// A source's pace.
    fn wait_for_turn(&mut self) -> Next {
        if self.due() > 0 {
            return Next::Nothing;
        }
        match self.control.recv_timeout(SOURCE_PATIENCE) {
            Ok(control) => Next::Control(control),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::Cut,
        }
    }

    /// How many records a source may emit now.
    fn due(&self) -> usize {
        self.pace.due(self.wire.buffer_records, Instant::now())
    }

    fn emit(&mut self) -> Result<(), TaskFailure> {
        let due = self.due();
        let Operator::Source(source) = self.subtask.operator() else {
            return Ok(());
        };
        let before = source.offset();
        let may_emit = if source.is_exhausted() { 1 } else { due };
        if may_emit == 0 {
            if self.pace.becomes_idle(Instant::now()) {
                self.subtask.on_idle_timeout(&mut self.wire)?;
                self.wire.flush();
            }
            return Ok(());
        }
        self.subtask.poll_source(may_emit, &mut self.wire)?;
        if let Operator::Source(source) = self.subtask.operator() {
            let emitted = source.offset() - before;
            self.pace.on_emitted(emitted, Instant::now());
            self.wire
                .meter
                .emitted
                .fetch_add(emitted, Ordering::Relaxed);
        }
        self.wire.flush();
        Ok(())
    }

    fn take(&mut self, input: usize, buffer: Buffer) -> Result<(), TaskFailure> {
        Meter::add(&self.wire.meter.processed, buffer.records.len());
        self.wire.read_clock();
        self.subtask
            .on_records(input, buffer.records, &mut self.wire)?;
        if let Some(event) = buffer.event {
            self.subtask.on_event(input, event, &mut self.wire)?;
        }
        // What waits behind a barrier is nothing to go on with.
        let mut open = self.inlets.iter().filter(|inlet| self.is_open(inlet));
        if open.all(|inlet| inlet.receiver.is_empty()) || !self.wire.collected.is_empty() {
            self.wire.flush();
        }
        Ok(())
    }

    fn obey(&mut self, control: Control) -> Result<(), TaskFailure> {
        self.wire.read_clock();
        match control {
            Control::Trigger(barrier) => self.subtask.on_trigger(barrier, &mut self.wire)?,
            Control::Complete(checkpoint) => {
                self.subtask.on_complete(checkpoint, &mut self.wire)?;
            }
            Control::Aborted { checkpoint, latest } => {
                self.subtask
                    .on_aborted(checkpoint, latest, &mut self.wire)?;
            }
            Control::SnapshotEnd(checkpoint, result) => {
                if let Err(error) = &result {
                    self.wire.report(Report::Event(EventKind::SnapshotFailed {
                        subtask: self.wire.id,
                        checkpoint,
                        reason: told(error, &*self.places.of(checkpoint)),
                    }));
                }
                if !self
                    .subtask
                    .on_snapshot_end(checkpoint, result, &mut self.wire)
                {
                    self.wire.report(Report::Orphaned(checkpoint));
                }
            }
            Control::Compact => self.subtask.on_compact(&mut self.wire)?,
            Control::Die | Control::Lose | Control::Release => {}
        }
        Ok(())
    }

    /// The asynchronous parts, each on a thread of its own.
    fn start_writers<'scope>(&mut self, scope: &'scope Scope<'scope, '_>) {
        for task in std::mem::take(&mut self.wire.started) {
            let SnapshotTask { checkpoint, .. } = task;
            let is_synchronous = task.is_synchronous;
            let (storage, owner) = (self.places.of(checkpoint), self.owner.clone());
            let (faults, id) = (self.wire.faults.clone(), self.wire.id);
            let (to_self, over) = (self.to_self.clone(), self.over.clone());
            let write = move || {
                // With the attempt goes what it was writing (Flink: `AsyncCheckpointRunnable.close`).
                let Some(result) = faults.write(id, (task, &owner), (&*storage, &over)) else {
                    return;
                };
                // A subtask that is gone has no more use for it.
                let _ = to_self.send(Control::SnapshotEnd(checkpoint, result));
            };
            if is_synchronous {
                write();
            } else {
                scope.spawn(write);
            }
        }
    }
}
