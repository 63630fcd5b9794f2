//! Clients far above all others: how often made-up logs with known abusers name them, and how often somebody else.

use ratescope::{Span, Time};
use ratescope_lab::tune::outliers::outliers;
use ratescope_lab::tune::{
    Analysis, Choices, Import, MarkedKeys, Measure, Moment, ReadOptions, Report, Room,
};

/// Knuth's linear generator, of which the high bits are good.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log(1.0 - self.uniform()) * mean
    }
}

/// The times of a client in seconds, over an hour.
type Times = Vec<f64>;

/// Somebody who sends some mails, mostly one at a time.
fn sender(random: &mut Random) -> Times {
    let mut times = Times::new();
    for _ in 0..1 + random.exponential(2.0) as u32 {
        let mut at = random.uniform() * 3600.0;
        let several = if random.uniform() < 0.2 { random.exponential(3.0) as u32 } else { 0 };
        for _ in 0..=several {
            times.push(at);
            at += random.exponential(15.0);
        }
    }
    times
}

/// Somebody who reads some pages, each with some pictures.
fn visitor(random: &mut Random) -> Times {
    let mut times = Times::new();
    for _ in 0..1 + random.exponential(1.0) as u32 {
        let mut at = random.uniform() * 3600.0;
        for _ in 0..1 + random.exponential(2.0) as u32 {
            let parts = 1 + (random.uniform() * 6.0) as u32;
            times.extend((0..parts).map(|part| at + f64::from(part) * 0.2));
            at += random.exponential(30.0);
        }
    }
    times
}

/// The highest count of a period.
fn level(times: &mut Times, per: Span) -> f64 {
    times.sort_by(f64::total_cmp);
    let moment = |at: &f64| Moment { time: Time::from_micros((at * 1e6) as i64), cost: 1.0 };
    Measure::SlidingLog(per).peak(times.iter().map(moment)).map_or(0.0, |peak| peak.level)
}

/// Finds outliers, and tells whether they are all the abusers and whether anybody else is among them.
fn judge(others: &[f64], abusers: &[f64]) -> [bool; 2] {
    let mut levels: Vec<(f64, u64)> =
        others.iter().chain(abusers).map(|level| (*level, 1)).collect();
    levels.sort_by(|a, b| b.0.total_cmp(&a.0));
    levels.dedup_by(|next, kept| {
        next.0 == kept.0 && {
            kept.1 += next.1;
            true
        }
    });
    let Some((_, lowest)) = outliers(&levels) else { return [false, false] };
    let named = |level: &f64| *level >= lowest;
    [!abusers.is_empty() && abusers.iter().all(named), others.iter().any(named)]
}

const LOGS: u64 = 200;

/// The rows of the table in the documentation.
fn table() -> Vec<String> {
    type Person = fn(&mut Random) -> Times;
    let crowds: [(usize, Person); 2] = [(40, sender), (400, visitor)];
    let periods = [Span::from_mins(1), Span::from_hours(1)];
    let steady = |from: f64, apart: f64, n: u32| -> Times {
        (0..n).map(|i| from + f64::from(i) * apart).collect()
    };
    let kinds = [
        "nobody",
        "one, 400 in ten minutes",
        "one, slow: 3 a minute, for an hour",
        "three, of 400, 800 and 1,600 in ten minutes",
        "a botnet of 50 at the rate of the others",
        "nobody, but a proxy of 60 people",
        "nobody, but levels with a tail of power 1",
    ];
    let mut counts = [[[[0u64; 2]; 2]; 2]; 7];
    for (crowd, (size, person)) in crowds.into_iter().enumerate() {
        for seed in 0..LOGS {
            let mut random = Random(seed * 1000 + size as u64);
            (0..8).for_each(|_| _ = random.uniform());
            let mut others: Vec<Times> = (0..size).map(|_| person(&mut random)).collect();
            let bots: Vec<Times> = (0..50).map(|_| person(&mut random)).collect();
            let proxy: Times = (0..60).flat_map(|_| person(&mut random)).collect();
            let heavy: Vec<f64> =
                (0..size).map(|_| (3.0 / (1.0 - random.uniform())).floor()).collect();
            let mut abusers = [
                vec![],
                vec![steady(600.0, 1.5, 400)],
                vec![steady(0.0, 20.0, 180)],
                vec![steady(600.0, 1.5, 400), steady(900.0, 0.75, 800), steady(99.0, 0.375, 1600)],
                bots,
                vec![],
                vec![],
            ];
            let mut proxy = [proxy];
            for (period, per) in periods.into_iter().enumerate() {
                let levels = |all: &mut [Times]| -> Vec<f64> {
                    all.iter_mut().map(|times| level(times, per)).collect()
                };
                let plain = levels(&mut others);
                let proxied = [&plain[..], &levels(&mut proxy)].concat();
                for (kind, abusers) in abusers.iter_mut().enumerate() {
                    let others = match kind {
                        5 => &proxied,
                        6 => &heavy,
                        _ => &plain,
                    };
                    let judged = judge(others, &levels(abusers));
                    for (count, is) in counts[kind][crowd][period].iter_mut().zip(judged) {
                        *count += u64::from(is);
                    }
                }
            }
        }
    }
    let row = |(kind, counts): (&str, [[[u64; 2]; 2]; 2])| {
        let cell = |[named, other]: [u64; 2]| {
            let percent = |n: u64| format!("{} %", n as f64 * 100.0 / LOGS as f64);
            let named = if kind.starts_with("nobody") { "-".to_owned() } else { percent(named) };
            format!("{named}, {}", percent(other))
        };
        let cells: Vec<String> = counts.into_iter().flatten().map(cell).collect();
        format!("//! | {kind} | {} |", cells.join(" | "))
    };
    kinds.into_iter().zip(counts).map(row).collect()
}

