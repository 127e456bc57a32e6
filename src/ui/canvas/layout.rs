//! Where subtasks and channels lie: a pure function from a [`LayoutRequest`], which is also the key of its cache.
//!
//! Subtasks of an operator are stacked, centred where the person put the operator; what would overlap is moved as
//! little as possible, right along the stream and up or down within a column.

use egui::{Pos2, Rect, Vec2, pos2, vec2};

use crate::engine::plan::ExecutionGraph;
use crate::model::{JobGraph, OperatorSpec, Position};

use super::super::scene::expected_keys;
use super::curve::Curve;
use super::density::Density;
use super::outside::{self, is_transactional};

/// An operator's card while editing.
pub const NODE_SIZE: Vec2 = vec2(176.0, 112.0);

/// Everything that a layout depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutRequest {
    pub density: Density,
    /// The room that each channel gets at a card, at least.
    pub pitch: f32,
    pub vertices: Vec<VertexBox>,
    /// By channel: sender's and receiver's index.
    pub channels: Vec<(usize, usize)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct VertexBox {
    pub position: Position,
    pub subtasks: usize,
    /// How many rows of state a full card has room for.
    pub rows: usize,
    /// The room at the right of its cards, for what is outside the job.
    pub outside: f32,
}

impl LayoutRequest {
    #[must_use]
    pub fn of(job: &JobGraph, plan: &ExecutionGraph, density: Density, pitch: f32) -> Self {
        let vertices = job.vertices.iter().map(|vertex| VertexBox {
            position: vertex.position,
            subtasks: vertex.parallelism as usize,
            rows: rows_for(&vertex.operator),
            outside: if is_transactional(&vertex.operator) {
                outside::REACH
            } else {
                0.0
            },
        });
        let channels = plan
            .channels
            .iter()
            .map(|channel| (channel.from.index(), channel.to.index()));
        Self {
            density,
            pitch,
            vertices: vertices.collect(),
            channels: channels.collect(),
        }
    }
}

fn rows_for(operator: &OperatorSpec) -> usize {
    match operator {
        OperatorSpec::Source(_) => 2,
        OperatorSpec::Sink(_) if is_transactional(operator) => 4,
        OperatorSpec::Sink(_) => 3,
        OperatorSpec::Map(_) => 1,
        OperatorSpec::RuleFilter => 4,
        OperatorSpec::KeyedSum(_) | OperatorSpec::KeyedProcess(_) | OperatorSpec::Window(_) => {
            expected_keys(operator.key()).unwrap_or(5).clamp(3, 5) as usize
        }
    }
}

/// A finished layout, in world points.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub density: Density,
    /// By subtask.
    pub cards: Vec<Rect>,
    /// By channel.
    pub curves: Vec<Curve>,
    pub tube_width: f32,
    pub bounds: Rect,
}

const TUBE_WIDTH: f32 = 28.0;
const MIN_TUBE_WIDTH: f32 = 7.0;
const PORT_PITCH: f32 = 54.0;
/// Long enough to see every record of a channel that holds Flink's usual ten.
pub const FULL_REACH: f32 = 250.0;
const ROW_HEIGHT: f32 = 24.0;

#[must_use]
pub fn layout(request: &LayoutRequest) -> Layout {
    let (cards, tube_width, bounds) = placed(request);
    Layout {
        density: request.density,
        curves: curves(request, &cards),
        cards,
        tube_width,
        bounds,
    }
}

/// What a layout would take up, and how wide its channels would be.
#[must_use]
pub fn measure(request: &LayoutRequest) -> (Rect, f32) {
    let (_, tube_width, bounds) = placed(request);
    (bounds, tube_width)
}

