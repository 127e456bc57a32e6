//! The sources' turns: their pace, the silence that a job may ask for, and idleness.

use super::{Action, Stepper};
use crate::engine::subtask::Subtask;
use crate::model::{OperatorSpec, SourceSpec, SubtaskId};

impl Stepper {
    pub(super) fn add_sources(
        &self,
        (credits, urgent_us): (&[bool], &[u64]),
        actions: &mut Vec<(u64, Action)>,
    ) {
        for (plan, task) in self.plan.subtasks.iter().zip(&self.tasks) {
            let Some(subtask) = &task.subtask else {
                continue;
            };
            let may_emit = self.is_intake_open() && credits[plan.id.index()];
            if !subtask.is_reading() || !may_emit {
                continue;
            }
            let emit_us = task.next_emit_us.max(task.busy_until_us);
            let emits_first = self.is_before_mails(plan.id, task.next_emit_us);
            if emits_first && emit_us.max(self.net.now_us) < urgent_us[plan.id.index()] {
                actions.push((emit_us, Action::Emit(plan.id)));
            }
            // While a source has a record and no room for it, it is not idle (Flink stops the clock then).
            let idle_us = task.idle_at_us.map(|at_us| at_us.max(task.busy_until_us));
            if let Some(idle_us) = idle_us.filter(|idle_us| *idle_us < emit_us) {
                actions.push((idle_us, Action::GoIdle(plan.id)));
            }
        }
    }

    /// A source subtask begins, or has had a record: the time from here on counts.
    pub(super) fn await_record(&mut self, id: SubtaskId) {
        let idle_after_us = self.source_spec(id).and_then(|spec| {
            let idle_after_ms = spec.event_time.as_ref()?.idle_after_ms?;
            Some(idle_after_ms.saturating_mul(1000))
        });
        let now_us = self.net.now_us;
        let task = &mut self.tasks[id.index()];
        task.idle_at_us = idle_after_us.map(|after_us| now_us.saturating_add(after_us));
        task.next_emit_us = now_us.max(task.silent_until_us);
    }

    pub(super) fn go_idle(&mut self, id: SubtaskId) {
        self.tasks[id.index()].idle_at_us = None;
        self.turn(id, |subtask, turn| subtask.on_idle_timeout(turn));
    }

    pub(super) fn emit(&mut self, id: SubtaskId) {
        let before = self.source_offset(id);
        self.turn(id, |subtask, turn| subtask.poll_source(1, turn));
        let emitted = self.source_offset(id).saturating_sub(before);
        let task = &mut self.tasks[id.index()];
        task.emitted += emitted;
        self.fall_silent(id, emitted);
        self.await_record(id);
        self.tasks[id.index()].end_turn(self.net.now_us);
        let next_us = self.net.now_us.saturating_add(self.emit_interval_us(id));
        let task = &mut self.tasks[id.index()];
        task.next_emit_us = task.next_emit_us.max(next_us);
    }

    /// A pause after no record at all: these sources begin with it.
    pub(super) fn begin_silent(&mut self) {
        for (plan, task) in self.plan.subtasks.iter().zip(&mut self.tasks) {
            if let OperatorSpec::Source(SourceSpec {
                pause: Some(pause), ..
            }) = &plan.operator
                && pause.after_records == 0
            {
                task.silent_until_us = pause.for_ms.saturating_mul(1000);
            }
        }
    }

    /// The record that was emitted may be the last one before the source's pause.
    fn fall_silent(&mut self, id: SubtaskId, emitted: u64) {
        let Some(pause) = self.source_spec(id).and_then(|spec| spec.pause) else {
            return;
        };
        let task = &mut self.tasks[id.index()];
        if emitted > 0 && task.emitted == pause.after_records {
            let for_us = pause.for_ms.saturating_mul(1000);
            task.silent_until_us = self.net.now_us.saturating_add(for_us);
        }
    }

    fn source_offset(&self, id: SubtaskId) -> u64 {
        let subtask = self.tasks[id.index()].subtask.as_ref();
        let offset = subtask.and_then(|subtask| Subtask::operator(subtask).source_offset());
        offset.unwrap_or(0)
    }

    fn source_spec(&self, id: SubtaskId) -> Option<&SourceSpec> {
        match &self.plan.subtask(id).operator {
            OperatorSpec::Source(spec) => Some(spec),
            _ => None,
        }
    }

    /// The time between two records of a source subtask.
    fn emit_interval_us(&self, id: SubtaskId) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float-to-integer cast saturates, and a valid rate is positive"
        )]
        let interval_us = |spec: &SourceSpec| (1e6 / spec.rate_per_s).round().max(1.0) as u64;
        self.source_spec(id).map_or(0, interval_us)
    }
}
