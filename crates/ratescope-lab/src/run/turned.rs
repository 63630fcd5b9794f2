//! Settings that a user changes during a run: either the whole run so far is decided again, or the change is recorded
//! and applies from its time on.

use super::{Command, Effect, Experiment, Named, Run, Setting};
use ratescope::text::ParseError;
use ratescope::time::Time;

/// A run of more work than this many frames is not decided again: it would take more than some tenths of a second.
const AGAIN: usize = 12;

/// How many changes are remembered: the latest ones.
const MEMORY: usize = 32;

/// Changes of one setting less than this apart, in seconds of the run, are one change: a drag.
const DRAG: f64 = 0.5;

/// A run that is decided again from its start, as if the settings in force had always been so. It replaces the present
/// run when it reaches the present time.
#[derive(Clone, Debug)]
pub(super) struct Again<E: Experiment> {
    pub(super) run: Run<E>,
    /// The settings that were changed since the run was last up to date, each with its earlier value.
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

/// A change of a setting that does not apply to earlier events, since it came from a link, or since the run so far was
/// too much work to decide again.
#[derive(Clone, Debug, PartialEq)]
pub struct Turned {
    /// When the setting changed.
    pub at: Time,
    /// The name of the setting.
    pub name: String,
    /// The text of its earlier value.
    pub from: String,
    /// The text of its later value.
    pub to: String,
    /// When the drag ended.
    last: Time,
}

impl<E: Experiment> Run<E> {
    /// Gives a setting another value. A setting of [`Effect::FromStart`] has it from the start of the run: the run is
    /// decided again, at once if a frame's work is enough, otherwise during the next calls of
    /// [`advance`](Self::advance) or [`catch_up`](Self::catch_up); until then this run stays as it is. If this would be
    /// too much work, and for any other setting, the value is in force from now on.
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

    /// Goes on deciding the run again after a [change](Self::set), by at most about `most` events and columns. Returns
    /// whether this call finished; then the history has changed.
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
        // With a new value a later command of a link is refused, so the changes apply from now on.
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

    /// The run that is to replace this run, or else this run.
    pub(super) fn decided(&self) -> &Self {
        self.again.as_ref().map_or(self, |again| &again.run)
    }

    /// Records a change of a setting of [`Effect::FromStart`].
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
