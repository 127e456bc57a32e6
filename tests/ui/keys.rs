//! What Enter and Escape do, and what is typed over.

use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use lockgate::ui::command::UiCommand;

use super::{click, click_part, command, is_disabled, press, shows, window};

#[test]
fn a_path_is_typed_over_and_enter_saves() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("typed.ron");
    let mut window = window();
    command(&mut window, UiCommand::SaveByPath);
    assert!(!shows(&window, "You can also drop"));
    // No click: the field has the focus, and all of it is selected.
    window.event(egui::Event::Text(path.display().to_string()));
    window.run_steps(2);
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(!shows(&window, "Save the job"));
    assert!(path.is_file());
    command(&mut window, UiCommand::New);
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::O);
    assert!(shows(&window, "You can also drop"));
    window.event(egui::Event::Text(path.display().to_string()));
    window.run_steps(2);
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(!window.state().job().vertices.is_empty());
}

#[test]
fn escape_closes_a_menu_before_it_disarms() {
    let mut window = window();
    click(&mut window, "Run");
    click(&mut window, "Crash");
    click(&mut window, "View");
    assert!(shows(&window, "Fit to window"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!shows(&window, "Fit to window"));
    assert!(window.state().is_armed());
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!window.state().is_armed());
}

#[test]
fn delete_needs_a_selection() {
    let mut window = window();
    click(&mut window, "Edit");
    assert!(is_disabled(&window, "Delete Del"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    click_part(&mut window, "sum (");
    click(&mut window, "Edit");
    assert!(!is_disabled(&window, "Delete Del"));
}

#[test]
fn every_key_is_in_the_list() {
    let mut window = window();
    press(&mut window, Modifiers::NONE, Key::F1);
    for key in ["Home", "Ctrl + Shift + O", "Ctrl + Q"] {
        assert!(shows(&window, key), "{key} is not in the list");
    }
}

#[test]
fn a_csv_file_can_be_chosen_in_a_dialog() {
    let mut window = window();
    click(&mut window, "Add CSV source");
    assert!(window.query_by_label("Choose…").is_some());
}

#[test]
fn a_file_that_cannot_be_opened_at_the_start_is_told_in_the_window() {
    let mut window = window();
    let text = "there/job.ron cannot be read.".to_owned();
    window.state_mut().tell_not_opened(text);
    window.run_steps(2);
    assert!(shows(&window, "there/job.ron cannot be read."));
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(shows(&window, "sum (keyed sum)"));
}
