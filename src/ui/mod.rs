//! The window: draws a view and returns commands.
//!
//! May know: everything below it (run, recording, engine's vocabulary, model, project). Must not: change a run or a
//! job but by its commands, wait for the engine, or touch the disk outside [`files`].
//!
//! **The map.** [`app`] holds what there is; widgets read it and push [`command::UiCommand`]s; `apply` carries them
//! out. While editing, the canvas draws the [`document`]; while running, everything comes from one [`scene::Scene`]:
//! the picture ([`canvas`]), the words ([`explain`]), the inspector, the timeline. Colours and type are in [`theme`]
//! and nowhere else.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "points and pixels: small, finite, and rounded anyway"
)]

mod acts;
pub mod app;
mod apply;
mod canvas;
pub mod command;
mod dialogs;
pub mod document;
mod edits;
pub mod explain;
mod figures;
mod files;
#[cfg(test)]
mod fixture;
mod fonts;
mod icon;
mod icons;
mod inspector;
mod menu;
mod paint;
mod panels;
mod passing;
mod phrases;
#[cfg(test)]
mod pictures;
mod run_from;
mod runs;
mod samples;
pub mod scene;
mod session;
mod settings;
mod shortcuts;
pub mod theme;
mod timeline;
mod topbar;
mod transport;
mod trouble;
mod widgets;

use std::path::PathBuf;

use crate::model::JobGraph;

pub use app::LockgateApp;

/// What the window opens with.
pub enum Opening {
    /// The built-in sample.
    Sample,
    /// A job and the file it came from.
    Job(Box<JobGraph>, PathBuf),
    /// The built-in sample, and the sentence why it is not the job that was asked for.
    Trouble(String),
}

/// Open the window. Returns when it is closed.
///
/// # Errors
/// When no window can be opened.
pub fn run(opening: Opening) -> eframe::Result {
    let (job, trouble) = match opening {
        Opening::Sample => (None, None),
        Opening::Job(job, path) => (Some((*job, path)), None),
        Opening::Trouble(text) => (None, Some(text)),
    };
    let viewport = egui::ViewportBuilder::default()
        .with_title("Lockgate")
        .with_app_id("lockgate")
        .with_inner_size([1440.0, 900.0])
        .with_min_inner_size([960.0, 600.0])
        .with_icon(icon::app_icon());
    let options = eframe::NativeOptions {
        viewport,
        ..Default::default()
    };
    eframe::run_native(
        "lockgate",
        options,
        Box::new(|cc| {
            let mut app = LockgateApp::new(&cc.egui_ctx, job);
            if let Some(text) = trouble {
                app.tell_not_opened(text);
            }
            Ok(Box::new(app))
        }),
    )
}
