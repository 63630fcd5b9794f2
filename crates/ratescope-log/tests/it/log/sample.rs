//! Made-up logs: written in any format, they are read as the entries that they were made of.

use super::{Read, read};
use ratescope::{Span, Time};
use ratescope_lab::traffic::sample::{Entry, Sample, Style};
use ratescope_log::{Format, Options, Reader, Record, Year};
use std::collections::HashMap;
use std::net::IpAddr;

fn entries(seed: u64, lines: u64) -> Vec<Entry> {
    Sample::new(seed, lines, Span::from_hours(48)).unwrap().collect()
}

fn written(style: Style, entries: &[Entry]) -> String {
    let mut log = style.header().to_owned();
    entries.iter().for_each(|entry| style.write(entry, &mut log));
    log
}

/// The text of an address as `ip` has it.
fn counted(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => {
            let network = v6.to_bits() >> 64 << 64;
            format!("{}/64", std::net::Ipv6Addr::from_bits(network))
        }
    }
}

const NAMES: [&str; 7] = ["ip", "user", "method", "path", "status", "bytes", "agent"];

#[test]
fn every_format_reads_back() {
    let entries = entries(7, 3000);
    for style in Style::ALL {
        let log = written(style, &entries);
        let options = Options { year: Year::First(2026), ..Options::default() };
        let Read { events, coarse, counts } = read(log.as_bytes(), &options, NAMES);
        let shape = super::shape(log.as_bytes(), &options);
        assert_eq!(shape.format().to_string(), style.to_string());
        assert_eq!((counts.unread, events.len()), (0, entries.len()), "{style}");
        let exact = match style {
            Style::Csv => 1,
            Style::Json => 1000,
            Style::Combined | Style::Exim | Style::Syslog => 1_000_000,
        };
        let is_request = !matches!(style, Style::Exim | Style::Syslog);
        for (((micros, cost, fields), coarse), entry) in events.iter().zip(coarse).zip(&entries) {
            let micros_of_entry = entry.time.as_micros();
            assert_eq!(
                (*micros, *cost),
                (micros_of_entry - micros_of_entry % exact, 1.0),
                "{style}"
            );
            assert_eq!(coarse, exact == 1_000_000, "{style}");
            let [ip, user, method, path, status, bytes, agent] = fields;
            assert_eq!(*ip, counted(entry.ip), "{style}");
            let name = entry.user.map_or(String::new(), |user| format!("user{user}"));
            match (style, name.is_empty()) {
                (Style::Syslog, true) => assert_eq!(user, "admin"),
                _ => assert_eq!(*user, name, "{style}"),
            }
            if is_request {
                let target = entry.path();
                let want =
                    (entry.method, target.split('?').next().unwrap(), entry.status.to_string());
                assert_eq!((method.as_str(), path.as_str(), status.clone()), want, "{style}");
                let none = entry.bytes == 0 && style == Style::Combined;
                assert_eq!(*bytes, if none { String::new() } else { entry.bytes.to_string() });
            }
            if matches!(style, Style::Combined | Style::Json) {
                assert_eq!(agent, entry.agent);
            }
        }
    }
}

/// A seed always gives one log, whose entries are in order.
#[test]
fn a_seed_is_a_log() {
    let first = entries(1, 5000);
    assert_eq!(first, entries(1, 5000));
    assert_ne!(first, entries(2, 5000));
    assert!(first.is_sorted_by_key(|entry| entry.time));
    // The log begins on a Monday, and has about the length that was asked for.
    let monday = Time::try_from_secs_f64(1_772_409_600.0).unwrap();
    assert!(first[0].time >= monday);
    let length = monday.until(first[4999].time).as_secs_f64() / 3600.0;
    assert!((40.0..56.0).contains(&length), "{length} hours");
}

