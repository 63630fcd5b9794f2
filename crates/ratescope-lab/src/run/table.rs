//! A table of settings: one row for each, with its name, its effects, and how its value is read and written. Links and
//! controls come from it. Arguments of the command do not: those with the name of a setting mean something else.

use super::escape::{VALUE, encoded};
use ratescope::text::ParseError;

/// A row: a setting of an `S`.
pub struct Setting<S: 'static> {
    /// The name in controls, links and arguments.
    pub name: &'static str,
    /// The effects on a run.
    pub effects: &'static [Effect],
    /// Gives it the value of a text. After an error nothing has changed.
    pub set: fn(&mut S, &str) -> Result<(), ParseError>,
    /// The value as [`set`](Self::set) reads it.
    pub get: fn(&S) -> String,
}

/// An effect of a setting on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes the view of the run.
    View,
    /// It restarts all streams of events, and changes nothing else.
    Traffic,
    /// It changes how events are decided. People mean the whole run, so it takes effect [from the
    /// start](super::Run::set).
    FromStart,
}

/// Makes a row from the name and the effects, if any; then either the field of the value, the function that reads it,
/// and the function that writes it if `Display` does not; or the code that sets a text, and the code that writes it.
macro_rules! setting {
    ($name:literal $(, [$($effect:ident),*])?, |$of:ident| $place:expr, $read:path) => {
        setting!($name $(, [$($effect),*])?, |$of, text| $place = $read(text)?, $place)
    };
    ($name:literal $(, [$($effect:ident),*])?, |$of:ident| $place:expr, $read:path, $write:path) => {
        setting!($name $(, [$($effect),*])?, |$of, text| $place = $read(text)?, $write(&$place))
    };
    ($name:literal $(, [$($effect:ident),*])?, |$of:ident, $text:ident| $set:expr, $get:expr) => {
        $crate::run::Setting {
            name: $name,
            effects: &[$($($crate::run::Effect::$effect),*)?],
            set: |$of, $text| {
                $set;
                Ok(())
            },
            get: |$of| $get.to_string(),
        }
    };
}

pub(crate) use setting;

pub(crate) fn find<'a, S>(table: &'a [Setting<S>], name: &str) -> Option<&'a Setting<S>> {
    table.iter().find(|setting| setting.name == name)
}

pub(crate) fn names<S>(table: &[Setting<S>]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|setting| setting.name)
}

/// All names, with commas between them.
pub(crate) fn listed<S>(table: &[Setting<S>]) -> String {
    names(table).collect::<Vec<_>>().join(", ")
}

/// The text of a link: each setting whose value is not the default, with its value.
pub(crate) fn changed<S: Default>(table: &[Setting<S>], settings: &S) -> String {
    let usual = S::default();
    let differs = |setting: &&Setting<S>| (setting.get)(settings) != (setting.get)(&usual);
    let said = |Setting { name, get, .. }: &Setting<S>| {
        format!("{name}={}", encoded(&get(settings), &VALUE))
    };
    table.iter().filter(differs).map(said).collect::<Vec<_>>().join("&")
}
