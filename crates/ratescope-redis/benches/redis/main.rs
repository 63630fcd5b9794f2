//! Decisions a second on one Redis, in turn in one run: `./scripts/bench redis`.
//!
//! Beside ours stand PING, which shows the cost of the way there; a script that only returns; one that reads the time
//! and a state and writes one, without deciding anything; GCRA in ten lines; and the scripts of the two articles,
//! repaired. All of them take their time from Redis. There are 50 connections; *one by one* each waits for its answer,
//! *by 16* each sends sixteen at a time. Keys are those of 10,000 senders, drawn at random and the same for all. A
//! server of its own is started and ended. Beside decisions a second stands the processor time that the server took for
//! each, which depends less on the other work of the machine. With `nodes`, clusters are measured instead, and with
//! `refused` calls that are refused. Without `--bench`, as `cargo test --benches` calls it, there is one round.

#[allow(dead_code, unreachable_pub)]
#[path = "../../../ratescope/benches/limiters/turns.rs"]
mod turns;

#[path = "../../tests/it/redis/nodes.rs"]
mod cluster;
mod leased;
mod nodes;
#[path = "../../tests/it/redis/proxy.rs"]
mod proxy;
mod refused;
#[path = "../../tests/it/redis/server.rs"]
mod server;
#[path = "../../../../tests/common/worked.rs"]
mod worked;

use ratescope::rules::{Details, Rules, Store};
use ratescope::{Event, Policy, Time};
use ratescope_redis::{Options, RedisStore};
use server::Server;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use turns::median;

const SENDERS: usize = 10_000;
const CONNECTIONS: usize = 50;

/// How long each is measured in each round.
const SLICE: Duration = Duration::from_millis(300);

struct Contestant {
    name: &'static str,
    /// A command for each sender.
    commands: Vec<Vec<u8>>,
    bytes: f64,
    rates: [Vec<f64>; 2],
    /// Microseconds of the server's processor for a decision.
    costs: [Vec<f64>; 2],
}

fn main() {
    let usual = if std::env::args().any(|word| word == "--bench") { 9 } else { 1 };
    let rounds = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(usual);
    if std::env::args().any(|word| word == "nodes") {
        return nodes::print(rounds);
    }
    if std::env::args().any(|word| word == "leased") {
        return leased::print(rounds);
    }
    if std::env::args().any(|word| word == "refused") {
        return refused::print(rounds);
    }
    let Some(server) = Server::start(&[]) else { return };
    let mut all = contestants(&server);
    let mut client = Client::connect(server.port);
    for _ in 0..rounds {
        for one in &mut all {
            for (way, batch) in [1, 16].into_iter().enumerate() {
                let before = processor(&server);
                let (rate, decisions) = client.rate(&one.commands, batch);
                one.rates[way].push(rate);
                one.costs[way].push((processor(&server) - before) / decisions as f64);
            }
        }
    }
    println!("{:<34} {:>21} {:>21}", "", "decisions a second", "processor time, us");
    println!(
        "{:<34} {:>10} {:>10} {:>10} {:>10} {:>7}",
        "", "one by one", "by 16", "one by one", "by 16", "bytes"
    );
    for one in &all {
        let [single, many] = one.rates.clone().map(|rates| median(rates) / 1e3);
        let [cost, shared] = one.costs.clone().map(median);
        let bytes = if one.bytes > 0.0 { format!("{:.0}", one.bytes) } else { String::new() };
        println!(
            "{:<34} {single:>9.0}k {many:>9.0}k {cost:>10.2} {shared:>10.2} {bytes:>7}",
            one.name
        );
    }
    println!();
    for (ours, theirs) in [(4, 2), (4, 3), (6, 5), (8, 7)] {
        let times = |i: usize| turns::ratio(&all[ours].rates[i], &all[theirs].rates[i]);
        let part = |i: usize| turns::ratio(&all[theirs].costs[i], &all[ours].costs[i]);
        println!(
            "{} / {}: {:.2} one by one, {:.2} by 16; by processor time {:.2} and {:.2}",
            all[ours].name,
            all[theirs].name,
            times(0),
            times(1),
            part(0),
            part(1)
        );
    }
}

