//! Sorts events by time when their lines are slightly out of order.
//!
//! A server logs a request when it has answered it, but often with the time of arrival. So the line
//! of a slow request follows those of later requests. Events are held until the log is `slack`
//! further, at most `most` of them, and then come out in the order of their times; events of equal
//! time keep the order of their lines. An event that comes later than that is counted as late, and
//! gets the earliest time that has not been handed out yet.
//!
//! If the clock was set back, as at the end of summer time in a log without zones, or if the parts of
//! a log are in the wrong order, all lines are late from there on. After 64 late lines in a row the
//! clock is taken to have been set back: later times are shifted so that they continue where the log
//! was, and the step is counted. One line with a time in the future does no more harm than that.
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

/// The default slack: nearly all requests take less time.
pub const SLACK: Span = Span::minutes(1);

/// The longest slack in seconds, since all events of that time must be held.
const LONGEST_SLACK: f64 = 3600.0;

/// The default for how many events are held.
pub const HELD: usize = 1 << 20;

/// How many late lines in a row mean that the clock was set back.
const LATE_IN_A_ROW: u32 = 64;

/// Holds events until no earlier one can come. An event is its time and a value of type `T`.
#[derive(Clone, Debug)]
pub struct Order<T> {
    spread: Spread,
    slack: i64,
    most: usize,
    /// The events of each open second, indexed by the last bits of the second's number.
    seconds: Vec<Second<T>>,
    /// The first open second, and the last one with an event.
    first: i64,
    newest: i64,
    held: usize,
    /// The time in the first second up to which events were handed out, in microseconds.
    given: i64,
    /// The time of the event that came out last, in microseconds.
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
    /// Whether all of them are in whole seconds.
    coarse: bool,
    sorted: bool,
}

impl<T> Order<T> {
    /// Waits for lines that are up to `slack` late (rounded up to whole seconds, at most an hour),
    /// and holds `most` events, at least one.
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

    /// How many events came too late to be sorted.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// How often the clock was taken to have been set back.
    pub fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// How many events were moved within their second.
    pub fn spread_out(&self) -> u64 {
        self.spread_out
    }

    /// How many events are held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes the next event of the log, and hands out the events that no later line can precede.
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

    /// Hands out all events that are held.
    pub fn finish(&mut self, out: &mut impl FnMut(Time, T)) {
        if self.begun {
            self.close(self.newest + 1, out);
        }
    }

    /// The time that a late event gets.
    #[cold]
    fn belated(&mut self, micros: i64) -> i64 {
        self.late += 1;
        self.late_in_a_row += 1;
        if self.late_in_a_row < LATE_IN_A_ROW {
            return self.given;
        }
        // The shift is in whole seconds, so fractions stay the same.
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

    /// Advances to `second`.
    fn go_on(&mut self, second: i64, out: &mut impl FnMut(Time, T)) {
        // Nothing is held beyond the newest second, however far the log jumps.
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

    /// Hands out the events of the first second, spread over its next `length` microseconds.
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

    /// Hands out the earliest second with events early.
    #[cold]
    fn make_room(&mut self, out: &mut impl FnMut(Time, T)) {
        while self.first < self.newest {
            let before = self.held;
            self.close(self.first + 1, out);
            if self.held < before {
                return;
            }
        }
        // All events are of one second, and more may come: these get half of the rest of the second.
        let half = self.left() / 2;
        self.give(half, out);
        self.given = self.given.saturating_add(half);
    }

    /// The rest of the first second, in microseconds: at least one, since half of one is rounded to 0.
    fn left(&self) -> i64 {
        SECOND - (self.given - start(self.first))
    }
}
