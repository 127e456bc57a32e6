//! What a subtask does right now, and why a record cannot move: derived from a [`Scene`], as sentences.
//!
//! Pure. The rules follow how a Flink task takes its input: a blocked input is not polled, a busy task takes
//! nothing, a task without room on an output cannot emit.

mod status;

use crate::engine::event::JobStatus;
use crate::model::{ChannelId, CheckpointId, Record, StreamElement};
use crate::recording::view::{ChannelView, InFlight};

use super::figures::{count, list, seconds, span, value};
use super::passing::{Passing, passing};
use super::scene::{Scene, element_name, first_record};

pub use status::{Status, Tone, lost_state, not_up_text, status_of};

/// Why the first record of a channel does not move on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// A question, or a plain statement where there is nothing to ask.
    pub title: String,
    pub sentences: Vec<String>,
}

/// The answer to "why can't this move?" for `channel`.
#[must_use]
pub fn why_not_moving(scene: Scene<'_>, channel: ChannelId) -> Explanation {
    let view = scene.channel(channel);
    let Some((item, record)) = first_record(view) else {
        return Explanation {
            title: "No record is here.".to_owned(),
            sentences: why_empty(scene, channel),
        };
    };
    let sentences = why_held(scene, channel, item);
    let name = value(record.value);
    let title = if sentences.is_empty() {
        format!("Record {name} moves next.")
    } else if is_travelling(scene, channel, item) {
        format!("Where is record {name}?")
    } else {
        format!("Why can’t record {name} move?")
    };
    let sentences = if sentences.is_empty() {
        vec![free_to_move(scene, channel)]
    } else {
        sentences
    };
    Explanation { title, sentences }
}

/// It is on its way, and nothing else holds it.
fn is_travelling(scene: Scene<'_>, channel: ChannelId, item: &InFlight) -> bool {
    let view = scene.channel(channel);
    let is_free = job_stands(scene).is_none() && view.blocked.is_none();
    is_free && behind_event(view).is_none() && item.ready_us > scene.clock_us
}

fn free_to_move(scene: Scene<'_>, channel: ChannelId) -> String {
    format!(
        "It has arrived, and {} takes it with its next step.",
        receiver_name(scene, channel)
    )
}

fn receiver_name(scene: Scene<'_>, channel: ChannelId) -> String {
    scene.plan.subtask_name(scene.plan.channel(channel).to)
}

fn sender_names(scene: Scene<'_>, channels: &[ChannelId]) -> Vec<String> {
    channels
        .iter()
        .map(|channel| scene.short_name(scene.plan.channel(*channel).from))
        .collect()
}

fn why_empty(scene: Scene<'_>, channel: ChannelId) -> Vec<String> {
    let sender = scene.plan.channel(channel).from;
    let view = scene.channel(channel);
    let mut sentences = match view.blocked {
        Some((checkpoint, _)) => why_blocked(scene, channel, checkpoint),
        None => Vec::new(),
    };
    sentences.push(if view.ended {
        format!(
            "{} has sent its last element.",
            scene.plan.subtask_name(sender)
        )
    } else {
        format!(
            "What {} sends next arrives here.",
            scene.plan.subtask_name(sender)
        )
    });
    sentences
}

/// The reasons, the deciding one first; none: it can move.
fn why_held(scene: Scene<'_>, channel: ChannelId, item: &InFlight) -> Vec<String> {
    let receiver = scene.plan.channel(channel).to;
    if let Some(reason) = job_stands(scene).filter(|_| !scene.is_spared(receiver)) {
        return vec![reason];
    }
    if let Some((checkpoint, _)) = scene.channel(channel).blocked {
        return why_blocked(scene, channel, checkpoint);
    }
    if let Some(reason) = behind_event(scene.channel(channel)) {
        return vec![reason];
    }
    if scene.channel(channel).restored > 0 && !scene.is_up(receiver) {
        return vec![
            "It was in flight in the restored checkpoint, and is processed before anything else."
                .to_owned(),
        ];
    }
    if item.ready_us > scene.clock_us {
        let left = span(item.ready_us - scene.clock_us);
        return vec![format!(
            "It is on its way and arrives at {}, in {left} (modelled).",
            seconds(item.ready_us)
        )];
    }
    receiver_cannot_take(scene, channel).into_iter().collect()
}

fn job_stands(scene: Scene<'_>) -> Option<String> {
    match &scene.view.job {
        JobStatus::Running => None,
        JobStatus::Restarting { cause } => Some(format!(
            "The job has failed: {}. Restore it to go on.",
            cause.trim_end_matches('.')
        )),
        JobStatus::Restoring { .. } => {
            Some("The job reads its state back; nothing is processed meanwhile.".to_owned())
        }
        JobStatus::Finished => Some("The job has finished.".to_owned()),
        JobStatus::Canceled => Some("The job was canceled.".to_owned()),
        JobStatus::Failed { .. } => Some("The job has failed for good.".to_owned()),
        JobStatus::Suspended => Some("The job is suspended.".to_owned()),
    }
}

