//! A seed becomes a job: a small graph, settings, and a script of commands and faults.
//!
//! Jobs are small, since what breaks an engine is the order of things and not their number: few records, but costs and
//! rates at which everything meets everything. Every job is valid, and bounded unless its script ends it.

mod graph;
mod script;
mod settings;

use super::chance::Chance;
use crate::model::JobGraph;

/// The job of `seed`.
#[must_use]
pub fn job(seed: u64) -> JobGraph {
    // Neighbouring seeds must not be neighbouring states of the generator.
    let mut chance = Chance::new(seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1));
    let mut job = JobGraph {
        name: format!("seed {seed}"),
        ..JobGraph::default()
    };
    graph::add(&mut chance, &mut job);
    settings::set(&mut chance, &mut job);
    script::write(&mut chance, &mut job);
    let mut apart = Chance::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(2));
    script::add_plot(&mut apart, &mut job);
    settings::add_state(&mut apart, &mut job);
    script::add_legacy(&mut apart, &mut job);
    job
}

/// A script for a job that has none.
pub(super) fn write_script(chance: &mut Chance, job: &mut JobGraph) {
    script::write(chance, job);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::validate;

    /// Breaks if the generator makes a job that a person could not run.
    #[test]
    fn every_seed_is_a_valid_job() {
        for seed in 0..2_000 {
            assert_eq!(validate(&job(seed)), [], "seed {seed}");
        }
    }

    #[test]
    fn a_seed_is_always_the_same_job_and_another_is_another() {
        assert_eq!(job(7), job(7));
        assert_ne!(job(7), job(8));
    }
}
