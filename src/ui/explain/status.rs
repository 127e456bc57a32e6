//! What a subtask does right now, in one line.

use crate::engine::event::{JobStatus, SubtaskStatus};
use crate::model::{ChannelId, CheckpointId, OperatorSpec, SubtaskId};

use super::super::figures::list;
use super::super::scene::Scene;
use super::sender_names;

/// The status line of a subtask's card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub tone: Tone,
    pub text: String,
}

impl Status {
    /// The same in the room of a card.
    #[must_use]
    pub fn short(&self) -> &str {
        match self.text.as_str() {
            END_OF_DATA => "awaits final checkpoint",
            IDLE => "watermark idle",
            text => text,
        }
    }
}

const END_OF_DATA: &str = "end of data · waits for the final checkpoint";
const IDLE: &str = "idle · does not hold back watermarks";

/// The colour of a status dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Quiet,
    Good,
    Waiting,
    Bad,
}

fn status(tone: Tone, text: impl Into<String>) -> Status {
    Status {
        tone,
        text: text.into(),
    }
}

/// What subtask `id` does at the scene's moment.
#[must_use]
pub fn status_of(scene: Scene<'_>, id: SubtaskId) -> Status {
    let subtask = scene.subtask(id);
    match subtask.status {
        SubtaskStatus::Failed => return status(Tone::Bad, down_text(scene, id, "failed")),
        SubtaskStatus::Canceled => return status(Tone::Quiet, down_text(scene, id, "canceled")),
        SubtaskStatus::Finished => return status(Tone::Quiet, "finished"),
        SubtaskStatus::Initializing => return status(Tone::Waiting, restoring_text(scene)),
        SubtaskStatus::Running | SubtaskStatus::EndOfData => {}
    }
    if subtask
        .sync
        .is_some_and(|(_, until_us)| scene.clock_us < until_us)
    {
        return status(Tone::Waiting, "snapshot · sync");
    }
    let paused = scene.view.paused_for.first();
    if let Some(status) = paused.and_then(|checkpoint| stop_the_world(scene, id, *checkpoint)) {
        return status;
    }
    if let Some(checkpoint) = scene.aligning(id) {
        return status(Tone::Waiting, aligning_text(scene, id, checkpoint));
    }
    if !subtask.writing.is_empty() {
        return status(Tone::Waiting, "snapshot · async");
    }
    if subtask.status == SubtaskStatus::EndOfData {
        return status(Tone::Quiet, END_OF_DATA);
    }
    if subtask.is_backpressured() || scene.outputs_of(id).any(|channel| scene.is_full(channel)) {
        return status(Tone::Waiting, "backpressured");
    }
    working_status(scene, id)
}

fn down_text(scene: Scene<'_>, id: SubtaskId, word: &str) -> String {
    if scene.plan.subtask(id).operator.is_keyed() {
        format!("{word} · state lost")
    } else {
        word.to_owned()
    }
}

fn restoring_text(scene: Scene<'_>) -> String {
    match scene.view.job {
        JobStatus::Restoring { from: Some(id) } => format!("restoring checkpoint {id}"),
        JobStatus::Restoring { from: None } => "starting afresh".to_owned(),
        _ => "restoring".to_owned(),
    }
}

/// What has become of the state that `id` shows, if it no longer holds it; no full stop.
#[must_use]
pub fn lost_state(scene: Scene<'_>, id: SubtaskId) -> Option<String> {
    let subtask = scene.subtask(id);
    match subtask.status {
        SubtaskStatus::Failed | SubtaskStatus::Canceled => Some("State lost".to_owned()),
        SubtaskStatus::Initializing if is_from_before(scene, id) => Some(match scene.view.job {
            JobStatus::Restoring { from: Some(id) } => {
                format!("Being restored from checkpoint {id}")
            }
            _ => "Starting afresh".to_owned(),
        }),
        _ => None,
    }
}

/// Whether what `id` shows while its state is read back is still that of before.
fn is_from_before(scene: Scene<'_>, id: SubtaskId) -> bool {
    let subtask = scene.subtask(id);
    let JobStatus::Restoring { from } = scene.view.job else {
        return false;
    };
    let checkpoint = from.and_then(|from| scene.view.checkpoints.get(&from));
    let snapshot = checkpoint.and_then(|checkpoint| checkpoint.subtasks.get(&id));
    let offset = snapshot.and_then(|snapshot| snapshot.offset);
    match scene.plan.subtask(id).operator {
        OperatorSpec::Source(_) => subtask.offset != offset.unwrap_or(0),
        // What was read back has not changed since.
        OperatorSpec::KeyedSum(_) | OperatorSpec::KeyedProcess(_) => {
            let entries = subtask.entries.values().map(|row| row.changed_us);
            let mut changed = subtask
                .rows
                .values()
                .map(|row| row.changed_us)
                .chain(entries);
            changed.any(|changed_us| changed_us.is_some())
        }
        _ => false,
    }
}

