//! The Scope: one limiter, measured.

use super::ease::Eased;
use super::run::{AnyRun, Shown};
use super::view;
use crate::texts::Texts;
use ratescope::internal::number;
use ratescope::outcome::Retry;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};
use ratescope_lab::lane::Lane;
use ratescope_lab::plot::{Mark, axis};
use ratescope_lab::scope::models::Model;
use ratescope_lab::scope::outlook::Fate;
use ratescope_lab::scope::{Instrument, Scope, Settings};
use ratescope_lab::view::compare::promise;
use ratescope_lab::view::{Fates, Hit, Viewport, scope, spaced};

/// A scope, and the events per second at the upper edge of its picture.
pub(super) struct View {
    shown: Shown<Instrument>,
    top: Eased,
    /// True if the page has a row of readouts beside the picture.
    has_readouts: bool,
    /// The limit and the decay interval before the interval was changed, until the limit is set or kept.
    before: Option<(f64, Span)>,
}

impl View {
    pub(super) fn new(shown: Shown<Instrument>) -> Self {
        let top = scope::top(shown.run(), shown.run().now(), Span::from_mins(1));
        View { top: Eased::new(top), shown, has_readouts: false, before: None }
    }

    /// A view on a page that has a row of readouts.
    pub(super) fn with_readouts(shown: Shown<Instrument>) -> Self {
        View { has_readouts: true, ..View::new(shown) }
    }

    fn scope(&self) -> &Scope {
        self.shown.run()
    }

    fn viewport<'a>(&self, seen: &Viewport<'a>) -> Viewport<'a> {
        Viewport { top: self.top.top, ..*seen }
    }

    /// A sentence about the effect of a changed interval on the limit; empty without an effect.
    fn kept(&self) -> String {
        let Settings { limit, decay, .. } = *self.scope().settings();
        let Some((_, was)) = self.before.filter(|(limit, was)| *limit > 0.0 && *was != decay)
        else {
            return String::new();
        };
        let [times, part] =
            [was.as_secs_f64() / decay.as_secs_f64(), decay.as_secs_f64() / was.as_secs_f64()];
        let share = |n: f64| libm::round(n * 100.0) / 100.0;
        let change = match (share(times), share(part)) {
            (2.0, _) => "twice as much as before".to_owned(),
            (times, _) if times > 1.0 => format!("{times} times as much as before"),
            (_, 2.0) => "half as much as before".to_owned(),
            (_, 3.0) => "a third of before".to_owned(),
            (_, 4.0) => "a quarter of before".to_owned(),
            _ => format!("{} of before", percent(times)),
        };
        format!("The limit is {} per {} now: {change}.", scope::limit_text(limit), spaced(decay))
    }

    /// The time of the highest rate of recorded events.
    pub(super) fn peak(&self) -> Option<Time> {
        self.shown.peak(self.scope().settings().decay)
    }

    /// Notes that another run has begun.
    pub(super) fn begin(&mut self) {
        self.before = None;
    }

    /// Gives the limit the value that has the same rate over the changed interval.
    pub(super) fn keep_rate(&mut self) {
        let Some((limit, was)) = self.before.take() else { return };
        let limit = limit * self.scope().settings().decay.as_secs_f64() / was.as_secs_f64();
        // A limit out of range stays as it is.
        let _ = self.shown.set("limit", &(libm::round(limit * 1e6) / 1e6).to_string());
    }

    /// How long until the next event would be allowed.
    fn again(&self) -> Retry {
        self.scope().instrument().retry_after(self.scope().now())
    }
}

impl view::View for View {
    fn run(&self) -> &dyn AnyRun {
        &self.shown
    }

    fn run_mut(&mut self) -> &mut dyn AnyRun {
        &mut self.shown
    }

    fn oldest(&self) -> Time {
        let oldest = || self.scope().instrument().trace().oldest();
        self.shown.oldest().or_else(oldest).unwrap_or(self.scope().now())
    }

    fn receive(&mut self, name: &str, numbers: &[f64]) {
        self.shown.receive(name, numbers);
        self.top.jump();
    }

    fn takes_events(&self) -> bool {
        !self.shown.is_past()
    }

