//! The picture of Live: the rates of a service's rules, as the reports of the service give them.

use crate::picture;
use picture::in_both_themes;
use ratescope::{Event, MemoryStore, Span, Time};
use ratescope_lab::live::Live;
use ratescope_lab::run::Arrival;
use ratescope_lab::run::past::Past;
use ratescope_lab::scope::{Instrument, Settings};
use ratescope_lab::view::{Viewport, live};

/// A rule, the seconds between two events of a usual sender, and those of one who comes from minute 5 to 7.
const RULES: [(&str, &str, f64, f64); 3] = [
    ("web:ip", "gcra 2/1s burst 10 per ip", 4.0, 0.1),
    ("web:path=/login,ip", "sliding-counter 5/1m per ip", 30.0, 0.25),
    ("web:user, a shadow", "exim 60/1m strict per user", 3.0, 0.4),
];

/// A service that began at the second `begun`, as it tells of itself at the second `until`: the counts of its rules in each
/// second, each ten seconds and each hour of which `known` say that the service knows all since then.
struct Service {
    begun: i64,
    until: i64,
    known: [i64; 3],
    counts: Vec<(i64, Vec<f64>)>,
}

impl Service {
    fn tell(&self, page: &mut Live) {
        for (ring, (width, since)) in [1, 10, 3600].into_iter().zip(self.known).enumerate() {
            let mut rows: Vec<Vec<f64>> = Vec::new();
            for (second, counts) in &self.counts {
                let begin = second.div_euclid(width) * width;
                if begin < since.div_euclid(width) * width || *second >= self.until {
                    continue;
                }
                match rows.last_mut().filter(|row| row[0] == begin as f64) {
                    Some(row) => row[1..].iter_mut().zip(counts).for_each(|(sum, n)| *sum += n),
                    None => rows.push([&[begin as f64], counts.as_slice()].concat()),
                }
            }
            let seconds = [self.begun, self.until, since.max(self.begun)];
            page.add_past(ring, seconds, true, rows.iter().map(Vec::as_slice));
        }
    }
}

/// The reports of the first `seconds` of a service. Thirty senders come evenly, each a little later
/// than the one before; the rate of all swells and falls once.
fn reported(seconds: u32) -> Live {
    let mut events: Vec<(f64, usize, usize)> = Vec::new();
    for (rule, (_, _, usual, sudden)) in RULES.iter().enumerate() {
        for sender in 0..30 {
            let mut at = usual * sender as f64 / 30.0;
            while at < f64::from(seconds) {
                events.push((at, rule, sender));
                at += usual * (1.0 - 0.4 * (at / 95.0).sin());
            }
        }
        let sudden_events = (0..).map(|n| 300.0 + f64::from(n) * sudden);
        events.extend(sudden_events.take_while(|at| *at < 420.0).map(|at| (at, rule, 30)));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));

    let mut page = Live::default();
    page.window = Span::from_mins(10);
    page.name(RULES.iter().map(|(name, limits, ..)| (*name, *limits)));
    let stores = RULES
        .map(|(_, limits, ..)| MemoryStore::new(limits.parse::<ratescope::Policy>().unwrap(), 100));
    let mut sums = [0.0; 9];
    let mut events = events.into_iter().peekable();
    let until = i64::from(seconds);
    let begun = -1000;
    let mut service = Service { begun, until, known: [begun; 3], counts: Vec::new() };
    for second in 0..until {
        let mut counts = vec![0.0; 9];
        while let Some((at, rule, sender)) = events.next_if(|(at, ..)| *at < (second + 1) as f64) {
            let sender = sender.to_string();
            let fields = &[("ip", sender.as_str()), ("user", sender.as_str())];
            let event = Event { time: Time::try_from_secs_f64(at).unwrap(), cost: 1.0, fields };
            let refused = !stores[rule].check(&event).is_allowed();
            let which = match (refused, rule) {
                (false, _) => 0,
                (true, 2) => 2,
                (true, _) => 1,
            };
            counts[3 * rule + which] += 1.0;
            sums[3 * rule + which] += 1.0;
        }
        service.counts.push((second, counts));
    }
    service.tell(&mut page);
    page.add_sums(&sums);
    page
}

