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
    data: Option<(&'static str, &'static str)>,
}

#[must_use]
pub fn all() -> &'static [Sample] {
    &[
        Sample {
            name: "odd-even",
            hint: "a crash, and exactly once",
            text: include_str!("../../samples/odd-even.ron"),
            data: None,
        },
        Sample {
            name: "two-sources",
            hint: "barriers that align",
            text: include_str!("../../samples/two-sources.ron"),
            data: None,
        },
        Sample {
            name: "windows",
            hint: "late records, a source that ends",
            text: include_str!("../../samples/windows.ron"),
            data: None,
        },
        Sample {
            name: "weather",
            hint: "a CSV file of real data",
            text: include_str!("../../samples/weather.ron"),
            data: Some((
                "data/seattle-weather.csv",
                include_str!("../../samples/data/seattle-weather.csv"),
            )),
        },
        Sample {
            name: "at-least-once",
            hint: "records behind a barrier count twice",
            text: include_str!("../../samples/at-least-once.ron"),
            data: None,
        },
        Sample {
            name: "at-least-once-exact",
            hint: "one input each: exact all the same",
            text: include_str!("../../samples/at-least-once-exact.ron"),
            data: None,
        },
        Sample {
            name: "unaligned",
            hint: "barriers that overtake",
            text: include_str!("../../samples/unaligned.ron"),
            data: None,
        },
        Sample {
            name: "aligned-timeout",
            hint: "aligned at first, then unaligned",
            text: include_str!("../../samples/aligned-timeout.ron"),
            data: None,
        },
        Sample {
            name: "backpressure",
            hint: "a slow subtask, a checkpoint that expires",
            text: include_str!("../../samples/backpressure.ron"),
            data: None,
        },
        Sample {
            name: "stop-the-world",
            hint: "the naive way, for comparison",
            text: include_str!("../../samples/stop-the-world.ron"),
            data: None,
        },
        Sample {
            name: "two-phase-commit",
            hint: "a crash between completion and commit",
            text: include_str!("../../samples/two-phase-commit.ron"),
            data: None,
        },
        Sample {
            name: "plain-or-transactional",
            hint: "one crash, three sinks",
            text: include_str!("../../samples/plain-or-transactional.ron"),
            data: None,
        },
        Sample {
            name: "rescale",
            hint: "stop with a savepoint, go on otherwise",
            text: include_str!("../../samples/rescale.ron"),
            data: None,
        },
        Sample {
            name: "operator-without-uid",
            hint: "state that is not found again",
            text: include_str!("../../samples/operator-without-uid.ron"),
            data: None,
        },
    ]
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
    #[must_use]
    pub fn data(&self) -> Option<(&'static Path, &'static str)> {
        self.data.map(|(path, content)| (Path::new(path), content))
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
