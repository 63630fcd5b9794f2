//! Links and settings.

use super::{Page, nudge};
use crate::page::run::Entry;
use crate::page::view::Scene;
use ratescope::internal::number;
use ratescope::time::Time;
use ratescope_lab::plot::axis;
use wasm_bindgen::prelude::*;

/// The message about a link whose run would take too long.
const STOPS_EARLY: &str = "This recording is too long to replay; it stops early.";

/// The message about a link to a run with too many commands.
const SETTINGS_ONLY: &str =
    "This run has too many changes to replay: the link has the settings only.";

#[wasm_bindgen]
impl Page {
    /// Begins the run of a link's fragment and shows the instant that the link names. A problem with the link becomes
    /// the note beside the picture.
    pub fn open(&mut self, fragment: &str) {
        self.enter(fragment, None);
    }

    /// The fragment for the address, with the settings in force.
    pub fn fragment(&self) -> String {
        self.view.run().fragment()
    }

    /// The fragment that replays this run. After too many commands it has only the settings, and the note beside the
    /// picture says so.
    pub fn recording(&mut self) -> String {
        if let Some(link) = self.view.run().recording(self.viewer.paused) {
            return link;
        }
        self.warn(SETTINGS_ONLY);
        self.fragment()
    }

    /// Gives a setting a value; returns the problem with it, or an empty text.
    pub fn set(&mut self, name: &str, value: &str) -> String {
        self.act();
        let Err(error) = self.view.set(name, value) else {
            match name {
                "window" => self.viewer.return_to_live(),
                "speed" => self.viewer.play = None,
                _ => {}
            }
            return String::new();
        };
        // If a value has several words, the message names the wrong one.
        let problem =
            if value.trim().contains(' ') { error.to_string() } else { error.problem().to_owned() };
        match self.view.get(name).as_str() {
            "" => problem,
            known if problem.ends_with('?') => format!("{problem} Still using {known}."),
            known => format!("{problem}. Still using {known}."),
        }
    }

    /// The value of a setting, as text.
    pub fn get(&self, name: &str) -> String {
        self.view.get(name)
    }

    /// The policy that decides: of the lane if `name` is a lane's setting, or else of the view.
    pub fn policy(&self, name: &str) -> String {
        self.view.policy(name)
    }

    /// Moves a setting to its next value, up if `by` is 1 and down if it is -1.
    pub fn nudge(&mut self, name: &str, by: f64) {
        self.act();
        let next = match &self.view {
            #[cfg(not(without_tune))]
            Scene::Tune(tune) if name == "limit" => tune.next_limit(by),
            view => nudge::next(name, &view.get(name), by),
        };
        if let Some(value) = next {
            // A value beyond the end of the range is refused, so nothing changes there.
            let _ = self.view.set(name, &value);
        }
    }

    /// True if the limit of the settings has an effect: some limiters have their own.
    pub fn moves_limit(&self) -> bool {
        self.view.limit().is_some()
    }

    /// After a change of the interval, gives the limit the value with which the allowed rate is the same as before.
    pub fn keep_rate(&mut self) {
        self.act();
        if let Scene::Scope(scope) = &mut self.view {
            scope.keep_rate();
        }
    }

    /// The position of a setting's slider: the decimal logarithm of the value.
    pub fn slider(&self, name: &str) -> f64 {
        number(&self.view.get(name)).map_or(0.0, libm::log10)
    }

    /// Gives a setting the value at a position of its slider, rounded to two digits.
    pub fn slide(&mut self, name: &str, position: f64) {
        self.act();
        let value = axis::two_digits(libm::exp(position * core::f64::consts::LN_10));
        let _ = self.view.set(name, &value.to_string());
    }
}

impl Page {
    /// Enters the run of a link's fragment, at `from` or at the instant that the link names. Problems become the note
    /// beside the picture. Returns `None`, and keeps the present run, if no part of the fragment can be read.
    pub(super) fn enter(&mut self, fragment: &str, from: Option<Time>) -> Option<Entry> {
        self.act();
        let entry = match self.view.run_mut().open(fragment, from) {
            Ok(entry) => entry,
            Err(error) => {
                // A page that was just opened still needs a run to look at.
                if self.view.run().now() == Time::ZERO {
                    self.enter("", None);
                }
                self.problem = format!("This link has an error: {error}");
                return None;
            }
        };
        self.begin();
        self.viewer.paused = entry.paused;
        if !entry.arrived {
            STOPS_EARLY.clone_into(&mut self.problem);
        }
        if let Some(error) = &entry.wrong {
            self.problem = format!("This link has an error, the rest is shown: {error}");
        }
        Some(entry)
    }
}
