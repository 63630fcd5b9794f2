//! The text in the bytes of a file.

use super::error::At;
use super::{LONGEST, Mistake, RulesError};

/// Decodes `bytes`, the content of a file called `file`, for [`Rules::read`](super::Rules::read) and the like.
///
/// Reading one byte more than [`LONGEST`] is enough: the text is refused as too long, even if its last character is
/// cut.
///
/// # Errors
/// When it is not UTF-8, with the place.
pub fn decode(file: &str, bytes: Vec<u8>) -> Result<String, RulesError> {
    let wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    if error.as_bytes().len() > LONGEST {
        return Ok(String::from_utf8_lossy(error.as_bytes()).into_owned());
    }
    let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
    let before = String::from_utf8_lossy(before);
    let (line, column) = match before.rsplit_once('\n') {
        Some((lines, last)) => (lines.matches('\n').count() + 2, last.chars().count() + 1),
        None => (1, before.chars().count() + 1),
    };
    let problem = if wide {
        "the text is UTF-16; write it as UTF-8"
    } else {
        "this byte is not UTF-8; write the text as UTF-8"
    };
    Err(RulesError::new(file, vec![Mistake::new(At { line, column }, "", problem)]))
}