/// What a subtask does that takes nothing and sends nothing.
#[must_use]
pub fn not_up_text(scene: Scene<'_>, id: SubtaskId) -> &'static str {
    match scene.subtask(id).status {
        SubtaskStatus::Initializing => "restoring",
        _ => "not running",
    }
}

/// While a stop-the-world checkpoint is taken: the sources pause, what is under way drains.
fn stop_the_world(scene: Scene<'_>, id: SubtaskId, checkpoint: CheckpointId) -> Option<Status> {
    let is_source = scene.plan.subtask(id).inputs.is_empty();
    if !scene.subtask(id).writing.is_empty() {
        return Some(status(Tone::Waiting, "copying"));
    }
    if is_source {
        let words = format!("paused for checkpoint {checkpoint}");
        return Some(status(Tone::Waiting, words));
    }
    let has_input = scene
        .inputs_of(id)
        .any(|channel| scene.channel(channel).records() > 0);
    has_input.then(|| status(Tone::Waiting, "draining"))
}

fn aligning_text(scene: Scene<'_>, id: SubtaskId, checkpoint: CheckpointId) -> String {
    let names = sender_names(scene, &scene.missing_inputs(id, checkpoint));
    match names.len() {
        0 => "aligned".to_owned(),
        1 | 2 => format!("aligning · waits for {}", list(&names)),
        n => format!("aligning · waits for {n} inputs"),
    }
}

fn working_status(scene: Scene<'_>, id: SubtaskId) -> Status {
    let plan = scene.plan.subtask(id);
    if plan.inputs.is_empty() {
        return if scene.subtask(id).is_idle {
            status(Tone::Quiet, IDLE)
        } else {
            status(Tone::Good, "reading")
        };
    }
    let is_ready = |channel: ChannelId| {
        scene
            .channel(channel)
            .queue
            .front()
            .is_some_and(|head| head.ready_us <= scene.clock_us)
    };
    if scene.clock_us < scene.subtask(id).busy_until_us || scene.inputs_of(id).any(is_ready) {
        status(Tone::Good, "busy")
    } else if scene.subtask(id).is_idle {
        status(Tone::Quiet, IDLE)
    } else {
        status(Tone::Quiet, "idle")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture::{Moment, two_sources};

    fn status_text(moment: &Moment, name: &str) -> String {
        let scene = moment.scene();
        let mut subtasks = scene.plan.subtasks.iter().map(|subtask| subtask.id);
        let id = subtasks
            .find(|id| scene.plan.subtask_name(*id) == name)
            .expect("a subtask of this name");
        status_of(scene, id).text
    }

    #[test]
    fn cards_say_what_their_subtask_does() {
        let mut moment = two_sources();
        assert_eq!(status_text(&moment, "sum 1/2"), "aligning · waits for b");
        assert_eq!(status_text(&moment, "source a 1/1"), "reading");
        assert_eq!(status_text(&moment, "sink 1/1"), "idle");
        let sum = &mut moment.view.subtasks[2];
        sum.status = SubtaskStatus::Failed;
        assert_eq!(status_text(&moment, "sum 1/2"), "failed · state lost");
    }

    #[test]
    fn who_does_not_hold_back_watermarks_says_so() {
        let mut moment = two_sources();
        moment.view.subtasks[0].is_idle = true;
        moment.view.subtasks[4].is_idle = true;
        for name in ["source a 1/1", "sink 1/1"] {
            let text = status_text(&moment, name);
            assert_eq!(text, "idle · does not hold back watermarks");
            let tone = Tone::Quiet;
            assert_eq!(Status { tone, text }.short(), "watermark idle");
        }
    }

    #[test]
    fn while_the_world_stands_still_sources_pause_and_the_rest_drains_and_copies() {
        let mut moment = two_sources();
        let three = CheckpointId(3);
        for channel in &mut moment.view.channels {
            channel.blocked = None;
        }
        moment.view.paused_for = vec![three];
        assert_eq!(
            status_text(&moment, "source a 1/1"),
            "paused for checkpoint 3"
        );
        assert_eq!(status_text(&moment, "sum 1/2"), "draining");
        for channel in &mut moment.view.channels {
            channel.queue.clear();
        }
        assert_eq!(
            status_text(&moment, "sum 1/2"),
            "idle",
            "nothing is under way"
        );
        moment.view.subtasks[2].sync = Some((three, moment.clock_us + 1));
        assert_eq!(status_text(&moment, "sum 1/2"), "snapshot · sync");
        moment.view.subtasks[2].sync = None;
        moment.view.subtasks[2].writing = vec![three];
        assert_eq!(status_text(&moment, "sum 1/2"), "copying");
        moment.view.paused_for.clear();
        assert_eq!(status_text(&moment, "source a 1/1"), "reading");
    }

    #[test]
    fn a_source_without_room_is_backpressured() {
        let mut moment = two_sources();
        moment.job.config.channel_capacity = 2;
        assert_eq!(status_text(&moment, "source a 1/1"), "backpressured");
    }
}
