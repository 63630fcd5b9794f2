//! The one language of spans, rates and times: written texts are read back, and the error about a text that cannot be
//! read says what would be right.

use crate::common;
use crate::table;
use proptest::prelude::*;
use ratescope::{BadNumber, Outcome, ParseError, Rate, Span, Time};
use std::fmt::Display;
use std::str::FromStr;
use table::rows;

#[track_caller]
fn assert_written<T>(text: &str, want: &str)
where
    T: FromStr<Err = ParseError> + Display,
{
    let value: T = text.parse().unwrap();
    assert_eq!(value.to_string(), want, "{text} written again");
}

#[track_caller]
fn assert_refused<T: FromStr<Err = ParseError>>(text: &str, message: &str) {
    let error = text.parse::<T>().err().unwrap();
    assert_eq!(error.to_string(), message);
    // The part that is wrong can be marked, in any script.
    assert!(text.get(error.at()).is_some(), "{:?} cuts a character", error.at());
}

/// Any finite number that is not negative, all bit patterns alike.
fn any_number() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(|bits| f64::from_bits(bits >> 1)).prop_filter("finite", |n| n.is_finite())
}

/// A span as bit patterns go, or as people have it.
fn any_span() -> impl Strategy<Value = Span> {
    prop_oneof![
        any_number().prop_map(|n| Span::try_from_secs_f64(n).unwrap()),
        any::<u32>().prop_map(|secs| Span::from_secs(secs.into())),
        (0..1u64 << 53).prop_map(Span::from_micros),
        (0..1_000_000u64).prop_map(Span::from_micros),
        (0..1000u64).prop_map(Span::from_millis),
    ]
}

proptest! {
    #[test]
    fn spans_come_back_bit_for_bit(span in any_span()) {
        let back: Span = span.to_string().parse().unwrap();
        prop_assert_eq!(back.as_secs_f64().to_bits(), span.as_secs_f64().to_bits(), "{}", span);
    }

    #[test]
    fn rates_come_back_bit_for_bit(count in any_number(), per in any_span()) {
        prop_assume!(per != Span::ZERO);
        let rate = Rate::new(count, per).unwrap();
        let back: Rate = rate.to_string().parse().unwrap();
        prop_assert_eq!(back.count().to_bits(), count.to_bits(), "{}", rate);
        prop_assert_eq!(back.per().as_secs_f64().to_bits(), per.as_secs_f64().to_bits(), "{}", rate);
    }

    #[test]
    fn times_come_back(micros: i64) {
        let time = Time::from_micros(micros);
        prop_assert_eq!(time.to_string().parse::<Time>().unwrap(), time);
    }

    /// Any text ends in a value that is written and read again, or in an error that points into
    /// the text.
    #[test]
    fn no_text_is_a_surprise(text in "[-0-9.wdhmsuKMG/eE+ µ]{0,12}") {
        check_any::<Span>(&text)?;
        check_any::<Rate>(&text)?;
        check_any::<Time>(&text)?;
    }
}

fn check_any<T>(text: &str) -> Result<(), TestCaseError>
where
    T: FromStr<Err = ParseError> + Display + PartialEq + std::fmt::Debug,
{
    match text.parse::<T>() {
        Ok(value) => prop_assert_eq!(value.to_string().parse::<T>().unwrap(), value),
        Err(error) => {
            prop_assert!(text.get(error.at()).is_some(), "{text:?} {:?}", error.at());
            prop_assert!(!error.problem().is_empty());
        }
    }
    Ok(())
}

#[test]
fn spans_as_written() {
    for (text, want) in [
        ("0s", "0s"),
        ("0w0ms", "0s"),
        ("90s", "1m30s"),
        ("90m", "1h30m"),
        ("30m1h", "1h30m"),
        ("1h1h", "2h"),
        ("1w2d3h4m5s", "1w2d3h4m5s"),
        ("14d", "2w"),
        ("1.5s", "1.5s"),
        ("1.5m", "1m30s"),
        ("0.5h", "30m"),
        (".5s", "500ms"),
        ("1.s", "1s"),
        ("250ms", "250ms"),
        ("0.25s", "250ms"),
        ("1500ms", "1.5s"),
        ("1500us", "1.5ms"),
        ("23479us", "23.479ms"),
        ("0.3333333333333333s", "333.3333333333333ms"),
        ("0.0012345678s", "1.2345678ms"),
        ("0.00000123s", "1.23us"),
        ("23.479ms", "23.479ms"),
        ("0.1us", "0.0000001s"),
        ("1us", "1us"),
        ("0.0000001s", "0.0000001s"),
        ("1m0.5s", "60.5s"),
        ("9007199254740993s", "9007199254740992s"),
    ] {
        assert_written::<Span>(text, want);
    }
}

