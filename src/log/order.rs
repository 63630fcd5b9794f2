//! Events in the order of their times, though their lines are not quite.
//!
//! A server writes a request when it has been answered, but often with the time at which it came, so
//! a slow one stands behind later ones. Events are held until the log is `slack` further, at most
//! `most` of them, and come out in order; those of equal times in the order of their lines. One that
//! is later still is counted, and taken at the earliest time that is not yet given away.
//!
//! Where the clock was set back, as from summer to winter in a log without zones, or where the parts
//! of a log follow each other in the wrong order, all lines are late from there on. After 64 of them
//! in a row the clock is taken to have been set back: it goes on from where it was, and the count of
//! such steps says so. One line from the future does no more harm than that.
//!
//! ```
//! use ratescope::log::{Order, Spread};
//! use ratescope::{Span, Time};
//!
//! let mut order = Order::new(Span::seconds(5), 1000, Spread::Coarse);
//! let mut seen = Vec::new();
//! for (i, secs) in [10, 12, 11, 11, 30, 20].into_iter().enumerate() {
//!     order.push(Time::from_secs(f64::from(secs))?, true, i, &mut |at, i| seen.push((at.as_secs(), i)));
//! }
//! order.finish(&mut |at, i| seen.push((at.as_secs(), i)));
//! assert_eq!(seen, [(10.0, 0), (11.0, 2), (11.5, 3), (12.0, 1), (25.0, 5), (30.0, 4)]);
//! assert_eq!(order.late(), 1);
//! # Ok::<(), ratescope::BadNumber>(())
//! ```

use super::spread::{Spread, place};
use crate::civil::SECOND;
use crate::time::{Span, Time};

/// How long lines are waited for, unless it is said: longer than nearly all requests take.
pub const SLACK: Span = Span::minutes(1);

/// The longest slack in seconds. Whatever is waited for is held.
const LONGEST_SLACK: f64 = 3600.0;

/// How many events are held, unless it is said.
pub const HELD: usize = 1 << 20;

/// How many late lines in a row mean that the clock was set back.
const LATE_IN_A_ROW: u32 = 64;

/// Holds events until those before them must have come. An event is its time and whatever goes with
/// it, a `T`.
#[derive(Clone, Debug)]
pub struct Order<T> {
    spread: Spread,
    slack: i64,
    most: usize,
    /// The events of each second that is still open, at the place of its number's last bits.
    seconds: Vec<Second<T>>,
    /// The first second that is open, and the last one that has an event.
    first: i64,
    newest: i64,
    held: usize,
    /// Of the first second, what was given away already; in microseconds of the log.
    given: i64,
    /// What came out last.
    last: i64,
    begun: bool,
    /// How far the clock was set back in all, in microseconds.
    shift: i64,
    late: u64,
    late_in_a_row: u32,
    steps_back: u64,
    spread_out: u64,
}

/// The beginning of a second in microseconds.
fn start(second: i64) -> i64 {
    second.saturating_mul(SECOND)
}

#[derive(Clone, Debug)]
struct Second<T> {
    events: Vec<(Time, T)>,
    /// All of them are in whole seconds.
    coarse: bool,
    sorted: bool,
}

impl<T> Order<T> {
    /// Waits for lines that are up to `slack` late (whole seconds, rounded up; up to an hour), and
    /// holds `most` events, at least one.
    pub fn new(slack: Span, most: usize, spread: Spread) -> Self {
        let slack = libm::ceil(slack.secs()).min(LONGEST_SLACK) as i64;
        let length = (slack as usize + 1).next_power_of_two();
        let second = || Second { events: Vec::new(), coarse: true, sorted: true };
        Order {
            spread,
            slack,
            most: most.max(1),
            seconds: (0..length).map(|_| second()).collect(),
            first: 0,
            newest: 0,
            held: 0,
            given: 0,
            last: i64::MIN,
            begun: false,
            shift: 0,
            late: 0,
            late_in_a_row: 0,
            steps_back: 0,
            spread_out: 0,
        }
    }

    /// How many events came too late to be put in order.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// How often the clock was taken to have been set back.
    pub fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// How many events were put elsewhere in their second.
    pub fn spread_out(&self) -> u64 {
        self.spread_out
    }

