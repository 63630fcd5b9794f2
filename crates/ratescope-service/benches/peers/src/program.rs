//! Servers, and the load that is put on them.

use crate::Seen;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

/// A program on a processor; it is killed when it is dropped.
pub struct Program {
    child: Child,
    /// Where it is asked, and where Live is.
    pub at: SocketAddr,
    pub http: SocketAddr,
    admin: SocketAddr,
    /// The program that keeps its states, such as Redis.
    store: Option<Rc<Program>>,
}

impl Program {
    /// A peer, which is in this program.
    pub fn peer(args: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(std::env::current_exe()?).arg("serve").args(args);
        Self::start(command, |line| Ok([line.trim().parse()?; 3]))
    }

    /// `ratescope run` with more arguments.
    pub fn ours(program: &str, rules: &Path, more: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new("taskset");
        command.args(["-c", "0", program, "run"]).arg(rules).args(more);
        for port in ["--grpc", "--http", "--admin"] {
            command.args([port, "127.0.0.1:0"]);
        }
        Self::start(command, |line| {
            let at = |name: &str| {
                let rest = line.split(name).nth(1).ok_or(format!("no {name} in {line:?}"))?;
                let address = rest.split([',', '\n']).next().unwrap_or_default();
                address.parse().map_err(|_| format!("{address:?} is no address"))
            };
            Ok([at("gRPC at ")?, at("HTTP at http://")?, at("admin at http://")?])
        })
    }

    fn start(
        mut command: Command,
        read: impl Fn(&str) -> Result<[SocketAddr; 3], Box<dyn Error>>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let [at, http, admin] = read(&line)?;
        Ok(Program { child, at, http, admin, store: None })
    }

    /// A Redis without a disk.
    pub fn redis(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let at = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new("taskset");
        let port = at.port().to_string();
        command.args(["-c", "1", "redis-server", "--port", &port, "--save", ""]);
        let child = command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        let child = child.spawn()?;
        let program = Program { child, at, http: at, admin: at, store: None };
        while TcpStream::connect(at).is_err() {}
        Ok(program)
    }

    /// The same, which needs this one.
    pub fn with(mut self, store: &Rc<Program>) -> Self {
        self.store = Some(Rc::clone(store));
        self
    }

    /// How many scripts its Redis has run; 0 without one.
    pub fn calls(&self) -> Result<f64, Box<dyn Error>> {
        let Some(store) = &self.store else { return Ok(0.0) };
        let mut stream = TcpStream::connect(store.at)?;
        stream.write_all(b"INFO commandstats\r\nQUIT\r\n")?;
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        let of_line = |line: &str| {
            let rest = line.strip_prefix("cmdstat_eval")?.split_once("calls=")?.1;
            rest.split(',').next()?.parse::<f64>().ok()
        };
        Ok(said.lines().filter_map(of_line).sum())
    }

    /// The same, with a viewer of Live.
    pub fn with_viewer(self) -> Result<Self, Box<dyn Error>> {
        crate::view(self.admin)?;
        Ok(self)
    }

    /// The memory that it has, in KiB.
    pub fn memory(&self) -> Result<f64, Box<dyn Error>> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        Ok(line.ok_or("no VmRSS")?.trim().trim_end_matches(" kB").parse()?)
    }

    /// A number of its /metrics, by the text before it.
    pub fn metric(&self, before: &str) -> Result<f64, Box<dyn Error>> {
        let mut stream = TcpStream::connect(self.admin)?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let value = text.split(before).nth(1).and_then(|rest| rest.lines().next());
        Ok(value.ok_or(format!("no {before}"))?.parse()?)
    }

    /// Microseconds of its processor so far.
    fn worked(&self) -> Result<f64, Box<dyn Error>> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let after = stat.rsplit(')').next().unwrap_or_default();
        let ticks = after.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
        // A tick is a hundredth of a second for every program on Linux.
        Ok(ticks.sum::<Result<f64, _>>()? * 1e4)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The requests that are sent.
