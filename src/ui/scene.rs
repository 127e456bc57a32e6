//! One moment of a run, with what is needed to read it: everything that the run canvas and inspector draw.

use std::collections::BTreeSet;

use crate::engine::event::{CheckpointKind, JobStatus, SubtaskStatus};
use crate::engine::plan::{ExecutionGraph, SplitPlan, SubtaskPlan};
use crate::model::{
    ChannelId, CheckpointId, EventTime, FaultKind, JobGraph, Key, KeyExpr, OperatorSpec, Origin,
    Record, SplitId, StreamElement, StreamEvent, SubtaskId,
};
use crate::recording::View;
use crate::recording::load::Load;
use crate::recording::sink_view::TableView;
use crate::recording::view::{
    ChannelView, CheckpointStatus, CheckpointView, InFlight, PersistedView, SubtaskView,
};

#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub job: &'a JobGraph,
    pub plan: &'a ExecutionGraph,
    pub view: &'a View,
    /// Virtual time at the cursor.
    pub clock_us: u64,
}

impl<'a> Scene<'a> {
    #[must_use]
    pub fn subtask(&self, id: SubtaskId) -> &'a SubtaskView {
        &self.view.subtasks[id.index()]
    }

    #[must_use]
    pub fn channel(&self, id: ChannelId) -> &'a ChannelView {
        &self.view.channels[id.index()]
    }

    /// The same for a split of a source: `a`, or `a 2`.
    fn split_name(&self, id: SplitId) -> String {
        let SplitPlan {
            name, index, count, ..
        } = self.plan.split(id);
        numbered(name, *index, *count)
    }

    /// The shortest name that tells this subtask from others: `b`, or `sum 2`.
    #[must_use]
    pub fn short_name(&self, id: SubtaskId) -> String {
        let SubtaskPlan {
            name,
            index,
            parallelism,
            ..
        } = self.plan.subtask(id);
        numbered(name, *index, *parallelism)
    }

    /// `a → sum 1/2`: a lone subtask needs no number.
    #[must_use]
    pub fn channel_title(&self, id: ChannelId) -> String {
        let channel = self.plan.channel(id);
        let name = |id: SubtaskId| match self.plan.subtask(id).parallelism {
            1 => self.short_name(id),
            parallelism => format!("{}/{parallelism}", self.short_name(id)),
        };
        format!("{} → {}", name(channel.from), name(channel.to))
    }

    /// Whether subtask `id` works, or will when its state is read back.
    #[must_use]
    pub fn is_up(&self, id: SubtaskId) -> bool {
        !matches!(
            self.subtask(id).status,
            SubtaskStatus::Failed | SubtaskStatus::Canceled | SubtaskStatus::Initializing
        )
    }

    /// The key by which `record` is known where `channel` ends; none for a plain sink's numbers.
    #[must_use]
    pub fn key_of(&self, channel: ChannelId, record: &Record) -> Option<Key> {
        let receiver = self.plan.subtask(self.plan.channel(channel).to);
        if receiver.operator.is_keyed() {
            return receiver.operator.key()?.key_of(record);
        }
        record.key.clone()
    }

    /// Which of the job's sources the record came from, from 0: decides its shape.
    #[must_use]
    pub fn source_index(&self, record: &Record) -> usize {
        let Some(origin) = self.plan.splits.get(record.origin.split.index()) else {
            return 0;
        };
        let sources = self.job.vertices.iter().filter(|vertex| vertex.is_source());
        sources
            .into_iter()
            .position(|vertex| vertex.uid == origin.uid)
            .unwrap_or(0)
    }

    /// `a@7`: the seventh record of source a.
    #[must_use]
    pub fn origin_name(&self, record: &Record) -> String {
        self.origin_label(record.origin)
    }

    /// The same for its origin alone.
    #[must_use]
    pub fn origin_label(&self, origin: Origin) -> String {
        format!("{}@{}", self.split_name(origin.split), origin.offset)
    }

    /// Whether `channel` has no room for another record.
    #[must_use]
    pub fn is_full(&self, channel: ChannelId) -> bool {
        self.channel(channel).records() >= self.job.config.channel_capacity as usize
    }

    /// How subtask `id` has spent its time so far.
    #[must_use]
    pub fn load(&self, id: SubtaskId) -> Load {
        self.subtask(id).load(self.clock_us)
    }

    /// The faults that wait for their occasion at subtask `id`.
    pub fn armed(&self, id: SubtaskId) -> impl Iterator<Item = FaultKind> + 'a {
        let SubtaskPlan { uid, index, .. } = self.plan.subtask(id);
        let faults = self.view.faults.iter();
        faults
            .filter(move |fault| fault.uid == *uid && fault.subtask == *index)
            .map(|fault| fault.kind)
    }

    /// Whether the failure does not concern subtask `id`: it works on while others begin again.
    #[must_use]
    pub fn is_spared(&self, id: SubtaskId) -> bool {
        let failover = self.view.failover.as_ref();
        failover.is_some_and(|failover| !failover.restarting.contains(&id)) && self.is_up(id)
    }

    /// What readers see of upsert sink `id` (all its subtasks write into one table); none: it is none, or nothing has
    /// come out.
    #[must_use]
    pub fn table_of(self, id: SubtaskId) -> Option<&'a TableView> {
        let table = self.view.tables.get(&self.plan.subtask(id).uid)?;
        Some(table.as_ref())
    }

    /// Whether any of the job's sources makes watermarks. (Without, the last one still comes at the end of the data.)
    #[must_use]
    pub fn has_event_time(self) -> bool {
        self.job.vertices.iter().any(|vertex| {
            matches!(&vertex.operator, OperatorSpec::Source(spec) if spec.event_time.is_some())
        })
    }

    /// What restarts while others work on: the regions in which a subtask is down. Empty: nothing is, or all.
    #[must_use]
    pub fn down_region(&self) -> BTreeSet<SubtaskId> {
        if !matches!(
            self.view.job,
            JobStatus::Restarting { .. } | JobStatus::Restoring { .. }
        ) {
            return BTreeSet::new();
        }
        let mut down = BTreeSet::new();
        for subtask in &self.plan.subtasks {
            if !self.is_up(subtask.id) && !down.contains(&subtask.id) {
                down.extend(self.plan.region_of(subtask.id));
            }
        }
        if down.len() == self.plan.subtasks.len() {
            down.clear();
        }
        down
    }

    pub fn outputs_of(&self, id: SubtaskId) -> impl Iterator<Item = ChannelId> + 'a {
        self.plan
            .subtask(id)
            .outputs
            .iter()
            .flat_map(|output| output.channels.iter().copied())
    }

    pub fn inputs_of(&self, id: SubtaskId) -> impl Iterator<Item = ChannelId> + 'a {
        self.plan.subtask(id).inputs.iter().copied()
    }

    /// The checkpoint that `id` now aligns for: some inputs are shut for it, others not yet.
    #[must_use]
    pub fn aligning(&self, id: SubtaskId) -> Option<CheckpointId> {
        self.inputs_of(id).find_map(|channel| {
            self.channel(channel)
                .blocked
                .map(|(checkpoint, _)| checkpoint)
        })
    }

    /// The checkpoint whose colour frames the card of `id`: aligned for, or being captured or written.
    #[must_use]
    pub fn busy_with(&self, id: SubtaskId) -> Option<CheckpointId> {
        let subtask = self.subtask(id);
        let sync = subtask
            .sync
            .filter(|(_, until_us)| self.clock_us < *until_us)
            .map(|(checkpoint, _)| checkpoint);
        self.aligning(id)
            .or(sync)
            .or_else(|| subtask.writing.first().copied())
    }

    /// Inputs of `id` that have not delivered the barrier of `checkpoint` yet.
    #[must_use]
    pub fn missing_inputs(&self, id: SubtaskId, checkpoint: CheckpointId) -> Vec<ChannelId> {
        let is_missing = |channel: &ChannelId| {
            let view = self.channel(*channel);
            !view.ended
                && view
                    .blocked
                    .is_none_or(|(blocked, _)| blocked != checkpoint)
        };
        self.inputs_of(id).filter(is_missing).collect()
    }

    /// All checkpoints, oldest first.
    pub fn checkpoints(&self) -> impl DoubleEndedIterator<Item = &'a CheckpointView> {
        self.view.checkpoints.values().map(AsRef::as_ref)
    }

    #[must_use]
    pub fn pending(&self) -> Option<&'a CheckpointView> {
        self.checkpoints()
            .find(|checkpoint| checkpoint.status == CheckpointStatus::Pending)
    }

    /// The savepoint with which the job has stopped: its sources ended there, not at their end.
    #[must_use]
    pub fn stopped_with(self) -> Option<&'a CheckpointView> {
        let has_stopped = |checkpoint: &&CheckpointView| {
            matches!(checkpoint.kind, CheckpointKind::StopWithSavepoint { .. })
                && checkpoint.status == CheckpointStatus::Completed
        };
        let is_over = self.view.job == JobStatus::Finished;
        self.checkpoints().rfind(has_stopped).filter(|_| is_over)
    }

    /// The records of `channel` that became part of pending checkpoints: these hold them until they are decided.
    pub fn persisted(
        self,
        channel: ChannelId,
    ) -> impl Iterator<Item = (CheckpointId, &'a PersistedView)> {
        let ends = self.plan.channel(channel);
        let ends = [ends.from, ends.to];
        let checkpoints = self.view.checkpoints.values();
        let pending =
            checkpoints.filter(|checkpoint| checkpoint.status == CheckpointStatus::Pending);
        pending.flat_map(move |checkpoint| {
            let snapshots = ends
                .into_iter()
                .filter_map(|id| checkpoint.subtasks.get(&id));
            let records = snapshots.flat_map(|snapshot| &snapshot.persisted);
            records
                .filter(move |persisted| persisted.channel == channel)
                .map(|persisted| (checkpoint.id, persisted))
        })
    }

    /// The pending checkpoint that `record`, in `channel`, is part of.
    #[must_use]
    pub fn held_by(self, channel: ChannelId, record: &Record) -> Option<CheckpointId> {
        let mut persisted = self.persisted(channel);
        let found = persisted.find(|(_, persisted)| persisted.records.contains(record))?;
        Some(found.0)
    }

    /// The records that have arrived at the end of `channel` and wait there.
    #[must_use]
    pub fn waiting(&self, channel: ChannelId) -> usize {
        let has_arrived = |item: &&InFlight| item.ready_us <= self.clock_us;
        let is_record = |item: &&InFlight| matches!(item.element, StreamElement::Record(_));
        self.channel(channel)
            .queue
            .iter()
            .filter(has_arrived)
            .filter(is_record)
            .count()
    }

    /// The input that has been shut for longest, for which checkpoint, and how many records wait behind it.
    #[must_use]
    pub fn longest_blocked(&self) -> Option<(ChannelId, CheckpointId, usize)> {
        let blocked = self.plan.channels.iter().filter_map(|channel| {
            let (checkpoint, since_us) = self.channel(channel.id).blocked?;
            Some((since_us, channel.id, checkpoint))
        });
        let (_, channel, checkpoint) = blocked.min()?;
        Some((channel, checkpoint, self.waiting(channel)))
    }
}