/// Microseconds of processor time that the server has taken.
fn processor(server: &Server) -> f64 {
    1e6 * (figure(server, "cpu", "used_cpu_user:") + figure(server, "cpu", "used_cpu_sys:"))
}

/// A figure that the server tells of itself.
fn figure(server: &Server, section: &str, name: &str) -> f64 {
    let info = server.info(section);
    let figure = info.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    figure.trim().parse().unwrap()
}

fn contestants(server: &Server) -> Vec<Contestant> {
    let ping = vec![wire(&[b"PING"]); SENDERS];
    let mut all = vec![
        Contestant::new("PING", ping),
        Contestant::new("a script that only returns", script(server, "return 1", "n:", &[])),
    ];
    let floor = "local call = redis.call local clock, state = call('TIME'), call('GET', KEYS[1]) \
                 call('SET', KEYS[1], '0123456789abcdef', 'PX', 120000) return 1";
    all.push(Contestant::new("TIME, GET and SET in a script", script(server, floor, "f:", &[])));
    let plain = script(server, include_str!("plain.lua"), "gcra:", &["6", "20"]);
    all.push(Contestant::new("GCRA in ten lines", plain));
    all.push(Contestant::new("gcra 10/1m burst 20", ours(server, "gcra 10/1m burst 20 per user")));
    let earrrl = script(server, include_str!("earrrl.lua"), "e:", &[]);
    all.push(Contestant::new("EARRRL's article", earrrl));
    let text = "earrrl 5/10s half-life 10s per user";
    all.push(Contestant::new("earrrl 5/10s half-life 10s", ours(server, text)));
    let limits = "[[1,10],[60,120],[3600,240,60]]";
    let windows = script(server, include_str!("windows.lua"), "w:", &[limits, "1"]);
    all.push(Contestant::new("three limits, Carlson's article", windows));
    let text = "10/1s per user & 120/1m per user & sliding-window 240/1h precision 1m per user";
    all.push(Contestant::new("three limits", ours(server, text)));
    all.iter_mut().for_each(|one| one.bytes = one.measure(server));
    all
}

impl Contestant {
    fn new(name: &'static str, commands: Vec<Vec<u8>>) -> Self {
        Contestant {
            name,
            commands,
            bytes: 0.0,
            rates: Default::default(),
            costs: Default::default(),
        }
    }

    /// How much memory the keys of a sender take once it has sent two events, by MEMORY USAGE.
    fn measure(&self, server: &Server) -> f64 {
        server.command(&["FLUSHDB"]);
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let some = &self.commands[..200];
        for command in some.iter().chain(some) {
            stream.write_all(command).unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        }
        let usage = "local sum = 0 for _, key in ipairs(redis.call('KEYS', '*')) do \
                     sum = sum + redis.call('MEMORY', 'USAGE', key) end return sum";
        let sum = server.command(&["EVAL", usage, "0"]);
        sum.trim_start_matches(':').trim().parse::<f64>().unwrap() / some.len() as f64
    }
}

