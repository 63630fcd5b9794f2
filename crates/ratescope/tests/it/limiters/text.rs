//! The text forms, and the errors about wrong ones.

use crate::limiters::invariants::hold;
use crate::limiters::table::rows;
use crate::limiters::{KINDS, cases};
use crate::seeds;
use proptest::prelude::*;
use ratescope::limit::FORMS;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::by_hour::{ByHour, Day};
use ratescope::limit::envoy::Envoy;
use ratescope::limit::exim::Mode;
use ratescope::limit::fail2ban::Fail2ban;
use ratescope::limit::gcra::Gcra;
use ratescope::limit::nginx::{Delay, Nginx};
use ratescope::limit::sliding_window::SlidingWindow;
use ratescope::limit::token_bucket::TokenBucket;
use ratescope::{Rate, Span};

proptest! {
    #[test]
    fn what_is_written_reads_back(case in cases(&KINDS)) {
        let text = case.limiter.to_string();
        prop_assert_eq!(text.parse::<AnyLimiter>().unwrap(), case.limiter);
    }

    #[test]
    fn nothing_typed_breaks_it(text in "[a-z0-9/&. \u{e9}-]{0,40}") {
        hold(text.as_bytes());
    }
}

/// The seeds of the fuzzer, and its finding: a cost that is no number.
#[test]
fn seeds_hold() {
    seeds::each("limiters", 3, hold);
    hold(b"sliding-log 3/1m\n\x18\0\x18\0\x18.\0\x18\0");
}

#[test]
fn every_form_has_an_example_that_reads() {
    for form in FORMS {
        let limiter: AnyLimiter = form.example.parse().unwrap();
        assert!(limiter.to_string().starts_with(form.example), "{}", form.example);
        assert!(form.example.starts_with(form.name));
    }
}

/// A new limiter joins [`KINDS`] and `limiters.txt`, and no other list of the tests.
#[test]
fn every_limiter_is_tried() {
    let decided = include_str!("../../../../../tests/vectors/limiters.txt");
    let untried = |name: &&str| {
        let is = |text: &str| text.split(' ').next() == Some(*name);
        !KINDS.into_iter().any(is) || !decided.lines().any(is)
    };
    let names = FORMS.iter().map(|form| form.name).chain(["made-up"]);
    assert_eq!(names.filter(untried).collect::<Vec<_>>(), ["made-up"]);
}