fn placed(request: &LayoutRequest) -> (Vec<Rect>, f32, Rect) {
    let owners: Vec<usize> = request
        .vertices
        .iter()
        .enumerate()
        .flat_map(|(i, vertex)| std::iter::repeat_n(i, vertex.subtasks))
        .collect();
    let ports = port_counts(request, owners.len());
    let sizes: Vec<Vec2> = owners
        .iter()
        .zip(&ports)
        .map(|(owner, ports)| card_size(request, *owner, *ports))
        .collect();
    let lefts = column_lefts(request, &owners);
    let cards = stacked(request, &owners, &sizes, &lefts);
    let tube_width = tube_width(&cards, &ports);
    let bounds = cards
        .iter()
        .zip(&owners)
        .fold(Rect::NOTHING, |bounds, (card, owner)| {
            let mut taken = *card;
            taken.max.x += request.vertices[*owner].outside;
            bounds.union(taken)
        });
    (cards, tube_width, bounds)
}

/// By subtask: inputs and outputs.
fn port_counts(request: &LayoutRequest, subtasks: usize) -> Vec<(usize, usize)> {
    let mut counts = vec![(0, 0); subtasks];
    for (from, to) in &request.channels {
        counts[*from].1 += 1;
        counts[*to].0 += 1;
    }
    counts
}

fn card_size(request: &LayoutRequest, vertex: usize, (inputs, outputs): (usize, usize)) -> Vec2 {
    let ports = request.pitch * inputs.max(outputs) as f32;
    match request.density {
        Density::Full | Density::Snug => {
            let rows = request.vertices[vertex].rows as f32;
            vec2(188.0, (56.0 + rows * ROW_HEIGHT).max(16.0 + ports))
        }
        Density::Compact | Density::Close => vec2(172.0, (64.0_f32).max(12.0 + ports)),
        Density::Dense => vec2(160.0, (36.0_f32).max(8.0 + ports)),
    }
}

/// By vertex: the left edge of its cards, at least a channel's length right of every sender's.
fn column_lefts(request: &LayoutRequest, owners: &[usize]) -> Vec<f32> {
    let mut lefts: Vec<f32> = request
        .vertices
        .iter()
        .map(|vertex| vertex.position.x * request.density.spread().x)
        .collect();
    let step = card_size(request, 0, (0, 0)).x + request.density.min_reach();
    // As many passes as the longest path could need; a valid job has no cycle.
    for _ in 0..request.vertices.len() {
        let before = lefts.clone();
        for (from, to) in &request.channels {
            let (from, to) = (owners[*from], owners[*to]);
            lefts[to] = lefts[to].max(lefts[from] + step);
        }
        if lefts == before {
            break;
        }
    }
    lefts
}

fn gap(density: Density, subtasks: usize) -> f32 {
    match (density, subtasks) {
        (Density::Full, 0..=2) => 112.0,
        (Density::Full, 3) => 64.0,
        (Density::Full, _) => 36.0,
        (Density::Snug, _) => 28.0,
        (Density::Compact | Density::Close, _) => 22.0,
        (Density::Dense, _) => 12.0,
    }
}

fn stacked(request: &LayoutRequest, owners: &[usize], sizes: &[Vec2], lefts: &[f32]) -> Vec<Rect> {
    let mut cards = Vec::with_capacity(owners.len());
    let mut first = 0;
    for (index, vertex) in request.vertices.iter().enumerate() {
        let range = first..first + vertex.subtasks;
        first = range.end;
        let gap = gap(request.density, vertex.subtasks);
        let height: f32 = sizes[range.clone()]
            .iter()
            .map(|size| size.y + gap)
            .sum::<f32>()
            - gap;
        let mut top =
            (vertex.position.y + NODE_SIZE.y / 2.0) * request.density.spread().y - height / 2.0;
        for size in &sizes[range] {
            cards.push(Rect::from_min_size(pos2(lefts[index], top), *size));
            top += size.y + gap;
        }
    }
    let gap = gap(request.density, 4);
    for column in columns(&cards) {
        separate(&mut cards, column, gap);
    }
    cards
}

/// Groups of cards whose horizontal extents overlap.
fn columns(cards: &[Rect]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..cards.len()).collect();
    order.sort_by(|a, b| cards[*a].left().total_cmp(&cards[*b].left()));
    let mut columns: Vec<Vec<usize>> = Vec::new();
    let mut right = f32::NEG_INFINITY;
    for index in order {
        let card = cards[index];
        match columns.last_mut() {
            Some(column) if card.left() < right + 16.0 => column.push(index),
            _ => columns.push(vec![index]),
        }
        right = right.max(card.right());
    }
    columns
}