/// A fixed order of all the keys of a job, so that each keeps its colour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyColors {
    texts: BTreeSet<std::sync::Arc<str>>,
}

impl KeyColors {
    /// Learn the keys that are in `view`. Colours of known text keys may change only when a new key sorts before
    /// them, which a recording's first moments settle.
    pub fn learn(&mut self, view: &View) {
        for key in view.subtasks.iter().flat_map(|subtask| subtask.rows.keys()) {
            if let Key::Text(text) = key
                && !self.texts.contains(text)
            {
                self.texts.insert(text.clone());
            }
        }
    }

    /// The index of `key`'s colour in the theme's table.
    #[must_use]
    pub fn index(&self, key: &Key) -> usize {
        match key {
            Key::Int { value, .. } => value.unsigned_abs() as usize,
            Key::Text(text) => self
                .texts
                .iter()
                .position(|known| known == text)
                .unwrap_or_else(|| hash(text)),
        }
    }
}

/// For a text key that is on its way and in no state yet.
fn hash(text: &str) -> usize {
    text.bytes().fold(0_usize, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(byte.into())
    })
}

fn numbered(name: &str, index: u32, count: u32) -> String {
    let short = name.strip_prefix("source ").unwrap_or(name);
    if count == 1 {
        short.to_owned()
    } else {
        format!("{short} {}", index + 1)
    }
}

