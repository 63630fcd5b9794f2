//! The same events through several limiters at once.
//!
//! ```
//! use ratescope::lab::compare::{Link, Replay};
//!
//! // Ten events just before a window's edge and ten just after it, as in the page's address.
//! let link: Link = "lanes=fixed-window;sliding-log&auto=off&script=10 at 9.9s,10 at 10.1s&at=11"
//!     .parse()?;
//! let mut run = Replay::open(&link)?;
//! run.advance(link.at, usize::MAX);
//! // Both limit to ten in ten seconds, but the first lets twenty through in a fifth of a second.
//! assert_eq!(run.lanes().iter().map(|lane| lane.allowed()).collect::<Vec<_>>(), [20, 10]);
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! A comparison is a [run] of [`Lanes`]. A [lane] is a [rule](Rule) and the states of its senders;
//! [`view::compare`](mod@crate::view::compare) draws its [history]. Events come from automatic
//! [traffic](crate::traffic), from a [script], and from clicks.

mod edit;
pub mod history;
pub mod lane;
mod rule;
pub mod script;
pub mod settings;

pub use lane::{Lane, Rule};
pub use settings::Settings;

use crate::event::Event;
use crate::lab::run::{self, Arrival, Experiment, Run};
use crate::text::ParseError;
use crate::time::{Span, Time};
use history::last_of_column;
use rule::Sender;

/// A link to a run of several lanes.
pub type Link = run::Link<Settings>;

/// A run of several lanes.
pub type Replay = Run<Lanes>;

impl Replay {
    /// The lanes, from 1 to [`settings::LANES`].
    pub fn lanes(&self) -> &[Lane] {
        &self.experiment().lanes
    }

    /// Events sent since the start of the run.
    pub fn sent(&self) -> u64 {
        self.experiment().sent
    }
}

/// Several lanes on the same events.
///
/// When the settings change, lanes with the same policy keep their states; others begin anew.
#[derive(Clone, Debug)]
pub struct Lanes {
    lanes: Vec<Lane>,
    /// The users of the script.
    users: Vec<String>,
    sent: u64,
    /// The last instant of the columns that are filling in all lanes.
    last: Time,
    weight: usize,
}

impl Experiment for Lanes {
    type Settings = Settings;

    const PER_FRAME: usize = 40_000;

    const COLUMNS_A_SECOND: f64 = 61.0;

    fn new(settings: &Settings, begin: Time) -> Result<Self, ParseError> {
        let last = last_of_column(begin);
        let mut lanes = Lanes { lanes: Vec::new(), users: Vec::new(), sent: 0, last, weight: 1 };
        lanes.follow(begin, settings)?;
        Ok(lanes)
    }

    #[inline]
    fn event(&mut self, arrival: &Arrival) {
        let Arrival { at, cost, user } = *arrival;
        let user = self.users.get(user as usize).map_or("", String::as_str);
        let event = Event { time: at, cost, fields: &Sender(user) };
        self.sent += 1;
        for lane in &mut self.lanes {
            lane.event(&event, self.sent);
        }
    }

    /// Replaces the lanes by those of the settings; lanes that exist already stay as they are.
    fn follow(&mut self, now: Time, settings: &Settings) -> Result<(), ParseError> {
        let Settings { limit, cost, lanes: rules, script, .. } = settings;
        let policies = settings.resolve(*limit)?;
        let mut old: Vec<Option<Lane>> = self.lanes.drain(..).map(Some).collect();
        for (i, (rule, policy)) in rules.iter().zip(policies).enumerate() {
            let is = |lane: &Option<Lane>| lane.as_ref().is_some_and(|l| l.is(rule, &policy));
            let place = if old.get(i).is_some_and(is) { Some(i) } else { old.iter().position(is) };
            let kept = place.and_then(|place| old.get_mut(place)?.take());
            let mut lane = kept.unwrap_or_else(|| Lane::new(rule.clone(), policy, now, self.sent));
            lane.ask_about(*cost, limit.per());
            self.lanes.push(lane);
        }
        self.users = script.users().to_vec();
        self.weight = settings.states().div_ceil(8).max(1);
        Ok(())
    }

    fn column_end(&self) -> Time {
        self.last
    }

    fn end_column(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.close(self.last));
        self.last = last_of_column(self.last.after(Span::micros(1)));
    }

    /// One for each eight states, rounded up.
    fn weight(&self) -> usize {
        self.weight
    }
}
