//! Prints the cost of a request for the tuner, in nanoseconds: to keep it, and to measure it.
//!
//! `cargo bench --bench tune --features lab`
//!
//! The requests are those of a site: some clients are busy and most are not, in 265,000 addresses.
//! Each is done several times and the median is printed, of the time that the processor worked for
//! it where the system knows that, as a machine that does other things too is now fast and now slow. Without `--bench`, as `cargo test --benches` calls it, there are few.

use ratescope::{Span, Time};
use ratescope_lab::tune::{Clients, Curve, Frontier, LogClock, Measure, Replay, Room};
use std::env;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

const ADDRESSES: u64 = 265_000;

fn main() {
    let timed = env::args().any(|arg| arg == "--bench");
    let (requests, rounds) = if timed { (5_000_000, 5) } else { (10_000, 1) };
    let keys: Vec<String> = (0..ADDRESSES).map(address).collect();
    let log = log(requests);
    let read = || {
        let mut clients = Clients::new(Room::default());
        for (client, time) in &log {
            clients.add(keys.get(*client as usize).unwrap(), *time, 1.0);
        }
        clients
    };
    let clients = read();
    println!(
        "{requests} requests, {} clients, {:.1} bytes a request",
        clients.len(),
        clients.bytes() as f64 / requests as f64
    );
    let begin = Instant::now();
    let time = |what: &str, work: &dyn Fn()| {
        let mut times: Vec<f64> = (0..rounds)
            .map(|_| {
                let start = clock(&begin);
                work();
                (clock(&begin) - start) as f64 / requests as f64
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{:8.1} ns  {what}", times[times.len() / 2]);
    };
    time("to keep", &|| drop(black_box(read())));
    time("to read again", &|| {
        black_box((0..clients.len()).map(|place| clients.moments(place).count()).sum::<usize>());
    });
    let measure = |measures: Vec<Measure>| {
        let mut curves: Vec<Curve> = measures.into_iter().map(Curve::new).collect();
        Curve::add_clients(&mut curves, &clients, None, 0..clients.len());
        black_box(curves);
    };
    let minute = Span::from_mins(1);
    for of in [
        Measure::Exim(minute),
        Measure::Earrrl(minute, minute),
        Measure::FixedWindow(minute),
        Measure::SlidingWindow(minute, Span::from_secs(1)),
        Measure::SlidingCounter(minute),
        Measure::SlidingLog(minute),
        Measure::Bucket("10/1m".parse().unwrap()),
    ] {
        time(&of.to_string(), &|| measure(vec![of]));
    }
    let periods = ["1s", "10s", "1m", "10m", "1h"].map(|text| text.parse().unwrap());
    time("exim over five periods", &|| measure(periods.map(Measure::Exim).to_vec()));
    time("the frontier of sixteen rates", &|| measure(Frontier::measures()));
    time("to replay gcra 10/1m", &|| {
        let limiter = "gcra 10/1m burst 10".parse().unwrap();
        black_box(Replay::run(&clients, limiter, &LogClock::default()));
    });
    time("to merge", &|| {
        let mut sum = clients.clone();
        sum.absorb(&clients);
        black_box(sum);
    });
}

/// Nanoseconds that the processor worked for us, where Linux says so; otherwise those that went by.
fn clock(begin: &Instant) -> u128 {
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let worked = told.and_then(|text| text.split(' ').next()?.parse().ok());
    worked.unwrap_or_else(|| begin.elapsed().as_nanos())
}

fn address(n: u64) -> String {
    let n = mixed(n);
    format!("{}.{}.{}.{}", 1 + n % 223, n >> 8 & 255, n >> 16 & 255, n >> 24 & 255)
}

/// A day of requests, each by a client and at a time; of two clients the one of half the number
/// sends twice as much.
fn log(requests: u64) -> Vec<(u32, Time)> {
    let request = |i: u64| {
        let chance = (mixed(i) >> 11) as f64 / (1u64 << 53) as f64;
        let client = (ADDRESSES as f64).powf(chance) - 1.0;
        (client as u32, Time::from_micros((i * 86_400_000_000 / requests) as i64))
    };
    (0..requests).map(request).collect()
}

/// SplitMix64, by Guy Steele, Doug Lea and Christine Flood.
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}
