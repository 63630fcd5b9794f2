//! Levels: the number that a limiter compares with its limit, with all events counted.

use super::backlog::Backlog;
use super::scale::Over;
use crate::tune::Moment;
use core::fmt;
use ratescope::internal::amount;
use ratescope::limit::MAX_COST;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::earrrl::Earrrl;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::limit::fail2ban::Fail2ban;
use ratescope::limit::fixed_window::FixedWindow;
use ratescope::limit::gcra::Gcra;
use ratescope::limit::haproxy::{Counts, Haproxy};
use ratescope::limit::nginx::{Delay, Nginx};
use ratescope::limit::sliding_counter::SlidingCounter;
use ratescope::limit::sliding_log::{MAX_ENTRIES, SlidingLog};
use ratescope::limit::sliding_window::SlidingWindow;
use ratescope::rate::Rate;
use ratescope::text::BadNumber;
use ratescope::time::{Span, Time};

/// A limiter without its limit. Its levels show the effect of every limit.
///
/// | measure | level | over the limit |
/// |---|---|---|
/// | `Exim` | the decaying rate, with the event | at it or above; strict or leaky |
/// | `Earrrl` | the estimate before the event | above it |
/// | `FixedWindow` | the count of the window of the clock, with the event | above it |
/// | `SlidingWindow` | the count of the last blocks, with the event | above it |
/// | `SlidingCounter` | this window and the fading share of the last | above it |
/// | `SlidingLog` | the count of the last period, with the event | above it |
/// | `Bucket` | the backlog at the rate, with the event: the limit is the burst | above it |
/// | `Nginx` | nginx's excess and one, with the event: the limit is its burst and one | above it |
/// | `Haproxy` | HAProxy's rate, with the event where all count | above it; if only the allowed count, at it or above |
/// | `Fail2ban` | fail2ban's count of failures, with the event | at it or above |
///
/// `Bucket` is token bucket, GCRA and leaky bucket, which decide alike. Envoy has no measure: the rounding of its
/// doubles depends on the size of its bucket. Apart from this rounding it is a `Bucket`.
///
/// A level is the reading of the limiter with the largest limit: it refuses nothing below that limit, so it counts
/// every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Exim's rate over a period.
    Exim(Span),
    /// The recent average in a period (the first span), with a half-life (the second).
    Earrrl(Span, Span),
    /// Windows of the clock of one period.
    FixedWindow(Span),
    /// The last period (the first span) in blocks (the second), as
    /// [`sliding_window`](ratescope::limit::sliding_window).
    SlidingWindow(Span, Span),
    /// Two windows of the clock of one period.
    SlidingCounter(Span),
    /// The last period, exactly.
    SlidingLog(Span),
    /// A bucket that drains at a rate.
    Bucket(Rate),
    /// nginx's `limit_req` at a rate, with `nodelay` or without.
    Nginx(Rate),
    /// A rate counter of HAProxy over a period.
    Haproxy(Span, Counts),
    /// A jail of fail2ban: its `findtime` and its `bantime`.
    Fail2ban(Span, Span),
}

/// A highest level, and the first time at which it was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The level.
    pub level: f64,
    /// The time.
    pub at: Time,
}

/// The events of a client, ready to be measured.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) moments: Vec<Moment>,
    /// Their costs in millionths.
    pub(super) amounts: Vec<u64>,
    /// The sum of the amounts.
    pub(super) total: u128,
    /// The amount of each event, if all are equal.
    pub(super) each: Option<u64>,
    /// The shortest time between two events, in microseconds; with fewer than two, the longest possible.
    pub(super) shortest_gap: u64,
}

impl Events {
    pub(super) fn fill(&mut self, moments: impl Iterator<Item = Moment>) {
        self.moments.clear();
        self.amounts.clear();
        self.total = 0;
        self.each = None;
        self.shortest_gap = u64::MAX;
        let mut last: Option<(i64, u64)> = None;
        let mut alike = true;
        for moment in moments {
            let micros = moment.time.as_micros();
            // The cost of a moment is one that can be counted.
            let amount = amount(moment.cost).unwrap_or(0);
            if let Some((before, other)) = last {
                self.shortest_gap = self.shortest_gap.min(micros.abs_diff(before));
                alike &= amount == other;
            }
            last = Some((micros, amount));
            self.total += u128::from(amount);
            self.moments.push(moment);
            self.amounts.push(amount);
        }
        self.each = last.map(|(_, amount)| amount).filter(|_| alike);
    }

    /// The level of the first event before `split`, and of the first from `split` on, if no event adds to the level of
    /// another and all cost the same.
    pub(super) fn alone(&self, split: usize) -> [Option<f64>; 2] {
        let level = |place| self.amounts.get(place).map(|amount| *amount as f64 / 1e6);
        [level(0).filter(|_| split > 0), level(split)]
    }
}

