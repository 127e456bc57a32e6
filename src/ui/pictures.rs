//! Draws whole windows from fixtures, so that the picture can be looked at without a run.
//!
//! With `LOCKGATE_PICTURES=folder` the pictures are written there; without, the tests only check that drawing works
//! at all sizes and in all themes.

use egui::{CentralPanel, Frame, Vec2, vec2};
use egui_kittest::Harness;

use crate::model::BackendKind;
use crate::recording::{Ledger, Open, Tally};

use super::app::{bar_panel, inspector_panel, views_panel};
use super::canvas::run::{RunCanvas, RunCanvasView};
use super::command::{Selection, Tab};
use super::fixture::{Moment, two_sources};
use super::fonts;
use super::inspector::RunInspector;
use super::menu::ViewFacts;
use super::panels::{PanelView, panels_ui};
use super::theme::{self, Theme, ThemeChoice, ThemeKind};
use super::timeline::index::{CheckpointBar, TimelineIndex};
use super::topbar::{RunFacts, TopBar};
use crate::model::{ChannelId, CheckpointId};

struct Picture {
    moment: Moment,
    canvas: RunCanvas,
    selection: Selection,
    kind: ThemeKind,
}

fn index_of(moment: &Moment) -> TimelineIndex {
    let mut index = TimelineIndex::default();
    index.end_us = moment.clock_us;
    index.bins = (0..94_u32)
        .map(|i| (i * 7919 % 13) % 5 + u32::from(i % 3 == 0))
        .collect();
    for checkpoint in moment.view.checkpoints.values() {
        let snapshot = checkpoint.subtasks.values().next();
        let bar = CheckpointBar {
            triggered_us: checkpoint.triggered_us,
            first_blocked_us: snapshot.and_then(|snapshot| snapshot.first_barrier_us),
            last_captured_us: snapshot.and_then(|snapshot| snapshot.captured_us),
            sync_end_us: snapshot.and_then(|snapshot| snapshot.sync_until_us),
            decided_us: checkpoint.decided_us,
            must_ack: 1,
            captured: usize::from(checkpoint.decided_us.is_some()),
            ..CheckpointBar::default()
        };
        index.checkpoints.insert(checkpoint.id, bar);
    }
    index
}

impl Picture {
    fn ui(&mut self, ui: &mut egui::Ui) {
        theme::install(ui.ctx(), self.kind, false);
        let mut commands = Vec::new();
        let scene = self.moment.scene();
        let index = index_of(&self.moment);
        bar_panel(ui, |ui| {
            let bar = TopBar {
                can_return: false,
                has_selection: false,
                title: "two-sources",
                is_dirty: true,
                can_undo: true,
                can_redo: false,
                run: Some(RunFacts {
                    has_past: true,
                    has_future: true,
                    is_broken: false,
                    is_playing: true,
                    speed: 1.0,
                    is_over: false,
                    is_failed: false,
                    restorable: vec![CheckpointId(2), CheckpointId(1)],
                    acts: super::acts::ActFacts::of(scene, &self.selection),
                }),
                hindrance: None,
                backend: BackendKind::Heap,
                is_armed: false,
                view: ViewFacts {
                    theme: ThemeChoice::Dark,
                    reduced_motion: false,
                    inspector: true,
                    timeline: true,
                },
            };
            bar.ui(ui, &mut commands);
        });
        views_panel(ui, Tab::Timeline, |ui| {
            let view = PanelView {
                scene,
                index: &index,
                run: None,
                selection: &self.selection,
                tab: Tab::Timeline,
                sentence: "input a of sum 1/2 blocked by barrier 3",
            };
            panels_ui(ui, &view, &mut commands);
        });
        let tally = Tally {
            zero: 10,
            once: 7,
            more: 0,
        };
        let ledger = Ledger {
            emitted: 17,
            state: Some(tally),
            output: Some(tally),
            uncommitted: 0,
            open: Open {
                in_flight: 10,
                ..Open::default()
            },
            late: 0,
        };
        let inspector = RunInspector {
            scene,
            keys: &self.canvas.keys,
            ledger: &ledger,
            parts: None,
            twice: &[],
            selection: &self.selection,
            is_playing: true,
            storage: None,
        };
        inspector_panel(ui, |ui| inspector.ui(ui, &mut commands));
        let ground = Theme::of(ui.ctx()).ground;
        CentralPanel::no_frame()
            .frame(Frame::new().fill(ground))
            .show(ui, |ui| {
                let view = RunCanvasView {
                    scene,
                    selection: &self.selection,
                    is_armed: false,
                    reduced_motion: false,
                    is_playing: false,
                };
                self.canvas.ui(ui, view, &mut commands);
            });
    }
}

fn draw(name: &str, size: Vec2, kind: ThemeKind, selection: Selection, moment: Moment) {
    let picture = Picture {
        moment,
        canvas: RunCanvas::default(),
        selection,
        kind,
    };
    let mut harness = Harness::builder()
        .with_size(size)
        .with_context_setup(fonts::install)
        .build_ui_state(|ui, picture: &mut Picture| picture.ui(ui), picture);
    harness.run_steps(4);
    if let Some(folder) = std::env::var_os("LOCKGATE_PICTURES") {
        let image = harness.render().expect("a renderer");
        let path = std::path::Path::new(&folder).join(format!("{name}.png"));
        image.save(path).expect("the picture is written");
    }
}

#[test]
fn the_running_window_is_drawn_in_every_theme_and_size() {
    for (theme, kind) in [
        ("dark", ThemeKind::Dark),
        ("light", ThemeKind::Light),
        ("contrast", ThemeKind::HighContrast),
    ] {
        for (size_name, size) in [
            ("1440", vec2(1440.0, 900.0)),
            ("1280", vec2(1280.0, 720.0)),
            ("960", vec2(960.0, 600.0)),
        ] {
            let name = format!("running-{theme}-{size_name}");
            draw(
                &name,
                size,
                kind,
                Selection::Channel(ChannelId(0)),
                two_sources(),
            );
        }
    }
}