/// Of all forms that can be read, one is written.
#[test]
fn there_is_one_form() {
    for [read, written] in rows("
        # Words may be left out.
        exim 10/1m | exim 10/1m leaky
        exim 10/1m strict | exim 10/1m strict
        earrrl 1/1s | earrrl 1/1s half-life 1s
        earrrl 1/1s half-life 20s | earrrl 1/1s half-life 20s
        token-bucket 10/1s | token-bucket 10/1s burst 10
        gcra 10/1s burst 20 | gcra 10/1s burst 20
        gcra 100k/1m burst 0.3M | gcra 100000/1m burst 300000
        leaky-bucket 10/1s | leaky-bucket 10/1s queue 10
        fixed-window 10/1m | fixed-window 10/1m
        fixed-window 100/1d from 06:00 | fixed-window 100/1d from 06:00
        fixed-window 100/1d from 00:00 | fixed-window 100/1d
        fixed-window 100/1d from 00:00+02:00 | fixed-window 100/1d from 22:00
        fixed-window 100/1d from 20:30-05:30 | fixed-window 100/1d from 02:00
        fixed-window 100/12h from 18:00 | fixed-window 100/12h from 06:00
        fixed-window 100/1w from 4d | fixed-window 100/1w from 4d
        fixed-window 100/1w from 4d6h | fixed-window 100/1w from 4d6h
        fixed-window 10/1m from 20s | fixed-window 10/1m from 20s
        fixed-window 10/1m from first | fixed-window 10/1m from first
        fixed-window 10/1m attempts | fixed-window 10/1m attempts
        fixed-window 10/1m from 00:00 attempts | fixed-window 10/1m attempts
        fixed-window 10/1m ATTEMPTS from first | fixed-window 10/1m from first attempts
        100/1d attempts from 06:00 | fixed-window 100/1d from 06:00 attempts
        100/1d FROM 06:00 | fixed-window 100/1d from 06:00
        10/1m from FIRST | fixed-window 10/1m from first
        sliding-window 240/1h | sliding-window 240/1h
        sliding-window 10/10s | sliding-window 10/10s
        sliding-counter 500/1m | sliding-counter 500/1m
        sliding-log 10/1s | sliding-log 10/1s
        adaptive x3 decay 1m floor 5 | adaptive x3 decay 1m increase 1h floor 5 leaky
        adaptive x3 floor 5 strict increase 2h decay 30s | adaptive x3 decay 30s increase 2h floor 5 strict
        adaptive x3 decay 10m floor 10 by hour | adaptive x3 decay 10m increase 1w floor 10 by hour leaky
        adaptive x3 by hour day 12h strict decay 10m floor 10 offset -1h30m | \
            adaptive x3 decay 10m increase 3d12h floor 10 by hour offset -1h30m day 12h strict
        nginx 10/1s | nginx 10/1s
        nginx 30/60s delay 8 burst 12 | nginx 30/1m burst 12 delay 8
        nginx 10/1000ms nodelay burst 20 | nginx 10/1s burst 20 nodelay
        haproxy 20/10s | haproxy 20/10s
        haproxy 20/1500ms allowed | haproxy 20/1.5s allowed
        envoy 5/1s | envoy 5/1s burst 5
        envoy 5/50ms burst 10 | envoy 5/50ms burst 10
        10/1s | fixed-window 10/1s
        240/1h precision 1m | sliding-window 240/1h
        64K/1h | fixed-window 64000/1h

        # Names, rates and spans as people write them, in any case.
        GCRA 10/1s | gcra 10/1s burst 10
        Token Bucket 5r/s Burst 300k | token-bucket 5/1s burst 300000
        leaky_bucket 10 / 1m QUEUE 20 | leaky-bucket 10/1m queue 20
        sliding window 240 per hour precision 1 minute | sliding-window 240/1h
        exim 100/minute STRICT | exim 100/1m strict
        exim 100 per 10 minutes strict | exim 100/10m strict
        earrrl 1/s half-life 20 s | earrrl 1/1s half-life 20s
        100 requests per minute | fixed-window 100/1m
        100 requests/minute | fixed-window 100/1m
        100 req /1 minute | fixed-window 100/1m
        100/ 1 minute | fixed-window 100/1m
        100 /minute | fixed-window 100/1m
        exim 100/1 minute strict | exim 100/1m strict
        100 / 1 minute | fixed-window 100/1m
        60/min precision 1 s | sliding-window 60/1m
        nginx 10r/s burst 20 NoDelay | nginx 10/1s burst 20 nodelay
        HAProxy 20/10s Allowed | haproxy 20/10s allowed
        adaptive X3 decay 1 minute increase 1 hour floor 5 | adaptive x3 decay 1m increase 1h floor 5 leaky
        adaptive x3 By Hour floor 3 day 1h decay 1m | adaptive x3 decay 1m increase 7h floor 3 by hour day 1h leaky
        ") {
        let padded = format!("  {}\t ", read.replacen(' ', "\t", 1));
        for read in [read, &padded] {
            assert_eq!(read.parse::<AnyLimiter>().unwrap().to_string(), written, "{read:?}");
        }
    }
}

