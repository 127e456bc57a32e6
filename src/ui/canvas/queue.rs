//! Where the elements of a channel are: travelling at the clock's speed, then queued up touching each other.
//!
//! Pure. Distances are measured back from the gate, along the channel.

use crate::recording::view::InFlight;

/// The part of its way that `item` has covered at `clock_us`, 0 ..= 1.
#[must_use]
pub fn progress(item: &InFlight, clock_us: u64) -> f32 {
    let (gone, all) = (
        clock_us.saturating_sub(item.sent_us),
        item.ready_us.saturating_sub(item.sent_us),
    );
    if all == 0 {
        1.0
    } else {
        (gone as f64 / all as f64).clamp(0.0, 1.0) as f32
    }
}

/// For each element, head first, the distance of its centre from the gate.
///
/// `elements` are progress and extent along the channel. An element never passes or overlaps the one before it, and
/// none lies outside the channel; where the channel is too short to hold them all, they are pushed together evenly.
#[must_use]
pub fn distances(length: f32, elements: &[(f32, f32)]) -> Vec<f32> {
    let total: f32 = elements.iter().map(|(_, extent)| extent).sum();
    let squeeze = if total > length && total > 0.0 {
        length / total
    } else {
        1.0
    };
    let (mut taken, mut left) = (0.0, total * squeeze);
    elements
        .iter()
        .map(|(progress, extent)| {
            let extent = extent * squeeze;
            // As far back as still leaves room for those behind.
            let last = (length - left + extent / 2.0).max(taken + extent / 2.0);
            let center = ((1.0 - progress) * length).clamp(taken + extent / 2.0, last);
            taken = center + extent / 2.0;
            left -= extent;
            center
        })
        .collect()
}

/// What each element of a full channel takes along it, head first, and whether it keeps its figure.
///
/// `elements` are extents with a figure and without. Figures go from the tail on; if even then there is too little
/// room, those without overlap, and the first few keep theirs within half of the channel.
#[must_use]
pub fn squeezed(length: f32, elements: &[(f32, f32)]) -> Vec<(f32, bool)> {
    let mut bare: f32 = elements.iter().map(|(_, bare)| bare).sum();
    let mut labelled = 0.0;
    let mut kept = 0;
    for (with, without) in elements {
        let overlapping = labelled + with + (bare - without).min(length / 2.0);
        if overlapping > length {
            break;
        }
        labelled += with;
        bare -= without;
        kept += 1;
    }
    let share = ((length - labelled) / bare.max(f32::MIN_POSITIVE)).min(1.0);
    let extent = |(place, (with, without)): (usize, &(f32, f32))| {
        let is_labelled = place < kept;
        let extent = if is_labelled { *with } else { without * share };
        (extent, is_labelled)
    };
    elements.iter().enumerate().map(extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn waiting_elements_touch_each_other() {
        assert_eq!(
            distances(300.0, &[(1.0, 26.0), (1.0, 22.0), (1.0, 22.0)]),
            [13.0, 37.0, 59.0]
        );
    }

    #[test]
    fn a_travelling_element_is_where_the_clock_says() {
        let places = distances(300.0, &[(0.5, 22.0), (0.25, 22.0)]);
        assert_eq!(places, [150.0, 225.0]);
    }

    #[test]
    fn in_a_full_channel_the_next_few_keep_their_figures() {
        let elements = [(40.0, 20.0); 10];
        let squeezed = squeezed(300.0, &elements);
        let kept = squeezed
            .iter()
            .filter(|(_, is_labelled)| *is_labelled)
            .count();
        assert_eq!(kept, 5);
        assert!(squeezed[..kept].iter().all(|(_, is_labelled)| *is_labelled));
        let total: f32 = squeezed.iter().map(|(extent, _)| extent).sum();
        assert!(total <= 300.01, "{total}");
    }

    #[test]
    fn what_cannot_fit_overlaps_behind_those_with_figures() {
        let squeezed = squeezed(100.0, &[(30.0, 20.0); 20]);
        assert_eq!(squeezed[0], (30.0, true));
        let total: f32 = squeezed.iter().map(|(extent, _)| extent).sum();
        assert!((total - 100.0).abs() < 0.01, "{total}");
    }

    proptest! {
        #[test]
        fn elements_keep_their_order_and_stay_in_the_channel(
            progress in prop::collection::vec(0.0_f32..=1.0, 0..30),
            extent in 5.0_f32..40.0,
        ) {
            let elements: Vec<_> = progress.iter().map(|p| (*p, extent)).collect();
            let places = distances(300.0, &elements);
            for pair in places.windows(2) {
                prop_assert!(pair[0] < pair[1]);
            }
            for place in places {
                prop_assert!((-0.01..=300.01).contains(&place), "{}", place);
            }
        }
    }
}
