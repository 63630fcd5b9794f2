//! Texts with escapes.

use core::iter::Peekable;
use core::str::Chars;

/// Writes a text up to its closing quote to `out`, and returns how many bytes were read, including
/// the quote; `None` if there is no such quote. An escape that JSON does not have stays as it is:
/// nginx writes `\x22` unless it has `escape=json`.
pub(super) fn unescape(text: &str, out: &mut String) -> Option<usize> {
    let mut chars = text.chars().peekable();
    let mut length = 0;
    loop {
        let c = chars.next()?;
        length += c.len_utf8();
        match c {
            '"' => return Some(length),
            '\\' => length += escaped(&mut chars, out)?,
            c => out.push(c),
        }
    }
}

/// Writes the character of the escape after a backslash, and returns how many bytes were read.
fn escaped(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<usize> {
    let c = chars.next()?;
    let plain = match c {
        '"' | '\\' | '/' => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return Some(1 + hexadecimal(chars, out)),
        other => {
            out.push('\\');
            other
        }
    };
    out.push(plain);
    Some(c.len_utf8())
}

/// Reads `00e9`, or a surrogate pair such as `d83d\ude00`; a lone surrogate is replaced. Returns how
/// many bytes were read.
fn hexadecimal(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> usize {
    let Some(first) = four(chars.clone()) else {
        out.push_str("\\u");
        return 0;
    };
    pass(chars, 4);
    let mut ahead = chars.clone();
    let low = match (0xd800..0xdc00).contains(&first) && ahead.by_ref().take(2).eq(['\\', 'u']) {
        true => four(ahead).filter(|low| (0xdc00..0xe000).contains(low)),
        false => None,
    };
    let (code, read) = match low {
        Some(low) => (0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00), 10),
        None => (first, 4),
    };
    pass(chars, read - 4);
    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    read
}

/// The value of the next four digits.
fn four(mut chars: Peekable<Chars<'_>>) -> Option<u32> {
    (0..4).try_fold(0, |code, _| Some(code << 4 | chars.next()?.to_digit(16)?))
}

fn pass(chars: &mut Peekable<Chars<'_>>, count: usize) {
    chars.by_ref().take(count).for_each(drop);
}