/// The word that is wrong, and the error about it.
#[test]
fn mistakes_are_pointed_at() {
    for [text, word, problem] in rows(
        r#"
        "" | "" | a limiter is missing; write a rate such as 10/1m, or a name and a rate
        eximm 10/1m | eximm | not a limiter; did you mean exim?
        tokn-bucket | tokn-bucket | not a limiter; did you mean token-bucket?
        slidingwindow 10/1m | slidingwindow | not a limiter; did you mean sliding-window?
        bucket 10/1m | bucket | not a limiter; did you mean token-bucket?
        gcar 10/1m | gcar | not a limiter; did you mean gcra?
        quota 10/1m | quota | not a limiter; write a rate such as 10/1m, or a name and
        exim | "" | a rate is missing; write exim RATE [leaky|strict|readonly], such as
        exim 10/1x | x | not a unit; the units are w, d, h, m, s, ms and us
        exim 10/1m s | s | unexpected word; write exim RATE [leaky|strict|readonly]
        exim 10 /1m s | s | unexpected word; write exim RATE [leaky|strict|readonly]
        exim many / 1m | many | not a rate; write a rate as
        exim many per minute | many | not a rate; write a rate as
        exim 10 each minute | 10 | not a rate; write a rate as
        exim many /1m | many | not a rate; write a rate as
        exim 100 per two minutes | 100 | not a rate; write a rate as
        exim 100 per 10 users | 100 | not a rate; write a rate as
        exim 10/1m strikt | strikt | unexpected word; write exim RATE [leaky|strict|readonly]
        gcra 10/1s burst | burst | a value is missing after burst; write one, or leave burst out
        gcra 10/1s burst many | many | not a number; write digits such as 20, 0.5 or 300k
        gcra 10/1s burst 0 | 0 | the burst cannot be 0: it must be from 0.001 to 1e12, or 0 with a rate of 0
        gcra 0/1s burst 5 | 0/1s | the count of a rate cannot be 0: it must be from 0.001 to 1e12, or 0 with a burst or a queue of 0
        gcra 10/1s burst 5 burst 6 | burst | unexpected word; write gcra RATE [burst N]
        leaky-bucket 10/1s burst 5 | burst | unexpected word; write leaky-bucket RATE [queue N]
        fixed-window 10/1m from 06:60 | 06:60 | not the beginning of a window; write a time as 06:00 or 06:00+02:00
        fixed-window 10/1d from 6:00 | 6:00 | not the beginning of a window
        fixed-window 10/1d from noon | noon | not the beginning of a window
        fixed-window 10/1d from 06:00+15:00 | 06:00+15:00 | not the beginning of a window
        fixed-window 10/1m from 1m | 1m | windows begin less than a period after its multiples
        fixed-window 10/1m from | from | a value is missing after from
        fixed-window 10/1m first | first | unexpected word; write fixed-window RATE [from TIME|SPAN|first]
        sliding-window 10/1m precision 2m | 2m | the precision in seconds cannot be 120: it must be
        sliding-window 10/1d precision 1s | 1s | the precision in seconds cannot be 1: it must be at least
        earrrl 1/1s half-life 0s | 0s | the half-life in seconds cannot be 0: it must be at least
        adaptive 3 decay 1m floor 5 | 3 | not a factor; write it as in adaptive x3 decay 1m increase 1h floor 5
        adaptive x3 floor 5 | "" | the decay is missing; write it as in adaptive x3
        adaptive x3 decay 1m | "" | the floor is missing; write it as in adaptive x3
        nginx 10/10s | 10/10s | the period of a rate in seconds cannot be 10: it must be 1s or 1m, as nginx has no other
        nginx 0.5/1s | 0.5/1s | the count of a rate cannot be 0.5: it must be a whole number
        nginx 0/1m | 0/1m | the count of a rate cannot be 0: it must be a whole number from 1
        nginx 10/1s burst 2.5 | 2.5 | not a whole number from 1; write digits such as 20
        nginx 10/1s burst 0 | 0 | not a whole number from 1
        nginx 10/1s burst +5 | +5 | not a whole number from 1
        nginx 10/1s burst 2000000000000 | 2000000000000 | the burst cannot be 2000000000000
        nginx 10/1s burst 5 delay many | many | not a whole number from 1
        nginx 10/1s burst 5 delay 3 nodelay | delay | unexpected word; write nginx RATE [burst N]
        nginx | "" | a rate is missing; write nginx RATE [burst N] [nodelay|delay N]
        haproxy 2.5/10s | 2.5/10s | the count of a rate cannot be 2.5: it must be a whole
        haproxy 20/10s burst 5 | burst | unexpected word; write haproxy RATE [allowed], such as
        haproxy 20/1500us | 20/1500us | the period of a rate in seconds cannot be 0.0015: it must be whole
        haproxy 20/30d | 20/30d | the period of a rate in seconds cannot be 2592000: it must be whole
        envoy 5/1s burst 10.5 | 10.5 | not a whole number from 1
        envoy 5/1s burst 5000000000 | 5000000000 | the burst cannot be 5000000000: it must be
        envoy 0.5/1s | 0.5/1s | the count of a rate cannot be 0.5: it must be a whole number
        envoy 5/49ms | 5/49ms | the period of a rate in seconds cannot be 0.049: it must be whole
        # Several limits are a policy.
        10/1s & 5/1s | & | unexpected word; write a rate as in 240/1h
        gcra 10/1s per user | per | unexpected word; write gcra RATE [burst N]
        # It would keep as many events, for every key.
        sliding-log 1000000000000/1d | 1000000000000/1d | the count of a rate cannot be 1000000000000: it must be at most 100000; a sliding-window
        sliding-log 100001/1d | 100001/1d | the count of a rate cannot be 100001
        10/1s precision 100ms strict | strict | unexpected word; write a rate as in 240/1h
        "#,
    ) {
        let error = text.parse::<AnyLimiter>().unwrap_err();
        assert_eq!(&text[error.at()], word, "{text}: {error}");
        assert!(error.problem().starts_with(problem), "{text}: {error}");
        assert!(error.problem().len() <= 100, "{text}: {error}");
    }
}

