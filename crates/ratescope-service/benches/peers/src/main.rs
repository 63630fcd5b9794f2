//! Prints the cost of a call of `ratescope run` beside peers: `./scripts/bench service`.
//!
//! # How it is measured
//! * h2load sends one frame of gRPC again and again, 64 streams on 8 connections; by HTTP/1, `/check` on 64
//!   connections. Servers have the first processor, h2load the second; Redis shares that of h2load. All
//!   servers run at the same time, and each is measured in turn, in each round.
//! * The table has the medians of the rounds, and of the ratios to the floor of the same round. The processor
//!   time of a request is that of the server alone: it depends least on the other work of the machine.
//! * h2load sends the frame of one user only. So before that, 100,000 users have sent a request each, and
//!   their states are there; all of them were answered OK. By HTTP, some thousand of them take turns. The calls of a
//!   million users by Zipf's law are sent by this program (`many.rs`), to a floor, too.
//! * Each is measured after a second in which it has the same load.
//! * A process that syncs knows 20,000 keys; who is over the limit is the first of them.
//! * Calls to Redis are the scripts that it ran by its own count, including those that tell sums or give leases back.
//!
//! # Bias
//! The author of this benchmark wrote most of the programs that it measures. The floor reads the message and answers
//! with a constant of two bytes; that of three descriptors with the answer that ours gives. Limitador answers as little
//! as the floor. Ours answers with all it knows of each limit, with headers, and counts for Prometheus and for Live.

mod layer;
mod many;
mod peers;
mod program;
mod soak;

use peers::Caller;
use program::{Load, Program};
use prost::Message;
use std::error::Error;
use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The users that have sent something before.
const USERS: u32 = 100_000;

