//! Values that were computed elsewhere: from the closed forms, to 60 digits.

use ratescope::estimate::decay::decay;
use ratescope::estimate::exim::{DecayingRate, Measured, events_between, recovery_time};
use ratescope::estimate::recent_average::{Impulse, RecentAverage};
use ratescope::estimate::smoothed::Smoothed;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::{Limiter, Rate, Retry, Span, Time};

/// Fails unless `got` is `want` to the last digits that f64 has.
#[track_caller]
fn assert_is(got: f64, want: f64) {
    let off = (got - want).abs();
    assert!(off <= 4.0 * f64::EPSILON * want.abs(), "{got}, should be {want}");
}

fn at(seconds: f64) -> Time {
    Time::try_from_secs_f64(seconds).unwrap()
}

fn span(seconds: f64) -> Span {
    Span::try_from_secs_f64(seconds).unwrap()
}

fn limiter(rate: &str, mode: Mode) -> Exim {
    Exim { limit: rate.parse::<Rate>().unwrap(), mode }
}

#[test]
fn the_decay_and_its_mean() {
    for (x, left, mean) in [
        (1e-12, 0.999999999999, 0.9999999999995),
        (0.0078125, 0.9922179382602435, 0.9961039026888304),
        (0.1, 0.9048374180359596, 0.9516258196404043),
        (1.0, 0.36787944117144233, 0.6321205588285577),
        (3.0, 0.049787068367863944, 0.3167376438773787),
        (20.0, 2.061153622438558e-09, 0.04999999989694232),
        (700.0, 9.85967654375977e-305, 0.0014285714285714286),
    ] {
        assert_is(decay(x).left, left);
        assert_is(decay(x).mean, mean);
    }
}

/// An event every second, and a period of ten.
#[test]
fn the_first_events_of_a_steady_sender() {
    let (exim, mut state) = (DecayingRate { period: Span::from_secs(10) }, None);
    for (second, rate) in
        [1.0, 1.856463237676364, 2.6314232222981633, 3.3326360138645392].into_iter().enumerate()
    {
        let measured = exim.measure(state, at(second as f64), 1.0);
        assert_is(measured.rate, rate);
        state = Some(measured);
    }
}

#[test]
fn after_one_period_of_silence_37_percent_are_left() {
    let exim = DecayingRate { period: Span::from_mins(1) };
    let last = Measured { rate: 100.0, at: at(5.0) };
    assert_is(exim.rate_at(last, at(65.0)), 36.787944117144235);
    let asked = exim.measure(Some(last), at(65.0), 0.0);
    assert_is(asked.rate, 36.787944117144235);
}

#[test]
fn an_isolated_event_is_one_event_a_period() {
    let exim = DecayingRate { period: Span::from_secs(10) };
    let first = exim.measure(None, at(0.0), 1.0);
    // After a whole period the mean of the gap and the rest of the first are exactly 1.
    assert_is(exim.measure(Some(first), at(10.0), 1.0).rate, 1.0);
    assert_eq!(exim.measure(Some(first), at(10.1), 1.0).rate, 1.0);
    assert!(exim.measure(Some(first), at(9.9), 1.0).rate > 1.0);
    assert_eq!(exim.measure(Some(first), at(1e9), 7.5).rate, 7.5);
}

#[test]
fn events_between_rates() {
    // The limit is nearly the burst when events are fast.
    assert_is(events_between(0.0, 10.0, 1e9), 10.00000005);
    // At twice the limit: 20 ln 2, up or down.
    assert_is(events_between(0.0, 10.0, 20.0), 13.862943611198906);
    assert_is(events_between(50.0, 6.0, 5.0), 19.0333124488516);
    assert_eq!(events_between(7.0, 7.0, 100.0), 0.0);
    for (from, to, steady) in
        [(0.0, 10.0, 10.0), (10.0, 5.0, 5.0), (0.0, 10.0, 9.0), (9.0, 5.0, 20.0), (5.0, 9.0, 1.0)]
    {
        assert_eq!(events_between(from, to, steady), f64::INFINITY, "{from} to {to} at {steady}");
    }
}

#[test]
fn recovery_times() {
    let ten = Span::from_secs(10);
    assert_is(recovery_time(ten, 100.0, 10.0).unwrap().as_secs_f64(), 23.025850929940457);
    assert_is(
        recovery_time(Span::from_secs(1), 1e300, 1e-300).unwrap().as_secs_f64(),
        1381.5510557964274,
    );
    assert_eq!(recovery_time(ten, 10.0, 10.0), Some(Span::ZERO));
    assert_eq!(recovery_time(ten, 9.0, 10.0), Some(Span::ZERO));
    assert_eq!(recovery_time(ten, 9.0, 0.0), None);
    assert_eq!(recovery_time(ten, f64::NAN, 1.0), None);
}

