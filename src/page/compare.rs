//! Compare: every limiter on the same events. Each lane is a setting of its own here, `lane-1` and so on, so that the
//! page can have a box for it. Setting a lane that does not exist yet adds it.

use super::ease::Eased;
use super::run::{AnyRun, Shown};
use super::view;
use crate::texts::Texts;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};
use ratescope_lab::compare::{Comparison, Lane, Lanes};
use ratescope_lab::plot::{Mark, axis};
use ratescope_lab::view::compare::Below;
use ratescope_lab::view::{Fates, Viewport, compare, edges, seconds_per_pixel};

/// A comparison, and the upper edges of its lanes and of the cumulative picture.
pub(super) struct View {
    shown: Shown<Lanes>,
    lanes: Vec<Eased>,
    total: Eased,
    /// The values of `lanes`, for the picture.
    tops: Vec<f64>,
    /// True if the picture has the names of the lanes, since the page has no controls over them.
    named: bool,
    below: Below,
}

impl View {
    pub(super) fn new(shown: Shown<Lanes>) -> Self {
        View {
            shown,
            lanes: Vec::new(),
            total: Eased::new(1.0),
            tops: Vec::new(),
            named: false,
            below: Below::Totals,
        }
    }

    /// A view on a page that has no controls over its lanes, and no texts beside them.
    pub(super) fn named(shown: Shown<Lanes>) -> Self {
        View { named: true, ..View::new(shown) }
    }

    /// The lanes alone: there is no room for more.
    pub(super) fn framed(shown: Shown<Lanes>) -> Self {
        View { below: Below::Nothing, ..View::named(shown) }
    }

    fn comparison(&self) -> &Comparison {
        self.shown.run()
    }

    fn viewport<'a>(&'a self, seen: &Viewport<'a>) -> Viewport<'a> {
        let warming = self.shown.warming(self.comparison().settings().limit.per());
        Viewport { top: self.total.top, tops: &self.tops, warming, below: self.below, ..*seen }
    }

    /// The instant under the crosshair, if there is one.
    fn pointed_at(&self, seen: &Viewport) -> Option<Time> {
        let [_, edge] = edges(seen.size[0]);
        let pixel = seconds_per_pixel(seen.size[0], seen.window);
        let seconds = (edge - seen.crosshair()?) * pixel;
        Span::try_from_secs_f64(seconds.max(0.0)).ok().map(|span| seen.right.before(span))
    }

    /// The height in CSS pixels of a picture of this width, if there is so much `room` for it.
    pub(super) fn height(&self, width: f64, room: f64) -> f64 {
        compare::height(self.comparison().lanes().len(), [width, room], self.below)
    }

    /// The distance from lane to lane, in CSS pixels.
    pub(super) fn pitch(&self, size: [f64; 2]) -> f64 {
        compare::pitch(self.comparison().lanes().len(), size, self.below)
    }

    /// The number of each lane's colour.
    pub(super) fn colours(&self) -> Vec<u8> {
        compare::colours(self.comparison().lanes())
    }

    /// The lane of the setting `name`; `None` for another setting, or a lane that does not exist.
    fn lane(&self, name: &str) -> Option<&Lane> {
        self.comparison().lanes().get(place(name)?)
    }
}

/// The index, from 0, of the lane of the setting `name`; `None` for another setting.
fn place(name: &str) -> Option<usize> {
    name.strip_prefix("lane-")?.parse::<usize>().ok()?.checked_sub(1)
}

impl view::View for View {
    fn run(&self) -> &dyn AnyRun {
        &self.shown
    }

    fn run_mut(&mut self) -> &mut dyn AnyRun {
        &mut self.shown
    }

    fn oldest(&self) -> Time {
        let oldest = self.comparison().lanes().iter().map(|lane| lane.history().oldest()).min();
        self.shown.oldest().or(oldest).unwrap_or(Time::ZERO)
    }

    fn receive(&mut self, name: &str, numbers: &[f64]) {
        self.shown.receive(name, numbers);
        self.jump();
    }

    fn takes_events(&self) -> bool {
        !self.shown.is_past()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match place(name) {
            Some(lane) => self.shown.run_mut().set_lane(lane, value),
            None => self.shown.set(name, value),
        }
    }