#[test]
fn modes_are_read_in_any_case() {
    for mode in [Mode::Strict, Mode::Leaky, Mode::Readonly] {
        assert_eq!(mode.to_string().to_uppercase().parse(), Ok(mode));
    }
}

#[test]
fn a_limiter_has_the_numbers_it_was_made_of() {
    let rate: Rate = "5/1m".parse().unwrap();
    let gcra = Gcra::new(rate, 10.0).unwrap();
    assert_eq!((gcra.rate(), gcra.burst()), (rate, 10.0));
    let tokens = TokenBucket::new(rate, 10.0).unwrap();
    assert_eq!((tokens.rate(), tokens.burst()), (rate, 10.0));
    let window = SlidingWindow::new(rate, Span::from_secs(7)).unwrap();
    assert_eq!((window.limit(), window.precision()), (rate, Span::from_secs(7)));
    let nginx = Nginx::new(rate, 10, Delay::Beyond(3)).unwrap();
    assert_eq!((nginx.rate(), nginx.burst(), nginx.delay()), (rate, 10, Delay::Beyond(3)));
    let envoy = Envoy::new(rate, 10).unwrap();
    assert_eq!((envoy.fill(), envoy.burst()), (rate, 10));
    let jail = Fail2ban::new(rate, Span::from_hours(2)).unwrap();
    assert_eq!((jail.limit(), jail.ban()), (rate, Span::from_hours(2)));
    let (decay, week) = (Span::from_mins(1), Span::from_hours(24 * 7));
    let day = Day::new(Span::from_hours(12), -3600.0).unwrap();
    let by_hour = ByHour::new(3.0, decay, week, 5.0, Mode::Strict, day).unwrap();
    assert_eq!((by_hour.increase(), by_hour.day()), (week, day));
    assert_eq!(
        (day.length(), day.ahead(), day.hour()),
        (Span::from_hours(12), -3600.0, Span::from_mins(30))
    );
}

/// A limiter that names no rate gets the default rate of the reader.
#[test]
fn a_rate_may_be_given_beside_the_text() {
    let read = |text, rate| AnyLimiter::read(text, rate).map(|limiter| limiter.to_string());
    let rate: Rate = "7/1m".parse().unwrap();
    assert_eq!(read("gcra", Some(rate)), Ok("gcra 7/1m burst 7".to_owned()));
    assert_eq!(read("gcra burst 3", Some(rate)), Ok("gcra 7/1m burst 3".to_owned()));
    assert_eq!(read("gcra 5/1s", Some(rate)), Ok("gcra 5/1s burst 5".to_owned()));
    assert!(read("gcra", None).unwrap_err().problem().starts_with("a rate is missing"));
}

/// To half as much again: counts, bursts and queues, and no spans.
#[test]
fn limits_that_are_relaxed() {
    let relaxed = |text: &str| text.parse::<AnyLimiter>().unwrap().relaxed(150.0);
    for [text, more] in rows(
        "
        exim 10/1m strict | exim 15/1m strict
        earrrl 10/1m half-life 7s | earrrl 15/1m half-life 7s
        gcra 10/1m burst 4 | gcra 15/1m burst 6
        token-bucket 10/1m burst 4 | token-bucket 15/1m burst 6
        leaky-bucket 10/1m queue 4 | leaky-bucket 15/1m queue 6
        fixed-window 10/1m | fixed-window 15/1m
        sliding-window 10/1m precision 2s | sliding-window 15/1m precision 2s
        sliding-counter 10/1m | sliding-counter 15/1m
        sliding-log 10/1m | sliding-log 15/1m
        ",
    ) {
        assert_eq!(relaxed(text).unwrap().to_string(), more);
    }
    for [text, why] in rows("
        adaptive x3 decay 1m floor 5 | an adaptive limiter finds its limit itself, so it cannot be relaxed
        nginx 30/1m | a server's limiter is as that server has it, so it cannot be relaxed
        sliding-log 100000/1d | when relaxed, the count of a rate cannot be 150000: it must be at most 100000
        ") {
        let error = relaxed(text).unwrap_err();
        assert!(error.to_string().starts_with(why), "{error}");
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(cause.is_some(), text.starts_with("sliding-log"), "{error}");
    }
}