/// The view of a page, with the edges at which it comes to rest.
fn view<'a>(page: &Live, right: f64, width: f64, tops: &'a mut Vec<f64>) -> Viewport<'a> {
    let right = Time::try_from_secs_f64(right).unwrap();
    let view = Viewport {
        size: [width, live::height(page)],
        right,
        live: true,
        window: page.window,
        ..Viewport::default()
    };
    tops.extend((0..page.rules.len()).map(|lane| live::top(page, lane, &view)));
    Viewport { tops, ..view }
}

#[test]
fn what_a_service_does() {
    let (page, mut tops) = (reported(600), Vec::new());
    let view = view(&page, 600.0, 1200.0, &mut tops);
    in_both_themes("live", &live::draw(&page, &view), view.size);
}

#[test]
fn the_words_are_those_of_the_sums() {
    let (page, mut tops) = (reported(600), Vec::new());
    let view = view(&page, 600.0, 1200.0, &mut tops);
    let [left, right] = ratescope_lab::view::edges(1200.0);
    let pointer = Some([left + (right - left) * 0.6, 0.0]); // minute 6, within the two busy ones
    let words = live::words(&page, &Viewport { pointer, ..view });
    // A sender of ten a second, of which two pass; one of four, of which five a minute pass. A stretch has two seconds.
    let each = [
        "4\u{202f}m before, events a second over 2\u{202f}s",
        "web:ip: 8.00 allowed, 8.00 refused",
        "web:path=/login,ip: 1.00 allowed, 4.00 refused",
        "web:user, a shadow: 8.00 allowed, 0 refused, 2.50 would be",
    ];
    assert_eq!(words, each);
    // Of the 1200 events of its busy sender, a bucket of 10 that refills by 2 a second lets 249 pass in 119.9 s.
    assert_eq!(page.rules[0].sums.0[1], 1200.0 - (10.0 + 239.0));
}

const HOUR: i64 = 3600;

fn seconds(second: i64) -> Time {
    Time::from_micros(second * 1_000_000)
}

/// Where a stretch begins and ends, how much was counted as one, and the rate of allowed events.
fn seen(page: &Live, from: i64, to: i64, shortest: f64) -> Vec<(i64, i64, f64, f64)> {
    let stretches = page.stretches(0, seconds(from), seconds(to), shortest);
    let second = |at: Time| at.as_micros() / 1_000_000;
    let told = stretches
        .iter()
        .map(|it| (second(it.from), second(it.to), it.counted.as_secs_f64(), it.rates[0]));
    told.collect()
}

/// A service of eight hours with one event in each even second, of which it knows the last hours by the second and by the ten
/// seconds as it promises.
fn long() -> Live {
    let mut page = Live::default();
    page.name([("web", "gcra 9/1h")].into_iter());
    let until = 9 * HOUR + 100;
    let counts = (HOUR..until).filter(|second| second % 2 == 0);
    let counts = counts.map(|second| (second, vec![1.0, 0.0, 0.0])).collect();
    let known = [until - 900, until - 6 * HOUR, HOUR];
    Service { begun: HOUR, until, known, counts }.tell(&mut page);
    page
}

