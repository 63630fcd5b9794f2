//! Times, compared with those of the jiff library.

use super::{of, read};
use jiff::civil::{Date as JiffDate, DateTime};
use jiff::tz::Offset;
use proptest::prelude::*;
use ratescope::Time;
use ratescope_log::civil::{Civil, Date};
use ratescope_log::{Format, Options, Unit};

/// Every day of the years that logs can have, and the first and the last days that the text forms can have.
#[test]
fn days_are_those_of_the_calendar() {
    let epoch = JiffDate::constant(1970, 1, 1);
    for days in (-145_000..230_000).chain(-719_528..-719_000).chain(2_932_000..2_932_896) {
        let theirs = epoch.checked_add(jiff::Span::new().days(days)).unwrap();
        let ours = Date::at(i64::from(days));
        let parts = (ours.year(), ours.month(), ours.day());
        assert_eq!(parts, (theirs.year().into(), theirs.month() as u8, theirs.day() as u8));
        assert_eq!(ours.since_epoch(), i64::from(days));
        assert_eq!(ours.to_string(), theirs.to_string());
    }
    // Far beyond these, a number of days still gives a date.
    for days in [i64::MIN, -800_000_000_000, 800_000_000_000, i64::MAX] {
        let _ = Date::at(days).to_string();
    }
    for (year, month, day) in [
        (2001, 2, 29),
        (2000, 2, 30),
        (1900, 2, 29),
        (2000, 4, 31),
        (2000, 13, 1),
        (2000, 0, 1),
        (2000, 1, 0),
        (2000, 255, 255),
    ] {
        let error = Date::new(year, month, day).unwrap_err();
        assert!(error.to_string().starts_with("the day of a date cannot be"), "{error}");
    }
    assert!(Date::new(i32::MAX, 12, 31).is_ok() && Date::new(i32::MIN, 1, 1).is_ok());
}

/// The time of a Combined Log Format line, if it has one.
fn clf(stamp: &str) -> Option<i64> {
    let log = format!(
        "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"-\" 200 1\n192.0.2.7 - - [{stamp}] \"-\" 200 1\n"
    );
    let read = read(log.as_bytes(), &of(Format::COMBINED), []);
    read.events.get(1).map(|(micros, _, _)| *micros)
}

fn json(time: &str) -> Option<(i64, bool)> {
    let log = format!("{{\"ts\":0}}\n{{\"ts\":\"{time}\"}}\n");
    let read = read(log.as_bytes(), &of(Format::JSON), []);
    read.events.get(1).map(|(micros, _, _)| (*micros, read.coarse[1]))
}

#[test]
fn stamps_are_read() {
    let micros = 971_211_336_000_000;
    for stamp in [
        "10/Oct/2000:13:55:36 -0700",
        "10/Oct/2000:20:55:36 +0000",
        "11/Oct/2000:02:25:36 +0530",
        "2000-10-10T13:55:36-07:00",
        "2000-10-10T20:55:36Z",
        "2000-10-10t20:55:36z",
        "2000-10-10 20:55:36",
        "2000/10/10 20:55:36",
        "2000-10-10 20:55:36 UTC",
        "2000-10-10 22:55:36 +02",
    ] {
        assert_eq!((clf(stamp), json(stamp)), (Some(micros), Some((micros, true))), "{stamp}");
    }
    for (stamp, part) in [
        ("2000-10-10T20:55:36.25Z", 250_000),
        ("2000-10-10 20:55:36,123", 123_000),
        ("2000-10-10T20:55:36.123456789+00:00", 123_456),
        ("10/Oct/2000:13:55:36.5 -0700", 500_000),
        ("2000-10-10T20:55:36.0Z", 0),
    ] {
        assert_eq!(json(stamp), Some((micros + part, false)), "{stamp}");
    }
    // A leap second is read as the second after it.
    assert_eq!(clf("31/Dec/2016:23:59:60 +0000"), clf("01/Jan/2017:00:00:00 +0000"));
    for stamp in [
        "",
        "10/Oct/2000",
        "10/Oct/2000:13:55:36 -070",
        "10/Oct/2000:13:55:36 CEST",
        "10/Oct/2000:13:55:61 -0700",
        "10/Oct/2000:13:60:36 -0700",
        "10/Oct/2000:24:55:36 -0700",
        "31/Sep/2000:13:55:36 -0700",
        "10/oct/2000:13:55:36 -0700",
        "1x/Oct/2000:13:55:36 -0700",
        "10/Oct/2000:13:55:36 -2460",
        "2000-10-10T20:55:36+24:00",
        "2000-13-10T20:55:36Z",
        "2000-10-10T20:55Z",
        "２000-10-10T20:55:36Z",
        "2000-10-10T20:55:36.Z",
        "00-10-10T20:55:36Z",
    ] {
        assert_eq!((clf(stamp), json(stamp)), (None, None), "{stamp}");
    }
}

