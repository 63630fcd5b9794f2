//! The promises of syncs, over random schedules of processes, delays, lost calls and a Redis that is away, with a model
//! of Redis in virtual time.

use super::share::{BEGIN, Random, assert_each_window};
use proptest::prelude::*;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::share::{Share, Synced};
use ratescope::{Limiter, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const INTERVAL: Span = Span::from_micros(100_000);
const S: i64 = 100_000;

/// How long each way of a call takes, at most. With the longest, a call may take three intervals. So much the clock of a
/// process may be behind, and jump.
const DELAYS: [i64; 4] = [200, 5_000, 40_000, 150_000];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Event {
        process: usize,
    },
    Due {
        process: usize,
    },
    Call {
        process: usize,
        number: usize,
    },
    Answer {
        process: usize,
        number: usize,
        lag: i64,
    },
    /// The call was given up: nobody knows whether it ran.
    Lost {
        process: usize,
        /// The sum that Redis did not count.
        missing: u64,
    },
}

struct Process {
    known: Synced<AnyState>,
    /// How far its clock is behind that of Redis, as it knows it.
    lag: i64,
    is_calling: bool,
    /// A call is due when the one under way has ended.
    is_due: bool,
    waits: bool,
    /// The sums of calls that were lost before Redis counted them, since the last answer.
    missing: u64,
}

/// An event that passed.
#[derive(Clone, Copy)]
struct Passed {
    at: i64,
    /// Its time by the clock of its process, which has windows of the clock by it.
    own: i64,
    process: usize,
}

#[derive(Default)]
struct History {
    passed: Vec<Passed>,
    refused: u64,
    told: f64,
    calls: u64,
    /// The longest call that was answered.
    longest: i64,
    /// When a process took over a state in which sums of its lost calls are missing, and these sums.
    missing: Vec<(i64, f64)>,
}

struct Model<'a> {
    limiter: &'a AnyLimiter,
    random: Random,
    queue: BinaryHeap<Reverse<(i64, u64, Happens)>>,
    number: u64,
    state: AnyState,
    processes: Vec<Process>,
    delay: i64,
    /// One call in so many is lost, before or after Redis counts it.
    lost: Option<i64>,
    /// While Redis can't be reached.
    away: (i64, i64),
    /// The sums of calls, and the answers.
    calls: Vec<(f64, i64, Option<AnyState>)>,
    history: History,
}

impl Model<'_> {
    fn at(&mut self, time: i64, happens: Happens) {
        self.number += 1;
        self.queue.push(Reverse((time, self.number, happens)));
    }

    fn run(mut self) -> (History, AnyState) {
        while let Some(Reverse((now, _, happens))) = self.queue.pop() {
            self.happens(now, happens);
        }
        (self.history, self.state)
    }

    fn is_lost(&mut self) -> bool {
        self.lost.is_some_and(|n| self.random.one_in(n))
    }

    fn happens(&mut self, now: i64, happens: Happens) {
        let limiter = self.limiter;
        match happens {
            Happens::Event { process } => {
                let own = &mut self.processes[process];
                let clock = Time::from_micros(now - own.lag);
                let passes = limiter.peek(own.known.state(), clock, 1.0).is_allowed();
                own.known.record(limiter, limiter, clock, 1.0, passes);
                if passes {
                    self.history.passed.push(Passed { at: now, own: clock.as_micros(), process });
                } else {
                    self.history.refused += 1;
                }
                if own.known.pending() > 0.0 && !core::mem::replace(&mut own.waits, true) {
                    let early = self.random.below(S / 4);
                    self.at(now + S - early, Happens::Due { process });
                }
            }
            Happens::Due { process } => {
                self.processes[process].is_due = true;
                self.send(now, process);
            }
            Happens::Call { process, number } => {
                let back = now + 1 + self.random.below(self.delay);
                limiter
                    .charge(&mut self.state, Time::from_micros(now), self.calls[number].0)
                    .unwrap();
                self.history.told += self.calls[number].0;
                self.calls[number].2 = Some(self.state.clone());
                if self.is_lost() {
                    self.at(back + self.delay, Happens::Lost { process, missing: 0 });
                } else {
                    self.at(back, Happens::Answer { process, number, lag: back - now });
                }
            }
            Happens::Answer { process, number, lag } => {
                let own = &mut self.processes[process];
                own.lag = lag;
                let (_, sent, state) = self.calls[number].clone();
                let clock = Time::from_micros(now - own.lag);
                own.known.adopt(limiter, limiter, state.unwrap(), clock);
                own.is_calling = false;
                let missing = core::mem::take(&mut own.missing);
                self.history.missing.push((now, missing as f64));
                self.history.longest = self.history.longest.max(now - sent);
                self.send(now, process);
            }
            Happens::Lost { process, missing } => {
                self.processes[process].missing += missing;
                self.processes[process].is_calling = false;
                self.send(now, process);
            }
        }
    }

    fn send(&mut self, now: i64, process: usize) {
        let own = &mut self.processes[process];
        if own.is_calling || !core::mem::take(&mut own.is_due) {
            return;
        }
        own.waits = false;
        let clock = Time::from_micros(now - own.lag);
        let sum = own.known.claim(self.limiter, self.limiter, clock);
        if sum == 0.0 {
            return;
        }
        if (self.away.0..self.away.1).contains(&now) {
            own.known.tell_later(self.limiter, clock, sum);
            own.waits = true;
            self.at(now + S, Happens::Due { process });
            return;
        }
        own.is_calling = true;
        self.history.calls += 1;
        self.calls.push((sum, now, None));
        let number = self.calls.len() - 1;
        let then = now + 1 + self.random.below(self.delay);
        if self.is_lost() {
            let missing = sum.round() as u64;
            self.at(then + 2 * self.delay, Happens::Lost { process, missing });
        } else {
            self.at(then, Happens::Call { process, number });
        }
    }
}

