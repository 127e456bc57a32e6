//! Injected faults: armed by a command, they strike once, at their next occasion.

use super::net::{Net, ToTask};
use crate::engine::event::{EventKind, Outcome};
use crate::model::{CheckpointId, Fault, FaultKind, SubtaskId};

impl Net {
    pub fn arm(&mut self, subtask: SubtaskId, fault: Fault) {
        self.faults.push((subtask, fault));
    }

    /// Whether an armed fault strikes `subtask` now; none: whatever the subtask. It is used up by that.
    pub fn strike(
        &mut self,
        subtask: Option<SubtaskId>,
        is_meant: impl Fn(FaultKind) -> bool,
    ) -> Option<FaultKind> {
        let place = self.faults.iter().position(|(at, fault)| {
            is_meant(fault.kind) && subtask.is_none_or(|subtask| subtask == *at)
        })?;
        let (_, fault) = self.faults.remove(place);
        let kind = fault.kind;
        self.record(EventKind::FaultStruck { fault });
        Some(kind)
    }
}

impl Net {
    /// News on its way to a subtask: a fault may lose it, or let it come later.
    pub fn hold_back(
        &mut self,
        subtask: SubtaskId,
        message: ToTask,
        (checkpoint, outcome): (CheckpointId, Outcome),
    ) -> Option<ToTask> {
        let is_lost = |kind| kind == FaultKind::LoseNotification;
        if self.strike(Some(subtask), is_lost).is_some() {
            self.record(EventKind::NotificationLost {
                subtask,
                checkpoint,
                outcome,
            });
            return None;
        }
        let is_late = |kind| matches!(kind, FaultKind::DelayNotification { .. });
        let Some(FaultKind::DelayNotification { by_ms }) = self.strike(Some(subtask), is_late)
        else {
            return Some(message);
        };
        let ready_us = self.now_us.saturating_add(by_ms.saturating_mul(1000));
        let queue = &mut self.to_task[subtask.index()];
        let place = queue.partition_point(|(at_us, _)| *at_us <= ready_us);
        queue.insert(place, (ready_us, message));
        None
    }
}