/// The rules of ours, and those of Limitador: fixed windows that are never full.
const RULES: &str = "
domain: web
descriptors:
- {key: user, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
- {key: ip, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
- {key: path, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
- {key: over, limit: sliding-log 5/1h}
";

/// One server, and its measurements.
struct Row {
    name: &'static str,
    program: Rc<Program>,
    load: Load,
    /// The row of its floor.
    floor: usize,
    seen: Vec<Seen>,
}

/// One measurement.
#[derive(Clone, Copy)]
pub struct Seen {
    /// Requests a second.
    pub rate: f64,
    /// Microseconds until half of the answers, and all but a hundredth of them, were there.
    pub half: f64,
    pub most: f64,
    /// Microseconds of the server's processor for a request.
    pub cost: f64,
    /// Calls to Redis a second.
    pub calls: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", peer] => peers::serve(peer, None),
        ["serve", peer, file] => peers::serve(peer, Some(file)),
        ["many", at, seconds] => many::send(at, seconds),
        ["soak", ours, minutes] => {
            let minutes = minutes.parse()?;
            with_folder(|folder| soak::soak(ours, minutes, folder))
        }
        ["layer", rounds, seconds] => {
            let rounds = rounds.parse()?;
            with_folder(|folder| layer::print(rounds, seconds, folder))
        }
        ["bench", ours, rounds, seconds] => {
            let rounds = rounds.parse()?;
            with_folder(|folder| measure(ours, rounds, seconds, folder))
        }
        _ => Err("usage: ./scripts/bench service [ROUNDS [SECONDS]]".into()),
    }
}

/// Gives a folder, and removes it.
fn with_folder(
    run: impl FnOnce(&Path) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("ratescope-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let ran = run(&folder);
    fs::remove_dir_all(&folder)?;
    ran
}

fn measure(ours: &str, rounds: usize, seconds: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut rows = rows(ours, folder)?;
    for _ in 0..rounds {
        for row in &mut rows {
            // Redis lends nothing of a key that it has not known for a while.
            row.load.run(&row.program, "1")?;
            let before = row.program.calls()?;
            let seen = row.load.run(&row.program, seconds)?;
            let calls = (row.program.calls()? - before) / seconds.parse::<f64>()?;
            row.seen.push(Seen { calls, ..seen });
        }
    }
    print(&rows);
    Ok(())
}

/// Starts all servers.
fn rows(ours: &str, folder: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let rules = folder.join("rules.yaml");
    fs::write(&rules, RULES)?;
    let [one, three] = [1, 3].map(|n| peers::question(0, n));
    let caller = Caller::new()?;
    let frame = |name: &str, question: &_| Load::grpc(folder, name, peers::frame(question));
    let (one_frame, three_frame) = (frame("one", &one)?, frame("three", &three)?);
    let over_frame = frame("over", &peers::over())?;
    let redis = Rc::new(Program::redis(folder)?);
    let run = |more: &[&str]| Program::ours(ours, &rules, more);
    let store = format!("redis://{}", redis.at);
    // Those on one Redis have keys of their own.
    let shared = |share: &str| {
        let prefix = format!("{share}:");
        let program = run(&["--store", &store, "--share", share, "--prefix", &prefix])?;
        Ok::<_, Box<dyn Error>>(Rc::new(program.with(&redis)))
    };
    let [exact, leased, synced] = [shared("exact")?, shared("leased")?, shared("synced")?];
    for program in [&exact, &leased, &synced] {
        caller.ask(program.at, peers::over())?;
    }
    let tonic = Rc::new(Program::peer(&["floor"])?);
    let own = |program: Result<Program, _>| program.map(Rc::new);
    let programs = [
        ("tonic, answers OK: the floor", &tonic, &one_frame, USERS),
        ("the same, with Nagle's algorithm", &own(Program::peer(&["nagle"]))?, &one_frame, USERS),
        ("Limitador, one limit", &own(Program::peer(&["limitador"]))?, &one_frame, USERS),
        ("ours, one rule", &own(run(&[]))?, &one_frame, USERS),
        ("ours, with Live open", &own(run(&[])?.with_viewer())?, &one_frame, USERS),
        ("ours, one rule on Redis", &exact, &one_frame, USERS),
        ("the same, leased", &leased, &one_frame, USERS),
        ("the same, synced", &synced, &one_frame, USERS),
        ("ours, one rule on Redis, refused", &exact, &over_frame, 0),
        ("the same, leased", &leased, &over_frame, 0),
        ("the same, synced", &synced, &over_frame, 0),
    ];
    let mut rows = Vec::new();
    let row = |name, program: &Rc<Program>, load: &Load, floor| Row {
        name,
        program: Rc::clone(program),
        load: load.clone(),
        floor,
        seen: Vec::new(),
    };
    for (name, program, load, users) in programs {
        caller.fill(program.at, users, 1)?;
        rows.push(row(name, program, load, 0));
    }
    let three_rules = own(run(&[]))?;
    caller.fill(three_rules.at, USERS, 3)?;
    let answer = folder.join("answer");
    fs::write(&answer, caller.ask(three_rules.at, three)?.encode_to_vec())?;
    let echo = own(Program::peer(&["echo", &answer.display().to_string()]))?;
    let floor = rows.len();
    rows.push(row("tonic, the same answer about three: the floor", &echo, &three_frame, floor));
    rows.push(row("ours, three rules", &three_rules, &three_frame, floor));
    let floor = rows.len();
    for (name, program) in [
        ("tonic, a million users: the floor", &tonic),
        ("ours, one rule on Redis, a million users", &exact),
        ("the same, leased", &leased),
        ("the same, synced", &synced),
    ] {
        rows.push(row(name, program, &Load::Many, floor));
    }
    let floor = rows.len();
    for (name, program, users) in [
        ("axum, answers a constant: the floor", Program::peer(&["constant"])?, 0),
        ("ours, /check", run(&[])?, USERS),
        ("ours, /check with Live open", run(&[])?.with_viewer()?, USERS),
    ] {
        caller.fill(program.at, users, 1)?;
        let load = Load::http(folder, program.http, USERS, 64)?;
        rows.push(row(name, &Rc::new(program), &load, floor));
    }
    Ok(rows)
}

fn print(rows: &[Row]) {
    println!(
        "| | requests/s | of the floor | processor a request | of the floor | 50 % | 99 % answered within | of the floor | calls to Redis in 100 | a second |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for row in rows {
        let floor = &rows[row.floor].seen;
        let of = |what: fn(&Seen) -> f64| median(row.seen.iter().map(what));
        let ratio = |what: fn(&Seen) -> f64| {
            median(row.seen.iter().zip(floor).map(|(seen, floor)| what(seen) / what(floor)))
        };
        println!(
            "| {} | {:.0} | {:.2} | {:.1} µs | {:.2} | {:.2} ms | {:.2} ms | {:.2} | {:.2} | {:.1} |",
            row.name,
            of(|seen| seen.rate),
            ratio(|seen| seen.rate),
            of(|seen| seen.cost),
            ratio(|seen| seen.cost),
            of(|seen| seen.half) / 1e3,
            of(|seen| seen.most) / 1e3,
            ratio(|seen| seen.most),
            of(|seen| seen.calls / seen.rate * 100.0),
            of(|seen| seen.calls),
        );
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Takes the news that a server sends to Live, and throws them away.
fn view(admin: SocketAddr) -> Result<(), Box<dyn Error>> {
    let mut stream = TcpStream::connect(admin)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let head = format!("GET /live/events HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", admin.port());
    std::io::Write::write_all(&mut stream, head.as_bytes())?;
    let mut bytes = [0; 4096];
    let first = stream.read(&mut bytes)?;
    if !bytes[..first].starts_with(b"HTTP/1.1 200") {
        return Err("Live is not open".into());
    }
    std::thread::spawn(move || while stream.read(&mut bytes).is_ok_and(|n| n > 0) {});
    Ok(())
}