/// Seconds, milliseconds, microseconds and nanoseconds are told apart by their size.
#[test]
fn numbers_are_read() {
    let all = |texts: &[&str], unit| -> Vec<Option<i64>> {
        let lines: String = texts.iter().map(|text| format!("{{\"ts\":{text}}}\n")).collect();
        let options = Options { unit, ..of(Format::JSON) };
        let log = format!("{{\"ts\":0}}\n{lines}");
        let read = read(log.as_bytes(), &options, []);
        match read.counts.unread {
            0 => read.events[1..].iter().map(|(micros, _, _)| Some(*micros)).collect(),
            _ => vec![None; texts.len()],
        }
    };
    let same = [
        "1700000000",
        "1700000000.000000",
        "1700000000000",
        "1700000000000000",
        "1700000000000000000",
        "1.7e9",
        "1.7e12",
        "1700000000000000999",
    ];
    assert_eq!(all(&same, None), [Some(1_700_000_000_000_000); 8]);
    assert_eq!(
        all(
            &["0", "-1.5", "0.0000019", "99999999999", "1700000000123.4567", "1700000000.1234567"],
            None
        ),
        [0, -1_500_000, 1, 99_999_999_999_000_000, 1_700_000_000_123_456, 1_700_000_000_123_456]
            .map(Some)
    );
    let ten = |unit| all(&["10"], Some(unit))[0];
    assert_eq!(
        [Unit::Seconds, Unit::Millis, Unit::Micros, Unit::Nanos].map(ten),
        [10_000_000, 10_000, 10, 0].map(Some)
    );
    for wrong in ["1e40", "99999999999999999999999999", "1.2.3", "1e", "true"] {
        assert_eq!(all(&[wrong], None), [None], "{wrong}");
    }
    for (text, unit) in
        [("s", Unit::Seconds), ("ms", Unit::Millis), ("us", Unit::Micros), ("ns", Unit::Nanos)]
    {
        assert_eq!((text.parse().as_ref(), unit.to_string()), (Ok(&unit), text.to_owned()));
    }
    assert_eq!(
        "m".parse::<Unit>().unwrap_err().problem(),
        "not a unit of times in numbers; write s, ms, us or ns"
    );
    // A time in whole seconds may have been anywhere in its second; a finer time may not.
    let log = "{\"ts\":1}\n{\"ts\":1.0}\n{\"ts\":1700000000000}\n{\"ts\":\"2\"}\n";
    assert_eq!(read(log.as_bytes(), &of(Format::JSON), []).coarse, [true, false, false, true]);
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

proptest! {
    /// Each of several times in a row, near or far from each other and in any zones, is as jiff computes it,
    /// whatever the time before was.
    #[test]
    fn times_are_those_of_jiff(
        times in prop::collection::vec((-62_135_596_800i64..253_402_300_799, -93_599i32..93_599), 1..4),
        steps in prop::collection::vec((0usize..4, -70i64..70, any::<bool>()), 1..12),
    ) {
        let (mut clf, mut iso, mut want) = (String::new(), String::new(), Vec::new());
        for (which, step, other) in steps {
            let (seconds, zone) = times[which % times.len()];
            let minutes = if other { zone / 60 } else { 0 }.clamp(-23 * 60, 23 * 60);
            let offset = Offset::from_seconds(minutes * 60).unwrap();
            let time = jiff::Timestamp::from_second((seconds + step).clamp(-62_000_000_000, 253_000_000_000)).unwrap();
            let at: DateTime = offset.to_datetime(time);
            let sign = if minutes < 0 { '-' } else { '+' };
            let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
            let clock = format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second());
            clf += &format!(
                "192.0.2.7 - - [{:02}/{}/{:04}:{clock} {sign}{hours:02}{rest:02}] \"-\" 200 1\n",
                at.day(), MONTHS[at.month() as usize - 1], at.year(),
            );
            iso += &format!("{{\"ts\":\"{}T{clock}{sign}{hours:02}:{rest:02}\"}}\n", at.date());
            want.push(time.as_microsecond());
        }
        for (log, format) in [(clf, Format::COMBINED), (iso, Format::JSON)] {
            let read = read(log.as_bytes(), &of(format), []);
            let got: Vec<i64> = read.events.iter().map(|(micros, _, _)| *micros).collect();
            prop_assert_eq!(&got, &want, "{}", log);
        }
    }

    /// A time is written as jiff writes it, and is read back.
    #[test]
    fn instants_are_written_as_dates(micros in -62_000_000_000_000_000i64..253_000_000_000_000_000) {
        let text = Civil(Time::from_micros(micros)).to_string();
        let theirs = jiff::Timestamp::from_microsecond(micros).unwrap().to_string();
        prop_assert_eq!(&text, &theirs.replace('T', " ").replace('Z', ""));
        prop_assert_eq!(json(&text).map(|(micros, _)| micros), Some(micros));
    }
}