/// The table in the documentation has the measured numbers.
#[test]
fn how_often_the_rule_is_right() {
    let documented = include_str!("../../../src/tune/outliers.rs");
    let table = table();
    let missing = table.iter().any(|row| !documented.contains(row.as_str()));
    assert!(!missing, "\n{}", table.join("\n"));
}

/// Forty senders, and one that sends 400 mails in ten minutes.
fn mails() -> String {
    let mut lines = Vec::new();
    let mut mail = |at: u32, ip: String| {
        let time = format!("2026-03-02 {:02}:{:02}:{:02}", 8 + at / 3600, at / 60 % 60, at % 60);
        lines.push(format!("{time} 1s2abc-0003xY-Az <= a@example.org H=h [{ip}] P=esmtp S=700\n"));
    };
    for sender in 0..40 {
        // Up to eight mails, a second apart, and one more an hour later.
        (0..=sender % 8).for_each(|i| mail(sender * 60 + i, format!("192.0.2.{sender}")));
        mail(sender * 60 + 3600, format!("192.0.2.{sender}"));
    }
    (0..400).for_each(|i| mail(1200 + i * 3 / 2, "203.0.113.9".to_owned()));
    lines.sort();
    lines.concat()
}

fn answer(choices: &str, legitimate: &str, stop: &str, without: &str) -> Report {
    let mut import = Import::new(ReadOptions::default(), Room::default());
    import.feed(mails().as_bytes()).unwrap();
    import.end().unwrap();
    let choices: Choices = choices.parse().unwrap();
    let mut analysis = Analysis::new(import.finish().unwrap(), choices);
    let marks = |keys: &str| keys.parse::<MarkedKeys>().unwrap();
    analysis.mark_all(&marks(legitimate), &marks(stop), &marks(without));
    while !analysis.step(1 << 30) {}
    Report::new(&analysis)
}

/// The limit stops the one and spares the others. Marked as legitimate, it passes.
#[test]
fn the_headline_stops_the_outlier() {
    let says = "For Exim: less than 8 mails a minute, by its own measure. It would have refused 392 of 620 mails, all \
                from 1 of 41 clients: 203.0.113.9, first on 2 March at 08:20.";
    let as_it_is = answer("for=exim", "", "", "");
    assert_eq!((as_it_is.headline.as_str(), as_it_is.doubts.len()), (says, 0));
    assert_eq!(
        as_it_is.plateau,
        "203.0.113.9 came far faster than the 40 others, and was left out when the limit was chosen. With it, the \
         limit would be 50 a minute, which refuses nobody."
    );
    let legitimate = answer("for=exim", "203.0.113.9", "", "");
    let says_above = "For Exim: less than 50 mails a minute, by its own measure. It would have refused no mail of 41 clients.";
    assert_eq!((legitimate.headline.as_str(), legitimate.plateau.as_str()), (says_above, ""));
    for (stop, without) in [("203.0.113.9", ""), ("", "203.0.113.0/24")] {
        let lower = answer("for=exim", "", stop, without);
        assert_eq!((lower.headline.as_str(), lower.plateau.as_str()), (says, ""));
        let stopped = "203.0.113.9 is stopped: 392 of its 400 mails are refused, the first on 2 March at 08:20.";
        assert_eq!(lower.stops, if stop.is_empty() { vec![] } else { vec![stopped] });
    }
    let slow = answer("for=exim", "", "192.0.2.0", "203.0.113.9");
    assert_eq!(
        slow.stops,
        ["192.0.2.0 is not stopped: it came no faster than those who are left alone. A longer \
                             period shows who is slow but steady."]
    );
}

/// Each server has its own arithmetic, and so its own limit; who is far above all others is the same for all.
#[test]
fn each_server_stops_the_outlier() {
    for server in ratescope_config::Target::ALL {
        let own = answer(&format!("for={server}"), "", "", "");
        // Traefik has no slow bucket, and so refuses late.
        let stops = "all from 1 of 41 clients: 203.0.113.9, first on 2 March at 08:2";
        assert!(own.headline.contains(stops), "{server}: {}", own.headline);
        let above = "203.0.113.9 came far faster than the 40 others, and was left out";
        assert!(own.plateau.starts_with(above), "{server}: {}", own.plateau);
        let stopped = answer(&format!("for={server}"), "", "203.0.113.9", "");
        assert_eq!(stopped.headline, own.headline);
        assert!(stopped.stops[0].starts_with("203.0.113.9 is stopped: "), "{:?}", stopped.stops);
    }
}
