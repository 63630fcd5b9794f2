//! The promises of leases, over random schedules of processes, delays, lost calls, deaths and flushes, with a model of
//! Redis in virtual time.

use proptest::prelude::*;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::share::{Borrower, Lease, Lent, Share, Unused, intact, lasts, lendable, most_lent};
use ratescope::{Limiter, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const LENGTH: Span = Span::from_micros(100_000);
const A: i64 = 100_000;
pub(super) const BEGIN: i64 = 1_000_000_000_000;

/// Numbers from a seed, as xorshift gives them.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        i64::try_from(self.0 % n.unsigned_abs()).unwrap()
    }

    pub(super) fn one_in(&mut self, n: i64) -> bool {
        self.below(n) == 0
    }
}

/// The questions of a process to Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    process: usize,
    sent: i64,
    wanted: u64,
    serial: u64,
    used_up: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Event { process: usize },
    Call(Call),
    Answer { call: Call, lent: u64, holders: u32, counted: i64, number: usize },
    GiveBack { process: usize, serial: u64, counted: i64, n: u64 },
    Tick { process: usize },
    Death { process: usize },
    Flush,
}

struct Process {
    /// How far its clock is ahead.
    skew: i64,
    lives: bool,
    lease: Lease,
    /// Until when it counts in full, by the clock of Redis.
    intact: i64,
    /// A call for a lease is under way.
    asks: bool,
    /// The state that Redis returned.
    known: Option<AnyState>,
}

impl Process {
    fn clock(&self, now: i64) -> Time {
        Time::from_micros(now + self.skew)
    }
}

/// The outcome of a schedule.
#[derive(Default)]
struct History {
    /// When events passed. The event for which a call is made passes when it is counted, as without leases.
    passed: Vec<i64>,
    calls: u64,
    /// Counted on Redis, and given back.
    counted: u64,
    given_back: u64,
    /// Counted for a process that never knew, or died.
    lost: u64,
    /// When Redis refused an event, and whether it would have if only the events that passed had been counted.
    refused: Vec<(i64, bool)>,
    /// When a lease had unused events, or was lost.
    held: Vec<(i64, i64)>,
}

struct Model<'a> {
    limiter: &'a AnyLimiter,
    random: Random,
    queue: BinaryHeap<Reverse<(i64, u64, Happens)>>,
    number: u64,
    state: AnyState,
    lent: Lent,
    processes: Vec<Process>,
    delay: i64,
    trouble: bool,
    history: History,
    /// The states that were answered.
    answers: Vec<AnyState>,
}