#[test]
fn the_recent_average_of_a_steady_user() {
    let average = RecentAverage { half_life: Span::from_secs(20) };
    assert_is(average.lambda(), 0.03465735902799726);
    let mut state = Impulse::default();
    for i in 0..2000 {
        state = average.add(state, Time::from_micros(i * 600_000), 1.0);
    }
    // λ/(e^(λ/r) - 1), short of 1/0.6 by about λ/2.
    let last = state.at;
    let before_next = average.estimate(state, last.after(span(0.6)));
    assert!((before_next - 1.6493980433465965).abs() < 1e-13, "{before_next}");
    let now = average.estimate(state, last);
    assert_is(average.estimate(state, last.after(Span::from_secs(20))), now / 2.0);
    assert_eq!(average.estimate(state, at(0.0)), now);
}

#[test]
fn the_blue_line_after_a_while() {
    for (decay, increase, elapsed, smoothed, rate, want) in [
        (10.0, 60.0, 5.0, 2.0, 7.0, 2.2790080861420123),
        (60.0, 10.0, 5.0, 2.0, 7.0, 3.8465768607254613),
        (10.0, 10.0, 5.0, 2.0, 7.0, 3.335918628419484),
        (3600.0, 1.0, 7200.0, 0.0, 100.0, 13.537288681628388),
        (1.0, 3600.0, 2.0, 0.0, 100.0, 0.02400970590442471),
    ] {
        let line = Smoothed { decay: span(decay), increase: span(increase) };
        assert_is(line.after(smoothed, rate, elapsed), want);
    }
}

/// Twelve at once, against a limit of ten a minute: all twelve were counted, and the answer to
/// the last is when (1 - e^-x)/x + 12 e^-x = 10.
#[test]
fn when_to_come_back_after_a_burst() {
    let exim = limiter("10/1m", Mode::Strict);
    let mut state = exim.initial();
    let outcomes = [0; 12].map(|_| exim.check(&mut state, Time::ZERO, 1.0));
    assert_eq!(outcomes.map(|o| o.is_allowed()).iter().filter(|&&allowed| allowed).count(), 10);
    assert_eq!(exim.retry_after(&state, Time::ZERO, 1.0), Retry::After(span(16.431734)));
    assert_eq!(outcomes[11].limit, 10.0);
    assert!((outcomes[11].level - 12.0).abs() < 1e-8, "{}", outcomes[11].level);
}

#[test]
fn equality_is_over() {
    let one = limiter("1/1m", Mode::Strict);
    let mut state = one.initial();
    let outcome = one.check(&mut state, Time::ZERO, 1.0);
    assert!(!outcome.is_allowed() && outcome.level == 1.0);
    assert_eq!(one.retry_after(&state, Time::ZERO, 1.0), Retry::Never);
    // So is one that counts for the whole limit, however long the silence before it.
    let ten = limiter("10/1m", Mode::Strict);
    let mut state = Measured { rate: 1.0, at: Time::ZERO };
    assert!(!ten.check(&mut state, at(1e9), 10.0).is_allowed());
    assert_eq!(ten.retry_after(&state, at(1e9), 10.0), Retry::Never);
}

/// Five events a second against ten in ten seconds, from a sender that keeps trying for a
/// minute. The rate goes from 1 towards 50 and is below 10 for 50 ln(49/40) = 10.1 events more.
#[test]
fn strict_shuts_out_and_leaky_lets_the_limit_through() {
    let passed = |mode| {
        let exim = limiter("10/10s", mode);
        let mut state = exim.initial();
        let pass =
            |i: &i64| exim.check(&mut state, Time::from_micros(i * 200_000), 1.0).is_allowed();
        (0..300).filter(pass).collect::<Vec<_>>()
    };
    let (strict, leaky) = (passed(Mode::Strict), passed(Mode::Leaky));
    assert_eq!(strict, (0..11).collect::<Vec<_>>());
    assert_eq!(leaky[..11], strict);
    // Then one a second, which is the limit: the fifth attempt after each, or the sixth.
    let gaps = leaky[10..].windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
    assert!(gaps.iter().all(|gap| [5, 6].contains(gap)), "{gaps:?}");
}
