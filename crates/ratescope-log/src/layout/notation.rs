//! The notations of layouts: nginx's `log_format` and Apache's `LogFormat`.

use super::{COLUMNS, Layout};
use core::str::FromStr;
use ratescope::text::ParseError;

impl FromStr for Layout {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem: String| ParseError::whole(text, problem);
        let text = text.trim();
        let format = directive(text);
        let (columns, end) = match format.contains('%') && !format.contains('$') {
            true => apache(&format),
            false => nginx(&format),
        }
        .map_err(wrong)?;
        if columns.is_empty() {
            return Err(wrong(
                "no column; write nginx's log_format, as in '$remote_addr [$time_local] \"$request\"', \
                 or Apache's LogFormat, as in '%h %t \"%r\"'"
                    .to_owned(),
            ));
        }
        if columns.len() > COLUMNS {
            return Err(wrong(format!("{} columns; write at most {COLUMNS}", columns.len())));
        }
        if let Some((_, name)) = columns.iter().skip(1).find(|(before, _)| before.is_empty()) {
            return Err(wrong(format!("nothing separates {name} from the column before it")));
        }
        // The text as it was given: what is written is read as the same, however many quotes are escaped.
        Ok(Layout::new(text, columns, end))
    }
}

/// The format in a line of a configuration, such as `log_format main '...' '...';` or
/// `LogFormat "..." combined`. Any other text is the format itself.
fn directive(text: &str) -> String {
    if let Some(rest) = text.strip_prefix("LogFormat").or(text.strip_prefix("CustomLog")) {
        let inside = rest.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
        return inside.map_or(rest, |(inside, _)| inside).replace("\\\"", "\"");
    }
    let Some(rest) = text.strip_prefix("log_format") else { return text.replace("\\\"", "\"") };
    // The format is in several quoted parts, which are joined.
    let (mut format, mut quote) = (String::new(), None);
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match quote {
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None => {}
            Some(end) if c == end => quote = None,
            Some(_) if c == '\\' => format.extend(chars.next()),
            Some(_) => format.push(c),
        }
    }
    format
}

/// The columns, each with the text before it, and the text at the end.
type Columns = (Vec<(String, String)>, String);

/// Reads the notation of nginx: `$remote_addr - ${remote_user} [$time_local]`.
fn nginx(format: &str) -> Result<Columns, String> {
    let (mut columns, mut before, mut rest) = (Vec::new(), String::new(), format);
    while let Some((text, after)) = rest.split_once('$') {
        before.push_str(text);
        let (name, after) = match after.strip_prefix('{') {
            Some(inside) => inside.split_once('}').ok_or("a } is missing")?,
            None => {
                let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                after.split_at(after.find(ends).unwrap_or(after.len()))
            }
        };
        if name.is_empty() {
            return Err("a name is missing after $".to_owned());
        }
        columns.push((core::mem::take(&mut before), name.to_owned()));
        rest = after;
    }
    Ok((columns, rest.to_owned()))
}

/// The fields for Apache's letters. Source: mod_log_config, "Custom Log Formats".
const APACHE: [(char, &str); 20] = [
    ('h', "ip"),
    ('a', "ip"),
    ('l', "identity"),
    ('u', "user"),
    ('r', "request"),
    ('s', "status"),
    ('b', "bytes"),
    ('B', "bytes"),
    ('O', "bytes_sent"),
    ('I', "bytes_received"),
    ('m', "method"),
    ('U', "path"),
    ('q', "query"),
    ('H', "protocol"),
    ('v', "host"),
    ('V', "host"),
    ('p', "port"),
    ('D', "duration"),
    ('T', "duration"),
    ('P', "pid"),
];

/// Reads the notation of Apache: `%h %l %u %t "%r" %>s %b "%{Referer}i"`.
fn apache(format: &str) -> Result<Columns, String> {
    // The whole and the fractional part of a time in seconds are one column.
    let mut format = format.replace("\\t", "\t");
    for part in ["usec_frac", "msec_frac"] {
        format = format.replace(&format!("%{{sec}}t.%{{{part}}}t"), "%{sec}t");
    }
    let (mut columns, mut before, mut rest) = (Vec::new(), String::new(), format.as_str());
    while let Some((text, after)) = rest.split_once('%') {
        before.push_str(text);
        if let Some(after) = after.strip_prefix('%') {
            before.push('%');
            rest = after;
            continue;
        }
        // Flags and conditions such as %!200,304 do not change the column.
        let is_flag = |c: char| matches!(c, '<' | '>' | '!' | ',' | '^') || c.is_ascii_digit();
        let after = after.trim_start_matches(is_flag);
        let (inside, after) = match after.strip_prefix('{') {
            Some(inside) => inside.split_once('}').ok_or("a } is missing")?,
            None => ("", after),
        };
        let mut chars = after.chars();
        let letter = chars.next().ok_or("a letter is missing after %")?;
        rest = chars.as_str();
        let header = || inside.to_ascii_lowercase().replace('-', "_");
        let name = match (letter, inside) {
            // Apache puts this form of the time in brackets.
            ('t', "") => {
                before.push('[');
                "time".to_owned()
            }
            ('t', _) => "time".to_owned(),
            ('i', _) => format!("http_{}", header()),
            ('a', "c") => "peer".to_owned(),
            ('o' | 'n' | 'e' | 'C', _) => header(),
            _ => {
                let known = APACHE.iter().find(|(known, _)| *known == letter);
                known.map_or(format!("column_{letter}"), |(_, name)| (*name).to_owned())
            }
        };
        columns.push((core::mem::take(&mut before), name));
        if (letter, inside) == ('t', "") {
            before.push(']');
        }
    }
    before.push_str(rest);
    Ok((columns, before))
}