impl Model<'_> {
    fn at(&mut self, time: i64, happens: Happens) {
        self.number += 1;
        self.queue.push(Reverse((time, self.number, happens)));
    }

    fn run(mut self) -> History {
        while let Some(Reverse((now, _, happens))) = self.queue.pop() {
            self.happens(now, happens);
        }
        // Leases of processes that died.
        for process in &mut self.processes {
            self.history.lost += process.lease.cancel().map_or(0, |unused| unused.left);
        }
        self.history
    }

    fn happens(&mut self, now: i64, happens: Happens) {
        match happens {
            Happens::Event { process } => self.event(now, process),
            Happens::Call(call) => self.call(now, call),
            Happens::Answer { call, lent, holders, counted, number } => {
                let state = self.answers[number].clone();
                let own = &mut self.processes[call.process];
                own.asks &= call.wanted < 2;
                if lent == 0 {
                    return;
                }
                if !own.lives {
                    self.history.lost += lent - 1;
                    return;
                }
                own.known = Some(state.clone());
                let reset = self.limiter.reset_after(&state, Time::from_micros(counted));
                let lasts = lasts(self.limiter, LENGTH, reset);
                if lent > 1 {
                    let sent = Time::from_micros(call.sent + own.skew);
                    let counted_at = Time::from_micros(counted);
                    let lease = Unused { serial: call.serial, counted: counted_at, left: lent - 1 };
                    let before = own.lease.cancel();
                    own.lease.take(sent, lasts, lease, holders);
                    let (kind, left) = (self.limiter, lease.left as f64);
                    own.intact = intact(kind, kind, &state, counted_at, left).as_micros();
                    self.give_back(now, call.process, before);
                    self.history.held.push((counted, call.sent + A));
                }
            }
            Happens::Tick { process } => {
                let own = &mut self.processes[process];
                let unused = own.lease.unused(own.clock(now));
                if own.lives {
                    self.give_back(now, process, unused);
                } else {
                    self.history.lost += unused.map_or(0, |unused| unused.left);
                }
            }
            Happens::GiveBack { process, serial, counted, n } => {
                self.history.held.push((counted, now));
                if self.lent.take_back(process as u64, serial) {
                    let (at, now) = (Time::from_micros(counted), Time::from_micros(now));
                    self.limiter.undo(&mut self.state, at, now, n as f64);
                    self.history.given_back += n;
                } else {
                    self.history.lost += n;
                }
            }
            Happens::Death { process } => self.processes[process].lives = false,
            Happens::Flush => {
                self.state = self.limiter.initial();
                self.lent = Lent::default();
            }
        }
    }

    fn give_back(&mut self, now: i64, process: usize, unused: Option<Unused>) {
        if let Some(Unused { serial, counted, left }) = unused {
            let delay = self.random.below(self.delay) + 1;
            // At this time, a bucket still had all of it.
            let at = self.processes[process].intact.min(now).max(counted.as_micros());
            let counted = at;
            self.at(now + delay, Happens::GiveBack { process, serial, counted, n: left });
        }
    }

    fn event(&mut self, now: i64, process: usize) {
        let own = &mut self.processes[process];
        if !own.lives {
            return;
        }
        let clock = own.clock(now);
        if own.lease.spend(clock) {
            self.history.passed.push(now);
            return;
        }
        let mut wanted = 1;
        if let Some(state) = own.known.as_ref().filter(|_| !own.asks) {
            let left = self.limiter.remaining(state, Time::from_micros(now));
            wanted = own.lease.wanted(clock, LENGTH).min(lendable(
                self.limiter,
                left,
                1.0,
                own.lease.holders,
            ));
        }
        // A lease that has ended is given back first.
        let ended = own.lease.unused(clock);
        let used_up = own.lease.used_up();
        own.lease.asks(clock);
        own.asks |= wanted > 1;
        let call = Call { process, sent: now, wanted, serial: self.number, used_up };
        self.give_back(now, process, ended);
        let delay = self.random.below(self.delay) + 1;
        if self.trouble && self.random.one_in(50) {
            self.processes[process].asks = false; // The call is lost.
            return;
        }
        self.at(now + delay, Happens::Call(call));
    }

    fn call(&mut self, now: i64, call: Call) {
        self.history.calls += 1;
        let time = Time::from_micros(now);
        let mut lent = 0;
        let mut holders = 1;
        if call.wanted > 1 {
            let by = Borrower {
                process: call.process as u64,
                serial: call.serial,
                used_up: call.used_up,
            };
            let most = most_lent(self.limiter, 1.0) as f64;
            let n = call.wanted as f64;
            let (may, others) = self.lent.lend(by, time, LENGTH, n, most);
            holders = others;
            if may && self.limiter.check(&mut self.state, time, n).is_allowed() {
                lent = call.wanted;
            }
        }
        if lent == 0 {
            if self.limiter.check(&mut self.state, time, 1.0).is_allowed() {
                lent = 1;
            } else {
                let mut alone = self.limiter.initial();
                for at in self.history.passed.iter() {
                    self.limiter.record(&mut alone, Time::from_micros(*at), 1.0, true);
                }
                let passes = self.limiter.peek(&alone, time, 1.0).is_allowed();
                self.history.refused.push((now, passes));
            }
        }
        if lent > 0 {
            self.history.passed.push(now);
        }
        self.history.counted += lent;
        let delay = self.random.below(self.delay) + 1;
        if self.trouble && self.random.one_in(50) {
            self.processes[call.process].asks = false;
            self.history.lost += lent.saturating_sub(1);
            self.history.held.push((now, i64::MAX)); // Nobody knows what was counted.
            return;
        }
        self.answers.push(self.state.clone());
        let number = self.answers.len() - 1;
        self.at(now + delay, Happens::Answer { call, lent, holders, counted: now, number });
    }
}

/// A schedule of events that come in bursts at several processes.
fn history(limiter: &AnyLimiter, seed: u64, processes: usize, trouble: bool) -> History {
    with_flush(limiter, seed, processes, trouble, None)
}