#[test]
fn rates_as_written() {
    for (text, want) in [
        ("10/1m", "10/1m"),
        ("10/60s", "10/1m"),
        ("600/1h", "600/1h"),
        ("0/1s", "0/1s"),
        ("0.5/1s", "0.5/1s"),
        (".5/250ms", "0.5/250ms"),
        ("010/1s", "10/1s"),
        ("1K/1s", "1000/1s"),
        ("1.5k/1s", "1500/1s"),
        ("1M/1d", "1000000/1d"),
        ("1g/1w", "1000000000/1w"),
    ] {
        assert_written::<Rate>(text, want);
    }
}

/// `tests/web.rs` asks the same of the page.
#[test]
fn numbers_as_written() {
    common::assert_decimals();
}

#[test]
fn times_as_written() {
    for (text, want) in [
        ("0", "0"),
        ("-0", "0"),
        ("12.5", "12.5"),
        ("12.500000", "12.5"),
        ("7.", "7"),
        ("0.000001", "0.000001"),
        ("-0.000001", "-0.000001"),
        ("1704067200.123456", "1704067200.123456"),
        ("9223372036854.775807", "9223372036854.775807"),
        ("-9223372036854.775808", "-9223372036854.775808"),
    ] {
        assert_written::<Time>(text, want);
    }
}

