//! The program as a shell runs it, the files that it is given, and other programs beside it.
#![allow(dead_code, unused_imports)] // Each test file uses its part.

#[path = "files.rs"]
mod files;
#[allow(clippy::duplicate_mod)]
#[path = "ports.rs"]
mod ports;
#[allow(clippy::duplicate_mod)]
#[path = "signals.rs"]
mod signals;

pub(crate) use files::{Folder, file};
pub(crate) use ports::Port;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::{fs, thread, time::Duration};

/// `ratescope` with these arguments.
pub(crate) fn command(args: &[&str]) -> Command {
    // Tests that need no program share the rest, and are compiled where there is none.
    let mut command = option_env!("CARGO_BIN_EXE_ratescope").map(Command::new).unwrap();
    command.args(args);
    command
}

/// Runs it with `input`, of which it need not read all.
pub(crate) fn run(command: &mut Command, input: impl AsRef<[u8]> + Send) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Apart, as it answers before it has read all.
    thread::scope(|scope| {
        scope.spawn(move || _ = stdin.write_all(input.as_ref()));
        child.wait_with_output().unwrap()
    })
}

/// The output of a run that must succeed.
#[track_caller]
pub(crate) fn printed(command: &mut Command, input: impl AsRef<[u8]> + Send) -> String {
    let output = run(command, input);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A running program; it is killed when this is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Sends it a signal, by its name without SIG.
    pub(crate) fn signal(&self, name: &str) {
        signals::send(self.0.id(), name);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Sends a request, and reads the event stream until all of these texts are in it.
pub(crate) fn listen(stream: &mut TcpStream, request: &str, until: &[&str]) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut said = String::new();
    while !until.iter().all(|part| said.contains(part)) {
        let mut bytes = [0; 4096];
        let n = stream.read(&mut bytes).unwrap();
        assert!(n > 0, "it ended: {said}");
        said.push_str(&String::from_utf8_lossy(&bytes[..n]));
    }
    said
}

/// Starts a server with the `file` that `write` has for a port, and waits until it listens there.
pub(crate) fn start(
    server: &mut Command,
    file: &Path,
    write: impl FnOnce(u16) -> String,
) -> (Running, SocketAddr) {
    let port = Port::hold();
    let at: SocketAddr = port.to_string().parse().unwrap();
    fs::write(file, write(port.number)).unwrap();
    server.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = Running(server.spawn().unwrap());
    while TcpStream::connect(at).is_err() {
        assert!(running.0.try_wait().unwrap().is_none(), "{server:?} ended");
        thread::sleep(Duration::from_millis(5));
    }
    (running, at)
}