    fn ease(&mut self, seen: &Viewport, wall: f64, still: bool) -> bool {
        self.shown.look(seen);
        // While the limit is dragged the scale stays, or the line would run away from the pointer.
        let target = if seen.holds_limit {
            self.top.top
        } else {
            scope::top(self.scope(), seen.right, seen.window)
        };
        self.top.follow(target, wall, still)
    }

    fn jump(&mut self) {
        self.top.jump();
    }

    fn draw(&self, seen: &Viewport) -> Vec<Mark> {
        scope::draw(self.scope(), &self.viewport(seen))
    }

    fn hit(&self, seen: &Viewport, [x, y]: [f64; 2], touch: bool) -> Hit {
        match scope::hit(self.scope(), &self.viewport(seen), x, y, touch) {
            Hit::Limit if !self.takes_events() => Hit::Graph,
            hit => hit,
        }
    }

    fn is_axis(&self, seen: &Viewport, y: f64) -> bool {
        scope::is_axis(seen.size, y)
    }

    /// A plain number of an interval is of seconds.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let Settings { limit, decay, .. } = *self.scope().settings();
        let is_interval = matches!(name, "decay" | "increase");
        if is_interval && number(value.trim()).is_some() {
            self.shown.set(name, &format!("{}s", value.trim()))?;
        } else {
            self.shown.set(name, value)?;
        }
        match name {
            "decay" => self.before = self.before.or(Some((limit, decay))),
            "limit" | "limiter" => self.before = None,
            _ => {}
        }
        Ok(())
    }

    fn get(&self, name: &str) -> String {
        self.shown.get(name)
    }

    fn policy(&self, _name: &str) -> String {
        limiters(self.scope().instrument())
    }

    fn limit(&self) -> Option<&'static str> {
        self.scope().settings().is_limited().then_some("limit")
    }

    fn drag(&mut self, seen: &Viewport, [_, y]: [f64; 2]) {
        let limit = scope::limit_at(self.scope(), &self.viewport(seen), y);
        let _ = self.shown.set("limit", &limit.to_string());
    }

    fn fates(&self) -> Option<Fates> {
        scope::fates(self.scope())
    }

    fn write_texts(&self, _seen: &Viewport, texts: &mut Texts) {
        if let Some(end) = self.shown.end() {
            let [allowed, refused] = [end.allowed(), end.refused()].map(axis::readout_count);
            let text = if end.lane().is_none() && end.limiter().measures_only() {
                format!("{allowed} events")
            } else if self.shown.has_verdicts() {
                format!("{allowed} allowed, {refused} refused by the service’s rule")
            } else {
                format!("{allowed} allowed, {refused} refused by {}", limiters(end))
            };
            verdict(end, texts);
            return texts.set_with_number("counts", text, end.refused() as f64);
        }
        if !self.has_readouts {
            return texts.set("caption", self.sentence());
        }
        self.readouts(texts);
        self.last_event(texts);
        self.this_moment(texts);
        self.outlook(texts);
        self.models(texts);
    }

    fn summary(&self, seen: &Viewport) -> String {
        let memory = scope::memory(self.scope(), &self.viewport(seen));
        let memory = memory.map_or(String::new(), |words| format!("Memory: {words}."));
        let words = scope::words(self.scope(), &self.viewport(seen));
        if !words.is_empty() {
            return words.into_iter().map(|line| line + ". ").collect::<String>() + &memory;
        }
        let verdict = self.verdict();
        [verdict, self.sentence(), memory].join(" ").trim().to_owned()
    }

    fn note(&self) -> &'static str {
        match (self.again(), self.scope().instrument().lane()) {
            (Retry::Never, None) => "a limit of 1 or less lets nothing pass",
            (Retry::Never, Some(_)) => "one event is more than the limit ever lets pass",
            _ => "",
        }
    }
}

/// The texts beside the picture.
impl View {
    /// The present readings.
    fn sentence(&self) -> String {
        let now = self.scope().now();
        let instrument = self.scope().instrument();
        let limit = match self.scope().settings().limit {
            0.0 => "no limit".to_owned(),
            limit => format!("limit {limit}"),
        };
        format!(
            "Rate {} per {}, {limit}. {} allowed, {} refused.",
            axis::readout(instrument.rate_at(now)),
            spaced(instrument.period()),
            instrument.allowed(),
            instrument.refused(),
        )
    }

