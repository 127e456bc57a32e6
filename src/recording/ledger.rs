//! The proof of exactly-once, record by record: how often each source record has had its effect.
//!
//! A record may reach an operator over several paths, and a broadcast edge copies it; how often it *should* arrive
//! follows from the graph. Counted are the records of this run: one started from a checkpoint begins after it.

use std::collections::{BTreeMap, BTreeSet};

use super::view::SplitView;
use super::{Recording, View};
use crate::engine::plan::SplitPlan;
use crate::model::{
    OperatorSpec, Origin, Partitioning, SinkKind, SplitId, StreamElement, SubtaskId, Uid, Vertex,
};

/// How often source records have had their effect, at one moment of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Records that sources have emitted; each offset once, however often it was replayed.
    pub emitted: u64,
    /// In keyed state. None: the job has no keyed operator that could be judged record by record.
    pub state: Option<Tally>,
    /// Out of the job through a sink, where readers see it: not what a two-phase commit sink has not committed, and of
    /// an upsert sink the effect on its table, in which a repeated write is none. None: the job
    /// has no sink, or only behind windows.
    pub output: Option<Tally>,
    /// How many records sinks have written into transactions that are not committed, or hold in a buffer.
    pub uncommitted: u64,
    /// Where those are that do not count yet, in state (or, without a keyed sum, out of the job).
    pub open: Open,
    /// Records that a window dropped because it had fired: they count nowhere, and that is as it should be.
    pub late: u64,
}

/// Where the records are that do not count (everywhere) yet: together a tally's `zero`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// In a channel on their way there.
    pub in_flight: u64,
    /// Counted at some place, not yet at all of them.
    pub partly: u64,
    /// Without a keyed operator: in a transaction that is not committed, or in a sink's buffer.
    pub uncommitted: u64,
    /// Nowhere in the job any more: rolled back or lost, until the source reads them again.
    pub to_be_read: u64,
}

/// Records by how often they count; with those that came too late, they sum up to the records emitted that can get there
/// at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Not (or not everywhere) yet.
    pub zero: u64,
    /// Exactly as often as the graph says.
    pub once: u64,
    /// More often.
    pub more: u64,
}

/// Effects counted per source record, against how many there should be.
struct Effects<'a> {
    recording: &'a Recording,
    view: &'a View,
    /// Per split: it is asked for.
    wanted: Vec<bool>,
    /// Per split and record, over the vertices of interest.
    verdicts: Vec<Vec<Verdict>>,
    /// Per split and record: it counts at some vertex of interest.
    touched: Vec<Vec<bool>>,
}

/// How often one record has had its effect at one operator.
#[derive(Clone, Copy, Default)]
struct Count {
    times: u32,
    is_late: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// No vertex of interest can be reached.
    Unreached,
    Once,
    /// As often as it should be, at some place too late for its window.
    Late,
    Zero,
    More,
}

impl Recording {
    /// The ledger at `view`.
    #[must_use]
    pub fn ledger(&self, view: &View) -> Ledger {
        self.ledger_of(view, &|_| true)
    }

    /// The same for what the subtasks that are `wanted` have read and made of it: those of whole regions, between which
    /// no record passes.
    #[must_use]
    pub fn ledger_of(&self, view: &View, wanted: &dyn Fn(SubtaskId) -> bool) -> Ledger {
        let is_sink = |operator: &OperatorSpec| matches!(operator, OperatorSpec::Sink(_));
        let ids = self.plan.splits.iter().map(|split| split.id);
        let is_read = |split: &SplitId| self.reader(view, *split).is_none_or(wanted);
        let read: BTreeSet<SplitId> = ids.filter(is_read).collect();
        let splits = self.plan.splits.iter().zip(&view.splits);
        let splits = splits.filter(|(plan, _)| read.contains(&plan.id));
        let (state, output) = (
            self.tally(view, &read, OperatorSpec::is_keyed),
            self.tally(view, &read, is_sink),
        );
        let sinks = self.plan.subtasks.iter().zip(&view.subtasks);
        let sinks = sinks.filter(|(plan, _)| wanted(plan.id));
        Ledger {
            emitted: splits.map(|(_, view)| view.emitted()).sum(),
            state: state.map(|(tally, ..)| tally),
            output: output.map(|(tally, ..)| tally),
            uncommitted: sinks.map(|(_, view)| view.sink.waiting() as u64).sum(),
            open: state
                .or(output)
                .map_or_else(Open::default, |(_, open, _)| open),
            late: state.map_or(0, |(_, _, late)| late),
        }
    }

