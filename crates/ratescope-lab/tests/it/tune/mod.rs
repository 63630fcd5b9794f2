//! Choosing a limit: one pass over all limits agrees with a replay of each.

mod advice;
mod invariants;
mod kept;
mod marks;
mod outliers;
mod summaries;

use crate::doubling;
use crate::seeds;
use proptest::prelude::*;
use ratescope::limit::haproxy::Counts;
use ratescope::policy::{Defaults, Per};
use ratescope::{Event, Limiter, Policy, Rate, Span, Time};
use ratescope_lab::tune::{
    Clients, Curve, LogClock, Measure, Moment, Part, Replay, Room, Trial, scale,
};

/// The key of each client, and its events in the order of time.
type Traffic = Vec<(String, Vec<Moment>)>;

/// Gaps as they are in logs: none, whole seconds, milliseconds, any, and long ones.
fn gap() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => Just(0),
        4 => (0..40i64).prop_map(|s| s * 1_000_000),
        2 => (0..3000i64).prop_map(|ms| ms * 1000),
        2 => 0..200_000_000i64,
        1 => (0..50i64).prop_map(|h| h * 3_600_000_000 + 1),
    ]
}

fn cost() -> impl Strategy<Value = f64> {
    prop_oneof![8 => Just(1.0), 1 => 0.0..5.0, 1 => (0u32..20).prop_map(f64::from)]
}

fn moments(most: usize) -> impl Strategy<Value = Vec<Moment>> {
    let first = prop_oneof![Just(0), -5_000_000..5_000_000_000i64, Just(1_700_000_000_000_000)];
    let rest = prop::collection::vec((gap(), cost()), 1..most);
    (first, rest).prop_map(|(mut at, rest)| {
        let moment = |(gap, cost): (i64, f64)| {
            at += gap;
            Moment { time: Time::from_micros(at), cost }
        };
        rest.into_iter().map(moment).collect()
    })
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let name = |(i, moments): (usize, Vec<Moment>)| (format!("client {i}"), moments);
    prop::collection::vec(moments(40), 1..12)
        .prop_map(move |all| all.into_iter().enumerate().map(name).collect())
}

fn period() -> impl Strategy<Value = Span> {
    let span = |text: &str| text.parse::<Span>().unwrap();
    prop_oneof![
        Just(span("1s")),
        Just(span("10s")),
        Just(span("1m")),
        Just(span("1h")),
        Just(span("7.3s")),
        (1..10_000_000u64).prop_map(Span::from_micros),
    ]
}

fn measure() -> impl Strategy<Value = Measure> {
    let share = |span: Span, part: f64| Span::try_from_secs_f64(span.as_secs_f64() / part).unwrap();
    let longest = |span: Span| span.max(Span::from_micros(1));
    prop_oneof![
        period().prop_map(Measure::Exim),
        (period(), period()).prop_map(|(per, half_life)| Measure::Earrrl(per, half_life)),
        period().prop_map(Measure::FixedWindow),
        (period(), 1.0..60.0).prop_map(move |(per, part)| {
            Measure::SlidingWindow(per, longest(share(per, part)).min(per))
        }),
        period().prop_map(Measure::SlidingCounter),
        period().prop_map(Measure::SlidingLog),
        (1u32..50, period())
            .prop_map(|(n, per)| Measure::Bucket(Rate::new(f64::from(n), per).unwrap())),
        (0.01..50.0, period()).prop_map(|(n, per)| Measure::Bucket(Rate::new(n, per).unwrap())),
        (1u32..50, prop_oneof![Just("1s"), Just("1m")])
            .prop_map(|(n, per)| Measure::Nginx(format!("{n}/{per}").parse().unwrap())),
        (2..100_000u64, prop_oneof![Just(Counts::All), Just(Counts::Allowed)])
            .prop_map(|(ms, counts)| Measure::Haproxy(Span::from_micros(1000 * ms), counts)),
    ]
}

/// A limit on the scale, of any size that occurs here.
fn limit() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => (1u32..60).prop_map(f64::from),
        1 => (0..scale::MARKS / 2).prop_map(scale::mark),
        1 => (2700usize..4500).prop_map(scale::mark),
    ]
}

fn clients(traffic: &Traffic) -> Clients {
    let mut clients = Clients::new(Room::default());
    // As in a log, by time.
    let each = traffic.iter().flat_map(|(key, moments)| moments.iter().map(move |m| (key, *m)));
    let mut all: Vec<_> = each.collect();
    all.sort_by_key(|(_, moment)| moment.time);
    all.iter().for_each(|(key, moment)| clients.add(key, moment.time, moment.cost));
    clients
}