#[test]
fn a_sum_is_drawn_in_its_own_width() {
    let page = long();
    let until = 9 * HOUR + 100;
    // The seconds of a quarter of an hour, also if more are merged into one.
    let whole = seen(&page, until - 4, until, 1.0);
    let last: Vec<_> =
        (until - 4..until).map(|s| (s, s + 1, 1.0, f64::from(u8::from(s % 2 == 0)))).collect();
    assert_eq!(whole, last);
    assert_eq!(seen(&page, until - 10, until, 1.5).last(), Some(&(until - 2, until, 2.0, 0.5)));
    // Before them there are ten seconds at once, up to the first second that is known.
    let since = until - 900;
    let all = seen(&page, since - 25, since + 2, 1.0);
    let expected = [
        (since - 30, since - 20, 10.0, 0.5),
        (since - 20, since - 10, 10.0, 0.5),
        (since - 10, since, 10.0, 0.5),
        (since, since + 1, 1.0, 1.0),
        (since + 1, since + 2, 1.0, 0.0),
        (since + 2, since + 3, 1.0, 1.0),
    ];
    assert_eq!(all, expected);
    // And before these there are hours. The first is seen up to where more is known, and was counted as one.
    let since = until - 6 * HOUR;
    let hours = seen(&page, HOUR, since + 60, 60.0);
    let expected = [
        (HOUR, 2 * HOUR, 3600.0, 0.5),
        (2 * HOUR, 3 * HOUR, 3600.0, 0.5),
        (3 * HOUR, since, 3600.0, 0.5),
        (since, since + 20, 60.0, 0.5),
        (since + 20, since + 80, 60.0, 0.5),
    ];
    assert_eq!(hours, expected);
    // A stretch that is not over yet, or was before the service, is not seen.
    assert_eq!(seen(&page, until - 20, until + 20, 60.0), []);
    assert_eq!(seen(&page, 0, HOUR - 2, 1.0), []);
    assert_eq!(page.oldest(), Some(seconds(HOUR)));
}

#[test]
fn any_width_has_each_event_once() {
    let page = long();
    let until = 9 * HOUR + 100;
    for shortest in [0.0, 1.0, 3.0, 7.0, 45.0, 100.0, 1000.0, 3600.0, f64::INFINITY, f64::NAN] {
        let seen = seen(&page, HOUR, until, shortest);
        for pair in seen.windows(2) {
            assert_eq!(pair[0].1, pair[1].0, "{shortest}");
        }
        assert!(seen.iter().all(|it| (it.3 - 0.5).abs() <= 0.5), "{shortest}");
        let sum: f64 = seen.iter().map(|it| (it.1 - it.0) as f64 * it.3).sum();
        let end = seen.last().map_or(HOUR, |it| it.1);
        assert!((sum - (end - HOUR) as f64 / 2.0).abs() <= 0.5, "{shortest}: {sum}");
    }
}

/// The page goes on with the next process: the rules have their past by their names, the time in which no process ran is
/// empty, and a stretch in which both counted has the events of both.
#[test]
fn a_restart_is_a_flag() {
    let mut page = Live::default();
    page.name([("web", "gcra 9/1h"), ("mail", "gcra 9/1h")].into_iter());
    let service = |begun: i64, until: i64, each: [f64; 6]| Service {
        begun,
        until,
        known: [begun; 3],
        counts: (begun..until).map(|second| (second, each.to_vec())).collect(),
    };
    service(100, 125, [3.0, 0.0, 0.0, 1.0, 0.0, 0.0]).tell(&mut page);
    page.add_sums(&[75.0, 0.0, 0.0, 25.0, 0.0, 0.0]);
    page.name([("mail", "gcra 8/1h"), ("web", "gcra 9/1h"), ("new", "gcra 1/1h")].into_iter());
    let next = Service { known: [127; 3], ..service(127, 150, [2.0, 0.0, 0.0, 4.0, 0.0, 0.0]) };
    next.tell(&mut page);
    assert_eq!(page.starts().collect::<Vec<_>>(), [seconds(100), seconds(127)]);
    let rates = |rule: usize, from: i64, to: i64, shortest: f64| -> Vec<_> {
        let stretches = page.stretches(rule, seconds(from), seconds(to), shortest);
        stretches.iter().map(|it| (it.from.as_micros() / 1_000_000, it.rates[0])).collect()
    };
    assert_eq!(
        rates(1, 123, 129, 1.0),
        [(123, 3.0), (124, 3.0), (127, 4.0), (128, 4.0), (129, 4.0)]
    );
    assert_eq!(
        rates(0, 123, 129, 1.0),
        [(123, 1.0), (124, 1.0), (127, 2.0), (128, 2.0), (129, 2.0)]
    );
    assert_eq!(rates(2, 123, 127, 1.0), [(123, 0.0), (124, 0.0), (127, 0.0)]);
    // Five seconds of the one and three of the other.
    assert_eq!(rates(1, 110, 139, 10.0), [(110, 3.0), (120, (15.0 + 12.0) / 8.0), (130, 4.0)]);
    let starts = live::draw(&page, &view(&page, 150.0, 1200.0, &mut Vec::new()));
    let flags =
        starts.iter().filter(|mark| format!("{mark:?}").contains("service started")).count();
    assert_eq!(flags, 2);
}