/// How a person calls an element: `record 7`, `barrier 3`.
#[must_use]
pub fn element_name(element: &StreamElement) -> String {
    match element {
        StreamElement::Record(record) => format!("record {}", super::figures::value(record.value)),
        StreamElement::Event(StreamEvent::Barrier(barrier)) => format!("barrier {}", barrier.id),
        StreamElement::Event(StreamEvent::CancelCheckpoint(id)) => format!("cancel marker {id}"),
        StreamElement::Event(StreamEvent::Watermark(EventTime::MAX)) => "last watermark".to_owned(),
        StreamElement::Event(StreamEvent::Watermark(time)) => format!("watermark {} ms", time.0),
        StreamElement::Event(StreamEvent::Idle) => "idle marker".to_owned(),
        StreamElement::Event(StreamEvent::Active) => "active marker".to_owned(),
        StreamElement::Event(StreamEvent::EndOfData) => "end of data".to_owned(),
        StreamElement::Event(StreamEvent::EndOfPartition) => "end of channel".to_owned(),
    }
}

/// The first record of a queue.
#[must_use]
pub fn first_record(channel: &ChannelView) -> Option<(&InFlight, &Record)> {
    channel.queue.iter().find_map(|item| match &item.element {
        StreamElement::Record(record) => Some((item, record)),
        StreamElement::Event(_) => None,
    })
}

