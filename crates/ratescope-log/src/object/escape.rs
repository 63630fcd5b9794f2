//! Texts with escapes.

use crate::search;

/// Appends a text up to its closing quote to `out`, with its escapes replaced, and returns how many bytes were read,
/// including the quote; `None` if there is no such quote. An escape that JSON does not know stays as it is: nginx
/// writes `\x22` unless it has `escape=json`.
pub(super) fn unescape(text: &str, out: &mut String) -> Option<usize> {
    let bytes = text.as_bytes();
    // The text up to `written` is in `out` already; from there to `from` is a literal character.
    let mut written = 0;
    let mut from = 0;
    loop {
        let at = from + search::find_either(*b"\"\\", bytes.get(from..)?)?;
        out.push_str(text.get(written..at)?);
        (written, from) = match bytes.get(at..at + 2) {
            Some([b'\\', b'"' | b'\\' | b'/']) => (at + 1, at + 2),
            Some([b'\\', _]) => {
                let rest = escaped(text.get(at + 1..)?, out)?;
                (text.len() - rest.len(), text.len() - rest.len())
            }
            _ => return (bytes.get(at) == Some(&b'"')).then_some(at + 1),
        };
    }
}

/// Appends the character of an escape, and returns the text after it; `text` begins after the backslash.
fn escaped<'a>(text: &'a str, out: &mut String) -> Option<&'a str> {
    let mut chars = text.chars();
    let plain = match chars.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return Some(hexadecimal(chars.as_str(), out)),
        other => {
            out.push('\\');
            other
        }
    };
    out.push(plain);
    Some(chars.as_str())
}

/// Reads `00e9`, or a surrogate pair such as `d83d\ude00`, and appends the character; a lone surrogate
/// becomes U+FFFD. Returns the text after it.
fn hexadecimal<'a>(text: &'a str, out: &mut String) -> &'a str {
    let Some((first, rest)) = four(text) else {
        out.push_str("\\u");
        return text;
    };
    let is_high = (0xd800..0xdc00).contains(&first);
    let low = rest.strip_prefix("\\u").filter(|_| is_high).and_then(four);
    let (code, rest) = match low.filter(|(low, _)| (0xdc00..0xe000).contains(low)) {
        Some((low, rest)) => (0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00), rest),
        None => (first, rest),
    };
    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    rest
}

/// The value of the first four hexadecimal digits, and the text after them.
fn four(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let code = digits.chars().try_fold(0, |code, c| Some(code << 4 | c.to_digit(16)?))?;
    Some((code, rest))
}