/// The same, with Redis flushed so long after the beginning.
fn with_flush(
    limiter: &AnyLimiter,
    seed: u64,
    processes: usize,
    trouble: bool,
    flush: Option<i64>,
) -> History {
    let mut random = Random(seed | 1);
    let delay = [200, 5_000, 80_000][usize::try_from(random.below(3)).unwrap()];
    let new = |i: usize| Process {
        skew: i64::try_from(i).unwrap() * 3_600_000_000,
        lives: true,
        lease: Lease::new(Time::from_micros(BEGIN + i64::try_from(i).unwrap() * 3_600_000_000)),
        intact: 0,
        asks: false,
        known: None,
    };
    let mut model = Model {
        limiter,
        random,
        queue: BinaryHeap::new(),
        number: 1,
        state: limiter.initial(),
        lent: Lent::default(),
        processes: (0..processes).map(new).collect(),
        delay,
        trouble,
        history: History::default(),
        answers: Vec::new(),
    };
    if let Some(flush) = flush {
        model.at(BEGIN + flush, Happens::Flush);
    }
    let mut now = BEGIN;
    for _ in 0..1200 {
        let gap = if model.random.one_in(40) { 400_000 } else { 3_000 };
        now += model.random.below(gap);
        let process = usize::try_from(model.random.below(processes as i64)).unwrap();
        model.at(now, Happens::Event { process });
    }
    for tick in (BEGIN..now + 2_000_000).step_by(A as usize / 4) {
        (0..processes).for_each(|process| model.at(tick, Happens::Tick { process }));
    }
    if trouble {
        for _ in 0..2 {
            let (when, process) =
                (model.random.below(now - BEGIN), model.random.below(processes as i64));
            model.at(BEGIN + when, Happens::Death { process: usize::try_from(process).unwrap() });
        }
    }
    let mut history = model.run();
    history.passed.sort_unstable();
    history
}

fn assert_bounded(limiter: &AnyLimiter, passed: &[i64]) {
    let share = Share::Leased(LENGTH);
    assert_each_window(limiter, passed, |window| share.max_admitted(limiter, window, 1.0));
}

/// Each window that begins with an event and ends with one admits at most so much.
pub(super) fn assert_each_window(limiter: &AnyLimiter, passed: &[i64], most: impl Fn(Span) -> f64) {
    for (i, first) in passed.iter().enumerate() {
        for (last, n) in passed[i..].iter().zip(1u32..) {
            let window = Span::from_micros((last - first + 1).unsigned_abs());
            let most = most(window);
            assert!(f64::from(n) <= most, "{limiter}: {n} in {window}, at most {most}");
        }
    }
}