/// A schedule of events that come in bursts at several processes.
fn history(
    limiter: &AnyLimiter,
    seed: u64,
    processes: usize,
    lost: Option<i64>,
    away: (i64, i64),
) -> (History, AnyState) {
    let mut random = Random(seed | 1);
    let delay = DELAYS[usize::try_from(random.below(4)).unwrap()];
    let new = |_| Process {
        known: Synced::new(limiter.initial()),
        // Before the first answer, it has the clock of its host.
        lag: (random.below(3) - 1) * 3_600_000_000,
        is_calling: false,
        is_due: false,
        waits: false,
        missing: 0,
    };
    let processes: Vec<_> = (0..processes).map(new).collect();
    let mut model = Model {
        limiter,
        random,
        queue: BinaryHeap::new(),
        number: 1,
        state: limiter.initial(),
        delay,
        lost,
        away: (BEGIN + away.0, BEGIN + away.1),
        calls: Vec::new(),
        history: History::default(),
        processes,
    };
    let count = i64::try_from(model.processes.len()).unwrap();
    let mut now = BEGIN;
    for _ in 0..1200 {
        let gap = if model.random.one_in(40) { 400_000 } else { 3_000 };
        now += model.random.below(gap);
        let process = usize::try_from(model.random.below(count)).unwrap();
        model.at(now, Happens::Event { process });
    }
    model.run()
}

fn times(history: &History, of: impl Fn(usize) -> bool) -> Vec<i64> {
    history.passed.iter().filter(|one| of(one.process)).map(|one| one.at).collect()
}

/// The most of these times in an interval of this length.
fn most_within(times: &[i64], length: i64) -> usize {
    let count = |(i, first): (usize, &i64)| times[i..].partition_point(|at| *at < first + length);
    times.iter().enumerate().map(count).max().unwrap_or(0)
}

/// A late answer may set the clock of a process back, into the window of the clock before. Then the next window admits besides
/// what the process had already admitted in it, which lies within the longest call.
fn set_back(limiter: &AnyLimiter, history: &History) -> f64 {
    if !matches!(limiter, AnyLimiter::FixedWindow(_) | AnyLimiter::SlidingCounter(_)) {
        return 0.0;
    }
    let each = (0..6).map(|n| most_within(&times(history, |of| of == n), history.longest));
    each.sum::<usize>() as f64
}

