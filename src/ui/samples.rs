//! The jobs under File ▸ Samples: those of the folder `samples/`, built in.

use std::path::Path;

use crate::model::JobGraph;
use crate::project;

/// A sample's name, what it shows, and its file.
pub struct Sample {
    pub name: &'static str,
    pub hint: &'static str,
    text: &'static str,
    /// Data that the job reads: its place below the job's folder, and its content.
    data: &'static [(&'static str, &'static str)],
}

const WEATHER: (&str, &str) = (
    "data/seattle-weather.csv",
    include_str!("../../samples/data/seattle-weather.csv"),
);

/// In the order of the menu.
static ALL: &[Sample] = &[
    Sample {
        name: "odd-even",
        hint: "a crash, and exactly once",
        text: include_str!("../../samples/odd-even.ron"),
        data: &[],
    },
    Sample {
        name: "two-sources",
        hint: "barriers that align",
        text: include_str!("../../samples/two-sources.ron"),
        data: &[],
    },
    Sample {
        name: "windows",
        hint: "late records, a source that ends",
        text: include_str!("../../samples/windows.ron"),
        data: &[],
    },
    Sample {
        name: "weather",
        hint: "a CSV file of real data",
        text: include_str!("../../samples/weather.ron"),
        data: &[WEATHER],
    },
    Sample {
        name: "at-least-once",
        hint: "records behind a barrier count twice",
        text: include_str!("../../samples/at-least-once.ron"),
        data: &[],
    },
    Sample {
        name: "at-least-once-exact",
        hint: "one input each: exact all the same",
        text: include_str!("../../samples/at-least-once-exact.ron"),
        data: &[],
    },
    Sample {
        name: "unaligned",
        hint: "barriers that overtake",
        text: include_str!("../../samples/unaligned.ron"),
        data: &[],
    },
    Sample {
        name: "aligned-timeout",
        hint: "aligned at first, then unaligned",
        text: include_str!("../../samples/aligned-timeout.ron"),
        data: &[],
    },
    Sample {
        name: "backpressure",
        hint: "a slow subtask, a checkpoint that expires",
        text: include_str!("../../samples/backpressure.ron"),
        data: &[],
    },
    Sample {
        name: "stop-the-world",
        hint: "the naive way, for comparison",
        text: include_str!("../../samples/stop-the-world.ron"),
        data: &[],
    },
    Sample {
        name: "two-phase-commit",
        hint: "a crash between completion and commit",
        text: include_str!("../../samples/two-phase-commit.ron"),
        data: &[],
    },
    Sample {
        name: "plain-or-transactional",
        hint: "one crash, three sinks",
        text: include_str!("../../samples/plain-or-transactional.ron"),
        data: &[],
    },
    Sample {
        name: "count-average",
        hint: "ValueState, Flink’s classic",
        text: include_str!("../../samples/count-average.ron"),
        data: &[(
            "data/pairs.csv",
            include_str!("../../samples/data/pairs.csv"),
        )],
    },
    Sample {
        name: "distinct-ttl",
        hint: "MapState whose entries expire",
        text: include_str!("../../samples/distinct-ttl.ron"),
        data: &[],
    },
    Sample {
        name: "broadcast-rules",
        hint: "broadcast state, a buffering sink",
        text: include_str!("../../samples/broadcast-rules.ron"),
        data: &[
            WEATHER,
            (
                "data/limits.csv",
                include_str!("../../samples/data/limits.csv"),
            ),
        ],
    },
    Sample {
        name: "classic-backends",
        hint: "the three backends up to Flink 1.12",
        text: include_str!("../../samples/classic-backends.ron"),
        data: &[],
    },
    Sample {
        name: "memory-over-its-limit",
        hint: "state that outgrows the JobManager’s heap",
        text: include_str!("../../samples/memory-over-its-limit.ron"),
        data: &[],
    },
    Sample {
        name: "incremental",
        hint: "RocksDB uploads what is new, until files are merged",
        text: include_str!("../../samples/incremental.ron"),
        data: &[],
    },
    Sample {
        name: "rescale",
        hint: "stop with a savepoint, go on otherwise",
        text: include_str!("../../samples/rescale.ron"),
        data: &[],
    },
    Sample {
        name: "operator-without-uid",
        hint: "state that is not found again",
        text: include_str!("../../samples/operator-without-uid.ron"),
        data: &[],
    },
];

#[must_use]
pub fn all() -> &'static [Sample] {
    ALL
}

impl Sample {
    /// The job; an empty one if the sample does not parse, which a test rules out.
    #[must_use]
    pub fn job(&self) -> JobGraph {
        let file = format!("{}.ron", self.name);
        project::parse(self.text, &file)
            .map(|loaded| loaded.job)
            .unwrap_or_default()
    }

    /// Data that the job reads: its place below the job's folder, and its content.
    pub fn data(&self) -> impl Iterator<Item = (&'static Path, &'static str)> {
        let files = self.data.iter();
        files.map(|(path, content)| (Path::new(*path), *content))
    }
}

/// The job that an empty window opens.
#[must_use]
pub fn odd_even() -> JobGraph {
    all()[0].job()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::validate;

    #[test]
    fn every_built_in_sample_is_a_job_that_runs() {
        for sample in all() {
            let job = sample.job();
            assert!(!job.vertices.is_empty(), "{} does not parse", sample.name);
            assert_eq!(validate(&job), [], "{}", sample.name);
        }
    }
}