/// How many events the limiter refuses, and in which places among them.
fn refused(limiter: &impl Limiter, moments: &[Moment]) -> Vec<usize> {
    let mut state = limiter.initial();
    let mut refuses = |m: &Moment| !limiter.check(&mut state, m.time, m.cost).is_allowed();
    moments.iter().enumerate().filter(|(_, m)| refuses(m)).map(|(i, _)| i).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// The theorem, and the arithmetic of the pass: whom a limit touches, for every limiter and
    /// limit, exactly.
    #[test]
    fn one_pass_knows_whom_each_limit_touches(
        traffic in traffic(), measure in measure(), limits in prop::collection::vec(limit(), 8),
    ) {
        let clients = clients(&traffic);
        let curve = Curve::of(&clients, measure, None);
        prop_assert_eq!(curve.all.clients(Part::Whole), traffic.len() as u64);
        for limit in limits {
            let Ok(limiter) = measure.limiter(limit) else { continue };
            let each = traffic.iter().map(|(_, moments)| refused(&limiter, moments).len() as u64);
            let each: Vec<u64> = each.collect();
            let touched = each.iter().filter(|n| **n > 0).count() as u64;
            prop_assert_eq!(curve.touched(limit), touched, "{} in {:?}", limiter, each);
            if measure.counts_all() {
                prop_assert_eq!(curve.refused(limit), Some(each.iter().sum()), "{}", limiter);
            }
            let replay = Replay::run(&clients, limiter, &LogClock::default());
            prop_assert_eq!(replay.refused(), each.iter().sum::<u64>());
            prop_assert_eq!(replay.touched(&clients).touched, touched);
        }
    }

    /// The first refusal is where the highest level so far first is over the limit.
    #[test]
    fn a_peak_says_when(moments in moments(60), measure in measure(), limit in limit()) {
        let Ok(limiter) = measure.limiter(limit) else { return Ok(()) };
        let first = refused(&limiter, &moments).first().copied();
        let over = |n: &usize| {
            let peak = measure.peak(moments[..*n].iter().copied()).unwrap();
            measure.over().is_over(peak.level, limit)
        };
        prop_assert_eq!((1..=moments.len()).find(over).map(|n| n - 1), first, "{}", limiter);
    }

    /// Leaky Exim is touched by the same limits as strict Exim, and the token bucket and the leaky
    /// bucket by the same bursts as GCRA.
    #[test]
    fn forms_of_one_measure(moments in moments(60), per in period(), n in 2u32..20, burst in 1u32..20) {
        let of = |text: String| refused(&text.parse::<Policy>().unwrap().limits()[0].limiter, &moments);
        let (leaky, strict) = (of(format!("exim {n}/{per}")), of(format!("exim {n}/{per} strict")));
        prop_assert_eq!(leaky.first(), strict.first());
        let gcra = of(format!("gcra {n}/{per} burst {burst}"));
        prop_assert_eq!(&of(format!("token-bucket {n}/{per} burst {burst}")), &gcra);
        prop_assert_eq!(&of(format!("leaky-bucket {n}/{per} queue {burst}")), &gcra);
    }

    /// In two parts, each has the levels of its own events, counted from the beginning.
    #[test]
    fn parts_and_marks(traffic in traffic(), measure in measure(), limit in limit(), share in 0.0..1.0) {
        let clients = clients(&traffic);
        let Ok(limiter) = measure.limiter(limit) else { return Ok(()) };
        let (first, last) = clients.times().unwrap();
        let cut = Time::from_micros(
            first.as_micros() + ((last.as_micros() - first.as_micros()) as f64 * share) as i64,
        );
        let marked: Vec<usize> = (0..clients.len()).step_by(3).collect();
        let mut curve = [Curve::new(measure)];
        // In any steps.
        for place in 0..clients.len() {
            Curve::add_clients(&mut curve, &clients, Some(cut), place..place + 1);
        }
        curve[0].mark(&clients, Some(cut), &marked);
        let whole = Curve::of(&clients, measure, None);
        prop_assert_eq!(curve[0].touched(limit), whole.touched(limit));
        prop_assert_eq!(curve[0].refused(limit), whole.refused(limit));
        let before = |place: usize| clients.moments(place).take_while(|m| m.time < cut).collect::<Vec<_>>();
        let touched = |place: &usize| !refused(&limiter, &before(*place)).is_empty();
        let learned: Vec<usize> = (0..clients.len()).filter(touched).collect();
        let among = learned.iter().filter(|place| marked.contains(place)).count() as u64;
        prop_assert_eq!(curve[0].all.touched(Part::Learned, limit), learned.len() as u64);
        prop_assert_eq!(curve[0].marked.touched(Part::Learned, limit), among);
        let all = curve[0].all.touched(Part::Learned, limit) + curve[0].all.touched(Part::Checked, limit);
        prop_assert!(all >= whole.touched(limit));
    }

    /// A policy tried while reading decides as the same limiter replayed on the kept events.
    #[test]
    fn a_trial_is_a_replay(traffic in traffic(), measure in measure(), limit in limit()) {
        let Ok(limiter) = measure.limiter(limit) else { return Ok(()) };
        let defaults = Defaults { per: "ip".parse().unwrap(), ..Defaults::default() };
        let policy = Policy::read(&limiter.to_string(), &defaults).unwrap();
        let per: Per = "ip".parse().unwrap();
        let mut trial = Trial::new(policy, 1000);
        for (key, moments) in &traffic {
            for moment in moments {
                let fields = [("ip", key)];
                trial.check(&Event { time: moment.time, cost: moment.cost, fields: &fields }, &per);
            }
        }
        let clients = clients(&traffic);
        let replay = Replay::run(&clients, limiter, &LogClock::default());
        prop_assert_eq!(trial.refused, replay.refused());
        prop_assert_eq!(trial.touched(), replay.touched(&clients).touched);
    }

    /// A replay finds the same if several threads share the rest of it, and if it leaves out those whom a curve knows
    /// to be below the limit.
    #[test]
    fn a_replay_in_parts_is_the_whole(
        traffic in traffic(), measure in measure(), limit in limit(), alone in 1..5u64, known: bool,
    ) {
        let Ok(limiter) = measure.limiter(limit) else { return Ok(()) };
        let clients = clients(&traffic);
        let clock = LogClock::default();
        let whole = Replay::run(&clients, limiter.clone(), &clock);
        let curves = [Measure::Exim(Span::from_mins(3)), measure].map(|measure| Curve::of(&clients, measure, None));
        let mut sum = Replay::new(&clients, limiter, &clock, if known { &curves } else { &[] });
        sum.advance(&clients, alone);
        sum.finish(&clients);
        prop_assert_eq!(format!("{sum:?}"), format!("{whole:?}"));
    }
}

