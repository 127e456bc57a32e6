//! Law 31: windows and the timers that fire them.

use super::{History, Violation, violation};
use crate::engine::event::{EventKind, JobStatus};
use crate::model::{EventTime, OperatorSpec, SubtaskId, TimeWindow};

/// Breaks if a window fires before its time or not at all, takes a record after it has fired, or if a record is dropped
/// as late that is not.
pub fn windows(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let begin = EventTime(i64::MIN);
    let mut watermarks = vec![begin; history.plan.subtasks.len()];
    for (at, event) in history.events.iter().enumerate() {
        let (subtask, window, must_be_past) = match &event.kind {
            EventKind::Restored { subtask, .. } => {
                watermarks[subtask.index()] = begin;
                continue;
            }
            EventKind::WatermarkAdvanced { subtask, watermark } => {
                let now = &mut watermarks[subtask.index()];
                if *watermark <= *now {
                    let name = history.plan.subtask_name(*subtask);
                    let text = format!("the watermark of {name} does not rise");
                    found.push(violation(31, at, text));
                }
                *now = *watermark;
                continue;
            }
            EventKind::WindowChanged {
                subtask, window, ..
            } => (*subtask, *window, false),
            EventKind::WindowFired {
                subtask, window, ..
            } => (*subtask, *window, true),
            EventKind::LateDropped { subtask, record } => {
                let Some(size_ms) = size_ms(history, *subtask) else {
                    continue;
                };
                (
                    *subtask,
                    TimeWindow::tumbling(record.event_time, size_ms),
                    true,
                )
            }
            _ => continue,
        };
        let is_past = window.max_timestamp() <= watermarks[subtask.index()];
        if is_past != must_be_past {
            let name = history.plan.subtask_name(subtask);
            let what = if is_past { "is over" } else { "is not over" };
            let text = format!("window {window} at {name} {what} when this happens");
            found.push(violation(31, at, text));
        }
    }
    found.extend(left_over(history));
    found
}

fn size_ms(history: &History, subtask: SubtaskId) -> Option<u64> {
    match &history.plan.subtask(subtask).operator {
        OperatorSpec::Window(spec) => Some(spec.size_ms),
        _ => None,
    }
}

/// At the end of all data every window fires; a drain is such an end.
fn left_over(history: &History) -> Option<Violation> {
    if history.status != JobStatus::Finished || super::ending::is_stopped_undrained(history) {
        return None;
    }
    let held = |(index, task): (usize, &crate::fuzz::history::Task)| {
        let mut cells = task.image.cells.keys();
        let window = cells.find_map(|(window, _)| *window)?;
        Some((index, window))
    };
    let (index, window) = history.tasks.iter().enumerate().find_map(held)?;
    let name = history.plan.subtask_name(history.plan.subtasks[index].id);
    let text = format!("the job has ended, but window {window} at {name} has not fired");
    Some(violation(31, history.events.len().saturating_sub(1), text))
}
