//! The notations of layouts: nginx's `log_format` and Apache's `LogFormat`, with times also as for `strftime`.

use super::{COLUMNS, Layout};
use crate::strftime::Strftime;
use core::str::FromStr;
use ratescope::text::ParseError;

impl FromStr for Layout {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let wrong = |problem: String| ParseError::whole(text, problem);
        let format = directive(text);
        let (columns, end) = if format.contains('%') && !format.contains('$') {
            apache(&format)
        } else {
            nginx(&format)
        }
        .map_err(&wrong)?;
        if columns.is_empty() {
            return Err(wrong(
                "no column; write nginx's log_format, as in '$remote_addr [$time_local] \"$request\"', \
                 or Apache's LogFormat, as in '%h %t \"%r\"'"
                    .to_owned(),
            ));
        }
        for form in columns.iter().filter_map(|(_, name)| name.strip_prefix(FORMED)) {
            Strftime::new(form).map_err(&wrong)?;
        }
        if columns.len() > COLUMNS {
            return Err(wrong(format!("{} columns; write at most {COLUMNS}", columns.len())));
        }
        if let Some((_, name)) = columns.iter().skip(1).find(|(before, _)| before.is_empty()) {
            return Err(wrong(format!("nothing separates {name} from the column before it")));
        }
        // Keeps the text as given, so that it reads back as the same, however many quotes are escaped.
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
    let mut format = String::new();
    let mut quote = None;
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

/// The prefix of a column's name before the form of a time.
pub(super) const FORMED: &str = "time ";

/// Finds a time as for `strftime` in a text between columns: the text before it, its form, and the text after it.
fn time_in(text: &str) -> Option<(&str, &str, &str)> {
    let is_directive = |at: &usize| {
        let flags = |c: char| matches!(c, '-' | '_' | '.' | '3' | '6' | '9');
        let rest = text.get(at + 1..).map(|rest| rest.trim_start_matches(flags));
        rest.and_then(|rest| rest.chars().next()).is_some_and(Strftime::is_directive)
    };
    let places = || text.match_indices('%').map(|(at, _)| at).filter(is_directive);
    let first = places().next()?;
    let last = places().next_back()?;
    let end = last + 1 + text.get(last + 1..)?.find(|c: char| c.is_ascii_alphabetic())? + 1;
    Some((text.get(..first)?, text.get(first..end)?, text.get(end..)?))
}

/// Reads the notation of nginx: `$remote_addr - ${remote_user} [$time_local]`, or with `[%d.%m.%Y %H:%M:%S]`.
fn nginx(format: &str) -> Result<Columns, String> {
    let mut columns = Vec::new();
    let mut before = String::new();
    let mut rest = format;
    let text = |before: &mut String, columns: &mut Vec<(String, String)>, text: &str| {
        let Some((first, form, after)) = time_in(text) else { return before.push_str(text) };
        before.push_str(first);
        columns.push((core::mem::take(before), format!("{FORMED}{form}")));
        before.push_str(after);
    };
    while let Some((between, after)) = rest.split_once('$') {
        text(&mut before, &mut columns, between);
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
    text(&mut before, &mut columns, rest);
    Ok((columns, before))
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
        for point in ['.', ',', ':'] {
            format = format.replace(&format!("}}t{point}%{{{part}}}t"), &format!("{point}%f}}t"));
        }
    }
    let mut columns = Vec::new();
    let mut before = String::new();
    let mut rest = format.as_str();
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
            ('t', form) => {
                let form =
                    form.strip_prefix("begin:").or(form.strip_prefix("end:")).unwrap_or(form);
                let is_form = form.contains('%');
                if is_form { format!("{FORMED}{form}") } else { "time".to_owned() }
            }
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