    /// The subtask that reads `split`, or was the last to do so.
    fn reader(&self, view: &View, split: SplitId) -> Option<SubtaskId> {
        let readers = self.plan.subtasks.iter().zip(&view.subtasks);
        let mut readers = readers.filter(|(_, view)| view.splits.contains(&split));
        if let Some((plan, _)) = readers.next() {
            return Some(plan.id);
        }
        let SplitPlan { uid, index, .. } = self.plan.split(split);
        let subtasks = self.plan.subtasks_of(uid);
        let place = *index as usize % subtasks.len().max(1);
        subtasks.get(place).copied()
    }

    /// Over the operators that are `wanted`: the tally, where the rest is, and how many came too late.
    ///
    /// A window's result has many origins, and a filter leaves records out, so what is behind those cannot be judged
    /// record by record.
    fn tally(
        &self,
        view: &View,
        read: &BTreeSet<SplitId>,
        wanted: impl Fn(&OperatorSpec) -> bool,
    ) -> Option<(Tally, Open, u64)> {
        let vertices = self
            .job
            .vertices
            .iter()
            .filter(|vertex| wanted(&vertex.operator) && !self.is_behind_window(&vertex.uid));
        let vertices: Vec<&Uid> = vertices.map(|vertex| &vertex.uid).collect();
        if vertices.is_empty() {
            return None;
        }
        let mut effects = Effects::new(self, view);
        for (wanted, split) in effects.wanted.iter_mut().zip(&self.plan.splits) {
            *wanted = read.contains(&split.id);
        }
        for uid in &vertices {
            effects.judge(uid);
        }
        let open = effects.open(
            &self.in_flight(view, &vertices),
            &self.uncommitted(view, &vertices),
        );
        let (tally, late) = effects.tally();
        Some((tally, open, late))
    }

    /// The first `most` source records that keyed state counts more often than it should, in the order of their
    /// splits: at-least-once processing, caught in the act.
    #[must_use]
    pub fn counted_twice(&self, view: &View, most: usize) -> Vec<Origin> {
        let vertices = self.job.vertices.iter();
        let keyed = vertices
            .filter(|vertex| vertex.operator.is_keyed() && !self.is_behind_window(&vertex.uid));
        let mut effects = Effects::new(self, view);
        for vertex in keyed {
            effects.judge(&vertex.uid);
        }
        effects.more().take(most).collect()
    }

    /// The records in transactions of `sinks` that are not committed, and in their buffers.
    fn uncommitted(&self, view: &View, sinks: &[&Uid]) -> BTreeSet<Origin> {
        let subtasks = self.plan.subtasks.iter().zip(&view.subtasks);
        let wanted = subtasks.filter(|(plan, _)| sinks.contains(&&plan.uid));
        let transactions = wanted.clone().flat_map(|(_, view)| &view.sink.uncommitted);
        let written = transactions.flat_map(|transaction| &transaction.records);
        let buffered = wanted.flat_map(|(_, view)| &view.sink.buffer);
        written
            .chain(buffered)
            .map(|record| record.origin)
            .collect()
    }