/// After a pause in which the service lost seconds, they are not drawn as if there had been no events.
#[test]
fn what_was_missed_is_known_by_the_ten_seconds() {
    let mut page = Live::default();
    page.name([("web", "gcra 9/1h")].into_iter());
    let counts: Vec<_> = (0..5000).map(|second| (second, vec![1.0, 0.0, 0.0])).collect();
    Service { begun: 0, until: 100, known: [0; 3], counts: counts.clone() }.tell(&mut page);
    let later = Service { begun: 0, until: 5000, known: [4100, 0, 0], counts };
    later.tell(&mut page);
    assert!(seen(&page, 0, 5000, 1.0).iter().all(|it| it.3 == 1.0));
    assert_eq!(seen(&page, 50, 59, 1.0), [(50, 60, 10.0, 1.0)]);
}

/// Numbers that no service tells are bounded, and a clock that is set back takes the later numbers with it.
#[test]
fn wrong_reports_do_no_harm() {
    let mut page = Live::default();
    page.name([("web", "gcra 9/1h")].into_iter());
    let wrong = [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e300];
    let rows: Vec<Vec<f64>> = wrong.iter().map(|n| vec![*n, 1.0, 1.0, 1.0]).collect();
    for ring in 0..4 {
        for seconds in [[i64::MIN; 3], [i64::MAX; 3], [0; 3], [i64::MAX, i64::MIN, 0], [5, 9, 1]] {
            page.add_past(ring, seconds, ring == 1, rows.iter().map(Vec::as_slice));
            page.add_past(ring, seconds, false, [[].as_slice()].into_iter());
            for shortest in [1.0, 1e9] {
                page.stretches(0, Time::from_micros(0), Time::from_micros(10_000_000), shortest);
            }
        }
    }
    let mut page = Live::default();
    page.name([("web", "gcra 9/1h")].into_iter());
    let service = |until: i64| Service {
        begun: 0,
        until,
        known: [0; 3],
        counts: (0..until).map(|second| (second, vec![1.0, 0.0, 0.0])).collect(),
    };
    service(60).tell(&mut page);
    service(30).tell(&mut page);
    assert_eq!(seen(&page, 0, 60, 1.0).last(), Some(&(29, 30, 1.0, 1.0)));
}

/// The events of a key are drawn with the verdicts of the service, which knows more than the limiter here; the level is what
/// is measured here.
#[test]
fn verdicts_are_those_of_the_service() {
    let settings = Settings { limit: 5.0, decay: Span::from_mins(1), ..Settings::default() };
    let event = |n: i64, refused| Arrival { refused, ..Arrival::from((seconds(n), 1.0)) };
    // Of six at once the limiter here allows five. The service had counted two before, which nobody saw.
    let events = |refused: [Option<bool>; 6]| -> Vec<Arrival> {
        refused.into_iter().map(|refused| event(100, refused)).collect()
    };
    let of = |refused| Past::<Instrument>::new(settings.clone(), events(refused)).unwrap();
    let here = of([None; 6]);
    let service = of([false, false, false, true, true, true].map(Some));
    assert_eq!((here.end().allowed(), here.end().refused()), (5, 1));
    assert_eq!((service.end().allowed(), service.end().refused()), (3, 3));
    let [mine, theirs] = [&here, &service].map(|past| past.end().last().unwrap());
    assert_eq!(mine.outcome.level, theirs.outcome.level);
    // An event that was allowed there is allowed, whatever is measured here.
    let lenient = of([Some(false); 6]);
    assert_eq!((lenient.end().allowed(), lenient.end().refused()), (6, 0));
    assert!(lenient.end().last().unwrap().outcome.is_allowed());
    // A part that is looked at has the same verdicts.
    let mut part = service;
    part.look(seconds(90), seconds(110));
    assert_eq!(part.run().experiment().refused(), 3);
}
