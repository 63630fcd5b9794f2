//! Sorts events by time when their lines are slightly out of order.
//!
//! A server logs a request when it has answered it, but often with the time of arrival. So the line of a slow request
//! follows those of later requests. Lines are held, as far as there is room, until the log has advanced by `slack`;
//! then their events come out in the order of their times, and of their lines for equal times. A later event is counted
//! as late, and gets the earliest time that can still come out.
//!
//! If the clock was set back, as at the end of summer time in a log without zones, or if the parts of a log are in the
//! wrong order, all later lines are late. After 64 late lines in a row, the clock counts as set back: the times of
//! these and all later lines are shifted, so that they continue where the log was, and the step is counted. This does
//! not sort a log whose first line is its newest: see [`Order::is_newest_first`].
//!
//! In a log in whole seconds, two events of one second seem simultaneous, and two events of neighbouring seconds a second
//! apart. A limiter would see bursts that nobody sent. Even spacing assumes the least: the n events of a second are put
//! at multiples of 1/n of a second, beginning with 0, in the order of their lines. A single event stays in place.
//!
//! A line far ahead of the others, such as one from 2099, waits for a second line of about its time, or for a line of
//! the next day if no earlier line comes before. Without one, the line is dropped and counted. If all lines are so far
//! from each other, none is dropped.
//!
//! ```
//! use ratescope_log::{Order, Spread, When};
//! use ratescope::{Span, Time};
//!
//! let mut order = Order::new(Span::from_secs(5), 1000, Spread::Coarse);
//! let mut seen = Vec::new();
//! for (i, secs) in [10, 12, 11, 11, 30, 20].into_iter().enumerate() {
//!     let when = When { time: Time::try_from_secs_f64(f64::from(secs))?, coarse: true, times: 1 };
//!     order.push(when, 1, i, &mut |at, i| seen.push((at.as_secs_f64(), *i)));
//! }
//! order.finish(&mut |at, i| seen.push((at.as_secs_f64(), *i)));
//! assert_eq!(seen, [(10.0, 0), (11.0, 2), (11.5, 3), (12.0, 1), (25.0, 5), (30.0, 4)]);
//! assert_eq!(order.corrections().late, 1);
//! # Ok::<(), ratescope::BadNumber>(())
//! ```

mod ahead;
mod back;

pub use back::{Corrections, StepsBack};

use crate::civil::SECOND;
use ahead::Ahead;
use ratescope::internal::by_name;
use ratescope::time::{Span, Time};

/// The default slack; nearly all requests take less time.
pub const SLACK: Span = Span::from_mins(1);

/// The longest slack in seconds, since all lines within it must be held.
const LONGEST_SLACK: f64 = 3600.0;

/// The default number of bytes that are held.
pub const HELD: usize = 64 << 20;

/// The number of late lines in a row after which the clock counts as set back.
const LATE_IN_A_ROW: usize = 64;

/// The greatest step ahead in seconds that needs no second line, if the slack is shorter.
const USUAL_STEP: i64 = 60;

/// The greatest step ahead in seconds that needs no second line at the end of a log, and the greatest step from a line
/// to the next line that confirms it.
const FAR: i64 = 24 * 3600;

/// The next second reuses the memory of a second that has room for at most four times its lines and this many more.
const SMALL: usize = 64;

/// The time and the number of the events of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The time of the line.
    pub time: Time,
    /// The time is in whole seconds.
    pub coarse: bool,
    /// The number of equal events that the line stands for.
    pub times: u32,
}

/// A line that is held until its turn.
#[derive(Clone, Debug)]
struct Line<T> {
    /// The time in microseconds, shifted by the steps back of the clock.
    micros: i64,
    times: u32,
    coarse: bool,
    /// The bytes that it takes in memory.
    bytes: usize,
    item: T,
}