    /// The records in channels that lead to one of `targets`.
    fn in_flight(&self, view: &View, targets: &[&Uid]) -> BTreeSet<Origin> {
        let upstream = self.upstream(targets);
        let channels = self.plan.channels.iter().zip(&view.channels);
        let leading =
            channels.filter(|(channel, _)| upstream.contains(&self.plan.subtask(channel.to).uid));
        let elements = leading.flat_map(|(_, view)| view.queue.iter().map(|item| &item.element));
        let origin = |element: &StreamElement| match element {
            StreamElement::Record(record) => Some(record.origin),
            StreamElement::Event(_) => None,
        };
        elements.filter_map(origin).collect()
    }

    /// Whether what arrives at `uid` has been gathered (by a window, or by an average of several records) or filtered.
    #[must_use]
    pub fn is_behind_window(&self, uid: &Uid) -> bool {
        let is_window = |vertex: &Vertex| vertex.operator.gathers();
        let mut upstream = self.upstream(&[uid]);
        upstream.remove(uid);
        let mut vertices = upstream.into_iter().filter_map(|uid| self.job.vertex(uid));
        vertices.any(is_window)
    }

    /// All operators that lead to one of `targets`, these included.
    fn upstream<'a>(&'a self, targets: &[&'a Uid]) -> BTreeSet<&'a Uid> {
        let mut upstream: BTreeSet<&Uid> = BTreeSet::new();
        let mut next: Vec<&Uid> = targets.to_vec();
        while let Some(uid) = next.pop() {
            if upstream.insert(uid) {
                next.extend(self.job.inputs_of(uid).map(|edge| &edge.from));
            }
        }
        upstream
    }

    /// How many copies of one record of source `from` arrive at `to`, all its subtasks together. Behind a window none does:
    /// what comes out of one is no copy of a record.
    #[must_use]
    pub fn copies(&self, from: &Uid, to: &Uid) -> u32 {
        if self.is_behind_window(to) {
            return 0;
        }
        self.copies_into(to, &mut BTreeMap::from([(from.clone(), 1)]))
    }

    /// `known` begins with the source and holds what is already computed: a graph may have very many paths.
    fn copies_into(&self, to: &Uid, known: &mut BTreeMap<Uid, u32>) -> u32 {
        if let Some(copies) = known.get(to) {
            return *copies;
        }
        let parallelism = self.job.vertex(to).map_or(1, |vertex| vertex.parallelism);
        let mut copies = 0_u32;
        for edge in self.job.inputs_of(to) {
            let fan_out = match edge.partitioning {
                Partitioning::Broadcast => parallelism,
                _ => 1,
            };
            let upstream = self.copies_into(&edge.from, known);
            copies = copies.saturating_add(upstream.saturating_mul(fan_out));
        }
        known.insert(to.clone(), copies);
        copies
    }
}

impl<'a> Effects<'a> {
    fn new(recording: &'a Recording, view: &'a View) -> Self {
        let records = |view: &SplitView| usize::try_from(view.emitted()).unwrap_or(0);
        let blank = |view| vec![Verdict::Unreached; records(view)];
        Self {
            recording,
            view,
            wanted: vec![true; view.splits.len()],
            verdicts: view.splits.iter().map(blank).collect(),
            touched: view
                .splits
                .iter()
                .map(|view| vec![false; records(view)])
                .collect(),
        }
    }

