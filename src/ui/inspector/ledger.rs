//! The account of all source records: the same at the end of every run view.

use egui::{Color32, RichText, Ui, vec2};

use crate::engine::event::JobStatus;
use crate::recording::{Ledger, Tally};

use super::super::figures::list;
use super::super::paint::dot;
use super::super::scene::Scene;
use super::super::theme::{Theme, semibold};
use super::super::widgets::{plate_line, section, sentence};
use super::RunInspector;

pub fn ledger_ui(ui: &mut Ui, inspector: &RunInspector<'_>) {
    let theme = Theme::of(ui.ctx());
    section(ui, "Ledger");
    egui::Frame::new()
        .fill(theme.card)
        .stroke(plate_line(theme))
        .corner_radius(6)
        .inner_margin(egui::Margin::symmetric(14, 12))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 6.0;
            let status = &inspector.scene.view.job;
            let Some([down, up]) = &inspector.parts else {
                part_ui(ui, inspector, inspector.ledger, status);
                return;
            };
            let name = region_name(inspector.scene);
            sentence(ui, &format!("{name}:"), theme.text_soft);
            part_ui(ui, inspector, down, status);
            ui.add_space(4.0);
            sentence(ui, "What works on:", theme.text_soft);
            part_ui(ui, inspector, up, &JobStatus::Running);
        });
}

/// The account of `ledger`, and what it comes to.
fn part_ui(ui: &mut Ui, inspector: &RunInspector<'_>, ledger: &Ledger, status: &JobStatus) {
    let theme = Theme::of(ui.ctx());
    sentence(ui, &account(ledger, status), theme.text);
    if let Some((tone, words)) = verdict(ledger, status) {
        verdict_ui(ui, tone.color(theme), &words);
        if tone == Tone::Wrong {
            sentence(ui, &named(inspector), theme.error);
        }
    }
}

/// `The region that restarts (a 1/2, sum 1/2)`.
fn region_name(scene: Scene<'_>) -> String {
    let down = scene.down_region();
    let names = down
        .iter()
        .take(NAMED)
        .map(|id| scene.plan.subtask_name(*id));
    let names: Vec<String> = names.collect();
    match down.len().saturating_sub(names.len()) {
        0 => format!("The region that restarts ({})", names.join(", ")),
        more => format!(
            "The region that restarts ({} and {more} more)",
            names.join(", ")
        ),
    }
}

/// So many subtasks of a region are called by their names.
const NAMED: usize = 4;

/// Which records count more than once: `a@7, a@9 and 3 more`.
fn named(inspector: &RunInspector<'_>) -> String {
    let twice = inspector.twice;
    let names: Vec<String> = twice
        .iter()
        .map(|origin| inspector.scene.origin_label(*origin))
        .collect();
    let all = inspector.ledger.state.map_or(0, |tally| tally.more);
    match all.saturating_sub(names.len() as u64) {
        0 => format!("{}.", list(&names)),
        more => format!("{} and {more} more.", names.join(", ")),
    }
}

fn verdict_ui(ui: &mut Ui, color: Color32, words: &str) {
    ui.horizontal_top(|ui| {
        let (slot, _) = ui.allocate_exact_size(vec2(10.0, 18.0), egui::Sense::hover());
        dot(ui.painter(), slot.center(), 5.0, color);
        let words = RichText::new(words).font(semibold(12.5)).color(color);
        ui.add(egui::Label::new(words).wrap());
    });
}

/// Where all emitted records are.
fn account(ledger: &Ledger, status: &JobStatus) -> String {
    let emitted = format!("{} emitted", ledger.emitted);
    let (tally, done) = match (ledger.state, ledger.output) {
        (Some(tally), _) => (tally, "counted once"),
        (None, Some(tally)) => (tally, "out once"),
        (None, None) => return emitted,
    };
    let once = format!("{} {done}", tally.once);
    let mut parts = vec![emitted];
    match (lost(status), ledger.state) {
        // A sum's state is gone with its subtasks; what a sink has put out is not.
        (Some(words), Some(_)) => parts.push(words.to_owned()),
        (Some(_), None) => {
            parts.push(once);
            push_some(&mut parts, tally.zero, "lost on their way");
        }
        (None, _) => {
            parts.push(once);
            push_some(&mut parts, ledger.late, "dropped as late");
            push_open(&mut parts, ledger, status);
        }
    }
    parts.join(" · ")
}

fn push_open(parts: &mut Vec<String>, ledger: &Ledger, status: &JobStatus) {
    let open = ledger.open;
    push_some(parts, open.partly, "not everywhere yet");
    push_some(parts, open.uncommitted, "not committed yet");
    if *status == JobStatus::Running || open.in_flight > 0 {
        parts.push(format!("{} in flight", open.in_flight));
    }
    let again = match status {
        JobStatus::Finished => "never counted",
        _ => "to be read again",
    };
    push_some(parts, open.to_be_read, again);
}

