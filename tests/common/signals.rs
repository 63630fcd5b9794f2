//! Signals to other programs.

use std::process::Command;

/// Sends a process a signal, by its name without SIG. After `STOP`, waits until the process has stopped: it may be answering
/// still when the signal is sent.
pub(crate) fn send(id: u32, name: &str) {
    let id = id.to_string();
    assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    if name == "STOP" {
        while !is_stopped(&id) {}
    }
}

fn is_stopped(id: &str) -> bool {
    let said = Command::new("ps").args(["-o", "state=", "-p", id]).output().unwrap();
    let state = said.stdout.trim_ascii();
    // Z: it has ended, and nobody has waited for it yet.
    assert!(said.status.success() && !state.starts_with(b"Z"), "there is no process {id}");
    state.starts_with(b"T")
}
