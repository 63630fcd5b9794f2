//! Texts with escapes.

use memchr::memchr2;

/// Writes a text up to its closing quote to `out`, and returns how many bytes were read, including
/// the quote; `None` if there is no such quote. An escape that JSON does not have stays as it is:
/// nginx writes `\x22` unless it has `escape=json`.
pub(super) fn unescape(text: &str, out: &mut String) -> Option<usize> {
    let mut rest = text;
    loop {
        let (plain, next) = rest.split_at_checked(memchr2(b'"', b'\\', rest.as_bytes())?)?;
        out.push_str(plain);
        rest = match next.strip_prefix('\\') {
            Some(escape) => escaped(escape, out)?,
            None => return Some(text.len() - next.len() + 1),
        };
    }
}

/// Writes the character of the escape after a backslash, and returns the text after it.
fn escaped<'a>(text: &'a str, out: &mut String) -> Option<&'a str> {
    let mut chars = text.chars();
    let plain = match chars.next()? {
        c @ ('"' | '\\' | '/') => c,
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

/// Reads `00e9`, or a surrogate pair such as `d83d\ude00`; a lone surrogate is replaced. Returns the
/// text after it.
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

/// The value of the first four digits, and the text after them.
fn four(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let code = digits.chars().try_fold(0, |code, c| Some(code << 4 | c.to_digit(16)?))?;
    Some((code, rest))
}
