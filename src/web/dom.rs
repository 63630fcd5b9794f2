//! What the page says in text: readouts, formulas, and the summary for screen readers.

use super::app::App;
use crate::estimate::decay::decay;
use crate::outcome::Retry;
use crate::plot::axis;
use crate::text::Decimal;
use crate::view::scope;
use wasm_bindgen::JsValue;
use web_sys::{Document, Element};

/// The texts of the page, each with what it says: what does not change is not written.
pub(crate) struct Texts {
    document: Document,
    said: Vec<(&'static str, Said)>,
    /// When they were last written, and when the summary was, in milliseconds.
    written: f64,
    summed_up: f64,
}

struct Said {
    element: Element,
    text: String,
    value: Option<f64>,
}

/// Text changes at most this often, in milliseconds; faster can't be read.
const READABLE: f64 = 100.0;

/// A screen reader is told at most this often, in milliseconds.
const POLITE: f64 = 10_000.0;

impl Texts {
    pub(crate) fn new(document: Document) -> Self {
        let (said, written, summed_up) = (Vec::new(), f64::NEG_INFINITY, f64::NEG_INFINITY);
        Texts { document, said, written, summed_up }
    }

    /// Writes everything, if it is time or `urgent`.
    pub(crate) fn write(&mut self, app: &App, wall: f64, urgent: bool) -> Result<(), JsValue> {
        if !urgent && wall - self.written < READABLE {
            return Ok(());
        }
        self.written = wall;
        self.readouts(app)?;
        self.formulas(app)?;
        if wall - self.summed_up >= POLITE {
            self.summed_up = wall;
            let summary = self.summary(app);
            self.say("summary", &summary, None)?;
        }
        Ok(())
    }

    fn readouts(&mut self, app: &App) -> Result<(), JsValue> {
        let (now, instrument) = (app.scope.now(), app.scope.instrument());
        let period = instrument.period();
        for (id, second, value) in [
            ("rate", "rate-second", instrument.rate_at(now)),
            ("smoothed", "smoothed-second", instrument.smoothed_at(now)),
        ] {
            self.say(id, &axis::readout(value), Some(value))?;
            let per_second = axis::readout(value / period.secs());
            self.say(second, &format!("{per_second}/s"), None)?;
        }
        self.say("rate-unit", &format!("per {period}"), None)?;
        for (id, count) in [("allowed", instrument.allowed()), ("refused", instrument.refused())] {
            self.say(id, &axis::readout_count(count), Some(count as f64))?;
        }
        let (text, value) = match app.again() {
            Retry::After(wait) if wait.secs() == 0.0 => ("now".to_owned(), 0.0),
            Retry::After(wait) => (format!("in {}", axis::seconds(wait.secs())), wait.secs()),
            Retry::Never => ("never".to_owned(), f64::INFINITY),
        };
        self.say("again", &text, Some(value))?;
        if let Some(event) = instrument.last() {
            let limit = Decimal(event.limiter.limit.count());
            let rate = axis::readout(event.outcome.level);
            let verdict = match (event.outcome.is_allowed(), event.limiter.measures_only()) {
                (false, _) => format!("✕ refused: rate {rate}, limit {limit}"),
                (true, true) => format!("measured: rate {rate}, no limit"),
                (true, false) => format!("allowed: rate {rate}, limit {limit}"),
            };
            self.say("verdict", &verdict, Some(event.outcome.level))?;
        } else {
            self.say("verdict", "no event yet", None)?;
        }
        self.say("note", note(app), None)?;
        let live = self.element("live")?;
        match app.past.is_none() {
            true => live.set_attribute("hidden", ""),
            false => live.remove_attribute("hidden"),
        }
    }

    fn formulas(&mut self, app: &App) -> Result<(), JsValue> {
        let (now, instrument) = (app.scope.now(), app.scope.instrument());
        if let Some(event) = instrument.last() {
            let period = event.limiter.limit.per().secs();
            let gap = event.gap.unwrap_or(f64::INFINITY);
            let weights = decay(gap.max(1e-9) / period);
            for (id, value) in [
                ("m-gap", gap),
                ("m-x", gap / period),
                ("m-mean", weights.mean),
                ("m-left", weights.left),
                ("m-before", event.before),
                ("m-after", event.outcome.level),
            ] {
                self.say(id, &axis::readout(value), None)?;
            }
        }
        let (rate, smoothed) = (instrument.rate_at(now), instrument.smoothed_at(now));
        let increase = instrument.increase().secs();
        for (id, value) in [
            ("m-rate", rate),
            ("m-smoothed", smoothed),
            ("m-increase", increase),
            ("m-slope", (rate - smoothed) / increase),
        ] {
            self.say(id, &axis::readout(value), None)?;
        }
        Ok(())
    }

    /// One sentence on where things stand, or on what the crosshair shows.
    fn summary(&self, app: &App) -> String {
        let words = scope::words(&app.scope, &app.look());
        if !words.is_empty() {
            return words.into_iter().map(|line| line + ". ").collect();
        }
        let (now, instrument) = (app.scope.now(), app.scope.instrument());
        format!(
            "Rate {} per {}, limit {}. {} allowed, {} refused.",
            axis::readout(instrument.rate_at(now)),
            instrument.period(),
            Decimal(app.scope.settings().limit),
            instrument.allowed(),
            instrument.refused(),
        )
    }

    /// Tells a screen reader at the next chance: something was done that it should hear of.
    pub(crate) fn sum_up_soon(&mut self) {
        self.summed_up = f64::NEG_INFINITY;
    }

    fn say(&mut self, id: &'static str, text: &str, value: Option<f64>) -> Result<(), JsValue> {
        let known = self.said.iter().position(|&(name, _)| name == id);
        let index = match known {
            Some(index) => index,
            None => {
                let element = self.element(id)?;
                let text = element.text_content().unwrap_or_default();
                self.said.push((id, Said { element, text, value: None }));
                self.said.len() - 1
            }
        };
        let said = &mut self.said[index].1;
        if said.text != text {
            text.clone_into(&mut said.text);
            said.element.set_text_content(Some(text));
        }
        if said.value != value
            && let Some(value) = value
        {
            said.value = Some(value);
            said.element.set_attribute("data-value", &number(value))?;
        }
        Ok(())
    }

    fn element(&self, id: &str) -> Result<Element, JsValue> {
        let missing = || JsValue::from_str(&format!("the page has no element #{id}"));
        self.document.get_element_by_id(id).ok_or_else(missing)
    }
}

/// A number as JavaScript reads it.
fn number(value: f64) -> String {
    if value.is_finite() { Decimal(value).to_string() } else { "Infinity".to_owned() }
}

/// What is unusual at the moment.
fn note(app: &App) -> &str {
    if !app.problem.is_empty() {
        &app.problem
    } else if app.paused {
        "paused"
    } else if app.again() == Retry::Never {
        "a limit of 1 or less lets nothing pass"
    } else if app.pace.slowed() {
        "slowed: too many events for this machine"
    } else {
        ""
    }
}