fn push_some(parts: &mut Vec<String>, count: u64, words: &str) {
    if count > 0 {
        parts.push(format!("{count} {words}"));
    }
}

/// What has become of the state, while no subtask holds it.
fn lost(status: &JobStatus) -> Option<&'static str> {
    match status {
        JobStatus::Running | JobStatus::Finished => None,
        JobStatus::Restarting { .. } => Some("state is lost until a restore"),
        JobStatus::Restoring { from: Some(_) } => Some("state is being read back"),
        JobStatus::Restoring { from: None } => Some("starting afresh, without state"),
        JobStatus::Canceled | JobStatus::Failed { .. } | JobStatus::Suspended => {
            Some("the state went with the job")
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Good,
    Doubled,
    Wrong,
}

impl Tone {
    fn color(self, theme: &Theme) -> Color32 {
        match self {
            Self::Good => theme.ok,
            Self::Doubled => theme.warn,
            Self::Wrong => theme.error,
        }
    }
}

/// Whether anything counts more than once. None: there is nothing to judge.
fn verdict(ledger: &Ledger, status: &JobStatus) -> Option<(Tone, String)> {
    let more = |tally: Option<Tally>| tally.map_or(0, |tally| tally.more);
    let is_lost = ledger.state.is_some() && lost(status).is_some();
    let doubled = |n: u64| format!("{n} out of the sink more than once, as a plain sink does");
    match (more(ledger.state), more(ledger.output)) {
        (_, 0) if is_lost => None,
        (_, n) if is_lost => Some((Tone::Doubled, doubled(n))),
        (0, 0) if *status == JobStatus::Finished => Some((Tone::Good, "exactly once".to_owned())),
        (0, 0) => Some((Tone::Good, "exactly once so far".to_owned())),
        (0, n) if ledger.state.is_some() => Some((
            Tone::Doubled,
            format!("state exactly once · {}", doubled(n)),
        )),
        (0, n) => Some((Tone::Doubled, doubled(n))),
        (n, _) => Some((Tone::Wrong, format!("{n} counted more than once"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Origin, SplitId};
    use crate::recording::Open;
    use crate::ui::command::Selection;
    use crate::ui::fixture::two_sources;
    use crate::ui::scene::KeyColors;

    fn ledger() -> Ledger {
        let tally = |zero, once, more| Some(Tally { zero, once, more });
        Ledger {
            emitted: 230,
            state: tally(151, 79, 0),
            output: tally(151, 79, 0),
            open: Open {
                in_flight: 2,
                to_be_read: 149,
                ..Open::default()
            },
            uncommitted: 0,
            late: 0,
        }
    }

    #[test]
    fn only_what_is_in_a_channel_is_in_flight() {
        assert_eq!(
            account(&ledger(), &JobStatus::Running),
            "230 emitted · 79 counted once · 2 in flight · 149 to be read again"
        );
    }

    #[test]
    fn a_failed_job_counts_nothing() {
        let cause = "sum 1/2 crashed".to_owned();
        let failed = JobStatus::Restarting { cause };
        assert_eq!(
            account(&ledger(), &failed),
            "230 emitted · state is lost until a restore"
        );
        assert_eq!(verdict(&ledger(), &failed), None);
    }

    #[test]
    fn a_finished_job_is_exactly_once_for_good() {
        let mut ledger = ledger();
        ledger.state = Some(Tally {
            zero: 0,
            once: 230,
            more: 0,
        });
        ledger.open = Open::default();
        assert_eq!(
            account(&ledger, &JobStatus::Finished),
            "230 emitted · 230 counted once"
        );
        let (_, words) = verdict(&ledger, &JobStatus::Finished).unwrap();
        assert_eq!(words, "exactly once");
    }

    #[test]
    fn records_that_count_twice_are_named() {
        let moment = two_sources();
        let origin = |split, offset| Origin {
            split: SplitId(split),
            offset,
        };
        let mut ledger = ledger();
        ledger.state = Some(Tally {
            zero: 0,
            once: 10,
            more: 5,
        });
        let mut inspector = RunInspector {
            scene: moment.scene(),
            keys: &KeyColors::default(),
            ledger: &ledger,
            parts: None,
            twice: &[origin(0, 7), origin(1, 9)],
            selection: &Selection::None,
            is_playing: false,
            storage: None,
        };
        assert_eq!(named(&inspector), "a@7, b@9 and 3 more.");
        let fewer = Ledger {
            state: Some(Tally {
                zero: 0,
                once: 13,
                more: 2,
            }),
            ..ledger
        };
        inspector.ledger = &fewer;
        assert_eq!(named(&inspector), "a@7 and b@9.");
    }

    #[test]
    fn a_record_on_its_way_through_a_chain_of_sums_is_not_lost() {
        let mut ledger = ledger();
        ledger.open = Open {
            in_flight: 100,
            partly: 51,
            ..Open::default()
        };
        assert_eq!(
            account(&ledger, &JobStatus::Running),
            "230 emitted · 79 counted once · 51 not everywhere yet · 100 in flight"
        );
    }
}
