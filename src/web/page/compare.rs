//! Compare: every limiter on the same events. Each lane is a setting of its own here, `lane-1` and
//! so on, so that the page has a box for it; one that is not there yet is added.

use super::ease::Eased;
use super::run::AnyRun;
use super::view;
use super::viewer::Seen;
use crate::lab::compare::{Lane, Replay, Settings};
use crate::plot::{Mark, axis};
use crate::text::ParseError;
use crate::time::{Span, Time};
use crate::view::compare::{self, Viewport};
use crate::view::{edges, seconds_per_pixel};
use crate::web::texts::Texts;

/// A comparison, and the upper edges of its lanes and of the cumulative picture.
pub(super) struct View {
    replay: Replay,
    lanes: Vec<Eased>,
    total: Eased,
    /// The values of `lanes`, as the picture takes them.
    tops: Vec<f64>,
}

impl View {
    pub(super) fn new() -> Result<Self, ParseError> {
        let replay = Replay::new(Settings::default())?;
        Ok(View { replay, lanes: Vec::new(), total: Eased::new(1.0), tops: Vec::new() })
    }

    fn viewport<'a>(&'a self, seen: &Seen<'a>) -> Viewport<'a> {
        Viewport {
            size: seen.size,
            right: seen.right,
            live: seen.live,
            window: seen.window,
            tops: &self.tops,
            total: self.total.top,
            crosshair: seen.crosshair,
            gaps: seen.gaps,
            own_time: seen.own_time,
            flags: seen.flags,
        }
    }

    /// The instant under the crosshair, if there is one.
    fn pointed_at(&self, seen: &Seen) -> Option<Time> {
        let ([_, edge], pixel) =
            (edges(seen.size[0]), seconds_per_pixel(seen.size[0], seen.window));
        let seconds = (edge - seen.crosshair?) * pixel;
        Span::from_secs(seconds.max(0.0)).ok().map(|span| seen.right.before(span))
    }

    /// What a lane ever allows in a period.
    fn promise(&self, lane: &Lane) -> String {
        let settings = self.replay.settings();
        let most = lane.max_admitted(settings.cost);
        let whole = libm::round(most);
        let most = if (most - whole).abs() < 1e-3 { whole } else { most };
        match most.is_finite() {
            true => format!("at most {} in any {}", compare::short(most), settings.limit.per()),
            false => "no bound on what passes".to_owned(),
        }
    }

    /// The lane that a setting or something about it belongs to.
    fn lane(&self, name: &str) -> Option<&Lane> {
        self.replay.lanes().get(place(name)?)
    }
}

/// Which lane a setting is, from 0; `None` if it is none.
fn place(name: &str) -> Option<usize> {
    name.strip_prefix("lane-")?.parse::<usize>().ok()?.checked_sub(1)
}

impl view::View for View {
    fn run(&self) -> &dyn AnyRun {
        &self.replay
    }

    fn run_mut(&mut self) -> &mut dyn AnyRun {
        &mut self.replay
    }

    fn oldest(&self) -> Time {
        let oldest = self.replay.lanes().iter().map(|lane| lane.history().oldest()).min();
        oldest.unwrap_or(Time::ZERO)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match place(name) {
            Some(lane) if lane < self.replay.lanes().len() => self.replay.change_lane(lane, value),
            Some(_) => self.replay.add_lane(value),
            None => self.replay.set(name, value),
        }
    }

    fn get(&self, name: &str) -> String {
        match self.lane(name) {
            Some(lane) => lane.rule().to_string(),
            None => self.run().get(name),
        }
    }

    /// The limiter of a lane with all of its words.
    fn about(&self, name: &str) -> String {
        let Some(lane) = self.lane(name) else { return String::new() };
        // The block of a window is a sixtieth of it, which is seldom a round time.
        let word = |word: &str| match word.parse::<Span>() {
            Ok(span) if word.ends_with("us") => axis::seconds(span.secs()),
            _ => word.to_owned(),
        };
        lane.policy().to_string().split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    fn height(&self, width: f64) -> Option<f64> {
        Some(compare::height(self.replay.lanes().len(), width))
    }

    fn ease(&mut self, seen: &Seen, wall: f64, still: bool) -> bool {
        let (right, window) = (seen.right, seen.window);
        let total = compare::total(&self.replay, right, window);
        let mut moved = self.total.follow(total, wall, still);
        self.lanes.resize_with(self.replay.lanes().len(), || Eased::new(1.0));
        for (eased, lane) in self.lanes.iter_mut().zip(self.replay.lanes()) {
            moved |= eased.follow(compare::top(lane, right, window), wall, still);
        }
        self.tops.clear();
        self.tops.extend(self.lanes.iter().map(|eased| eased.top));
        moved
    }

    fn jump(&mut self) {
        self.lanes.clear();
        self.total.jump();
    }

    fn draw(&self, seen: &Seen) -> Vec<Mark> {
        compare::draw(&self.replay, &self.viewport(seen))
    }

    fn say(&self, texts: &mut Texts) {
        let sent = self.replay.sent();
        texts.show("sent", axis::readout_count(sent), sent as f64);
        for (lane, n) in self.replay.lanes().iter().zip(1..) {
            let (allowed, refused) = (lane.allowed(), lane.refused());
            texts.show(format!("allowed-{n}"), axis::readout_count(allowed), allowed as f64);
            texts.show(format!("refused-{n}"), axis::readout_count(refused), refused as f64);
            let share = match allowed + refused {
                0 => "–".to_owned(),
                all => format!("{} %", axis::readout(100.0 * allowed as f64 / all as f64)),
            };
            texts.say(format!("share-{n}"), share);
            texts.say(format!("again-{n}"), compare::next(lane.retry_after(self.replay.now())));
            texts.say(format!("promise-{n}"), self.promise(lane));
        }
    }

    /// A sentence a lane.
    fn summary(&self, seen: &Seen) -> String {
        if let Some(at) = self.pointed_at(seen) {
            return compare::words(&self.replay, &self.viewport(seen), at).join(". ");
        }
        let mut text = format!("{} events.", self.replay.sent());
        for (lane, n) in self.replay.lanes().iter().zip(1..) {
            let (allowed, refused) = (lane.allowed(), lane.refused());
            text.push_str(&format!(" {n}, {}: {allowed} allowed, {refused} refused.", lane.rule()));
        }
        text
    }
}