/// Limiters, and the longest window in which they forget nothing, if it is bounded. Windows of the clock are held by those.
const LIMITERS: [(&str, Option<i64>); 7] = [
    ("gcra 200/1s burst 100", None),
    ("token-bucket 1000/1s burst 200", None),
    ("token-bucket 50/1s burst 10", None),
    ("sliding-log 100/500ms", Some(500_000)),
    ("sliding-log 300/1s", Some(1_000_000)),
    ("fixed-window 100/500ms", Some(500_000)),
    ("sliding-counter 100/500ms", Some(500_000)),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// A window admits as much as the limiter, and as much as each process but one admitted in its last s + d.
    #[test]
    fn no_window_admits_more_than_is_promised(
        which in 0usize..LIMITERS.len(), seed: u64, processes in 1usize..6,
    ) {
        let (text, period) = LIMITERS[which];
        let limiter: AnyLimiter = text.parse().unwrap();
        let (history, _) = history(&limiter, seed, processes, None, (0, 0));
        // A call that takes longer than the interval delays the next one.
        let unknown = S.max(history.longest) + history.longest;
        let set_back = set_back(&limiter, &history);
        let is_of_the_clock = text.starts_with("fixed") || text.starts_with("sliding-counter");
        let time = |one: &Passed| if is_of_the_clock { one.own } else { one.at };
        let mut passed = history.passed.clone();
        passed.sort_by_key(time);
        for (i, first) in passed.iter().enumerate().step_by(3) {
            for (n, last) in (1usize..).zip(&passed[i..]) {
                let window = time(last) - time(first) + 1;
                let ends = period.is_some_and(|period| {
                    if is_of_the_clock {
                        time(first).div_euclid(period) != time(last).div_euclid(period)
                    } else {
                        window > period
                    }
                });
                if ends {
                    break;
                }
                let known = match period {
                    Some(_) => limiter.remaining(&limiter.initial(), Time::ZERO),
                    None => limiter.max_admitted(Span::from_micros((window + history.longest).unsigned_abs()), 1.0),
                };
                if n as f64 <= known {
                    continue;
                }
                // All but the process that heard last, which may have admitted least.
                let within = &passed[i..i + n];
                let of = |process: usize| {
                    let own = within.iter().filter(|one| one.process == process);
                    let mut own: Vec<i64> = own.map(|one| one.at).collect();
                    own.sort_unstable();
                    most_within(&own, unknown)
                };
                let mut others: Vec<usize> = (0..processes).map(of).collect();
                others.sort_unstable();
                let others: usize = others.iter().skip(1).sum();
                let most = known + others as f64 + set_back;
                prop_assert!(n as f64 <= most, "{}: {} in {}, {} and {}", text, n, window, known, others);
            }
        }
        let all = times(&history, |_| true);
        let share = Share::Synced(INTERVAL);
        let delay = Span::from_micros(history.longest.unsigned_abs());
        let n = u32::try_from(processes).unwrap();
        assert_each_window(&limiter, &all, |window| {
            share.max_admitted_by(n, delay, &limiter, window, 1.0) + set_back
        });
    }

    /// One process is as good as alone: it knows all that counts except the sums of lost calls.
    #[test]
    fn a_single_process_keeps_to_the_limit(
        which in 0usize..LIMITERS.len(), seed: u64, lost in prop::option::of(2i64..20), away in 0i64..2_000_000,
    ) {
        let limiter: AnyLimiter = LIMITERS[which].0.parse().unwrap();
        let (history, _) = history(&limiter, seed, 1, lost, (away, away + 1_000_000));
        let all = times(&history, |_| true);
        let set_back = set_back(&limiter, &history);
        for (i, first) in all.iter().enumerate().step_by(5) {
            for (n, last) in (1usize..).zip(&all[i..]).step_by(3) {
                let window = Span::from_micros((last - first + 1 + history.longest).unsigned_abs());
                // It knows all but the sums of its lost calls.
                let own = history.missing.iter().filter(|(at, _)| (*first..=*last).contains(at));
                let missing: f64 = own.map(|(_, sum)| sum).sum();
                let most = limiter.max_admitted(window, 1.0) + missing + set_back;
                prop_assert!(n as f64 <= most, "{} in {}, at most {}", n, window, most);
            }
        }
    }

    /// All that buckets admit is told, however long the calls take.
    #[test]
    fn all_that_a_bucket_admits_is_told(which in 0usize..3, seed: u64, processes in 1usize..6) {
        let limiter: AnyLimiter = LIMITERS[which].0.parse().unwrap();
        let (history, _) = history(&limiter, seed, processes, None, (0, 0));
        prop_assert_eq!(history.told.round(), history.passed.len() as f64);
    }

    /// No event is told twice, whatever is lost, and all are told if nothing is.
    #[test]
    fn nothing_is_told_twice(
        seed: u64, processes in 1usize..6, lost in prop::option::of(2i64..20), away in 0i64..2_000_000,
    ) {
        let limiter: AnyLimiter = "sliding-log 1000/1h".parse().unwrap();
        let (history, state) = history(&limiter, seed, processes, lost, (away, away + 1_000_000));
        let passed = history.passed.len() as f64;
        let counted = limiter.peek(&state, Time::from_micros(BEGIN + 60_000_000), 0.0).level;
        prop_assert_eq!(counted, history.told);
        prop_assert!(counted <= passed && (lost.is_some() || counted == passed), "{} of {}", counted, passed);
    }

    /// Sums that decay add up: two processes, told in any order, have the level of one that saw all events.
    #[test]
    fn decaying_sums_add_up_in_any_order(
        events in prop::collection::vec((0i64..10_000_000, 0.1f64..5.0, any::<bool>()), 1..60),
        swapped: bool,
    ) {
        let limiter: AnyLimiter = "earrrl 100/1s".parse().unwrap();
        let mut events = events;
        events.sort_by_key(|(at, ..)| *at);
        let mut one = limiter.initial();
        let mut two = [(); 2].map(|()| Synced::new(limiter.initial()));
        for (at, cost, which) in &events {
            let at = Time::from_micros(BEGIN + at);
            limiter.record(&mut one, at, *cost, true);
            two[usize::from(*which)].record(&limiter, &limiter, at, *cost, true);
        }
        let now = Time::from_micros(BEGIN + 11_000_000);
        if swapped {
            two.swap(0, 1);
        }
        let mut shared = limiter.initial();
        for known in &mut two {
            let sum = known.claim(&limiter, &limiter, now);
            limiter.charge(&mut shared, now, sum).unwrap();
            known.adopt(&limiter, &limiter, shared.clone(), now);
        }
        for later in [0, 1, 1_000_000] {
            let at = now.after(Span::from_micros(later));
            let level = limiter.peek(&one, at, 0.0).level;
            for state in [&shared, two[1].state()] {
                let merged = limiter.peek(state, at, 0.0).level;
                prop_assert!((merged - level).abs() <= 1e-12 * level, "{merged}, not {level}");
            }
        }
    }
}

