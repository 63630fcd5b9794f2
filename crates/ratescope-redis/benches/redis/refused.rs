//! The processor's time of a refused call: it must not grow with the events that a key remembers, and must be at most
//! twice that of GCRA. Each limiter has counted as much as it admits, at times that are spread over its period, before
//! its call is sent again and again, by 16. All details are asked for, as a layer does.

use crate::server::Server;
use crate::turns::{median, ratio};
use crate::{Client, overheard, processor};
use ratescope::rules::{Details, Rules, Store};
use ratescope::{Event, Policy, Span, Time};
use ratescope_redis::{Options, RedisStore, TimeSource};
use std::time::Duration;

/// Limits; the cost and the number of the events that fill them; and the cost of the refused one.
const LIMITS: [(&str, f64, usize, f64); 21] = [
    ("gcra 100000/1h burst 100000", 1e5, 1, 1.0),
    ("token-bucket 100000/1h burst 100000", 1e5, 1, 1.0),
    ("leaky-bucket 100000/1h queue 100000", 1e5, 1, 1.0),
    ("fixed-window 100000/1h", 1e5, 1, 1.0),
    ("sliding-counter 100000/1h", 1e5, 1, 1.0),
    ("sliding-window 100000/1h", 1.0, 100_000, 1.0),
    ("sliding-window 100000/1h precision 360ms", 1.0, 100_000, 1.0),
    ("sliding-window 100000/1h precision 360ms", 1.0, 100_000, 5e4),
    ("sliding-log 10/1h", 1.0, 10, 1.0),
    ("sliding-log 1000/1h", 1.0, 1_000, 1.0),
    ("sliding-log 100000/1h", 1.0, 100_000, 1.0),
    ("sliding-log 100000/1h", 1.0, 100_000, 5e4),
    ("exim 100000/1h leaky", 1e5, 1, 1.0),
    ("exim 100000/1h strict", 1e5, 1, 1.0),
    ("earrrl 100/1h half-life 1h", 1e5, 1, 1.0),
    ("adaptive x1.5 decay 1h increase 1d floor 100", 1e5, 1, 1.0),
    ("nginx 10/1s burst 1000 nodelay", 1001.0, 1, 1.0),
    ("haproxy 1000/1h", 1e3, 1, 1.0),
    ("envoy 1000/1h burst 1000", 1e3, 1, 1.0),
    ("fail2ban 5/1h", 5.0, 1, 1.0),
    ("gcra 10/1h burst 10", 10.0, 1, 5.0),
];

struct Refused {
    name: String,
    call: Vec<Vec<u8>>,
    costs: Vec<f64>,
}

impl Refused {
    fn new(server: &Server, n: usize, (limit, cost, many, last): (&str, f64, usize, f64)) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (port, sent) = overheard(server.port);
        let rules = || Rules::from(format!("{limit} per user").parse::<Policy>().unwrap());
        let clock = TimeSource::Event { keep: Span::from_hours(2) };
        let deadline = Duration::from_secs(20);
        let options = Options::default().prefix(format!("{n}:")).deadline(deadline).clock(clock);
        let begin = 1_700_000_000_000_000;
        runtime.block_on(async {
            let url = |port: u16| format!("redis://127.0.0.1:{port}");
            let store = RedisStore::open(&url(server.port), rules(), options.clone()).unwrap();
            let fields = [("user", "ann")];
            let events: Vec<Event<'_>> = (0..many)
                .map(|i| {
                    let time = Time::from_micros(begin + 3_500_000_000 * i as i64 / many as i64);
                    Event { time, cost, fields: &fields }
                })
                .collect();
            for some in events.chunks(500) {
                let asked = some.iter().map(|event| store.check_async(event, Details::default()));
                let answers = futures_util::future::join_all(asked).await;
                assert!(answers.iter().all(|answer| answer.fault.is_none()), "{limit}");
            }
            let store = RedisStore::open(&url(port), rules(), options).unwrap();
            let time = Time::from_micros(begin + 3_500_000_000);
            let time = if many == 1 { Time::from_micros(begin) } else { time };
            let event = Event { time, cost: last, fields: &fields };
            // The first time with the text of the script.
            for _ in 0..2 {
                sent.lock().unwrap().clear();
                let answer = store.check_async(&event, Details::ALL).await;
                assert!(answer.fault.is_none() && !answer.is_allowed(), "{limit}");
            }
        });
        let call = vec![sent.lock().unwrap().clone()];
        let many = if last == 1.0 { String::new() } else { format!(", {last} at once") };
        Refused { name: format!("`{limit}`{many}"), call, costs: Vec::new() }
    }
}

pub(crate) fn print(rounds: usize) {
    let Some(server) = Server::start(&[]) else { return };
    let mut all: Vec<Refused> =
        (0..).zip(LIMITS).map(|(n, limit)| Refused::new(&server, n, limit)).collect();
    let mut client = Client::connect(server.port);
    for _ in 0..rounds {
        for one in &mut all {
            let before = processor(&server);
            let (_, calls) = client.rate(&one.call, 16);
            one.costs.push((processor(&server) - before) / calls as f64);
        }
    }
    println!("| refused calls | processor | of gcra |\n|---|--:|--:|");
    for one in &all {
        let of = ratio(&one.costs, &all[0].costs);
        println!("| {} | {:.1} us | {of:.2} |", one.name, median(one.costs.clone()));
    }
}
