//! The Worker's half of the Tune view: logs go in, answers come out. The page stays responsive while the Worker reads
//! and counts.

mod answer;
mod import;

use ratescope_lab::traffic::sample::Sample;
use ratescope_lab::tune::{Analysis, Choices, Import, MarkedKeys};
use ratescope_log::Proposal;
use wasm_bindgen::prelude::*;

/// Reads logs and answers about them.
#[wasm_bindgen]
pub struct Tuner {
    choices: Choices,
    marks: MarkedKeys,
    stop: MarkedKeys,
    import: Option<Import>,
    /// A proposal for reading the last log that was not recognized.
    proposal: Option<Proposal>,
    sample: Option<Sample>,
    analysis: Option<Analysis>,
}

#[wasm_bindgen]
impl Tuner {
    /// A tuner without a log.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Tuner {
        console_error_panic_hook::set_once();
        Tuner {
            choices: Choices::default(),
            marks: MarkedKeys::default(),
            stop: MarkedKeys::default(),
            import: None,
            proposal: None,
            sample: None,
            analysis: None,
        }
    }

    /// Applies the choices of a link's fragment, and marks clients by their keys, one a line: legitimate clients, and
    /// clients to be stopped. The page itself reports errors in the fragment.
    pub fn ask(&mut self, fragment: &str, marks: &str, stop: &str) {
        if let Ok(choices) = fragment.parse::<Choices>() {
            self.choices = choices;
        }
        // Any text can be read as marks, so this cannot fail.
        self.marks = marks.parse().unwrap_or_default();
        self.stop = stop.parse().unwrap_or_default();
        if let Some(analysis) = &mut self.analysis {
            analysis.ask(self.choices.clone());
            analysis.mark_all(&self.marks, &self.stop, &MarkedKeys::default());
        }
    }

    /// Goes on counting for about `budget` events; returns whether nothing is left to do.
    pub fn work(&mut self, budget: f64) -> bool {
        self.analysis.as_mut().is_none_or(|analysis| analysis.step(budget as u64))
    }
}

/// True if a text is the configuration of a known server, given in place of a log.
#[wasm_bindgen]
pub fn is_configuration(text: &str) -> bool {
    ratescope_config::is_configuration(text)
}