    /// How many events are held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes the next event of the log, and hands out those that nothing can come before any more.
    /// `coarse` says that its time is in whole seconds.
    #[inline]
    pub fn push(&mut self, time: Time, coarse: bool, item: T, out: &mut impl FnMut(Time, T)) {
        let mut micros = time.as_micros().saturating_add(self.shift);
        let mut second = micros.div_euclid(SECOND);
        if !self.begun {
            (self.begun, self.first, self.newest) = (true, second - self.slack, second);
            self.given = start(self.first);
        }
        if second < self.first {
            micros = self.belated(micros);
            second = micros.div_euclid(SECOND);
        } else {
            self.late_in_a_row = 0;
        }
        if second > self.newest {
            self.go_on(second, out);
        }
        let place = self.place(second);
        let Some(open) = self.seconds.get_mut(place) else { return };
        let time = Time::from_micros(micros);
        open.sorted &= open.events.last().is_none_or(|(last, _)| *last <= time);
        open.coarse &= coarse;
        open.events.push((time, item));
        self.held += 1;
        if self.held > self.most {
            self.make_room(out);
        }
    }

    /// Hands out what is held.
    pub fn finish(&mut self, out: &mut impl FnMut(Time, T)) {
        if self.begun {
            self.close(self.newest + 1, out);
        }
    }

    /// The time at which a late event is taken.
    #[cold]
    fn belated(&mut self, micros: i64) -> i64 {
        self.late += 1;
        self.late_in_a_row += 1;
        if self.late_in_a_row < LATE_IN_A_ROW {
            return self.given;
        }
        // By whole seconds, so that fractions stay what they are.
        let back = self.newest - micros.div_euclid(SECOND);
        self.late_in_a_row = 0;
        self.steps_back += 1;
        self.shift = self.shift.saturating_add(back.saturating_mul(SECOND));
        micros.saturating_add(back.saturating_mul(SECOND))
    }

    #[inline]
    fn place(&self, second: i64) -> usize {
        second as usize & (self.seconds.len() - 1)
    }

    /// The log has come to `second`.
    fn go_on(&mut self, second: i64, out: &mut impl FnMut(Time, T)) {
        // Beyond the newest nothing is held, however far it jumps.
        self.close((second - self.slack).min(self.newest + 1), out);
        self.newest = second;
        if self.first < second - self.slack {
            self.first = second - self.slack;
            self.given = start(self.first);
        }
    }

    /// Hands out all seconds before `end`.
    fn close(&mut self, end: i64, out: &mut impl FnMut(Time, T)) {
        while self.first < end {
            self.give(self.left(), out);
            self.first += 1;
            self.given = start(self.first);
        }
    }

    /// Hands out the events of the first second, which are taken to lie in the next `length`
    /// microseconds of it.
    fn give(&mut self, length: i64, out: &mut impl FnMut(Time, T)) {
        let (place_of, from) = (self.place(self.first), self.given);
        let Some(second) = self.seconds.get_mut(place_of) else { return };
        let count = second.events.len();
        if count == 0 {
            return;
        }
        if !second.sorted {
            second.events.sort_by_key(|(time, _)| *time);
        }
        let even = match self.spread {
            Spread::Coarse => second.coarse,
            Spread::Always => true,
            Spread::Never => false,
        };
        self.spread_out += if even { count as u64 - 1 } else { 0 };
        let mut last = self.last;
        for (i, (time, item)) in second.events.drain(..).enumerate() {
            let time = if even { place(from, i, count, length) } else { time };
            last = last.max(time.as_micros());
            out(Time::from_micros(last), item);
        }
        (second.sorted, second.coarse) = (true, true);
        (self.last, self.held) = (last, self.held - count);
    }

    /// Hands out the earliest second that has events, before its time.
    #[cold]
    fn make_room(&mut self, out: &mut impl FnMut(Time, T)) {
        while self.first < self.newest {
            let before = self.held;
            self.close(self.first + 1, out);
            if self.held < before {
                return;
            }
        }
        // All of them are of one second, and more of it may come: they get half of what is left.
        let half = self.left() / 2;
        self.give(half, out);
        self.given = self.given.saturating_add(half);
    }

    /// What is left of the first second, in microseconds: at least one, as half of that is none.
    fn left(&self) -> i64 {
        SECOND - (self.given - start(self.first))
    }
}