fn why_blocked(scene: Scene<'_>, channel: ChannelId, checkpoint: CheckpointId) -> Vec<String> {
    let receiver = scene.plan.channel(channel).to;
    let mut sentences = vec![format!("It is behind barrier {checkpoint} on this input.")];
    let missing = scene.missing_inputs(receiver, checkpoint);
    let name = scene.plan.subtask_name(receiver);
    let from = scene.short_name(scene.plan.channel(channel).from);
    if missing.is_empty() {
        sentences.push(format!(
            "{name} has barrier {checkpoint} from every input and captures its state."
        ));
        return sentences;
    }
    let names = list(&sender_names(scene, &missing));
    sentences.push(format!(
        "{name} has barrier {checkpoint} from {from}, not yet from {names}."
    ));
    sentences.extend(
        missing
            .iter()
            .take(2)
            .map(|other| where_is_barrier(scene, *other, checkpoint)),
    );
    sentences
}

/// Where the barrier of `checkpoint` is on an input that has not delivered it.
fn where_is_barrier(scene: Scene<'_>, channel: ChannelId, checkpoint: CheckpointId) -> String {
    let sender = scene.plan.channel(channel).from;
    let name = scene.short_name(sender);
    match records_before_barrier(scene.channel(channel), checkpoint) {
        None => format!("{name} has not sent barrier {checkpoint} yet."),
        Some(ahead) if ahead.is_empty() => format!("On {name}, barrier {checkpoint} is next."),
        Some(ahead) if ahead.len() > 3 => {
            format!(
                "On {name}, barrier {checkpoint} is behind {}.",
                count(ahead.len() as u64, "record")
            )
        }
        Some(ahead) => {
            let values: Vec<String> = ahead.iter().map(|record| value(record.value)).collect();
            let noun = if values.len() == 1 {
                "record"
            } else {
                "records"
            };
            format!(
                "On {name}, barrier {checkpoint} is behind {noun} {}.",
                list(&values)
            )
        }
    }
}

/// The records ahead of the barrier of `checkpoint`; none: it is not in this channel.
#[must_use]
pub fn records_before_barrier(
    channel: &ChannelView,
    checkpoint: CheckpointId,
) -> Option<Vec<&Record>> {
    let position = channel
        .queue
        .iter()
        .position(|item| item.barrier() == Some(checkpoint))?;
    let records = channel
        .queue
        .iter()
        .take(position)
        .filter_map(|item| match &item.element {
            StreamElement::Record(record) => Some(record),
            StreamElement::Event(_) => None,
        });
    Some(records.collect())
}

/// A barrier has overtaken the first record: it is part of that checkpoint.
fn overtaken(channel: &ChannelView) -> Option<String> {
    let place = channel
        .queue
        .iter()
        .position(|item| matches!(item.element, StreamElement::Record(_)))?;
    match passing(&channel.queue)[place] {
        Passing::Overtaken(checkpoint) => Some(format!(
            "Barrier {checkpoint} has overtaken it: it becomes part of checkpoint {checkpoint}, and is processed \
             after that."
        )),
        Passing::Keeps | Passing::Overtakes => None,
    }
}

fn behind_event(channel: &ChannelView) -> Option<String> {
    if let Some(reason) = overtaken(channel) {
        return Some(reason);
    }
    let head = channel.queue.front()?;
    match &head.element {
        StreamElement::Record(_) => None,
        event @ StreamElement::Event(_) => Some(format!(
            "It is behind {}; a channel never reorders.",
            element_name(event)
        )),
    }
}

fn receiver_cannot_take(scene: Scene<'_>, channel: ChannelId) -> Option<String> {
    let receiver = scene.plan.channel(channel).to;
    let subtask = scene.subtask(receiver);
    let name = scene.plan.subtask_name(receiver);
    if let Some((checkpoint, until_us)) = subtask
        .sync
        .filter(|(_, until_us)| scene.clock_us < *until_us)
    {
        let until = seconds(until_us);
        return Some(format!(
            "{name} captures its state for checkpoint {checkpoint} until {until} and takes nothing meanwhile."
        ));
    }
    if let Some(full) = scene
        .outputs_of(receiver)
        .find(|output| scene.is_full(*output))
    {
        let to = scene.plan.subtask_name(scene.plan.channel(full).to);
        return Some(format!(
            "{name} has no room on its channel to {to}: backpressure."
        ));
    }
    if scene.clock_us < subtask.busy_until_us {
        let until = seconds(subtask.busy_until_us);
        return Some(format!(
            "{name} processes another record until {until} (modelled)."
        ));
    }
    None
}