/// A command as it stands on the wire.
fn wire(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend(*word);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// The calls of a script, which is loaded before.
fn script(server: &Server, text: &str, prefix: &str, arguments: &[&str]) -> Vec<Vec<u8>> {
    let loaded = server.command(&["SCRIPT", "LOAD", text]);
    let sha = loaded.lines().nth(1).unwrap().as_bytes();
    let call = |sender: usize| {
        let key = format!("{prefix}user:{sender:06}");
        let mut words: Vec<&[u8]> = vec![b"EVALSHA", sha, b"1", key.as_bytes()];
        words.extend(arguments.iter().map(|argument| argument.as_bytes()));
        wire(&words)
    };
    (0..SENDERS).map(call).collect()
}

/// The calls of a policy of ours: those that a store sends about one sender, and the same for the others.
fn ours(server: &Server, text: &str) -> Vec<Vec<u8>> {
    let (port, sent) = overheard(server.port);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let rules = Rules::from(text.parse::<Policy>().unwrap());
        let options = Options::default().deadline(Duration::from_secs(10));
        let url = format!("redis://127.0.0.1:{port}");
        let store = RedisStore::open(&url, rules, options).unwrap();
        let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "000000")] };
        // The first time with the text of the script.
        for _ in 0..2 {
            sent.lock().unwrap().clear();
            assert_eq!(store.check_async(&event, Details::default()).await.fault, None);
        }
    });
    let sent = sent.lock().unwrap().clone();
    let user = b"{user=000000}";
    let at = sent.windows(user.len()).position(|some| some == user).unwrap() + 6;
    let call = |sender: usize| {
        let mut call = sent.clone();
        call[at..at + 6].copy_from_slice(format!("{sender:06}").as_bytes());
        call
    };
    (0..SENDERS).map(call).collect()
}

/// A port through which one client speaks with a server, and the bytes that it has sent.
fn overheard(server: u16) -> (u16, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, sent) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<u8>>>::default());
    let kept = Arc::clone(&sent);
    thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        let mut there = TcpStream::connect(("127.0.0.1", server)).unwrap();
        let (mut back, mut to_client) = (there.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut back, &mut to_client));
        let mut some = [0; 4096];
        while let Ok(read @ 1..) = client.read(&mut some) {
            kept.lock().unwrap().extend(&some[..read]);
            there.write_all(&some[..read]).unwrap();
        }
    });
    (port, sent)
}

/// Connections that are asked by one thread.
struct Client {
    streams: Vec<TcpStream>,
    random: u64,
}

impl Client {
    fn connect(port: u16) -> Self {
        let connect = |_| {
            let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.set_nodelay(true).unwrap();
            stream
        };
        Client { streams: (0..CONNECTIONS).map(connect).collect(), random: 1 }
    }

    fn sender(&mut self) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 40) as usize % SENDERS
    }

    /// Decisions a second, and how many there were.
    fn rate(&mut self, commands: &[Vec<u8>], batch: usize) -> (f64, usize) {
        let (begun, mut done) = (Instant::now(), 0usize);
        let mut out = Vec::new();
        let mut answer = vec![0; 1 << 16];
        while begun.elapsed() < SLICE {
            for i in 0..self.streams.len() {
                out.clear();
                (0..batch).for_each(|_| out.extend(&commands[self.sender() % commands.len()]));
                self.streams[i].write_all(&out).unwrap();
            }
            for stream in &mut self.streams {
                let (mut left, mut have) = (batch, 0);
                while left > 0 {
                    have += stream.read(&mut answer[have..]).unwrap();
                    let mut at = 0;
                    while left > 0 {
                        let Some(length) = reply(&answer[at..have]) else { break };
                        at += length;
                        left -= 1;
                    }
                    answer.copy_within(at..have, 0);
                    have -= at;
                }
                done += batch;
            }
        }
        (done as f64 / begun.elapsed().as_secs_f64(), done)
    }
}

/// The length of the reply at the beginning of these bytes, once it is whole.
fn reply(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let number = || std::str::from_utf8(&bytes[1..end - 2]).unwrap().parse::<isize>().unwrap();
    match bytes.first()? {
        b'+' | b':' => Some(end),
        b'$' => {
            let whole = end + usize::try_from(number()).map_or(0, |length| length + 2);
            (bytes.len() >= whole).then_some(whole)
        }
        b'*' => {
            let mut at = end;
            for _ in 0..number() {
                at += reply(&bytes[at..])?;
            }
            Some(at)
        }
        _ => panic!("{}", String::from_utf8_lossy(&bytes[..end])),
    }
}