/// A trial counts no more clients than it may remember, and says so.
#[test]
fn a_trial_is_bounded() {
    let per: Per = "ip".parse().unwrap();
    let policy = Policy::read("exim 1/1h per path", &Defaults::default()).unwrap();
    for (clients, counted) in [(8, 8), (1000, 8)] {
        let mut trial = Trial::new(policy.clone(), 8);
        for i in 0..2 * clients {
            let fields = [("ip", (i / 2).to_string()), ("path", "/".to_owned())];
            trial.check(&Event { time: Time::ZERO, cost: 1.0, fields: &fields }, &per);
        }
        assert_eq!((trial.touched(), trial.has_more), (counted, clients > 8), "{clients}");
        assert!(trial.refused >= clients);
    }
}

/// Costs and rates of any size: no overflow, and still exact.
#[test]
fn the_largest_numbers() {
    let moments: Vec<Moment> = (0..200)
        .map(|i| Moment { time: Time::from_micros(i * i * 1_000_003), cost: 1e12 / (i + 1) as f64 })
        .collect();
    let mut clients = Clients::new(Room::default());
    moments.iter().for_each(|m| clients.add("one", m.time, m.cost));
    for per in ["1us", "1s", "52w"].map(|per| per.parse().unwrap()) {
        for measure in [
            Measure::FixedWindow(per),
            Measure::SlidingCounter(per),
            Measure::Bucket(Rate::new(999_999_999_999.0, per).unwrap()),
            Measure::Bucket(Rate::new(0.001, per).unwrap()),
        ] {
            let curve = Curve::of(&clients, measure, None);
            for limit in [1e11, 5e11, 998e9, 999e9] {
                let limiter = measure.limiter(limit).unwrap();
                let touched = u64::from(!refused(&limiter, &moments).is_empty());
                assert_eq!(curve.touched(limit), touched, "{limiter}");
            }
        }
    }
}