/// One line about an input, for the list of a subtask's inputs.
#[must_use]
pub fn input_line(scene: Scene<'_>, channel: ChannelId) -> String {
    let view = scene.channel(channel);
    let records = view.records() as u64;
    let receiver = scene.plan.channel(channel).to;
    if !scene.is_up(receiver) {
        return not_up_text(scene, receiver).to_owned();
    }
    if view.blocked.is_some() {
        return format!("blocked · {} waiting", scene.waiting(channel));
    }
    if view.ended {
        return "ended".to_owned();
    }
    let aligning = scene.aligning(scene.plan.channel(channel).to);
    match aligning.and_then(|checkpoint| records_before_barrier(view, checkpoint)) {
        Some(ahead) if ahead.is_empty() => "open · barrier is next".to_owned(),
        Some(ahead) => format!(
            "open · barrier is {} away",
            count(ahead.len() as u64, "record")
        ),
        None if records == 0 => "open · empty".to_owned(),
        None => format!("open · {records} in flight"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::SubtaskStatus;
    use crate::model::SubtaskId;
    use crate::recording::view::FailoverView;
    use crate::ui::fixture::{Moment, two_sources};

    fn channel(moment: &Moment, name: &str) -> ChannelId {
        let scene = moment.scene();
        let mut channels = scene.plan.channels.iter().map(|channel| channel.id);
        channels
            .find(|id| scene.channel_title(*id) == name)
            .expect("a channel of this name")
    }

    #[test]
    fn a_record_behind_a_shut_gate_waits_for_the_other_barrier() {
        let moment = two_sources();
        let why = why_not_moving(moment.scene(), channel(&moment, "a → sum 1/2"));
        assert_eq!(why.title, "Why can’t record 7 move?");
        assert_eq!(
            why.sentences,
            [
                "It is behind barrier 3 on this input.",
                "sum 1/2 has barrier 3 from a, not yet from b.",
                "On b, barrier 3 is behind records 3 and 5.",
            ]
        );
    }

    #[test]
    fn a_record_on_its_way_says_when_it_arrives() {
        let moment = two_sources();
        let why = why_not_moving(moment.scene(), channel(&moment, "b → sum 1/2"));
        assert_eq!(why.title, "Where is record 3?");
        assert!(
            why.sentences[0].starts_with("It is on its way and arrives at"),
            "{:?}",
            why.sentences
        );
    }

    #[test]
    fn a_failed_job_explains_itself_before_anything_else() {
        let mut moment = two_sources();
        moment.view.job = JobStatus::Restarting {
            cause: "sum 1/2 crashed".to_owned(),
        };
        let why = why_not_moving(moment.scene(), channel(&moment, "a → sum 1/2"));
        assert_eq!(
            why.sentences,
            ["The job has failed: sum 1/2 crashed. Restore it to go on."]
        );
    }

    #[test]
    fn who_is_outside_the_failed_region_works_on() {
        let mut moment = two_sources();
        moment.view.job = JobStatus::Restarting {
            cause: "sum 1/2 crashed".to_owned(),
        };
        moment.view.failover = Some(FailoverView {
            restarting: vec![SubtaskId(2)],
            at_us: None,
        });
        let scene = moment.scene();
        assert!(!scene.is_spared(SubtaskId(2)) && scene.is_spared(SubtaskId(3)));
        let spared = why_not_moving(scene, channel(&moment, "a → sum 2/2"));
        assert_eq!(spared.sentences[0], "It is behind barrier 3 on this input.");
        let down = why_not_moving(scene, channel(&moment, "a → sum 1/2"));
        assert!(down.sentences[0].starts_with("The job has failed"));
    }

    #[test]
    fn a_record_that_a_barrier_has_overtaken_says_so() {
        let mut moment = two_sources();
        let input = channel(&moment, "b → sum 1/2");
        let queue = &mut moment.view.channels[input.index()].queue;
        let barrier = queue.pop_back().expect("barrier 3");
        queue.push_front(barrier);
        let why = why_not_moving(moment.scene(), input);
        assert!(
            why.sentences[0].starts_with("Barrier 3 has overtaken it"),
            "{why:?}"
        );
    }

    #[test]
    fn an_empty_channel_says_who_sends_next() {
        let moment = two_sources();
        let why = why_not_moving(moment.scene(), channel(&moment, "sum 2/2 → sink"));
        assert_eq!(why.title, "No record is here.");
        assert_eq!(why.sentences, ["What sum 2/2 sends next arrives here."]);
    }

    #[test]
    fn a_failed_subtask_reads_no_input() {
        let mut moment = two_sources();
        let input = channel(&moment, "b → sum 1/2");
        moment.view.subtasks[2].status = SubtaskStatus::Failed;
        assert_eq!(input_line(moment.scene(), input), "not running");
    }

    #[test]
    fn inputs_say_how_far_the_barrier_is() {
        let moment = two_sources();
        assert_eq!(
            input_line(moment.scene(), channel(&moment, "a → sum 1/2")),
            "blocked · 2 waiting"
        );
        assert_eq!(
            input_line(moment.scene(), channel(&moment, "b → sum 1/2")),
            "open · barrier is 2 records away"
        );
    }
}
