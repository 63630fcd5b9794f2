//! Real servers as values that end with the test.

#![allow(dead_code, unused_imports)] // Each test file uses its part.

#[allow(clippy::duplicate_mod)]
#[path = "../../../../../tests/common/ports.rs"]
mod ports;
#[allow(clippy::duplicate_mod)]
#[path = "../../../../../tests/common/signals.rs"]
mod signals;

pub(crate) use ports::Port;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long to wait for something that should be there in a moment.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The server program: `redis-server`, or the one that the environment variable REDIS_SERVER names.
fn server() -> Command {
    Command::new(std::env::var_os("REDIS_SERVER").unwrap_or("redis-server".into()))
}

/// Its command line, which makes a cluster of servers: `redis-cli`, or the program that REDIS_CLI names.
pub(crate) fn command_line() -> Command {
    Command::new(std::env::var_os("REDIS_CLI").unwrap_or("redis-cli".into()))
}

/// A Redis of this test.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    /// Also while the process is killed and starts again.
    _held: Port,
    folder: PathBuf,
}

impl Server {
    /// `None`, with a word why, where there is no redis-server; in CI there must be one.
    pub(crate) fn start(arguments: &[&str]) -> Option<Server> {
        if server().arg("--version").stdout(Stdio::null()).status().is_err() {
            assert!(
                std::env::var_os("CI").is_none(),
                "no redis-server: ./scripts/test installs it"
            );
            eprintln!("no redis-server: passed over");
            return None;
        }
        Some(Server::at(Port::hold(), arguments))
    }

    /// A sentinel with this configuration, which it changes. Only where servers start.
    pub(crate) fn sentinel(configuration: &str) -> Server {
        Server::begin(Port::hold(), &["--sentinel"], configuration)
    }

    /// On this port. Only where servers start.
    pub(crate) fn at(port: Port, arguments: &[&str]) -> Server {
        Server::begin(port, arguments, "")
    }

    fn begin(held: Port, arguments: &[&str], configuration: &str) -> Server {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("ratescope-redis-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("redis.conf"), configuration).unwrap();
        let port = held.number;
        let process = begin(port, &folder, arguments);
        let mut server = Server { process, port, _held: held, folder };
        server.until("+PONG");
        server
    }

    /// Begins again where it was, with the data in its folder.
    pub(crate) fn restart(&mut self, arguments: &[&str]) {
        self.process = begin(self.port, &self.folder, arguments);
        self.until("+PONG");
    }

    /// Begins again, and waits until it loads the data in its folder.
    pub(crate) fn restart_loading(&mut self, arguments: &[&str]) {
        self.process = begin(self.port, &self.folder, arguments);
        self.until("-LOADING");
    }

    /// Waits until it answers a PING with this, and is the process that was started.
    fn until(&mut self, pong: &str) {
        let own = format!("process_id:{}\r\n", self.pid());
        let begun = Instant::now();
        while !(self.try_command(&["PING"]).is_ok_and(|said| said.contains(pong))
            && self.info("server").contains(&own))
        {
            let ended = self.process.try_wait().unwrap();
            assert!(ended.is_none(), "it ends: {ended:?}");
            assert!(begun.elapsed() < 3 * PATIENCE, "it does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends it at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Sends it a signal, as in `STOP` or `CONT`.
    pub(crate) fn signal(&self, signal: &str) {
        signals::send(self.pid(), signal);
    }

    /// Its answer to a command, as it stands on the wire.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        self.try_command(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    pub(crate) fn try_command(&self, words: &[&str]) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut text = format!("*{}\r\n", words.len());
        for word in words {
            text += &format!("${}\r\n{word}\r\n", word.len());
        }
        stream.write_all(text.as_bytes())?;
        // The end is known by the text after it.
        stream.write_all(b"*2\r\n$4\r\nECHO\r\n$7\r\nthe-end\r\n")?;
        let mut answer = Vec::new();
        let mut some = [0; 4096];
        loop {
            let read = stream.read(&mut some)?;
            answer.extend(&some[..read]);
            let end = b"$7\r\nthe-end\r\n";
            if answer.ends_with(end) {
                answer.truncate(answer.len() - end.len());
                return Ok(String::from_utf8_lossy(&answer).into_owned());
            }
            // A busy server says so to the end as well.
            let has = |word: &[u8]| answer.windows(word.len()).any(|some| some == word);
            // A sentinel knows no ECHO, and names it.
            if read == 0 || has(b"-BUSY ") || has(b"-LOADING ") || has(b"the-end'") {
                return Ok(String::from_utf8_lossy(&answer).into_owned());
            }
        }
    }

    /// A section of its `INFO`; nothing if a failover ends the connection.
    pub(crate) fn info(&self, section: &str) -> String {
        self.try_command(&["INFO", section]).unwrap_or_default()
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> usize {
        self.command(&["DBSIZE"]).trim_start_matches(':').trim().parse().unwrap()
    }
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < 3 * PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until it is so, while other tasks go on.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn begin(port: u16, folder: &Path, arguments: &[&str]) -> Child {
    server()
        .arg(folder.join("redis.conf"))
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--dir"])
        .arg(folder)
        .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
        .args(arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