#[test]
fn wrong_spans() {
    for (text, message) in [
        ("", r#""": a span is missing; write a span as 10s, 1h30m, 1.5s or 250ms"#),
        ("10", r#""10": a unit is missing; write 10s, 10m or 10h"#),
        ("1h30", r#""30" in "1h30": a unit is missing; write 30s, 30m or 30h"#),
        ("s", r#""s": not a span; write a span as 10s, 1h30m, 1.5s or 250ms"#),
        ("-5s", r#""-5s": not a span; write a span as 10s, 1h30m, 1.5s or 250ms"#),
        ("inf", r#""inf": not a span; write a span as 10s, 1h30m, 1.5s or 250ms"#),
        ("1y", r#""y" in "1y": not a unit; the units are w, d, h, m, s, ms and us"#),
        ("1 2s", r#""2" in "1 2s": not a unit; the units are w, d, h, m, s, ms and us"#),
        (" 1m 3 ", r#""3" in " 1m 3 ": a unit is missing; write 3s, 3m or 3h"#),
        ("1 month", r#""month" in "1 month": not a unit; the units are w, d, h, m, s, ms and us"#),
        ("10µs", r#""µs" in "10µs": not a unit; the units are w, d, h, m, s, ms and us"#),
        ("1e3s", r#""e" in "1e3s": not a unit; the units are w, d, h, m, s, ms and us"#),
        ("1,5s", r#""," in "1,5s": not a unit; the units are w, d, h, m, s, ms and us"#),
        ("1.2.3s", r#""." in "1.2.3s": not a unit; the units are w, d, h, m, s, ms and us"#),
        ("1h.s", r#"".s" in "1h.s": not a span; write a span as 10s, 1h30m, 1.5s or 250ms"#),
    ] {
        assert_refused::<Span>(text, message);
    }
}

/// People write rates and spans in many ways; each is written back in the one form.
#[test]
fn as_people_write_them() {
    for (text, want) in [
        ("1 minute", "1m"),
        ("10 Seconds", "10s"),
        ("1h 30 min", "1h30m"),
        (" 2 hrs ", "2h"),
        ("1 Week 2 days", "1w2d"),
        ("250 milliseconds", "250ms"),
        ("1S", "1s"),
        ("1.5 H", "1h30m"),
    ] {
        assert_eq!(text.parse::<Span>().unwrap().to_string(), want, "{text}");
    }
    for (text, want) in [
        ("5r/s", "5/1s"),
        ("5 req / sec", "5/1s"),
        ("100/s", "100/1s"),
        ("10/m", "10/1m"),
        ("100/minute", "100/1m"),
        ("60/min", "60/1m"),
        ("300k/HOUR", "300000/1h"),
        ("2kr/s", "2000/1s"),
        ("10 / 1m", "10/1m"),
        ("100 per minute", "100/1m"),
        ("100 Requests Per 10 seconds", "100/10s"),
        ("1.5M events/d", "1500000/1d"),
    ] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), want, "{text}");
    }
}

#[test]
fn a_span_that_adds_up_to_too_much() {
    let most = format!("{}s", f64::MAX);
    let error = format!("{most}{most}").parse::<Span>().err().unwrap();
    let problem = "a span in seconds cannot be inf: it must be finite and not negative";
    assert_eq!(error.problem(), problem);
}

#[test]
fn wrong_rates() {
    for [text, message] in rows(
        r#"
        "" | "": not a rate; write a rate as a count and a span, such as 10/1m
        10 | "10": not a rate; write a rate as a count and a span, such as 10/1m
        /1m | "/1m": a count is missing; write a rate as a count and a span, such as 10/1m
        ten/1m | "ten" in "ten/1m": not a count; write a rate as a count and a span, such as 10/1m
        -1/1m | "-1" in "-1/1m": not a count; write a rate as a count and a span, such as 10/1m
        nan/1m | "nan" in "nan/1m": not a count; write a rate as a count and a span, such as 10/1m
        10 1m | "10 1m": not a rate; write a rate as a count and a span, such as 10/1m
        5 rps/s | "rps" in "5 rps/s": not a suffix of a count; k is 1000, M is 1000k and G is 1000M
        1e3/1m | "e3" in "1e3/1m": not a suffix of a count; k is 1000, M is 1000k and G is 1000M
        10KB/1m | "KB" in "10KB/1m": not a suffix of a count; k is 1000, M is 1000k and G is 1000M
        10/ | "10/": a span is missing; write a span as 10s, 1h30m, 1.5s or 250ms
        10/1 | "1" in "10/1": a unit is missing; write 1s, 1m or 1h
        10 per | "10 per": a span is missing; write a span as 10s, 1h30m, 1.5s or 250ms
        10/1q | "q" in "10/1q": not a unit; the units are w, d, h, m, s, ms and us
        10/0s | "0s" in "10/0s": the period of a rate in seconds cannot be 0: it must be longer than zero
        10//1s | "/1s" in "10//1s": not a span; write a span as 10s, 1h30m, 1.5s or 250ms
        "#,
    ) {
        assert_refused::<Rate>(text, message);
    }
    assert_refused::<Rate>(
        " ten per minute",
        r#""ten" in " ten per minute": not a count; write a rate as a count and a span, such as 10/1m"#,
    );
}

#[test]
fn a_count_that_is_too_large() {
    let text = format!("{}G/1s", f64::MAX);
    let error = text.parse::<Rate>().err().unwrap();
    let problem = "the count of a rate cannot be inf: it must be finite and not negative";
    assert_eq!(error.problem(), problem);
    assert_eq!(&text[error.at()], text.split('/').next().unwrap());
}

#[test]
fn wrong_times() {
    let format = "not a time; write seconds with up to six decimals, such as 12.5";
    for text in ["", "-", "x", ".5", "1.2345678", "1.2.3", "--1", "+1", "1e3", "1 ", "12,5", "٣"] {
        assert_refused::<Time>(text, &format!("{text:?}: {format}"));
    }
    let range = "too far away; a time is within 292,000 years of the origin";
    for text in ["9223372036854.775808", "-9223372036854.775809", "99999999999999999999"] {
        assert_refused::<Time>(text, &format!("{text:?}: {range}"));
    }
}

#[track_caller]
fn assert_bad<T: std::fmt::Debug>(result: Result<T, BadNumber>, message: &str) {
    assert_eq!(result.unwrap_err().to_string(), message);
}

#[test]
fn bad_numbers_are_refused_where_they_enter() {
    let second = Span::from_secs(1);
    for (given, shown) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-1.0, "-1")] {
        let want = "it must be finite and not negative";
        assert_bad(
            Span::try_from_secs_f64(given),
            &format!("a span in seconds cannot be {shown}: {want}"),
        );
        assert_bad(
            Rate::new(given, second),
            &format!("the count of a rate cannot be {shown}: {want}"),
        );
    }
    assert_bad(
        Rate::new(1.0, Span::ZERO),
        "the period of a rate in seconds cannot be 0: it must be longer than zero",
    );
    for (given, shown) in [(f64::NAN, "NaN"), (f64::NEG_INFINITY, "-inf"), (1e13, "10000000000000")]
    {
        let want = "it must be finite and within 292,000 years of the origin";
        assert_bad(
            Time::try_from_secs_f64(given),
            &format!("a time in seconds cannot be {shown}: {want}"),
        );
    }
}

/// Minus zero is zero, also in print.
#[test]
fn there_is_no_minus_zero() {
    assert_eq!(Span::try_from_secs_f64(-0.0).unwrap().as_secs_f64().to_bits(), 0);
    assert_eq!(Rate::new(-0.0, Span::from_secs(1)).unwrap().to_string(), "0/1s");
}

/// An error read as part of a longer text points into that text.
#[test]
fn an_error_inside_a_longer_text() {
    let text = "exim 10/1q strict";
    let error = "10/1q".parse::<Rate>().err().unwrap().inside(text, 5);
    assert_eq!(&text[error.at()], "q");
    assert_eq!(
        error.to_string(),
        r#""q" in "exim 10/1q strict": not a unit; the units are w, d, h, m, s, ms and us"#
    );
}

/// An outcome is for people: six decimals, which never contradict the answer.
#[test]
fn numbers_of_outcomes() {
    for (passes, level, limit, text) in [
        (false, 1.9999995166666666, 1.0, "refused: level 2, limit 1"),
        (false, 10.00000001, 10.0, "refused: level 10.000001, limit 10"),
        (true, 9.99999999, 10.0, "allowed: level 9.999999, limit 10"),
        (true, 4.35, 17.33333333, "allowed: level 4.35, limit 17.333334"),
        (false, 17.5, 17.33333333, "refused: level 17.5, limit 17.333333"),
        (true, 0.0, 0.3, "allowed: level 0, limit 0.3"),
        (false, -1.0, 1e12, "refused: level -1, limit 1000000000000"),
        (false, f64::NAN, 5.5, "refused: level NaN, limit 5.5"),
    ] {
        assert_eq!(Outcome::new(passes, level, limit).to_string(), text);
    }
}
