//! The characters that separate the parts of a link are percent-encoded in values, as in `%26` for `&`, and so is `+`,
//! which some programs read as a space.

use core::fmt::Display;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use ratescope::text::ParseError;

/// The characters that are encoded in a value.
pub(crate) const VALUE: AsciiSet = CONTROLS.add(b'%').add(b'&').add(b'+');

/// The characters that are encoded in the value of a command.
pub(super) const LISTED: AsciiSet = VALUE.add(b',');

/// A value, encoded for a link.
pub(crate) fn encoded(value: &str, set: &'static AsciiSet) -> impl Display {
    utf8_percent_encode(value, set)
}

/// Decodes percent-encoded text. A `%` that encodes nothing stays, and bytes that are not UTF-8 become
/// U+FFFD.
pub(crate) fn decoded(raw: &str) -> String {
    percent_decode_str(raw).decode_utf8_lossy().into_owned()
}

/// Converts an error in a part of `raw` that begins at the byte `at` to an error in all of `raw`,
/// decoded.
pub(super) fn inside(error: ParseError, raw: &str, at: usize) -> ParseError {
    let before = raw.get(..at).map_or(0, |before| decoded(before).len());
    error.inside(&decoded(raw), before)
}