/// When the events of a second are spread over it. The text form is `coarse`, `always` or `never`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// If all events of the second have times in whole seconds.
    #[default]
    Coarse,
    /// In every second, however its events are written.
    Always,
    /// Never: times stay as they are.
    Never,
}

const NAMES: [(Spread, &str); 3] =
    [(Spread::Coarse, "coarse"), (Spread::Always, "always"), (Spread::Never, "never")];

by_name!(Spread, NAMES, "write coarse, always or never");

/// Holds lines until no earlier line can come, and gives out their items of type `T` in the order of time.
#[derive(Clone, Debug)]
pub struct Order<T> {
    spread: Spread,
    slack: i64,
    room: usize,
    /// The lines of each open second, indexed by the last bits of the second's number.
    seconds: Vec<Vec<Line<T>>>,
    /// Memory for the lines of the next second.
    spare: Vec<Line<T>>,
    /// The lines far ahead whose times are not confirmed yet.
    ahead: Ahead<T>,
    /// The first open second.
    first: i64,
    /// The last second with a line.
    newest: i64,
    /// The bytes of the lines in `seconds`.
    held: usize,
    /// The time in the first open second up to which events were given out, in microseconds.
    given: i64,
    /// The time of the last event that was given out, in microseconds.
    last: i64,
    /// The first line was put into its second.
    begun: bool,
    /// The sum of all steps back of the clock, in microseconds.
    shift: i64,
    /// The late lines since the last line that was not late.
    belated: Vec<Line<T>>,
    /// The time of the previous line, in microseconds.
    before: i64,
    /// The number of lines that are earlier than their previous line.
    earlier: u64,
    /// The number of lines that are later than their previous line.
    later: u64,
    corrections: Corrections,
}

/// The beginning of a second in microseconds.
fn start(second: i64) -> i64 {
    second.saturating_mul(SECOND)
}

impl<T> Order<T> {
    /// Waits for lines that are up to `slack` late (rounded up to whole seconds, at most an hour), and holds at most
    /// `room` bytes of lines, but at least one line.
    pub fn new(slack: Span, room: usize, spread: Spread) -> Self {
        let slack = libm::ceil(slack.as_secs_f64()).min(LONGEST_SLACK) as i64;
        let length = (slack as usize + 1).next_power_of_two();
        Order {
            spread,
            slack,
            room: room.max(1),
            seconds: (0..length).map(|_| Vec::new()).collect(),
            spare: Vec::new(),
            ahead: Ahead::new(),
            first: 0,
            newest: 0,
            held: 0,
            given: 0,
            last: i64::MIN,
            begun: false,
            shift: 0,
            belated: Vec::new(),
            before: i64::MIN,
            earlier: 0,
            later: 0,
            corrections: Corrections::default(),
        }
    }

    /// The corrections of times so far.
    pub fn corrections(&self) -> Corrections {
        self.corrections
    }

    /// Tells whether the log goes backwards, its newest line first: more than four lines are earlier than their
    /// previous line for each that is later.
    pub fn is_newest_first(&self) -> bool {
        let Corrections { late, steps_back, .. } = self.corrections;
        late + steps_back.count > 0 && self.earlier / 4 > self.later
    }

    /// The bytes of the lines that are held.
    pub fn held(&self) -> usize {
        let belated: usize = self.belated.iter().map(|line| line.bytes).sum();
        self.held + self.ahead.bytes() + belated
    }

    /// Takes the next line of the log, of `bytes` bytes in memory, and gives out the events that no later line can
    /// precede. The item of a line comes once for each event of the line.
    #[inline]
    pub fn push(&mut self, when: When, bytes: usize, item: T, out: &mut impl FnMut(Time, &T)) {
        let When { time, coarse, times } = when;
        self.later += u64::from(time.as_micros() > self.before);
        self.earlier += u64::from(time.as_micros() < self.before);
        self.before = time.as_micros();
        let micros = time.as_micros().saturating_add(self.shift);
        if !self.ahead.is_empty() {
            self.believe(micros, out);
        }
        let line = Line { micros, times, coarse, bytes, item };
        if !self.begun || micros.div_euclid(SECOND) > self.newest + self.step() {
            self.wait(line, out);
        } else {
            self.insert(line, out);
        }
    }