/// A bucket tells all that it counted, however late, and a window the events that still count. While Redis is away, a
/// bucket keeps at most twice its burst to tell later, and the events since.
#[test]
fn what_is_told_late_is_bounded() {
    let at = |ms: i64| Time::from_micros(BEGIN + ms * 1000);
    for (text, told, kept) in [
        ("gcra 100/1s burst 50", 999.0, 100.0),
        ("gcra 100/1s burst 2000", 2949.0, 2949.0),
        ("sliding-log 30/1s", 30.0, 30.0),
        ("fixed-window 30/1s", 30.0, 30.0),
        ("fixed-window 30/1m", 30.0, 30.0),
    ] {
        let limiter: AnyLimiter = text.parse().unwrap();
        let mut known = Synced::new(limiter.initial());
        for ms in 0..9_500 {
            let passes = limiter.peek(known.state(), at(ms), 1.0).is_allowed();
            known.record(&limiter, &limiter, at(ms), 1.0, passes);
        }
        let sum = known.claim(&limiter, &limiter, at(9_500));
        assert_eq!((sum.round(), known.pending()), (told, 0.0), "{text}");
        known.record(&limiter, &limiter, at(9_500), 1.0, true);
        known.tell_later(&limiter, at(9_500), sum);
        assert_eq!(known.pending(), kept + 1.0, "{text}");
    }
}