fn limiters() -> impl Strategy<Value = AnyLimiter> {
    prop::sample::select(vec![
        "gcra 200/1s burst 100",
        "token-bucket 1000/1s burst 50",
        "sliding-log 100/500ms",
        "sliding-log 300/1s",
        "sliding-window 200/1s precision 100ms",
        "sliding-counter 200/1s",
        "fixed-window 200/1s",
        "fixed-window 100/500ms from first",
    ])
    .prop_map(|text| text.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn no_window_admits_more_than_is_promised(
        limiter in limiters(), seed: u64, processes in 1usize..6, trouble: bool,
    ) {
        let history = history(&limiter, seed, processes, trouble);
        assert_bounded(&limiter, &history.passed);
    }

    /// A window that begins after a flush admits as much as the limiter, and a tenth more. All may be lent only once
    /// meanwhile, and nothing is given back to the new states.
    #[test]
    fn a_flush_forgets_the_past_and_no_more(
        limiter in limiters(), seed: u64, processes in 1usize..6, flush in 0i64..5_000_000,
    ) {
        let history = with_flush(&limiter, seed, processes, false, Some(flush));
        let split = history.passed.partition_point(|at| *at < BEGIN + flush);
        assert_bounded(&limiter, &history.passed[..split]);
        let lent = most_lent(&limiter, 1.0) as f64;
        assert_each_window(&limiter, &history.passed[split..], |window| {
            limiter.max_admitted(window, 1.0) + lent
        });
    }

    /// Each counted event passed, was given back once, or is lost with a process or an answer.
    #[test]
    fn nothing_is_counted_or_given_back_twice(
        limiter in limiters(), seed: u64, processes in 1usize..6, trouble: bool,
    ) {
        let History { passed, counted, given_back, lost, .. } =
            history(&limiter, seed, processes, trouble);
        assert_eq!(passed.len() as u64 + given_back + lost, counted);
        assert!(trouble || lost == 0, "{lost} are lost");
    }

    /// Without leases within the last two and a half lengths and two calls, only events over the limit are refused.
    #[test]
    fn only_leases_refuse_too_early(limiter in limiters(), seed: u64, processes in 1usize..6) {
        let History { refused, held, .. } = history(&limiter, seed, processes, false);
        // A bucket that was empty meanwhile can't give back all: its bound for that case is in the next test.
        let is_bucket = limiter.to_string().contains(" burst ");
        for (now, would_pass) in refused.into_iter().filter(|_| !is_bucket) {
            let past = now - 5 * A / 2 - 160_000;
            let waits = held.iter().any(|(from, to)| *from <= now && *to >= past);
            assert!(!would_pass || waits, "{limiter}: refused at {}", now - BEGIN);
        }
    }
}

/// A bucket that is always in use gets all of a lease back, however long it was out.
#[test]
fn a_bucket_in_use_gives_back_all() {
    let limiter: AnyLimiter = "gcra 200/1s burst 100".parse().unwrap();
    let at = |ms: i64| Time::from_micros(BEGIN + ms * 1000);
    let mut state = limiter.initial();
    limiter.record(&mut state, at(0), 60.0, true);
    let mut with = state.clone();
    limiter.record(&mut with, at(0), 10.0, true);
    let until = intact(&limiter, &limiter, &with, at(0), 10.0);
    assert_eq!(until, at(300));
    for later in [1, 100, 299] {
        let mut back = with.clone();
        limiter.undo(&mut back, at(later), at(later), 10.0);
        let levels = [&back, &state].map(|one| limiter.peek(one, at(later), 0.0).level);
        assert_eq!(levels[0], levels[1]);
    }
}

/// A hot key of one process, far from its limit, asks Redis twice in a hundred events or less.
#[test]
fn a_hot_key_asks_seldom() {
    let limiter: AnyLimiter = "gcra 100000/1s".parse().unwrap();
    for processes in [1, 3] {
        let history = history(&limiter, 7, processes, false);
        let passed = history.passed.len() as u64;
        assert!(passed == 1200 && history.calls * 2 < passed, "{} calls", history.calls);
    }
}

/// After a flush, nothing is lent before the leases from before have ended.
#[test]
fn redis_learns_after_a_flush() {
    let mut lent = Lent::default();
    let by = |process, serial| Borrower { process, serial, used_up: 0 };
    let at = |ms: i64| Time::from_micros(ms * 1000);
    assert_eq!(lent.lend(by(1, 1), at(0), LENGTH, 10.0, 10.0), (false, 1));
    assert_eq!(lent.lend(by(2, 1), at(99), LENGTH, 10.0, 10.0), (false, 2));
    assert_eq!(lent.lend(by(1, 2), at(100), LENGTH, 10.0, 10.0), (true, 2));
    // All that may be lent is lent, but not twice to one process that has used it up.
    assert_eq!(lent.lend(by(2, 2), at(150), LENGTH, 1.0, 10.0), (false, 2));
    let again = Borrower { process: 1, serial: 3, used_up: 2 };
    assert_eq!(lent.lend(again, at(150), LENGTH, 10.0, 10.0), (true, 2));
    assert!(lent.take_back(1, 3) && !lent.take_back(1, 3));
    assert_eq!(lent.lend(by(2, 3), at(160), LENGTH, 10.0, 10.0), (true, 1));
}

#[test]
fn shares_have_a_text_form() {
    for (text, shown) in [
        ("exact", "exact"),
        ("leased", "leased 100ms"),
        ("leased 1s", "leased 1s"),
        ("synced", "synced 1s"),
        (" synced  250ms ", "synced 250ms"),
    ] {
        assert_eq!(text.parse::<Share>().unwrap().to_string(), shown);
    }
    for wrong in
        ["", "lent", "leased 1ms", "leased 2m", "leased x", "exact 1s", "synced 0s", "synced 1s x"]
    {
        let error = wrong.parse::<Share>().unwrap_err();
        assert!(error.problem().contains("leased 100ms or synced 1s"), "{error}");
    }
    let problem = Share::Leased(LENGTH).problem(&"nginx 10/1s burst 20".parse().unwrap()).unwrap();
    assert!(problem.ends_with("take a bucket without a queue, or a window"), "{problem}");
    for (limiter, problem) in [
        ("sliding-log 10/2s", None),
        ("fixed-window 10/2s attempts", None),
        ("earrrl 10/1s", None),
        ("gcra 10/1s burst 20", None),
        (
            "gcra 10/1s burst 19",
            Some("within 1.9s; synced needs an interval of at most half of that"),
        ),
        ("fixed-window 10/1s", Some("within 1s; synced needs an interval of at most half of that")),
        (
            "exim 10/1m",
            Some("a bucket without a queue, a window of the clock or a sliding one, or earrrl"),
        ),
        ("leaky-bucket 10/1s queue 30", Some("a sliding one, or earrrl")),
        ("fixed-window 10/1m from first", Some("a sliding one, or earrrl")),
    ] {
        let said = Share::Synced(Share::SYNC).problem(&limiter.parse().unwrap());
        assert_eq!(said.is_some(), problem.is_some(), "{limiter}: {said:?}");
        assert!(problem.is_none_or(|problem| said.unwrap().ends_with(problem)), "{limiter}");
    }
}