/// A measure, prepared for measuring many clients.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    pub(super) measure: Measure,
    /// The limiter with the largest limit. It refuses nothing below its limit, so it counts every event.
    limiter: Option<AnyLimiter>,
    backlog: Option<Backlog>,
}

impl Meter {
    pub(super) fn new(measure: Measure) -> Self {
        let largest = [MAX_COST, 1e9, MAX_ENTRIES as f64];
        let limiter = largest.into_iter().find_map(|limit| measure.limiter(limit).ok());
        let backlog = match measure {
            Measure::Bucket(rate) => Backlog::new(rate),
            _ => None,
        };
        Meter { measure, limiter, backlog }
    }

    /// Tells whether this is a bucket that every event finds empty, and all events cost the same.
    #[inline]
    pub(super) fn is_idle(&self, events: &Events) -> bool {
        self.backlog.is_some_and(|backlog| backlog.is_idle(events))
    }

    /// The highest level of the events before `split`, and of the others, with their places. Writes all levels to
    /// `levels`.
    pub(super) fn peaks(
        &self,
        events: &Events,
        split: usize,
        levels: &mut Vec<f64>,
    ) -> [Option<(f64, usize)>; 2] {
        if let Some(backlog) = self.backlog.filter(|backlog| backlog.fits(events)) {
            return backlog.peaks(events, split);
        }
        self.levels(events, levels);
        [0..split, split..levels.len()].map(|places| {
            let mut highest: Option<(f64, usize)> = None;
            for (place, level) in places.clone().zip(levels.get(places).unwrap_or_default()) {
                if highest.is_none_or(|(highest, _)| *level > highest) {
                    highest = Some((*level, place));
                }
            }
            highest
        })
    }

    /// Replaces `levels` by the level of every event, with all events counted. A separate loop evaluates the levels:
    /// both loops are short, and the page has the code of the limiters once.
    pub(super) fn levels(&self, events: &Events, levels: &mut Vec<f64>) {
        levels.clear();
        let Some(limiter) = &self.limiter else { return };
        levels.resize(events.moments.len(), 0.0);
        let mut places = levels.iter_mut();
        let moments = events.moments.iter().map(|moment| (moment.time, moment.cost));
        limiter.outcomes(moments, |_, outcome| {
            if let Some(level) = places.next() {
                *level = outcome.level;
            }
        });
        // In HAProxy and fail2ban, an event of cost 0 only reads the count, and is never refused.
        if matches!(self.measure, Measure::Haproxy(..) | Measure::Fail2ban(..)) {
            let each = levels.iter_mut().zip(&events.amounts);
            each.filter(|(_, amount)| **amount == 0).for_each(|(level, _)| *level = 0.0);
        }
    }
}

impl Measure {
    /// The limiter with this limit: the count of its rate, or the burst.
    ///
    /// # Errors
    /// When the limiter does not accept this limit.
    pub fn limiter(self, limit: f64) -> Result<AnyLimiter, BadNumber> {
        let rate = |per| Rate::new(limit, per);
        Ok(match self {
            Measure::Exim(per) => AnyLimiter::Exim(Exim { limit: rate(per)?, mode: Mode::Strict }),
            Measure::Earrrl(per, half_life) => {
                AnyLimiter::Earrrl(Earrrl::new(rate(per)?, half_life)?)
            }
            Measure::FixedWindow(per) => AnyLimiter::FixedWindow(FixedWindow::new(rate(per)?)?),
            Measure::SlidingWindow(per, precision) => {
                AnyLimiter::SlidingWindow(SlidingWindow::new(rate(per)?, precision)?)
            }
            Measure::SlidingCounter(per) => {
                AnyLimiter::SlidingCounter(SlidingCounter::new(rate(per)?)?)
            }
            Measure::SlidingLog(per) => AnyLimiter::SlidingLog(SlidingLog::new(rate(per)?)?),
            Measure::Bucket(rate) => AnyLimiter::Gcra(Gcra::new(rate, limit)?),
            Measure::Nginx(rate) => {
                let burst = limit - 1.0;
                let whole = (burst >= 0.0 && burst == libm::trunc(burst)).then_some(burst as u64);
                let want = "a whole number from 0 to 1e12";
                let bad = BadNumber { what: "the burst", given: burst, want };
                AnyLimiter::Nginx(Nginx::new(rate, whole.ok_or(bad)?, Delay::Never)?)
            }
            Measure::Haproxy(per, counts) => AnyLimiter::Haproxy(Haproxy::new(rate(per)?, counts)?),
            Measure::Fail2ban(find, ban) => AnyLimiter::Fail2ban(Fail2ban::new(rate(find)?, ban)?),
        })
    }