    /// The verdict on the last event, as a sentence; empty before the first.
    fn verdict(&self) -> String {
        let instrument = self.scope().instrument();
        let Some(event) = instrument.last() else { return String::new() };
        let level = axis::readout(event.outcome.level);
        let limit = scope::limit_text(event.outcome.limit);
        if !event.outcome.is_allowed() {
            format!("Refused: {level}, limit {limit}.")
        } else if instrument.lane().is_none() && event.limiter.measures_only() {
            format!("Measured: {level}.")
        } else {
            format!("Allowed: {level}, limit {limit}.")
        }
    }

    fn readouts(&self, texts: &mut Texts) {
        let now = self.scope().now();
        let instrument = self.scope().instrument();
        let period = instrument.period();
        for (id, value) in
            [("rate", instrument.rate_at(now)), ("smoothed", instrument.smoothed_at(now))]
        {
            texts.set_with_number(id, axis::readout(value), value);
        }
        texts.set("kept", self.kept());
        texts.set("rate-unit", format!("per {}", spaced(period)));
        for (id, count) in [("allowed", instrument.allowed()), ("refused", instrument.refused())] {
            texts.set_with_number(id, axis::readout_count(count), count as f64);
        }
        let exim = self.exim();
        texts.set("exim-not", exim.as_ref().err().copied().unwrap_or_default());
        texts.set("exim", exim.unwrap_or_default());
        match self.again() {
            Retry::After(wait) if wait.as_secs_f64() == 0.0 => {
                texts.set_with_number("again", "now", 0.0)
            }
            Retry::After(wait) => {
                texts.set_with_number(
                    "again",
                    format!("in {}", axis::seconds(wait.as_secs_f64())),
                    wait.as_secs_f64(),
                );
            }
            Retry::Never => texts.set_with_number("again", "never", f64::INFINITY),
        }
    }

