//! What separates the parts of a link can't stand in a value as it is: there it is percent-encoded,
//! as in `%26` for `&`. In older links `+` stands for it, which the settings concerned still read.

use crate::text::ParseError;
use core::fmt::Display;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What is encoded in a value.
pub(crate) const VALUE: AsciiSet = CONTROLS.add(b'%').add(b'&').add(b'+');

/// What is encoded in the value of a command.
pub(super) const LISTED: AsciiSet = VALUE.add(b',');

/// A value as it stands in a link.
pub(crate) fn encoded(value: &str, set: &'static AsciiSet) -> impl Display {
    utf8_percent_encode(value, set)
}

/// Text with all that is percent-encoded in it decoded; a `%` that means nothing stays.
pub(crate) fn decoded(raw: &str) -> String {
    percent_decode_str(raw).decode_utf8_lossy().into_owned()
}

/// An error in what was read from `raw` at the byte `at`, as an error in all of it, decoded.
pub(super) fn inside(error: ParseError, raw: &str, at: usize) -> ParseError {
    let before = raw.get(..at).map_or(0, |before| decoded(before).len());
    error.inside(&decoded(raw), before)
}
