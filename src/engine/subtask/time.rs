//! A subtask's event time: where its watermark comes from, and what it does when it rises.

use super::valve::ValveOutput;
use super::{Effects, Subtask, TaskFailure};
use crate::engine::operator::Operator;
use crate::model::{EventTime, StreamEvent};

impl Subtask {
    /// The subtask's watermark; [`EventTime::NONE`]: it has none yet.
    #[must_use]
    pub fn watermark(&self) -> EventTime {
        self.valve.watermark()
    }

    /// It does not hold back the watermark of those after it.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.valve.is_idle()
    }

    /// This source has had no record for so long that it is idle (Flink: `WatermarksWithIdleness`).
    ///
    /// # Errors
    /// None by itself; as for any change of the watermark.
    pub fn on_idle_timeout<E: Effects>(&mut self, out: &mut E) -> Result<(), TaskFailure> {
        if !self.is_source() || !self.is_running() {
            return Ok(());
        }
        let outputs = self.valve.on_idle(Self::OWN_TIME);
        self.pass(outputs, out)
    }

    /// A source is about to emit: it counts again. (In Flink it does with its next watermark, up to an interval later.)
    pub(super) fn wake<E: Effects>(&mut self, out: &mut E) -> Result<(), TaskFailure> {
        if !self.valve.is_idle() {
            return Ok(());
        }
        let output = self.valve.on_active(Self::OWN_TIME);
        self.pass(output, out)
    }

    /// A source has emitted: its watermark may have risen.
    pub(super) fn tick<E: Effects>(&mut self, out: &mut E) -> Result<(), TaskFailure> {
        let Operator::Source(source) = &mut self.operator else {
            return Ok(());
        };
        let Some(watermark) = source.risen_watermark() else {
            return Ok(());
        };
        let output = self.valve.on_watermark(Self::OWN_TIME, watermark);
        self.pass(output, out)
    }

    /// The last watermark, after which nothing comes: all windows fire, here and further on.
    pub(super) fn end_event_time<E: Effects>(&mut self, out: &mut E) -> Result<(), TaskFailure> {
        let outputs = self.valve.end();
        self.pass(outputs, out)
    }

    /// Act on what came out of the valve, and pass it on. Barriers have no part in this: idle inputs still align.
    pub(super) fn pass<E: Effects>(
        &mut self,
        outputs: impl IntoIterator<Item = ValveOutput>,
        out: &mut E,
    ) -> Result<(), TaskFailure> {
        for output in outputs {
            let event = match output {
                ValveOutput::Watermark(watermark) => {
                    out.on_watermark(watermark);
                    self.operator
                        .on_watermark(watermark, &mut self.router, out)?;
                    StreamEvent::Watermark(watermark)
                }
                ValveOutput::Idle => {
                    out.on_idleness(true);
                    StreamEvent::Idle
                }
                ValveOutput::Active => {
                    out.on_idleness(false);
                    StreamEvent::Active
                }
            };
            self.router.broadcast(event, out);
        }
        Ok(())
    }
}
