//! The same events through several limiters at once.
//!
//! ```
//! use ratescope_lab::compare::{Link, Comparison};
//!
//! // Ten events just before a window's edge and ten just after it, as in the page's address.
//! let link: Link = "lanes=fixed-window;sliding-log&auto=off&script=10 at 9.9s,10 at 10.1s&at=11"
//!     .parse()?;
//! let mut run = Comparison::open(&link)?;
//! run.advance(link.at, usize::MAX);
//! // Both limit to ten in ten seconds, but the first lets twenty through in a fifth of a second.
//! assert_eq!(run.lanes().iter().map(|lane| lane.allowed()).collect::<Vec<_>>(), [20, 10]);
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! A comparison is a [run] of [`Lanes`]. A [lane](super::lane) is the policy of a [`Template`] and the states
//! of its senders; [`view::compare`](mod@crate::view::compare) draws its history. Events come from automatic
//! [traffic](crate::traffic), from a [script], and from clicks.

pub mod script;
pub mod settings;

pub use super::lane::{Lane, Template};
pub use settings::Settings;

use crate::clients::Crowd;
use crate::lane::Sender;
use crate::lane::history::Grain;
use crate::run::{self, Arrival, Experiment, Run};
use ratescope::event::Event;
use ratescope::text::ParseError;
use ratescope::time::Time;
use script::Script;

/// A link to a run of several lanes.
pub type Link = run::Link<Settings>;

/// A run of several lanes.
pub type Comparison = Run<Lanes>;

/// The text of the setting `lanes` with `own` first, then the usual limiters at the common rate, except one of `own`'s
/// algorithm.
pub fn beside(own: &str) -> String {
    let others = ["exim strict", "token-bucket", "fixed-window", "sliding-log"].into_iter();
    let name = |lane: &str| lane.split(' ').next().map(str::to_owned);
    let others = others.filter(|other| name(other) != name(own)).collect::<Vec<_>>();
    format!("{own};{}", others.join(";"))
}

impl Comparison {
    /// The lanes, from 1 to [`settings::LANES`].
    pub fn lanes(&self) -> &[Lane] {
        &self.experiment().lanes
    }

    /// Events sent since the start of the run to all lanes: without those of clients, which differ from lane to lane.
    pub fn sent(&self) -> u64 {
        self.experiment().sent
    }

    /// Gives lane `i` another template, or adds a lane at the end if there is no lane `i`. The setting `lanes` changes,
    /// so that a link contains it.
    ///
    /// # Errors
    /// When `text` cannot be read, or there are [`settings::LANES`] lanes already. The error is about `text`.
    pub fn set_lane(&mut self, i: usize, text: &str) -> Result<(), ParseError> {
        let (template, _) = Template::read(text, self.settings().limit)?;
        let mut templates = self.settings().lanes.clone();
        let is_full = templates.len() == settings::LANES;
        match templates.get_mut(i) {
            Some(old) => *old = template,
            None if is_full => {
                let help = format!("there are {} lanes already", settings::LANES);
                return Err(ParseError::whole(text, help));
            }
            None => templates.push(template),
        }
        let lanes = settings::joined(&templates);
        self.set("lanes", &lanes).map_err(|e| ParseError::whole(text, e.problem()))
    }
}

/// Several lanes on the same events.
///
/// When the settings change, lanes with the same text and policy keep their states; other lanes start without states.
/// Their clients go on, too, unless the clients of the script or the seed changed: then they begin their jobs again.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// The lanes, from 1 to [`settings::LANES`].
    pub lanes: Vec<Lane>,
    /// The script, for its users and clients.
    script: Script,
    seed: u64,
    /// When the next client of any lane sends.
    due: Time,
    sent: u64,
    weight: usize,
}

impl Experiment for Lanes {
    type Settings = Settings;

    const PER_FRAME: usize = 40_000;

    fn new(settings: &Settings, begin: Time) -> Result<Self, ParseError> {
        let mut lanes = Lanes {
            lanes: Vec::new(),
            script: Script::default(),
            seed: settings.common.seed,
            due: Time::LAST,
            sent: 0,
            weight: 1,
        };
        lanes.follow(begin, settings)?;
        Ok(lanes)
    }

    #[inline]
    fn event(&mut self, arrival: &Arrival) {
        let Arrival { at, cost, user, .. } = *arrival;
        let sender = user as usize;
        let user = self.script.users.get(sender).map_or("", String::as_str);
        let event = Event { time: at, cost, fields: &Sender(user) };
        self.sent += 1;
        for lane in &mut self.lanes {
            let own = lane.crowd().map_or(0, |crowd| crowd.sent());
            let _ = lane.event(&event, sender, self.sent + own);
        }
    }

    #[inline]
    fn due(&self) -> Time {
        self.due
    }

    fn wake(&mut self, at: Time) -> usize {
        let users = &self.script.users;
        let count = self.lanes.iter_mut().map(|lane| lane.wake(at, users, self.sent)).sum();
        self.due = self.lanes.iter().map(Lane::due).min().unwrap_or(Time::LAST);
        count
    }

    fn fastest(&self) -> f64 {
        let each = self.lanes.iter().filter_map(|lane| Some(lane.crowd()?.fastest()));
        each.sum()
    }

    /// Replaces the lanes by those of the settings; an existing lane keeps its states. Of equal lanes, the one at the
    /// same index is taken first.
    fn follow(&mut self, now: Time, settings: &Settings) -> Result<(), ParseError> {
        let Settings { limit, cost, lanes: templates, processes, script, common } = settings;
        let seed = common.seed;
        let among = (*processes, seed);
        let new_jobs = self.seed != common.seed || !self.script.jobs().eq(script.jobs());
        let policies = settings.resolve(*limit)?;
        let mut old: Vec<Option<Lane>> = self.lanes.drain(..).map(Some).collect();
        for (i, (template, policy)) in templates.iter().zip(policies).enumerate() {
            let is =
                |lane: &Option<Lane>| lane.as_ref().is_some_and(|l| l.is(template, &policy, among));
            let place = if old.get(i).is_some_and(is) { Some(i) } else { old.iter().position(is) };
            let kept = place.and_then(|place| old.get_mut(place)?.take());
            let is_new = kept.is_none();
            let mut lane = kept.unwrap_or_else(|| {
                let template = template.clone();
                Lane::new(template, policy, *limit, among, now, self.sent)
            });
            if is_new || new_jobs {
                lane.employ(Crowd::new(script, seed, template.way(), now));
            }
            lane.ask_about(*cost, limit.per());
            lane.watch(&script.users, now, self.sent);
            self.lanes.push(lane);
        }
        self.script.clone_from(script);
        self.seed = seed;
        self.due = self.lanes.iter().map(Lane::due).min().unwrap_or(Time::LAST);
        self.weight = settings.states().div_ceil(8).max(1);
        Ok(())
    }

    /// The end of the first lane's column; the columns of all lanes end together.
    fn column_end(&self) -> Time {
        self.lanes.first().map_or(Time::LAST, |lane| lane.history().last())
    }

    fn end_column(&mut self) {
        self.lanes.iter_mut().for_each(Lane::close);
    }

    /// An eighth of the states in the lanes, rounded up.
    fn weight(&self) -> usize {
        self.weight
    }

    fn with_new_history(&self, now: Time, grain: Grain) -> Self {
        let lanes =
            self.lanes.iter().map(|lane| lane.with_new_history(now, self.sent, grain)).collect();
        Lanes { lanes, script: self.script.clone(), ..*self }
    }
}
