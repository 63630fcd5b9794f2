//! Settings that a user turns during a run: the whole run so far is decided again, or the change is
//! remembered as one that applies from its time on.

use super::{Command, Effect, Experiment, Named, Run, Setting};
use ratescope::text::ParseError;
use ratescope::time::Time;

/// A run of more work than this many frames is not decided again: that would take more than some tenths of a
/// second.
const AGAIN: usize = 12;

/// How many changes are remembered: the latest ones.
const MEMORY: usize = 32;

/// Changes of one setting that are less than this apart, in seconds of the run, are one change: a drag.
const DRAG: f64 = 0.5;

/// A run that is decided again from its start, as if its settings had always been those in force. It replaces
/// the present run when it reaches the present time.
#[derive(Clone, Debug)]
pub(super) struct Again<E: Experiment> {
    pub(super) run: Run<E>,
    /// The settings that were turned since the run was last up to date, each with its value before.
    turns: Vec<[String; 2]>,
}

/// `settings`, but with the values of `view` for the settings of the view.
pub(super) fn seen_as<S: Named>(settings: &S, view: &S) -> S {
    let mut settings = settings.clone();
    for Setting { name, .. } in S::SETTINGS.iter().filter(|s| s.effects.contains(&Effect::View)) {
        // A setting reads its own text, so this cannot fail.
        let _ = settings.set(name, &view.get(name));
    }
    settings
}

/// A change of a setting that does not apply to earlier events: it came from a link, or the run so far was
/// too much work to decide again.
#[derive(Clone, Debug, PartialEq)]
pub struct Turned {
    /// When the setting changed.
    pub at: Time,
    /// The name of the setting.
    pub name: String,
    /// The text of its value until then.
    pub from: String,
    /// The text of its value from then on.
    pub to: String,
    /// When the drag ended.
    last: Time,
}

impl<E: Experiment> Run<E> {
    /// Gives a setting another value. A setting of [`Effect::FromStart`] gets it from the start of the run: the run is
    /// decided again, at once if a frame's work is enough, otherwise during the next calls of
    /// [`advance`](Self::advance) or [`catch_up`](Self::catch_up). Until then this run stays as it is. If deciding
    /// again would be too much work, and for any other setting, the value is in force from now on.
    ///
    /// # Errors
    /// As for [`Named::set`]; nothing changes then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let mut settings = self.settings.clone();
        settings.set(name, value)?;
        if settings == self.settings {
            return Ok(());
        }
        if E::Settings::has(name, Effect::FromStart)
            && let Some(run) = self.always(name, value)
        {
            let mut turns = self.again.take().map_or(Vec::new(), |again| again.turns);
            turns.push([name.to_owned(), self.settings.get(name)]);
            self.settings = settings;
            self.again = Some(Box::new(Again { run, turns }));
            self.catch_up(E::PER_FRAME);
            return Ok(());
        }
        self.apply(Command::Set { name: name.to_owned(), value: value.to_owned() })
    }

    /// Continues to decide the run again after a [change](Self::set), by at most about `most` events and
    /// columns. Returns whether this call finished it; then the history has changed.
    pub fn catch_up(&mut self, most: usize) -> bool {
        let Some(mut again) = self.again.take() else { return false };
        let run = &mut again.run;
        run.advance(self.now, most);
        if run.now < self.now || run.recording.due(self.now).is_some() {
            self.again = Some(again);
            return false;
        }
        run.settings = seen_as(&run.settings, &self.settings);
        if run.settings == self.settings {
            *self = again.run;
            return true;
        }
        // A later command of a link is refused with a new value, so the changes apply from now on.
        for [name, before] in again.turns {
            let value = self.settings.get(&name);
            let _ = self.settings.set(&name, &before);
            let _ = self.apply(Command::Set { name, value });
        }
        true
    }

    /// The changes that do not apply to earlier events, oldest first.
    pub fn turned(&self) -> &[Turned] {
        &self.turned
    }

    /// This run at its start, as if `name` had always had the value `value`. `None` if deciding it again is
    /// too much work, its commands are not all remembered, or the first settings refuse the value.
    fn always(&self, name: &str, value: &str) -> Option<Self> {
        let run = self.decided();
        let mut first = seen_as(&run.first, &self.settings);
        first.set(name, value).ok()?;
        let recording = run.recording.without(name)?;
        let is_little = self.work <= AGAIN * E::PER_FRAME;
        let new = is_little.then(|| Self::new(first).ok())??;
        Some(Run { recording, ..new })
    }

    /// The run that is to replace this one, or this one if there is none.
    pub(super) fn decided(&self) -> &Self {
        self.again.as_ref().map_or(self, |again| &again.run)
    }

    /// Remembers a change of a setting of [`Effect::FromStart`].
    pub(super) fn turn(&mut self, name: &str, from: &str, to: &str) {
        if !E::Settings::has(name, Effect::FromStart) {
            return;
        }
        let now = self.now;
        let [name, from, to] = [name, from, to].map(str::to_owned);
        match self.turned.last_mut() {
            Some(last) if last.name == name && now.since(last.last) < DRAG => {
                last.to = to;
                last.last = now;
            }
            _ => {
                if self.turned.len() == MEMORY {
                    self.turned.remove(0);
                }
                self.turned.push(Turned { at: now, name, from, to, last: now });
            }
        }
    }
}