/// Move the cards of a column apart vertically, each as little as possible in the least-squares sense (isotonic
/// regression by pooling adjacent violators).
fn separate(cards: &mut [Rect], mut column: Vec<usize>, gap: f32) {
    column.sort_by(|a, b| {
        cards[*a]
            .center()
            .y
            .total_cmp(&cards[*b].center().y)
            .then(a.cmp(b))
    });
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(column.len());
    for index in &column {
        offsets.push(offset);
        offset += cards[*index].height() + gap;
    }
    let wanted = column
        .iter()
        .zip(&offsets)
        .map(|(index, offset)| cards[*index].top() - offset);
    for ((index, offset), top) in column.iter().zip(&offsets).zip(isotonic(wanted)) {
        let card = &mut cards[*index];
        *card = card.translate(vec2(0.0, top + offset - card.top()));
    }
}

/// The non-decreasing sequence nearest to `wanted`.
fn isotonic(wanted: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut blocks: Vec<(f32, usize)> = Vec::new();
    for value in wanted {
        let mut block = (value, 1);
        while let Some((mean, len)) = blocks.last().copied()
            && mean > block.0
        {
            blocks.pop();
            let total = len + block.1;
            block = (
                (mean * len as f32 + block.0 * block.1 as f32) / total as f32,
                total,
            );
        }
        blocks.push(block);
    }
    blocks
        .into_iter()
        .flat_map(|(mean, len)| std::iter::repeat_n(mean, len))
        .collect()
}

fn port_pitch(card: Rect, ports: usize) -> f32 {
    if ports == 0 {
        PORT_PITCH
    } else {
        PORT_PITCH.min((card.height() - 10.0) / ports as f32)
    }
}

/// One width for all, so that a token keeps its size on its way.
fn tube_width(cards: &[Rect], ports: &[(usize, usize)]) -> f32 {
    let narrowest = cards
        .iter()
        .zip(ports)
        .flat_map(|(card, (inputs, outputs))| {
            [port_pitch(*card, *inputs), port_pitch(*card, *outputs)]
        });
    (narrowest.fold(PORT_PITCH, f32::min) - 4.0).clamp(MIN_TUBE_WIDTH, TUBE_WIDTH)
}

/// A port per channel at both ends, ordered by where the other end lies, so that few cross.
fn curves(request: &LayoutRequest, cards: &[Rect]) -> Vec<Curve> {
    let starts = ports(
        request,
        cards,
        |(from, _)| *from,
        |(_, to)| *to,
        |card| card.right(),
    );
    let ends = ports(
        request,
        cards,
        |(_, to)| *to,
        |(from, _)| *from,
        |card| card.left(),
    );
    starts
        .into_iter()
        .zip(ends)
        .map(|(start, end)| Curve::between(start, end))
        .collect()
}

fn ports(
    request: &LayoutRequest,
    cards: &[Rect],
    here: impl Fn(&(usize, usize)) -> usize,
    there: impl Fn(&(usize, usize)) -> usize,
    edge: impl Fn(Rect) -> f32,
) -> Vec<Pos2> {
    let mut by_card: Vec<Vec<usize>> = vec![Vec::new(); cards.len()];
    for (channel, ends) in request.channels.iter().enumerate() {
        by_card[here(ends)].push(channel);
    }
    let mut ports = vec![Pos2::ZERO; request.channels.len()];
    for (card, mut channels) in by_card.into_iter().enumerate() {
        let other_y = |channel: usize| cards[there(&request.channels[channel])].center().y;
        channels.sort_by(|a, b| other_y(*a).total_cmp(&other_y(*b)).then(a.cmp(b)));
        let card = cards[card];
        let pitch = port_pitch(card, channels.len());
        let top = card.center().y - pitch * (channels.len() as f32 - 1.0) / 2.0;
        for (place, channel) in channels.into_iter().enumerate() {
            ports[channel] = pos2(edge(card), top + pitch * place as f32);
        }
    }
    ports
}

