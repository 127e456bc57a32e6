//! Injected faults of a live job. They are looked at once per snapshot or notification, never per record.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::engine::driver::faults::injected;
use crate::engine::driver::torn::TornStorage;
use crate::engine::storage::{CheckpointStorage, StorageError, SubtaskState};
use crate::engine::subtask::SnapshotTask;
use crate::model::{Fault, FaultKind, SubtaskId};

#[derive(Default)]
struct Faults {
    armed: Vec<(SubtaskId, Fault)>,
    struck: Vec<Fault>,
}

/// The faults that wait, shared by all threads.
#[derive(Default)]
pub struct LiveFaults(Mutex<Faults>);

impl LiveFaults {
    fn lock(&self) -> MutexGuard<'_, Faults> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn count(&self) -> usize {
        self.lock().armed.len()
    }

    pub fn arm(&self, subtask: SubtaskId, fault: Fault) {
        self.lock().armed.push((subtask, fault));
    }

    /// Those that have struck since the last call.
    pub fn take_struck(&self) -> Vec<Fault> {
        std::mem::take(&mut self.lock().struck)
    }

    /// Whether an armed fault strikes `subtask` now; none: whatever the subtask. It is used up by that.
    pub fn strike(
        &self,
        subtask: Option<SubtaskId>,
        is_meant: impl Fn(FaultKind) -> bool,
    ) -> Option<FaultKind> {
        let mut faults = self.lock();
        let place = faults.armed.iter().position(|(at, fault)| {
            is_meant(fault.kind) && subtask.is_none_or(|subtask| subtask == *at)
        })?;
        let (_, fault) = faults.armed.remove(place);
        let kind = fault.kind;
        faults.struck.push(fault);
        Some(kind)
    }

    /// Write a snapshot, unless a fault strikes. None: `over` was closed before a slow storage began, and nothing is
    /// written.
    pub fn write(
        &self,
        subtask: SubtaskId,
        (task, owner): (SnapshotTask, &str),
        (storage, over): (&dyn CheckpointStorage, &Receiver<Infallible>),
    ) -> Option<Result<SubtaskState, StorageError>> {
        let is_slow = |kind| matches!(kind, FaultKind::StorageSlow { .. });
        if let Some(FaultKind::StorageSlow { by_ms }) = self.strike(Some(subtask), is_slow) {
            let closed = over.recv_timeout(Duration::from_millis(by_ms));
            if closed == Err(RecvTimeoutError::Disconnected) {
                return None;
            }
        }
        let is_meant = |kind| {
            matches!(
                kind,
                FaultKind::AsyncPart | FaultKind::StorageError | FaultKind::TornWrite
            )
        };
        Some(match self.strike(Some(subtask), is_meant) {
            None => task.write(owner, storage),
            Some(FaultKind::TornWrite) => task.write(owner, &TornStorage(storage)),
            Some(FaultKind::AsyncPart) => Err(injected("serialize", owner)),
            Some(_) => Err(injected("write", owner)),
        })
    }
}