/// How many keys the operator is expected to hold in all; none where only the data tell.
#[must_use]
pub fn expected_keys(key: Option<&KeyExpr>) -> Option<u32> {
    match key? {
        KeyExpr::Modulo { modulus, .. } => Some(*modulus),
        KeyExpr::Column => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::event::{ChannelSide, SubtaskStatus};
    use crate::ui::fixture::{Moment, two_sources};

    /// Checkpoint 3 holds what is in the first channel.
    fn with_records_in_flight(status: CheckpointStatus) -> Moment {
        let mut moment = two_sources();
        let channel = ChannelId(0);
        let queue = &moment.view.channels[0].queue;
        let records = queue.iter().filter_map(|item| match &item.element {
            StreamElement::Record(record) => Some(record.clone()),
            StreamElement::Event(_) => None,
        });
        let persisted = PersistedView {
            channel,
            side: ChannelSide::Input,
            records: records.take(2).collect(),
        };
        let to = moment.plan.channel(channel).to;
        let checkpoint = moment.view.checkpoints.get_mut(&CheckpointId(3));
        let checkpoint = Arc::make_mut(checkpoint.expect("checkpoint 3"));
        checkpoint.status = status;
        let snapshot = checkpoint.subtasks.get_mut(&to).expect("a snapshot");
        snapshot.persisted.push(persisted);
        moment
    }

    fn held(moment: &Moment) -> Vec<Option<CheckpointId>> {
        let (scene, channel) = (moment.scene(), ChannelId(0));
        let queue = scene.channel(channel).queue.iter();
        let records = queue.filter_map(|item| match &item.element {
            StreamElement::Record(record) => Some(record),
            StreamElement::Event(_) => None,
        });
        records
            .map(|record| scene.held_by(channel, record))
            .collect()
    }

    #[test]
    fn a_checkpoint_holds_its_records_in_flight_until_it_is_decided() {
        let three = Some(CheckpointId(3));
        let pending = with_records_in_flight(CheckpointStatus::Pending);
        assert_eq!(held(&pending), [three, three, None]);
        let completed = with_records_in_flight(CheckpointStatus::Completed);
        assert_eq!(held(&completed), [None, None, None]);
    }

    #[test]
    fn what_restarts_is_a_region_unless_it_is_all() {
        let mut moment = two_sources();
        moment.job.edges.truncate(1);
        moment.plan = ExecutionGraph::of(&moment.job);
        moment.view.subtasks[0].status = SubtaskStatus::Failed;
        assert!(moment.scene().down_region().is_empty(), "the job runs");
        moment.view.job = JobStatus::Restarting {
            cause: "a crashed".to_owned(),
        };
        let down: Vec<u32> = moment.scene().down_region().iter().map(|id| id.0).collect();
        assert_eq!(down, [0, 2, 3], "source a and both sums");
        let mut whole = two_sources();
        whole.view.job = moment.view.job.clone();
        whole.view.subtasks[0].status = SubtaskStatus::Failed;
        assert!(whole.scene().down_region().is_empty());
    }
}