    /// Gives out all events that are held.
    pub fn finish(&mut self, out: &mut impl FnMut(Time, &T)) {
        if self.begun {
            let passed = self.ahead.passed(start(self.newest.saturating_add(FAR)));
            self.drop_all(passed);
        }
        self.put_all(out);
        self.put_belated(out);
        if self.begun {
            self.close(self.newest + 1, out);
        }
        self.spare = Vec::new();
    }

    /// The greatest step ahead in seconds that needs no second line.
    #[inline]
    fn step(&self) -> i64 {
        self.slack.max(USUAL_STEP)
    }

    /// Keeps a line that is far ahead. Without room for more lines, all waiting lines are confirmed.
    #[cold]
    fn wait(&mut self, line: Line<T>, out: &mut impl FnMut(Time, &T)) {
        self.ahead.push(line);
        if self.held() > self.room {
            self.put_all(out);
        }
    }

    /// Inserts the lines that a line at the time `micros` confirms, and drops lines that waited too long.
    #[cold]
    fn believe(&mut self, micros: i64, out: &mut impl FnMut(Time, &T)) {
        let [near, far] = [self.step(), FAR].map(|seconds| start(seconds).unsigned_abs());
        for line in self.ahead.confirmed(micros, near, far) {
            self.insert(line, out);
        }
        let wrong = self.ahead.wrong();
        if self.begun {
            self.drop_all(wrong);
        } else if !wrong.is_empty() {
            // No two of these lines are near each other, and no others are known: the log begins with them.
            wrong.into_iter().for_each(|line| self.ahead.push(line));
            self.put_all(out);
        }
    }

    fn put_all(&mut self, out: &mut impl FnMut(Time, &T)) {
        for line in self.ahead.all() {
            self.insert(line, out);
        }
    }

    fn drop_all(&mut self, lines: Vec<Line<T>>) {
        self.corrections.dropped += lines.iter().map(|line| u64::from(line.times)).sum::<u64>();
    }

    /// Puts a line into its second.
    #[inline]
    fn insert(&mut self, line: Line<T>, out: &mut impl FnMut(Time, &T)) {
        let second = line.micros.div_euclid(SECOND);
        if !self.begun {
            self.begun = true;
            self.first = second - self.slack;
            self.newest = second;
            self.given = start(self.first);
        }
        if second < self.first {
            return self.wait_for_more(line, out);
        }
        if !self.belated.is_empty() {
            self.put_belated(out);
        }
        if second > self.newest {
            self.go_on(second, out);
        }
        let place = self.place(second);
        let Some(open) = self.seconds.get_mut(place) else { return };
        if open.capacity() == 0 {
            *open = core::mem::take(&mut self.spare);
        }
        self.held += line.bytes;
        open.push(line);
        if self.held > self.room {
            self.make_room(out);
        }
    }

    /// Keeps a late line until it is clear whether the clock was set back.
    #[cold]
    fn wait_for_more(&mut self, line: Line<T>, out: &mut impl FnMut(Time, &T)) {
        self.belated.push(line);
        if self.held() > self.room {
            return self.put_belated(out);
        }
        if self.belated.len() < LATE_IN_A_ROW {
            return;
        }
        // The first of these lines continues where the log was. The shift is in whole seconds, to keep fractions of a
        // second.
        let lines = core::mem::take(&mut self.belated);
        let first = lines.first().map_or(0, |line| line.micros.div_euclid(SECOND));
        let back = self.newest.saturating_sub(first).saturating_mul(SECOND);
        let farthest = Span::from_micros(back.unsigned_abs());
        self.corrections.steps_back.add(StepsBack { count: 1, farthest });
        self.shift = self.shift.saturating_add(back);
        for line in lines {
            self.insert(Line { micros: line.micros.saturating_add(back), ..line }, out);
        }
    }

