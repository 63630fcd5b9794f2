//! The commands that list things: limiters, completions and the manual.

use super::shell::Folder;
use super::{command, decisions, printed, text};
use ratescope::limit::any::FORMS;

/// One line for each form, and each is one that can be simulated.
#[test]
fn the_limiters_are_listed() {
    let printed = printed(&mut command(&["limiters"]), "");
    let forms: Vec<&str> = printed.lines().map(|line| line.split("  ").next().unwrap()).collect();
    // And a policy of several limits.
    assert_eq!(forms.len(), FORMS.len() + 1);
    assert_eq!(forms[0], "fixed-window 10/1m");
    assert_eq!(decisions(&forms, "time\n0\n").len(), forms.len());
}

/// Each command is completed, and has a page of the manual that names its options.
#[test]
fn shells_and_manuals_know_each_command() {
    let script = printed(&mut command(&["completions", "bash"]), "");
    let pages = Folder::new("manual");
    printed(command(&["manual"]).arg(&pages.0), "");
    for (name, option) in [("simulate", "key"), ("tune", "untouched"), ("serve", "port")] {
        assert!(script.contains(&format!("ratescope__subcmd__{name})")), "{script}");
        assert!(script.contains(&format!("--{option}")), "{option}");
        let page = std::fs::read_to_string(pages.path(&format!("ratescope-{name}.1"))).unwrap();
        assert!(page.contains(option), "{page}");
    }
    let nowhere = command(&["manual", "/nowhere"]).output().unwrap();
    assert_eq!(text(&nowhere.stderr), "error: /nowhere: No such file or directory\n");
    assert_eq!(nowhere.status.code(), Some(1));
    assert_eq!(command(&["completions", "nosh"]).status().unwrap().code(), Some(2));
}
