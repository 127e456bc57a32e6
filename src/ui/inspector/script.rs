//! What the job's script will do, and when. It is written in the job file; here it is read.

use egui::Ui;

use crate::model::JobGraph;

use super::super::figures::count;
use super::super::phrases::{command_words, when_words};
use super::super::settings::group;
use super::super::widgets::{figure, small_print};

pub fn script_ui(ui: &mut Ui, job: &JobGraph) {
    if job.script.is_empty() {
        return;
    }
    let commands = count(job.script.len() as u64, "command");
    group(ui, "Script", &commands, |ui| {
        for entry in &job.script {
            let (when, what) = (
                when_words(job, &entry.when),
                command_words(job, &entry.command),
            );
            figure(ui, &when, &what);
        }
        small_print(
            ui,
            "Flags on the timeline: filled where a command was carried out, hollow where one is due. Edit it in the \
             job file.",
        );
    });
}