    /// Gives late lines the earliest time that can still come out.
    #[cold]
    fn put_belated(&mut self, out: &mut impl FnMut(Time, &T)) {
        for line in core::mem::take(&mut self.belated) {
            self.corrections.late += u64::from(line.times);
            let micros = self.given.max(start(self.first));
            self.insert(Line { micros, ..line }, out);
        }
    }

    #[inline]
    fn place(&self, second: i64) -> usize {
        second as usize & (self.seconds.len() - 1)
    }

    /// Advances the log to `second`.
    fn go_on(&mut self, second: i64, out: &mut impl FnMut(Time, &T)) {
        // No second after the newest has lines, so there is nothing to close, however far the log jumps.
        self.close((second - self.slack).min(self.newest + 1), out);
        self.newest = second;
        if self.first < second - self.slack {
            self.first = second - self.slack;
            self.given = start(self.first);
        }
    }

    /// Gives out all seconds before `end`.
    fn close(&mut self, end: i64, out: &mut impl FnMut(Time, &T)) {
        while self.first < end {
            self.give(self.left(), out);
            self.first += 1;
            self.given = start(self.first);
        }
    }

    /// Gives out the events of the first open second, if so configured spread over its next `length` microseconds.
    fn give(&mut self, length: i64, out: &mut impl FnMut(Time, &T)) {
        let place_of = self.place(self.first);
        let from = self.given;
        let Some(open) = self.seconds.get_mut(place_of) else { return };
        if open.is_empty() {
            return;
        }
        let mut lines = core::mem::take(open);
        // One pass over the lines, which are few.
        let mut events = 0;
        let mut coarse = true;
        let mut sorted = true;
        let mut before = i64::MIN;
        for line in &lines {
            events += u64::from(line.times);
            coarse &= line.coarse;
            sorted &= before <= line.micros;
            before = line.micros;
            self.held -= line.bytes;
        }
        if !sorted {
            lines.sort_by_key(|line| line.micros);
        }
        let even = match self.spread {
            Spread::Coarse => coarse,
            Spread::Always => true,
            Spread::Never => false,
        };
        self.corrections.spread_out += if even { events.saturating_sub(1) } else { 0 };
        let mut last = self.last;
        let mut i = 0;
        for line in &lines {
            for _ in 0..line.times {
                let micros = if even { spread_out(from, i, events, length) } else { line.micros };
                last = last.max(micros);
                out(Time::from_micros(last), &line.item);
                i += 1;
            }
        }
        self.last = last;
        // The next second is probably as busy. If this second was much less busy than its memory allows, the memory is
        // freed.
        if lines.capacity() <= lines.len() * 4 + SMALL {
            lines.clear();
            self.spare = lines;
        }
    }

    /// Gives out the earliest seconds before their time is over, until the rest fits into `room`.
    #[cold]
    fn make_room(&mut self, out: &mut impl FnMut(Time, &T)) {
        while self.first < self.newest {
            self.close(self.first + 1, out);
            if self.held <= self.room {
                return;
            }
        }
        // All lines are in one second, and more may come: the events so far get half of the rest of the second.
        let half = self.left() / 2;
        self.give(half, out);
        self.given = self.given.saturating_add(half);
    }

    /// The rest of the first open second in microseconds. It is at least 1, since half of 1 is rounded down
    /// to 0.
    fn left(&self) -> i64 {
        SECOND - (self.given - start(self.first))
    }
}

/// The time of event `i` of `count` in microseconds, if they are spread over the `length` microseconds from
/// `from` on.
#[inline]
fn spread_out(from: i64, i: u64, count: u64, length: i64) -> i64 {
    // The product fits into i64: `length` is at most a second, and each line in memory has at most a thousand events.
    let part = i.cast_signed().saturating_mul(length) / count.cast_signed().max(1);
    from.saturating_add(part)
}