/// The log has the clients that the description of the module says.
#[test]
fn it_is_the_site_that_is_described() {
    let entries = entries(3, 60_000);
    let share = |what: &dyn Fn(&&Entry) -> bool| {
        entries.iter().filter(what).count() as f64 / entries.len() as f64
    };
    let hour = |entry: &Entry| entry.time.as_micros() / 3_600_000_000 % 24;
    let is = |ip: &str| ip.parse::<IpAddr>().unwrap();
    let office = is("203.0.113.10");
    assert!((0.04..0.2).contains(&share(&|entry| entry.ip == office)));
    assert!(entries.iter().filter(|e| e.ip == office).all(|e| (9..19).contains(&hour(e))));
    let attack = |entry: &&Entry| entry.method == "POST";
    assert!((0.04..0.12).contains(&share(&attack)));
    assert!(entries.iter().filter(attack).all(|entry| (2..4).contains(&hour(entry))));
    assert!(entries.iter().filter(attack).all(|entry| entry.path() == "/login"));
    let mut tries: HashMap<IpAddr, u32> = HashMap::new();
    entries.iter().filter(attack).for_each(|entry| *tries.entry(entry.ip).or_default() += 1);
    assert!(tries.len() >= 20 && tries.values().all(|tries| *tries < 400), "slowly, from many");
    assert!((0.05..0.2).contains(&share(&|entry| entry.ip.to_string().starts_with("192.0.2."))));
    assert!((0.05..0.2).contains(&share(&|entry| entry.ip.is_ipv6())));
    // Apart from the attack, there are more entries by day than by night.
    let people = |from: i64, to: i64| share(&|e| !attack(e) && (from..to).contains(&hour(e)));
    assert!(people(12, 18) > 2.0 * people(0, 6));
    let mut clients: Vec<String> = entries.iter().map(|entry| counted(entry.ip)).collect();
    clients.sort_unstable();
    clients.dedup();
    assert!((2500..6000).contains(&clients.len()), "{} clients", clients.len());
}

#[test]
fn styles_have_names() {
    for style in Style::ALL {
        assert_eq!(style.to_string().parse::<Style>(), Ok(style));
        // The reader knows the name of a style as that of a format.
        assert!(style.to_string().parse::<Format>().is_ok());
    }
    assert!("xml".parse::<Style>().is_err());
    assert!(Sample::new(1, 10, Span::ZERO).is_err());
    let longest = Span::from_hours(24 * 3650);
    for (seed, lines) in (0..100).map(|seed| (seed, 1 + seed % 4)) {
        let entries: Vec<_> = Sample::new(seed, lines, longest).unwrap().collect();
        assert!(entries.is_sorted_by_key(|entry| entry.time) && entries.len() as u64 == lines);
    }
    let error = Sample::new(1, 2, Span::from_hours(24 * 3650 + 1)).unwrap_err();
    let told = "the span of a log in seconds cannot be 315363600: it must be longer than zero, and at most ten years";
    assert_eq!(error.to_string(), told);
    assert_eq!(entries(1, 0).len(), 0);
    assert_eq!(entries(1, 1).len(), 1);
}

/// Reading a line allocates nothing, whatever its format and fields, not even for an address that is written
/// in its common form.
#[test]
fn lines_are_read_without_allocating() {
    let entries = entries(5, 4000);
    for style in Style::ALL {
        let log = written(style, &entries);
        let options = Options { year: Year::First(2026), ..Options::default() };
        let mut reader = Reader::new(&super::shape(log.as_bytes(), &options), &options).unwrap();
        let (first, rest) = log.split_at(log.len() / 2);
        let mut see = |record: &Record<'_>| {
            for name in NAMES {
                std::hint::black_box(record.value(name));
            }
        };
        // After the first half, the memory that is kept from line to line has its size.
        reader.feed(first.as_bytes(), &mut see).unwrap();
        let allocated = allocation_counter::measure(|| {
            reader.feed(rest.as_bytes(), &mut see).unwrap();
        });
        // The line that spans both halves may allocate.
        assert!(allocated.count_total <= 2, "{style}: {allocated:?}");
        assert!(reader.counts().events > 3990);
    }
}
