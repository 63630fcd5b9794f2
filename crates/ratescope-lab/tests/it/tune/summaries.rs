//! Summaries: logs that are read apart and added up give the same as logs that are read together.

use super::invariants;
use super::*;
use ratescope_lab::tune::{BadSummary, LogClock, Origin, Summary, Zones};

fn summary(traffic: &[(String, Moment)]) -> Summary {
    let mut summary = Summary::new("ip".parse().unwrap(), Room::default());
    for (key, moment) in traffic {
        summary.clients.add(key, moment.time, moment.cost);
    }
    summary.lines = traffic.len() as u64;
    summary
}

fn bytes(summary: &Summary) -> Vec<u8> {
    let mut bytes = Vec::new();
    summary.write(&mut bytes).unwrap();
    bytes
}

fn log(traffic: Traffic) -> Vec<(String, Moment)> {
    let each =
        |(key, moments): (String, Vec<Moment>)| moments.into_iter().map(move |m| (key.clone(), m));
    let mut log: Vec<_> = traffic.into_iter().flat_map(each).collect();
    log.sort_by_key(|(_, moment)| moment.time);
    log
}

/// By client, in the order of the keys.
fn contents(summary: &Summary) -> Vec<(String, Vec<Moment>)> {
    let clients = &summary.clients;
    let each = |place| (clients.key(place).to_owned(), clients.moments(place).collect());
    let mut all: Vec<_> = (0..clients.len()).map(each).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

proptest! {
    /// However a log is split, by key, by time or by chance, and in whatever order it is added up.
    #[test]
    fn parts_add_up(traffic in traffic(), parts in 1usize..4, how in 0..3, measure in measure()) {
        let log = log(traffic);
        let whole = summary(&log);
        let mut split = vec![Vec::new(); parts];
        for (i, line) in log.iter().enumerate() {
            let part = match how {
                0 => line.0.len() + line.0.as_bytes()[line.0.len() - 1] as usize,
                1 => i * parts / log.len(),
                _ => i,
            };
            split[part % parts].push(line.clone());
        }
        let mut sum = Summary::new("ip".parse().unwrap(), Room::default());
        for part in split.iter().rev() {
            sum.add(&Summary::read(&bytes(&summary(part)), Room::default()).unwrap()).unwrap();
        }
        // Events of one instant have no order of their own, so costs may change places in it.
        let sums = |s: &Summary| -> Vec<_> {
            contents(s).into_iter().map(|(key, moments)| {
                let mut all: Vec<_> = moments.iter().map(|m| (m.time, m.cost.to_bits())).collect();
                all.sort();
                (key, all)
            }).collect()
        };
        prop_assert_eq!(sums(&sum), sums(&whole));
        prop_assert_eq!((sum.lines, sum.clients.requests(), sum.clients.late()), (whole.lines, whole.clients.requests(), 0));
        if how == 0 {
            // The clients have other places.
            let curve = |s: &Summary| {
                let curve = Curve::of(&s.clients, measure, None);
                (curve.all, curve.times)
            };
            prop_assert_eq!(curve(&sum), curve(&whole));
        }
    }

    #[test]
    fn what_is_written_is_read(traffic in traffic(), at in 0usize..40) {
        let summary = summary(&log(traffic));
        let bytes = bytes(&summary);
        let read = Summary::read(&bytes, Room::default()).unwrap();
        prop_assert_eq!(contents(&read), contents(&summary));
        prop_assert_eq!(self::bytes(&read), bytes.clone());
        // A part of the clients is no summary, wherever it ends.
        for end in 0..bytes.len() {
            prop_assert!(Summary::read(&bytes[..end], Room::default()).is_err(), "{end}");
        }
        // Bytes that are cut off or changed make an error or another summary, and never a panic.
        for end in (at % 40..bytes.len()).step_by(40) {
            invariants::hold(&bytes[..end]);
            let mut bytes = bytes.clone();
            bytes[end] ^= 0x55;
            invariants::hold(&bytes);
        }
    }
}

#[test]
fn what_lines_say_of_their_clock_is_kept() {
    let mut written = Summary::new("ip".parse().unwrap(), Room::default());
    let time = |hour: i64| Time::from_micros(hour * 3_600_000_000 + 7);
    for (hour, east) in [(-30, -210), (-29, -210), (0, -210), (5, -150), (6, -150), (90_000, -150)]
    {
        written.zones.add_line(time(hour), east);
    }
    let read = Summary::read(&bytes(&written), Room::default()).unwrap();
    assert_eq!(read.clock(), written.clock());
    assert_eq!(read.clock().zone.to_string(), "UTC-03:30, in summer UTC-02:30");
    for (hour, east) in [(-9000, -210), (4, -210), (5, -150), (90_001, -150)] {
        let shown = Time::from_micros(time(hour).as_micros() + east * 60_000_000);
        assert_eq!(read.clock().local(time(hour)), shown, "{hour}");
    }
    let clock = read.clock();
    assert_eq!(clock.rfc3339(time(4)), "1970-01-01T00:30:00-03:30");
    assert_eq!(clock.rfc3339(time(5)), "1970-01-01T02:30:00-02:30");
    assert_eq!(Zones::default().clock().rfc3339(time(5)), "1970-01-01T05:00:00");
    assert_eq!(LogClock::default().rfc3339(time(-1)), "1969-12-31T23:00:00+00:00");
}

#[test]
fn what_is_no_summary() {
    let summary = summary(&[("a".to_owned(), Moment { time: Time::ZERO, cost: 1.0 })]);
    let good = bytes(&summary);
    let error = |bytes: &[u8]| Summary::read(bytes, Room::default()).unwrap_err();
    assert_eq!(error(b"time,key\n"), BadSummary::NotASummary);
    assert_eq!(error(&good[..good.len() - 1]), BadSummary::Short);
    let mut newer = good.clone();
    newer[18] = 4;
    assert_eq!(error(&newer), BadSummary::Version(4));
    let mut many = good.clone();
    many[31] = 33;
    assert_eq!(error(&many), BadSummary::Damaged("a number of formats"));
    // Requests that are neither kept nor left out, and more left out than there are.
    for (at, count) in [(21, 2), (23, 1), (24, 0x7f)] {
        let mut other = good.clone();
        other[at] = count;
        assert_eq!(error(&other), BadSummary::Damaged("the counts"), "{at}");
    }
    // Hours beyond all time: their distance could not be written.
    let mut beyond = [&good[..19], &[0; 7], b"\x02ip\0\0\0\x03"].concat();
    for last in [0xfd, 0xff, 0xff] {
        beyond.extend([last, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0]);
    }
    assert_eq!(error(&beyond), BadSummary::Damaged("a zone"));
    let mut other = Summary::new("user".parse().unwrap(), Room::default());
    let says = "one summary is of clients per user, another per ip; they don't add up";
    assert_eq!(other.add(&summary).unwrap_err().to_string(), says);
}

/// The word for the events is kept as far as the summaries agree, and so that it fits. Costs that are of different
/// fields don't add up.
#[test]
fn what_the_events_are() {
    let of = |events: &str, cost: &str, formats: &[String]| {
        let mut one = summary(&[("a".to_owned(), Moment { time: Time::ZERO, cost: 1.0 })]);
        let (events, cost, formats) = (events.to_owned(), cost.to_owned(), formats.to_vec());
        one.origin = Origin { events, cost, formats };
        Summary::read(&bytes(&one), Room::default()).unwrap()
    };
    let formats: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let sum = |mut a: Summary, b: &Summary| a.add(b).map(|()| a);
    let [mails, requests] = ["mails", "requests"].map(|events| of(events, "", &formats[..20]));
    let others = of("mails", "", &formats[10..40]);
    assert_eq!(sum(mails.clone(), &mails).unwrap().origin, mails.origin);
    assert_eq!(sum(mails.clone(), &requests).unwrap().origin.events, "events");
    assert_eq!(sum(mails.clone(), &others).unwrap().origin.formats, formats[..32]);
    let bytes = of("mails", "b\ny\u{202e}", &[]);
    let error = sum(bytes.clone(), &mails).unwrap_err();
    let says = "one summary counts b·y·, another each event as 1; they don't add up";
    assert_eq!((error.to_string().as_str(), bytes.clients.requests()), (says, 1));
}

/// Thinned out alike, however it was split.
#[test]
fn those_that_did_not_fit() {
    let room = Room { clients: 100, bytes: 1 << 20 };
    let summary = |from: i64, to: i64| {
        let mut summary = Summary::new("ip".parse().unwrap(), room);
        for i in from..to {
            summary.clients.add(&i.to_string(), Time::from_micros(i), 1.0);
        }
        summary
    };
    let mut sum = summary(0, 5_000);
    sum.add(&summary(5_000, 20_000)).unwrap();
    let (all, kept) = (sum.clients.clients(), sum.clients.len());
    assert!(kept <= 100 && (all as f64 / 20_000.0 - 1.0).abs() < 0.5, "{all}");
    assert_eq!(sum.clients.requests(), 20_000);
}

/// Those that were busiest in one of several logs are all in the sum, whatever was left out of the others.
#[test]
fn the_busiest_of_each_log_are_there() {
    let room = Room { clients: 1000, bytes: 1 << 20 };
    let add = |summary: &mut Summary, keys: std::ops::Range<i64>, times: usize| {
        for i in keys.flat_map(|i| std::iter::repeat_n(i, times)) {
            summary.clients.add(&i.to_string(), Time::from_micros(i), 1.0);
        }
    };
    let mut sum = Summary::new("ip".parse().unwrap(), room);
    add(&mut sum, 0..50_000, 1);
    assert!(sum.clients.one_in() > 32);
    let mut small = Summary::new("ip".parse().unwrap(), room);
    add(&mut small, 100_000..100_020, 50);
    add(&mut small, 200_000..200_200, 1);
    let mut large = Summary::new("ip".parse().unwrap(), room);
    add(&mut large, 300_000..300_020, 100);
    // One that the sum has by chance, and for others.
    let known: i64 = sum.clients.key(sum.clients.len() - 1).parse().unwrap();
    assert!(sum.clients.weight(sum.clients.len() - 1) > 1);
    add(&mut large, known..known + 1, 100);
    add(&mut large, 400_000..420_000, 1);
    sum.add(&small).unwrap();
    sum.add(&large).unwrap();
    for key in (100_000..100_020).chain(300_000..300_020).chain([known]) {
        let place = sum.clients.find(&key.to_string());
        assert_eq!(place.map(|place| sum.clients.weight(place)), Some(1), "{key}");
    }
    let all = sum.clients.clients();
    assert!((all as f64 / 70_240.0 - 1.0).abs() < 0.2, "{all}");
}

/// The inputs with which the fuzzer begins, and those that it found.
#[test]
fn the_corpus_holds() {
    seeds::each("summary", 4, invariants::hold);
}

/// The seeds: a few clients, some that were halved, and none. Run it with `--ignored` to write them
/// again.
#[test]
#[ignore = "writes the seeds of the corpus"]
fn write_the_seeds() {
    let write = |name: &str, summary: &Summary| seeds::write("summary", name, bytes(summary));
    let moment = |i: i64, cost| Moment { time: Time::from_micros(i * 1_234_567), cost };
    let few: Vec<_> =
        (-3..40).map(|i| (format!("k{}", i % 3), moment(i, 0.5 * i as f64))).collect();
    write("few", &summary(&few));
    write("none", &summary(&[]));
    let mut halved = Summary::new("user+ip".parse().unwrap(), Room { clients: 64, bytes: 1 << 16 });
    for i in 0..300 {
        halved.clients.add(&i.to_string(), Time::from_micros(i), 1.0);
    }
    write("halved", &halved);
}