#[derive(Clone)]
pub enum Load {
    /// By h2load.
    One {
        args: Vec<String>,
        /// The path of each call; by HTTP a list of URIs is among the arguments.
        path: Option<&'static str>,
        log: PathBuf,
    },
    /// Calls of many users, by this program.
    Many,
}

impl Load {
    /// Calls with a frame.
    pub fn grpc(folder: &Path, name: &str, frame: Vec<u8>) -> Result<Self, Box<dyn Error>> {
        let file = folder.join(name);
        fs::write(&file, frame)?;
        let file = file.display().to_string();
        let args = ["-c", "8", "-m", "8", "-H", "content-type: application/grpc"];
        let args = args.into_iter().chain(["-H", "te: trailers", "-d", &file]);
        let args = args.map(str::to_owned).collect();
        Ok(Load::One { args, path: Some(crate::peers::PATH), log: folder.join("log") })
    }

    /// Requests by HTTP/1 on so many connections, of so many users in turn.
    pub fn http(
        folder: &Path,
        at: SocketAddr,
        users: u32,
        connections: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let uri = |user: u32| format!("http://{at}/check?domain=web&user={user:06}\n");
        let file = folder.join(at.port().to_string());
        fs::write(&file, (0..users).map(uri).collect::<String>())?;
        let connections = connections.to_string();
        let args = ["--h1", "-c", &connections, "-i", &file.display().to_string()];
        let args = args.map(str::to_owned).to_vec();
        Ok(Load::One { args, path: None, log: folder.join("log") })
    }

    /// Puts the load on a server for so many seconds.
    pub fn run(&self, program: &Program, seconds: &str) -> Result<Seen, Box<dyn Error>> {
        let Load::One { args, path, log } = self else { return many(program, seconds) };
        _ = fs::remove_file(log);
        let before = program.worked()?;
        let output = Command::new("taskset")
            .args(["-c", "1", "h2load", "-t", "1", "-D", seconds, "--log-file"])
            .arg(log)
            .args(args)
            .args(path.map(|path| format!("http://{}{path}", program.at)))
            .output()?;
        let worked = program.worked()? - before;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let of = |before: &str, after: &str| {
            let rest = said.split(before).nth(1)?;
            rest.split(after).next()?.trim().rsplit(' ').next()?.parse::<f64>().ok()
        };
        let done = of("status codes:", " 2xx").ok_or_else(|| format!("h2load said: {said}"))?;
        let wrong = of(" done, ", " failed").is_none() || !said.contains(" 0 4xx, 0 5xx");
        let failed = said.split(" succeeded, ").nth(1).is_some_and(|rest| !rest.starts_with("0 "));
        if done == 0.0 || wrong || failed {
            return Err(format!("h2load said: {said}").into());
        }
        let mut times: Vec<f64> = Vec::new();
        for line in fs::read_to_string(log)?.lines() {
            times.extend(line.split('\t').nth(2).and_then(|time| time.parse::<f64>().ok()));
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied();
        let seconds: f64 = seconds.parse()?;
        Ok(Seen {
            rate: done / seconds,
            half: at(0.5).ok_or("no times")?,
            most: at(0.99).ok_or("no times")?,
            cost: worked / done,
            calls: 0.0,
        })
    }
}

fn many(program: &Program, seconds: &str) -> Result<Seen, Box<dyn Error>> {
    let before = program.worked()?;
    let output = Command::new("taskset")
        .args(["-c", "1"])
        .arg(std::env::current_exe()?)
        .args(["many", &program.at.to_string(), seconds])
        .output()?;
    let worked = program.worked()? - before;
    let said = String::from_utf8_lossy(&output.stdout);
    let numbers: Result<Vec<f64>, _> = said.split_whitespace().map(str::parse).collect();
    let [done, half, most] = numbers?[..] else {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    };
    let seconds: f64 = seconds.parse()?;
    Ok(Seen { rate: done / seconds, half, most, cost: worked / done, calls: 0.0 })
}