    /// The measure of a limiter, and its limit; `None` if its level depends on the limit, or it counts
    /// nothing.
    pub fn from_limiter(limiter: &AnyLimiter) -> Option<(Measure, f64)> {
        let rated = |of: fn(Span) -> Measure, rate: Rate| Some((of(rate.per()), rate.count()));
        match limiter {
            AnyLimiter::Exim(l) if l.mode == Mode::Readonly || l.measures_only() => None,
            AnyLimiter::Exim(l) => rated(Measure::Exim, l.limit),
            AnyLimiter::Earrrl(l) => {
                let half_life = l.estimator().half_life;
                Some((Measure::Earrrl(l.limit().per(), half_life), l.limit().count()))
            }
            AnyLimiter::TokenBucket(l) => Some((Measure::Bucket(l.rate()), l.burst())),
            AnyLimiter::Gcra(l) => Some((Measure::Bucket(l.rate()), l.burst())),
            AnyLimiter::LeakyBucket(l) => Some((Measure::Bucket(l.rate()), l.queue())),
            AnyLimiter::FixedWindow(l) if l.is_plain() => rated(Measure::FixedWindow, l.limit()),
            AnyLimiter::SlidingWindow(l) => {
                let measure = Measure::SlidingWindow(l.limit().per(), l.precision());
                Some((measure, l.limit().count()))
            }
            AnyLimiter::SlidingCounter(l) => rated(Measure::SlidingCounter, l.limit()),
            AnyLimiter::SlidingLog(l) => rated(Measure::SlidingLog, l.limit()),
            AnyLimiter::Nginx(l) => Some((Measure::Nginx(l.rate()), l.burst() as f64 + 1.0)),
            AnyLimiter::Haproxy(l) => {
                Some((Measure::Haproxy(l.limit().per(), l.counts()), l.limit().count()))
            }
            AnyLimiter::Fail2ban(l) => {
                Some((Measure::Fail2ban(l.limit().per(), l.ban()), l.limit().count()))
            }
            _ => None,
        }
    }

    /// The time over which a level counts events.
    pub fn period(self) -> Span {
        match self {
            Measure::Exim(per)
            | Measure::Earrrl(per, _)
            | Measure::FixedWindow(per)
            | Measure::SlidingWindow(per, _)
            | Measure::SlidingCounter(per)
            | Measure::SlidingLog(per)
            | Measure::Haproxy(per, _)
            | Measure::Fail2ban(per, _) => per,
            Measure::Bucket(rate) | Measure::Nginx(rate) => rate.per(),
        }
    }

    /// The comparison of a level with the limit.
    pub fn over(self) -> Over {
        match self {
            Measure::Exim(_) | Measure::Haproxy(_, Counts::Allowed) | Measure::Fail2ban(..) => {
                Over::AtLimit
            }
            _ => Over::AboveLimit,
        }
    }

    /// Tells whether the limiter also counts refused events, so that no level depends on the limit.
    pub fn counts_all(self) -> bool {
        matches!(self, Measure::Exim(_) | Measure::Earrrl(..) | Measure::Haproxy(_, Counts::All))
    }

    /// The highest level of `moments`, which are in the order of time; `None` without moments.
    pub fn peak(self, moments: impl Iterator<Item = Moment>) -> Option<Peak> {
        let mut events = Events::default();
        events.fill(moments);
        let all = events.moments.len();
        let [found, _] = Meter::new(self).peaks(&events, all, &mut Vec::new());
        let (level, place) = found?;
        events.moments.get(place).map(|moment| Peak { level, at: moment.time })
    }
}

/// As in `exim N/1m` or `gcra 10/1s burst N`.
impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measure::Exim(per) => write!(f, "exim N/{per} strict"),
            Measure::Earrrl(per, half_life) => write!(f, "earrrl N/{per} half-life {half_life}"),
            Measure::FixedWindow(per) => write!(f, "fixed-window N/{per}"),
            Measure::SlidingWindow(per, precision) => {
                write!(f, "sliding-window N/{per} precision {precision}")
            }
            Measure::SlidingCounter(per) => write!(f, "sliding-counter N/{per}"),
            Measure::SlidingLog(per) => write!(f, "sliding-log N/{per}"),
            Measure::Bucket(rate) => write!(f, "gcra {rate} burst N"),
            Measure::Nginx(rate) => write!(f, "nginx {rate} burst N-1 nodelay"),
            Measure::Haproxy(per, Counts::All) => write!(f, "haproxy N/{per}"),
            Measure::Haproxy(per, Counts::Allowed) => write!(f, "haproxy N/{per} allowed"),
            Measure::Fail2ban(find, ban) => write!(f, "fail2ban N/{find} ban {ban}"),
        }
    }
}