    fn get(&self, name: &str) -> String {
        match self.lane(name) {
            Some(lane) => lane.template().to_string(),
            None => self.shown.get(name),
        }
    }

    fn policy(&self, name: &str) -> String {
        self.lane(name).map(|lane| lane.policy().to_string()).unwrap_or_default()
    }

    fn ease(&mut self, seen: &Viewport, wall: f64, still: bool) -> bool {
        self.shown.look(seen);
        let right = seen.right;
        let window = seen.window;
        let total = compare::total(self.comparison(), right, window);
        let mut moved = self.total.follow(total, wall, still);
        self.lanes.resize_with(self.comparison().lanes().len(), || Eased::new(1.0));
        for (eased, lane) in self.lanes.iter_mut().zip(self.shown.run().lanes()) {
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

    fn is_axis(&self, seen: &Viewport, y: f64) -> bool {
        compare::is_axis(self.comparison().lanes().len(), seen.size, self.below, y)
    }

    fn draw(&self, seen: &Viewport) -> Vec<Mark> {
        let mut marks = compare::draw(self.comparison(), &self.viewport(seen));
        if self.named {
            let counts = !self.shown.is_past();
            marks.extend(compare::names(self.comparison(), &self.viewport(seen), counts));
        }
        marks
    }

    fn fates(&self) -> Option<Fates> {
        compare::fates(self.comparison())
    }

    fn write_texts(&self, seen: &Viewport, texts: &mut Texts) {
        if self.named {
            return texts.set("caption", self.sentences());
        }
        let readings = compare::readings(self.comparison(), &self.viewport(seen));
        let sent = self.comparison().sent();
        texts.set_with_number("sent", compare::sent(self.comparison()), sent as f64);
        let limit = self.comparison().settings().limit;
        for (lane, n) in self.comparison().lanes().iter().zip(1..) {
            let judged = lane.allowed() + lane.refused();
            for (id, count) in [("allowed", lane.allowed()), ("judged", judged)] {
                texts.set_with_number(
                    format!("{id}-{n}"),
                    axis::readout_count(count),
                    count as f64,
                );
            }
            texts.set(
                format!("again-{n}"),
                compare::next(lane.retry_after(self.comparison().now())),
            );
            let settings = self.comparison().settings();
            let promise = compare::promise(lane, settings.cost, settings.limit.per());
            texts.set(format!("promise-{n}"), promise);
            texts.set(format!("waits-{n}"), compare::waits(lane));
            let job = compare::job(lane, limit);
            texts.set(
                format!("job-{n}"),
                job.as_ref().map_or(String::new(), |_| lane.template().to_string()),
            );
            if let Some(job) = job {
                let compare::Job { done, sent, longest, load, busiest, retries, spread } = job;
                let cells = [done, sent, longest, load, busiest, retries, spread];
                for (cell, m) in cells.into_iter().zip(1..) {
                    texts.set(format!("job-{n}-{m}"), cell);
                }
            }
            let reading = readings.get(n - 1).and_then(Option::as_ref);
            let (text, refused) = reading.map_or(("", false), |r| (&r.text, r.refused));
            texts.set_with_number(format!("at-{n}"), text, f64::from(u8::from(refused)));
        }
    }

    /// A sentence for each lane: at the crosshair, or about the whole run.
    fn summary(&self, seen: &Viewport) -> String {
        if let Some(at) = self.pointed_at(seen) {
            return compare::words(self.comparison(), &self.viewport(seen), at).join(". ");
        }
        self.sentences()
    }
}

impl View {
    /// A sentence for each lane, about the whole run.
    fn sentences(&self) -> String {
        let mut text = format!("{} events.", compare::sent(self.comparison()));
        for (lane, n) in self.comparison().lanes().iter().zip(1..) {
            let allowed = lane.allowed();
            let refused = lane.refused();
            text.push_str(&format!(
                " {n}, {}: {allowed} allowed, {refused} refused.",
                lane.template()
            ));
            if let Some(job) = compare::job(lane, self.comparison().settings().limit) {
                text.push_str(&format!(" The jobs of its clients: {}.", job.done));
            }
        }
        text
    }
}
