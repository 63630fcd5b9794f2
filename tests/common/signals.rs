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
    assert!(said.status.success(), "there is no process {id}");
    said.stdout.trim_ascii().starts_with(b"T")
}