    /// Judge every record by how often it counts at operator `uid`.
    fn judge(&mut self, uid: &Uid) {
        let blank = |records: &Vec<Verdict>| vec![Count::default(); records.len()];
        let mut counts: Vec<Vec<Count>> = self.verdicts.iter().map(blank).collect();
        for (origin, is_late) in self.effects_at(uid) {
            let first = self.view.splits[origin.split.index()].first_offset;
            let index = origin
                .offset
                .checked_sub(first + 1)
                .and_then(|i| usize::try_from(i).ok());
            let count = index.and_then(|index| counts[origin.split.index()].get_mut(index));
            if let Some(count) = count {
                count.times += 1;
                count.is_late |= is_late;
            }
        }
        let is_upsert = self.recording.job.vertex(uid).is_some_and(|vertex| {
            matches!(&vertex.operator, OperatorSpec::Sink(spec) if spec.kind == SinkKind::Upsert)
        });
        for (touched, counts) in self.touched.iter_mut().zip(&counts) {
            for (touched, count) in touched.iter_mut().zip(counts) {
                *touched |= count.times > 0;
            }
        }
        for (plan, (verdicts, counts)) in self
            .recording
            .plan
            .splits
            .iter()
            .zip(self.verdicts.iter_mut().zip(&counts))
        {
            let expected = self.recording.copies(&plan.uid, uid);
            if expected == 0 || !self.wanted[plan.id.index()] {
                continue;
            }
            for (verdict, count) in verdicts.iter_mut().zip(counts) {
                // What a repeated write overwrites is its own effect.
                let most = if is_upsert { expected } else { u32::MAX };
                let here = match count.times.min(most).cmp(&expected) {
                    std::cmp::Ordering::Less => Verdict::Zero,
                    std::cmp::Ordering::Equal if count.is_late => Verdict::Late,
                    std::cmp::Ordering::Equal => Verdict::Once,
                    std::cmp::Ordering::Greater => Verdict::More,
                };
                *verdict = (*verdict).max(here);
            }
        }
    }

    /// The origin of everything that counts at operator `uid` now, and whether it came too late there.
    fn effects_at(&self, uid: &Uid) -> Vec<(Origin, bool)> {
        let ids = self.recording.plan.subtasks_of(uid);
        let is_sink = self.recording.job.vertex(uid).is_some_and(Vertex::is_sink);
        if is_sink {
            let outputs = self.recording.outputs(self.view);
            let here = outputs.filter(|(subtask, _)| ids.contains(subtask));
            return here.map(|(_, record)| (record.origin, false)).collect();
        }
        let lineages = ids.iter().map(|id| self.view.subtasks[id.index()].counted);
        lineages
            .flat_map(|lineage| self.recording.effects(lineage))
            .collect()
    }

    /// Tell apart the records that do not count yet.
    fn open(&self, in_flight: &BTreeSet<Origin>, uncommitted: &BTreeSet<Origin>) -> Open {
        let mut open = Open::default();
        let splits = self.recording.plan.splits.iter().zip(&self.view.splits);
        for ((plan, view), (verdicts, touched)) in
            splits.zip(self.verdicts.iter().zip(&self.touched))
        {
            for (offset, (verdict, touched)) in
                (view.first_offset + 1..).zip(verdicts.iter().zip(touched))
            {
                let origin = Origin {
                    split: plan.id,
                    offset,
                };
                match verdict {
                    Verdict::Zero if *touched => open.partly += 1,
                    Verdict::Zero if uncommitted.contains(&origin) => open.uncommitted += 1,
                    Verdict::Zero if in_flight.contains(&origin) => open.in_flight += 1,
                    Verdict::Zero => open.to_be_read += 1,
                    Verdict::Unreached | Verdict::Once | Verdict::Late | Verdict::More => {}
                }
            }
        }
        open
    }

    /// The records that count too often.
    fn more(&self) -> impl Iterator<Item = Origin> {
        let splits = self.recording.plan.splits.iter().zip(&self.view.splits);
        splits
            .zip(&self.verdicts)
            .flat_map(|((plan, view), verdicts)| {
                let offsets = view.first_offset + 1..;
                let counted = offsets.zip(verdicts);
                counted
                    .filter(|(_, verdict)| **verdict == Verdict::More)
                    .map(|(offset, _)| Origin {
                        split: plan.id,
                        offset,
                    })
            })
    }

    /// With how many came too late.
    fn tally(&self) -> (Tally, u64) {
        let (mut tally, mut late) = (Tally::default(), 0);
        for verdict in self.verdicts.iter().flatten() {
            match verdict {
                Verdict::Unreached => {}
                Verdict::Zero => tally.zero += 1,
                Verdict::Late => late += 1,
                Verdict::Once => tally.once += 1,
                Verdict::More => tally.more += 1,
            }
        }
        (tally, late)
    }
}
