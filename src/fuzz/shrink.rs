//! A smaller job that breaks the same law.

use crate::model::{
    CheckpointConfig, CostModel, JobConfig, JobGraph, OperatorSpec, Uid, VertexCosts, validate,
};

/// Tries smaller and smaller jobs as long as `fails` holds for them, at most `budget` of them.
pub fn shrink(job: &JobGraph, budget: usize, mut fails: impl FnMut(&JobGraph) -> bool) -> JobGraph {
    let mut smallest = job.clone();
    let mut left = budget;
    loop {
        let mut improved = false;
        let mut place = 0;
        while let Some(candidate) = candidate(&smallest, place) {
            if left == 0 {
                return smallest;
            }
            place += 1;
            if candidate == smallest || !validate(&candidate).is_empty() {
                continue;
            }
            left -= 1;
            if fails(&candidate) {
                smallest = candidate;
                improved = true;
                // What is now at this place has not been tried yet.
                place -= 1;
            }
        }
        if !improved {
            return smallest;
        }
    }
}

/// The `place`-th of them.
fn candidate(job: &JobGraph, place: usize) -> Option<JobGraph> {
    candidates(job).nth(place)
}

/// Everything that is one simplification away.
fn candidates(job: &JobGraph) -> impl Iterator<Item = JobGraph> + '_ {
    let scripts = (0..job.script.len()).map(|index| without_entry(job, index));
    let removed = job.vertices.iter();
    let removed = removed.map(|vertex| without_vertex(job, &vertex.uid));
    let shorter = (0..job.vertices.len()).flat_map(|index| simpler_vertices(job, index));
    let settings = simpler_settings(job);
    scripts.chain(removed).chain(shorter).chain(settings)
}

fn without_entry(job: &JobGraph, index: usize) -> JobGraph {
    let mut job = job.clone();
    job.script.remove(index);
    job
}

/// Without `uid`, and without everything that gets its records from it alone, or gives its records to it alone.
fn without_vertex(job: &JobGraph, uid: &Uid) -> JobGraph {
    let mut job = job.clone();
    let mut gone = vec![uid.clone()];
    while let Some(uid) = gone.pop() {
        let neighbours: Vec<Uid> = job
            .edges
            .iter()
            .filter(|edge| edge.from == uid)
            .map(|edge| edge.to.clone())
            .collect();
        job.vertices.retain(|vertex| vertex.uid != uid);
        job.edges.retain(|edge| edge.from != uid && edge.to != uid);
        let orphans = neighbours.into_iter();
        gone.extend(orphans.filter(|uid| job.inputs_of(uid).next().is_none()));
    }
    job
}

fn simpler_vertices(job: &JobGraph, index: usize) -> Vec<JobGraph> {
    let mut simpler = Vec::new();
    let mut with = |edit: &dyn Fn(&mut JobGraph)| {
        let mut job = job.clone();
        edit(&mut job);
        simpler.push(job);
    };
    with(&|job| job.vertices[index].parallelism = 1);
    with(&|job| job.vertices[index].costs = VertexCosts::default());
    with(&|job| job.vertices[index].max_parallelism = None);
    with(&|job| {
        if let OperatorSpec::Source(source) = &mut job.vertices[index].operator {
            source.end = source.end.map(|end| end / 2);
        }
    });
    with(&|job| {
        if let OperatorSpec::Source(source) = &mut job.vertices[index].operator {
            source.splits = None;
            source.pause = None;
        }
    });
    simpler
}

fn simpler_settings(job: &JobGraph) -> Vec<JobGraph> {
    let defaults = JobConfig::default();
    let usual = CheckpointConfig::default();
    let mut simpler = Vec::new();
    let mut with = |edit: &dyn Fn(&mut JobConfig)| {
        let mut job = job.clone();
        edit(&mut job.config);
        simpler.push(job);
    };
    with(&|config| config.costs = CostModel::default());
    with(&|config| config.checkpointing.interval_ms = None);
    with(&|config| config.checkpointing.timeout_ms = usual.timeout_ms);
    with(&|config| config.checkpointing.min_pause_ms = 0);
    with(&|config| config.checkpointing.max_concurrent = 1);
    with(&|config| config.checkpointing.retained = 1);
    with(&|config| config.checkpointing.aligned_timeout_ms = 0);
    with(&|config| config.checkpointing.retention = usual.retention);
    with(&|config| config.backend = defaults.backend);
    with(&|config| config.storage = defaults.storage);
    with(&|config| config.failover = defaults.failover);
    with(&|config| config.channel_capacity = defaults.channel_capacity);
    with(&|config| config.slots_per_task_manager = 1);
    with(&|config| config.seed = 1);
    simpler
}
