//! Branches: courses of events that were left by acting in their past. The engine is told to begin again and to go on
//! from the fork; what was recorded beyond it is kept, and can be taken up again.

use super::Run;
use super::cursor::Cursor;
use super::session::Given;
use super::worker::Request;
use super::xray::Looks;
use crate::recording::Recording;

/// A course of events that was left by acting in its past.
pub(super) struct Branch {
    recording: Recording,
    given: Vec<Given>,
    looks: Looks,
    pub times: BranchTimes,
}

/// When a branch that was left parts from the course taken instead, and how far it goes, in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchTimes {
    pub forked_us: u64,
    pub reached_us: u64,
}

impl Run {
    /// Leave what comes after the cursor as a branch, and let the engine go back to here. False: it is asked too much
    /// already.
    pub(super) fn branch(&mut self) -> bool {
        let position = self.recording.step_end(self.cursor.view().position);
        let (step, at_us) = (self.recording.seek(position).step, self.cursor.clock_us());
        if !self.replay(self.given.clone(), step, at_us) {
            return false;
        }
        let kept = self.recording.prefix(position);
        let course = (kept, self.given.clone(), self.looks.prefix(position));
        self.leave_for(course, at_us, at_us);
        true
    }

    pub(super) fn switch_branch(&mut self, index: usize) {
        // Without an engine the branch would be lost on the way.
        let Some(branch) = self.branches.get(index).filter(|_| self.error.is_none()) else {
            return;
        };
        self.is_playing = false;
        let given = branch.given.clone();
        let BranchTimes {
            forked_us,
            reached_us,
        } = branch.times;
        if self.replay(given, branch.recording.head().step, reached_us) {
            let branch = self.branches.remove(index);
            self.leave_for(
                (branch.recording, branch.given, branch.looks),
                reached_us,
                forked_us,
            );
        }
    }

    /// Let the engine begin again and go on after step `step`. False: it is asked too much already.
    fn replay(&mut self, given: Vec<Given>, step: u64, at_us: u64) -> bool {
        self.worker.request(Request::Replay { given, step, at_us })
    }

    /// The engine was told: keep the present course as a branch, forked off at `forked_us`, and show the other one.
    fn leave_for(
        &mut self,
        (recording, given, looks): (Recording, Vec<Given>, Looks),
        at_us: u64,
        forked_us: u64,
    ) {
        self.generation += 1;
        let left = std::mem::replace(&mut self.recording, recording);
        self.branches.push(Branch {
            recording: left,
            given: std::mem::replace(&mut self.given, given),
            looks: std::mem::replace(&mut self.looks, looks),
            times: BranchTimes {
                forked_us,
                reached_us: self.reached_us,
            },
        });
        self.reached_us = at_us;
        // What was read is of the course that was left.
        self.present = None;
        self.looked_into = None;
        self.asked_for = None;
        // A view of another course must not be folded on.
        self.cursor = Cursor::at(&self.recording, self.recording.events().len());
        self.cursor.follow(&self.recording, at_us);
    }
}
