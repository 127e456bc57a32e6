//! The keyboard. Every shortcut is in one table, which the help shows too.

use egui::{Context, Key, KeyboardShortcut, Modifiers, Popup};

use crate::model::{Command, SavepointFormat};
use crate::run::RunAction;

use super::command::{Dialog, UiCommand};

/// What the help lists: keys and what they do.
pub const HELP: [(&str, &str); 23] = [
    ("F5", "run the job, or leave the run for editing"),
    ("Space", "play or pause"),
    ("→  ←", "one step forward, one step back"),
    ("Shift + →  ←", "to the next or previous barrier event"),
    ("Home  End", "to the beginning, to the newest moment"),
    ("C", "take a checkpoint"),
    ("S", "take a savepoint"),
    ("X", "crash the selected subtask, or point at one"),
    ("R", "restore the latest completed checkpoint"),
    ("F", "fit the picture to the window"),
    ("+  −", "zoom"),
    ("Del", "delete what is selected"),
    ("Ctrl + Z", "undo"),
    ("Ctrl + Y", "redo"),
    ("Ctrl + N", "new job"),
    ("Ctrl + O", "open a job"),
    ("Ctrl + Shift + O", "open a job by its path"),
    ("Ctrl + S", "save the job"),
    ("Ctrl + Shift + S", "save the job as another file"),
    ("Ctrl + Q", "quit"),
    ("Enter", "the main answer of a dialog"),
    ("Esc", "close what is open, else disarm or deselect"),
    ("F1", "this list"),
];

const COMMAND_SHIFT: Modifiers = Modifiers::COMMAND.plus(Modifiers::SHIFT);

/// Take the keys pressed in this frame. `is_running` decides which of them mean something.
pub fn take(ctx: &Context, is_running: bool, commands: &mut Vec<UiCommand>) {
    for (modifiers, key, command) in everywhere() {
        consume(ctx, modifiers, key, command, commands);
    }
    // Plain keys belong to a text field that has the focus; those that move or press, to any widget that has it.
    if ctx.text_edit_focused() {
        return;
    }
    // An open menu takes Escape itself.
    let is_menu_open = Popup::is_any_open(ctx);
    let has_focus = ctx.memory(|memory| memory.focused().is_some());
    let plain = if is_running { running() } else { editing() };
    for (modifiers, key, command) in plain.into_iter().chain(anywhere_plain()) {
        let is_taken = (has_focus && belongs_to_focus(key)) || (is_menu_open && key == Key::Escape);
        if !is_taken {
            consume(ctx, modifiers, key, command, commands);
        }
    }
}

fn belongs_to_focus(key: Key) -> bool {
    matches!(
        key,
        Key::Space | Key::ArrowLeft | Key::ArrowRight | Key::Home | Key::End
    )
}

fn consume(
    ctx: &Context,
    modifiers: Modifiers,
    key: Key,
    command: UiCommand,
    commands: &mut Vec<UiCommand>,
) {
    if ctx.input_mut(|input| input.consume_shortcut(&KeyboardShortcut::new(modifiers, key))) {
        commands.push(command);
    }
}

type Binding = (Modifiers, Key, UiCommand);

fn everywhere() -> Vec<Binding> {
    vec![
        // Those with Shift first: a shortcut without it would take them too.
        (COMMAND_SHIFT, Key::S, UiCommand::SaveAs),
        (COMMAND_SHIFT, Key::O, UiCommand::OpenByPath),
        (COMMAND_SHIFT, Key::Z, UiCommand::Redo),
        (Modifiers::COMMAND, Key::S, UiCommand::Save),
        (Modifiers::COMMAND, Key::O, UiCommand::OpenDialog),
        (Modifiers::COMMAND, Key::N, UiCommand::New),
        (Modifiers::COMMAND, Key::Z, UiCommand::Undo),
        (Modifiers::COMMAND, Key::Y, UiCommand::Redo),
        (Modifiers::COMMAND, Key::Q, UiCommand::Quit),
        (Modifiers::NONE, Key::F1, UiCommand::Show(Dialog::Shortcuts)),
    ]
}

fn anywhere_plain() -> Vec<Binding> {
    vec![
        (Modifiers::NONE, Key::F, UiCommand::Fit),
        (Modifiers::NONE, Key::Plus, UiCommand::ZoomBy(1.2)),
        (Modifiers::NONE, Key::Minus, UiCommand::ZoomBy(1.0 / 1.2)),
        (Modifiers::NONE, Key::Escape, UiCommand::Cancel),
    ]
}

fn editing() -> Vec<Binding> {
    vec![
        (Modifiers::NONE, Key::F5, UiCommand::StartRun),
        (Modifiers::NONE, Key::Delete, UiCommand::DeleteSelected),
        (Modifiers::NONE, Key::Backspace, UiCommand::DeleteSelected),
    ]
}

fn running() -> Vec<Binding> {
    vec![
        (Modifiers::NONE, Key::F5, UiCommand::LeaveRun),
        (Modifiers::NONE, Key::Space, UiCommand::TogglePlay),
        (
            Modifiers::SHIFT,
            Key::ArrowRight,
            UiCommand::Act(RunAction::NextBarrierEvent),
        ),
        (
            Modifiers::SHIFT,
            Key::ArrowLeft,
            UiCommand::Act(RunAction::PreviousBarrierEvent),
        ),
        (
            Modifiers::NONE,
            Key::ArrowRight,
            UiCommand::Act(RunAction::Step),
        ),
        (
            Modifiers::NONE,
            Key::ArrowLeft,
            UiCommand::Act(RunAction::StepBack),
        ),
        (
            Modifiers::NONE,
            Key::End,
            UiCommand::Act(RunAction::SeekEnd),
        ),
        (
            Modifiers::NONE,
            Key::Home,
            UiCommand::Act(RunAction::SeekUs(0)),
        ),
        (
            Modifiers::NONE,
            Key::C,
            UiCommand::Act(RunAction::Command(Command::Checkpoint)),
        ),
        (
            Modifiers::NONE,
            Key::S,
            UiCommand::Act(RunAction::Command(Command::Savepoint {
                format: SavepointFormat::Canonical,
            })),
        ),
        (Modifiers::NONE, Key::X, UiCommand::ArmCrash),
        (
            Modifiers::NONE,
            Key::R,
            UiCommand::Act(RunAction::Command(Command::Restore { checkpoint: None })),
        ),
    ]
}