    /// The limit as a line of Exim's configuration, or the text of the lane that decides in its place. The error says
    /// why there is no line.
    fn exim(&self) -> Result<String, &'static str> {
        let instrument = self.scope().instrument();
        let Settings { limit, decay, mode, .. } = *self.scope().settings();
        if instrument.lane().is_some() {
            Ok(limiters(instrument))
        } else if limit == 0.0 {
            Err("None: a limit of 0 would have Exim refuse everything.")
        } else if decay.as_secs_f64() != libm::floor(decay.as_secs_f64()) {
            Err("None: Exim’s periods are whole seconds.")
        } else {
            Ok(format!("ratelimit = {} / {decay} / {mode}", limit))
        }
    }

    /// The verdict on the last event, and the formula behind it.
    fn last_event(&self, texts: &mut Texts) {
        verdict(self.scope().instrument(), texts);
        let Some(event) = self.scope().instrument().last() else { return };
        let period = event.limiter.limit.per().as_secs_f64();
        let gap = event.gap.unwrap_or(f64::INFINITY);
        let weights = event.weights();
        for (id, value) in [
            ("m-gap", gap),
            ("m-x", gap / period),
            ("m-mean", weights.mean),
            ("m-left", weights.left),
            ("m-before", event.before),
            ("m-after", event.rate),
        ] {
            texts.set(id, axis::readout(value));
        }
    }

    /// The numbers in the formula of the smoothed line, at present.
    fn this_moment(&self, texts: &mut Texts) {
        let now = self.scope().now();
        let instrument = self.scope().instrument();
        let rate = instrument.rate_at(now);
        let smoothed = instrument.smoothed_at(now);
        let increase = instrument.increase().as_secs_f64();
        for (id, value) in [
            ("m-rate", rate),
            ("m-smoothed", smoothed),
            ("m-increase", increase),
            ("m-slope", (rate - smoothed) / increase),
        ] {
            texts.set(id, axis::readout(value));
        }
    }

    /// The thin lines: their present values while they are drawn, and their values for even events.
    fn models(&self, texts: &mut Texts) {
        let settings = self.scope().settings();
        for (id, said) in
            ["bucket", "mean", "recent", "rate-2009"].into_iter().zip(scope::models(settings))
        {
            texts.set(format!("{id}-even"), said);
        }
        texts.set("mean-of", settings.last.to_string());
        let period = settings.decay.as_secs_f64();
        let shown = scope::shown_models(self.scope(), self.scope().now());
        for (id, small, model) in [
            ("bucket-now", "bucket-full", Model::Bucket),
            ("mean-now", "mean-second", Model::Mean),
            ("recent-now", "recent-second", Model::Recent),
            ("rate-2009-now", "rate-2009-second", Model::Former),
        ] {
            let Some((_, value)) = shown.iter().find(|(shown, _)| *shown == model) else {
                // The style sheet hides an empty readout.
                texts.set(id, "");
                continue;
            };
            texts.set_with_number(id, axis::readout(value * period), value * period);
            texts.set(
                small,
                match model {
                    Model::Bucket => format!("of {}", settings.limit),
                    _ => axis::readout(*value) + "/s",
                },
            );
        }
    }

    /// The prediction of how much passes, and the formulas behind it.
    fn outlook(&self, texts: &mut Texts) {
        let settings = self.scope().settings();
        // The settings of a run always make a limiter, so this cannot fail.
        let Ok(outlook) = settings.outlook() else { return };
        let said = match self.scope().instrument().lane() {
            None => scope::outlook(settings, &outlook),
            Some(lane) => {
                let promise = format!("Lets pass: {}.", promise(lane, 1.0, settings.decay));
                [promise, String::new(), String::new()]
            }
        };
        for (id, text) in ["outlook-once", "outlook-even", "outlook-after"].into_iter().zip(said) {
            texts.set(id, text);
        }
        let steady = outlook.steady;
        let limit = settings.limit;
        let (events, pace, back, again) = match outlook.fate {
            Fate::Over(over) => (over.events, over.pace, over.back, over.again),
            // If all events pass, or none, there is nothing to wait for.
            Fate::Passes => (f64::INFINITY, f64::NAN, f64::NAN, f64::NAN),
            Fate::Barred => (0.0, f64::NAN, f64::NAN, f64::NAN),
        };
        // The formula has a logarithm only if the rate is over the limit.
        let [begun, over] = match outlook.fate {
            Fate::Over(_) => [steady - 1.0, steady - limit],
            Fate::Passes | Fate::Barred => [f64::NAN; 2],
        };
        let (lets, waits) = match outlook.fate {
            Fate::Over(_) => ("", ""),
            Fate::Passes => ("Even events at this rate all pass.", "Nobody has to wait."),
            Fate::Barred => ("With these settings no event passes.", "Waiting does not help."),
        };
        texts.set("m-free", lets);
        texts.set("m-free-too", waits);
        let whole = if events.is_finite() {
            axis::readout_count(events as u64)
        } else {
            axis::readout(events)
        };
        texts.set_with_number("m-events", whole, events);
        for (id, value) in [
            ("m-second", settings.common.auto_rate),
            ("m-decay", settings.decay.as_secs_f64()),
            ("m-steady", steady),
            ("m-steady-too", steady),
            ("m-begun", begun),
            ("m-over", over),
            ("m-decay-too", settings.decay.as_secs_f64()),
            ("m-steady-again", steady),
            ("m-limit", limit),
            ("m-back", back),
            ("m-again", again),
            ("m-pace", pace),
        ] {
            texts.set(id, axis::readout(value));
        }
    }
}

fn percent(share: f64) -> String {
    format!("{}\u{202f}%", axis::readout(100.0 * share))
}

/// Writes the verdict on the last event; the number of the text is the level.
fn verdict(instrument: &Instrument, texts: &mut Texts) {
    let Some(event) = instrument.last() else { return texts.set("verdict", "no event yet") };
    let lane = instrument.lane();
    let limit = scope::limit_text(event.outcome.limit);
    let level = axis::readout(event.outcome.level);
    let level = format!("{} {level}", lane.map_or("rate", Lane::unit));
    let verdict = if !event.outcome.is_allowed() {
        format!("✕ refused: {level}, limit {limit}")
    } else if lane.is_none() && event.limiter.measures_only() {
        format!("measured: {level}, no limit")
    } else {
        format!("allowed: {level}, limit {limit}")
    };
    texts.set_with_number("verdict", verdict, event.outcome.level);
}

/// The limiters that decide, without their keys: all events have one sender.
fn limiters(instrument: &Instrument) -> String {
    match instrument.lane() {
        Some(lane) => lane.limiters(false),
        None => instrument.limiter().to_string(),
    }
}