/// The last layout, with its request.
#[derive(Default)]
pub struct LayoutCache {
    last: Option<(LayoutRequest, Layout)>,
}

impl LayoutCache {
    pub fn get(&mut self, request: LayoutRequest) -> &Layout {
        let is_hit = self
            .last
            .as_ref()
            .is_some_and(|(known, _)| *known == request);
        if !is_hit {
            self.last = None;
        }
        let (_, found) = self.last.get_or_insert_with(|| {
            let made = layout(&request);
            (request, made)
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture::two_sources_job;
    use crate::ui::samples;

    fn layout_of(job: &JobGraph, density: Density) -> Layout {
        let pitch = density.least_pitch();
        layout(&LayoutRequest::of(
            job,
            &ExecutionGraph::of(job),
            density,
            pitch,
        ))
    }

    fn wide_job(parallelism: u32) -> JobGraph {
        let mut job = two_sources_job();
        for vertex in &mut job.vertices {
            vertex.parallelism = parallelism;
        }
        job
    }

    fn assert_no_overlap(layout: &Layout) {
        for (i, a) in layout.cards.iter().enumerate() {
            for b in &layout.cards[i + 1..] {
                assert!(!a.shrink(0.1).intersects(*b), "{a:?} overlaps {b:?}");
            }
        }
    }

    #[test]
    fn cards_never_overlap() {
        for parallelism in [1, 2, 4, 8] {
            for density in Density::ALL {
                assert_no_overlap(&layout_of(&wide_job(parallelism), density));
            }
        }
    }

    #[test]
    fn operators_dropped_on_one_spot_are_drawn_apart() {
        let mut job = wide_job(3);
        for vertex in &mut job.vertices {
            vertex.position = Position::default();
        }
        assert_no_overlap(&layout_of(&job, Density::Full));
    }

    #[test]
    fn the_stream_flows_to_the_right() {
        let mut job = wide_job(2);
        job.vertices.reverse();
        for (i, vertex) in job.vertices.iter_mut().enumerate() {
            vertex.position.x = 300.0 * i as f32;
        }
        let plan = ExecutionGraph::of(&job);
        let layout = layout_of(&job, Density::Full);
        for channel in &plan.channels {
            let (from, to) = (
                layout.cards[channel.from.index()],
                layout.cards[channel.to.index()],
            );
            assert!(from.right() + FULL_REACH <= to.left() + 0.1);
        }
    }

    #[test]
    fn subtasks_are_centred_where_the_operator_stands() {
        let job = samples::odd_even();
        let layout = layout_of(&job, Density::Full);
        let sums = layout.cards[1].union(layout.cards[2]);
        assert!((sums.center().y - layout.cards[0].center().y).abs() < 0.1);
    }

    #[test]
    fn channels_of_a_pair_do_not_cross() {
        let layout = layout_of(&samples::odd_even(), Density::Full);
        let ys =
            |point: fn(&Curve) -> Pos2| [point(&layout.curves[0]).y, point(&layout.curves[1]).y];
        let starts = ys(|curve| curve.along(0.0));
        let ends = ys(|curve| curve.before_end(0.0));
        assert!(starts[0] < starts[1] && ends[0] < ends[1]);
    }

    #[test]
    fn many_channels_make_thin_tubes() {
        let (few, many) = (
            layout_of(&wide_job(1), Density::Full),
            layout_of(&wide_job(8), Density::Dense),
        );
        assert!((few.tube_width - TUBE_WIDTH).abs() < 0.1);
        assert!(many.tube_width < 10.0);
    }

    #[test]
    fn the_nearest_order_moves_only_what_is_in_the_way() {
        assert_eq!(
            isotonic([1.0, 5.0, 3.0, 9.0].into_iter()),
            [1.0, 4.0, 4.0, 9.0]
        );
    }
}
