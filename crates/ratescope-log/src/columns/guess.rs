//! Guessing the layout of lines: which column is the time, the client's address, the request and the status.

use super::known::{IIS, known};
use super::{ROW, Rows};
use crate::clf;
use crate::counts::Reason;
use crate::forwarded;
use crate::instant::Instant;
use crate::layout::{Certainty, Layout, of_header};
use crate::names::Standard;
use crate::options::Options;
use crate::record::Values;
use crate::shape::{FirstLine, Guess, Inside, LogShape, PEERS};
use crate::stamp::{Stamps, Year};
use crate::table::Table;
use ratescope::address::{self, is_internal};
use ratescope::internal::{digits, visible};
use std::collections::HashSet;
use std::sync::Arc;

/// The most layouts of headers that are tried on a line; each header names two.
const HEADERS: usize = 16;

/// The layouts that can read a line.
pub(super) fn guess(line: &mut FirstLine<'_>) -> Result<Vec<Guess>, Reason> {
    let (options, outer) = (line.options, line.outer());
    if let Some(said) = &options.layout {
        return Ok(vec![reads(said, line.text, options, outer)?]);
    }
    let headers = &mut *line.headers;
    let mut is_header = false;
    for layout in ["\t", " "].into_iter().filter_map(|between| of_header(line.text, between)) {
        is_header = true;
        if headers.len() < HEADERS && !headers.contains(&layout) {
            headers.push(layout);
        }
    }
    if is_header {
        return Ok(Vec::new());
    }
    // A header says more than the default columns of IIS.
    let known = known().iter().filter(|layout| headers.is_empty() || layout.about != IIS);
    let each = known.chain(headers.iter());
    Ok(each.filter_map(|layout| reads(layout, line.text, options, outer).ok()).collect())
}

/// The layout that most lines seem to have, as it reads each of them.
pub(super) fn guess_all(lines: &[Inside], options: &Options) -> Vec<Guess> {
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let Some(layout) = guessed(&texts).map(Arc::new) else { return Vec::new() };
    let read = |line: &Inside| {
        let guess = reads(&layout, &line.text, options, line.outer).ok()?;
        Some(Guess { points: guess.points.min(Guess::GUESSED), ..guess })
    };
    lines.iter().filter_map(read).collect()
}

/// The guess that a line has this layout, or why the layout cannot read it.
pub(super) fn reads(
    layout: &Arc<Layout>,
    line: &str,
    options: &Options,
    outer: Option<Instant>,
) -> Result<Guess, Reason> {
    let mut rows = Rows::new(Arc::clone(layout), false);
    let read = rows.read(line, &mut Stamps::new(Year::Any, options.unit), outer)?;
    let (instant, table) = read.ok_or("a remark")?;
    let is_known = options.layout.is_none() && layout.between.is_none();
    if is_known && !is_plausible(&table, instant) {
        return Err("a column has another kind of text".into());
    }
    let shape =
        LogShape::new(&ROW, Arc::clone(layout), layout.about.clone(), Some(layout.fields()));
    let guess = Guess::new(shape, Guess::points(table.of(Standard::Ip)));
    let peer = layout.behind.and_then(|behind| {
        let (list, peer) = behind.of(table.line, table.values);
        let peer = peer.unwrap_or(forwarded::last(list).1);
        address::parse(peer).filter(|address| is_internal(*address)).map(|_| peer.to_owned())
    });
    Ok(Guess { peer, ..guess })
}

/// Makes sure that the columns of numbers have numbers, and that the time is not another number. Layouts of few columns
/// would otherwise fit lines of other programs.
fn is_plausible(table: &Table<'_>, instant: Instant) -> bool {
    /// Times since 1990. In logs with times from another origin, the column of the time must be given.
    const FIRST: f64 = 631_152_000.0;
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b"-+/.".contains(&b));
    let numbers = ["client_port", "timers", "connections", "queue", "status", "bytes", "s_port"];
    instant.time.as_secs_f64() >= FIRST
        && numbers.into_iter().all(|name| table.value(name).is_none_or(is_number))
        && table.value("status").is_none_or(|status| status.len() <= 3)
}

/// The most lines by which columns are guessed.
const LINES: usize = 500;

/// A layout guessed from the first lines. It must find, in nine of ten lines, the time, the client's address, and the
/// request or both the method and the path.
fn guessed(lines: &[&str]) -> Option<Layout> {
    let lines = lines.get(..LINES).unwrap_or(lines);
    // JSON and access logs have formats of their own.
    let is_other = |line: &&str| line.starts_with('{') || clf::is_clf(line);
    let lines: Vec<&str> = lines.iter().copied().filter(|line| !is_other(line)).collect();
    let Guessed { columns, end, .. } = columns(&lines)?;
    let has = |name: &str| columns.iter().any(|(_, n)| n == name);
    let is_known = has("time") && has("ip") && (has("request") || has("method") && has("path"));
    let text = notation(&columns, &end);
    is_known.then(|| {
        let about = format!("columns, guessed: {text}");
        let mut layout = Layout::new(&text, columns, end).called(&about);
        layout.certainty = Certainty::Guessed;
        layout
    })
}

/// A proposal for the columns of a log that is not recognized, made from its first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The notation of its columns, as a [`Layout`] is written.
    pub notation: String,
    /// The name of each column, and its value in the line, without characters that would change the direction of
    /// others.
    pub columns: Vec<(String, String)>,
}

impl Proposal {
    /// The proposal for a log that begins with `head`; `None` unless it is a text of several columns.
    pub fn new(head: &[u8]) -> Option<Self> {
        let begin = head.get(..head.len().min(LONGEST)).unwrap_or_default();
        // The last line may be incomplete.
        let whole = begin.iter().rposition(|byte| *byte == b'\n').unwrap_or(begin.len());
        let begin = begin.get(..whole).unwrap_or_default();
        let lines = begin.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let lines: Vec<&str> = lines.map_while(|line| core::str::from_utf8(line).ok()).collect();
        let lines: Vec<&str> = lines.into_iter().map(str::trim_end).collect();
        let first = lines.first()?;
        if first.contains(char::is_control) && !first.contains('\t') {
            return None;
        }
        let Guessed { columns, end, values } = columns(&lines)?;
        if columns.len() < 2 {
            return None;
        }
        let notation = notation(&columns, &end);
        let names = columns.into_iter().map(|(_, name)| name);
        let shown = values.iter().map(|value| value.chars().map(visible).collect());
        Some(Proposal { notation, columns: names.zip(shown).collect() })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|(known, _)| known == name)
    }
}

/// The most bytes of a log from which a proposal is made.
const LONGEST: usize = 1 << 13;

/// The columns of lines: the text before each with its name, the text at the end, and the values of the first line.
struct Guessed {
    columns: Vec<(String, String)>,
    end: String,
    values: Vec<String>,
}

fn notation(columns: &[(String, String)], end: &str) -> String {
    let text: String = columns.iter().map(|(before, name)| format!("{before}${name}")).collect();
    text + end
}

/// A line in columns: the text before each column with its value, and the text at the end.
type Tokens = (Vec<(String, String)>, String);

/// Guesses the columns that most lines have. Columns unlike any standard field are named `c1`, `c2` and so on, by their
/// positions. `None` without a line.
fn columns(lines: &[&str]) -> Option<Guessed> {
    let most = |count: usize| 10 * count >= 9 * lines.len();
    let has_many =
        |between: &&str| most(lines.iter().filter(|l| l.matches(*between).count() > 2).count());
    let between = ["\t", "|", ";"].into_iter().find(has_many).unwrap_or(" ");
    let rows: Vec<Tokens> = lines.iter().map(|line| tokens(line, between)).collect();
    let (first, end) = rows.first()?;
    // After the columns that most lines share, the rest of the line is one column.
    let has = |row: &&Tokens, length: usize| {
        row.0.len() >= length
            && row.0.iter().zip(first).take(length).all(|(one, other)| one.0 == other.0)
    };
    let length = (1..=first.len())
        .rev()
        .find(|length| most(rows.iter().filter(|row| has(row, *length)).count()))?;
    let rows: Vec<&Tokens> = rows.iter().filter(|row| has(row, length)).collect();
    let is_whole = rows.iter().all(|row| row.0.len() == length && row.1 == *end);
    let (length, end) = if is_whole {
        (length, end.as_str())
    } else if first.get(length - 1)?.0.ends_with(['"', '[']) {
        // In the rest of a line, an opening quote has no meaning.
        (length - 1, "")
    } else {
        (length, "")
    };
    let names = names(&rows, length);
    let columns = first.iter().zip(names).map(|((before, _), name)| (before.clone(), name));
    let values = first.iter().take(length).map(|(_, value)| value.clone()).collect();
    Some(Guessed { columns: columns.collect(), end: end.to_owned(), values })
}

/// The name of each of the first `length` columns.
fn names(rows: &[&Tokens], length: usize) -> Vec<String> {
    let mut names: Vec<Option<&str>> = vec![None; length];
    let column = |i: usize| Column {
        texts: rows.iter().filter_map(|row| Some(&row.0.get(i)?.1)).map(String::as_str).collect(),
    };
    let columns: Vec<Column<'_>> = (0..length).map(column).collect();
    for kind in ["time", "request", "method", "path"] {
        let found = (0..length)
            .find(|i| names[*i].is_none() && columns[*i].are(|text| kind_of(text) == Some(kind)));
        if let Some(i) = found {
            names[i] = Some(kind);
        }
    }
    let request = (0..length).find(|i| matches!(names[*i], Some("request" | "path")));
    let is_quoted = |i: usize| rows.first().is_some_and(|row| row.0[i].0.ends_with('"'));
    // Clients choose the text of quoted columns.
    let addresses = (0..length).filter(|i| names[*i].is_none() && !is_quoted(*i));
    let addresses: Vec<usize> =
        addresses.filter(|i| columns[*i].are(address::is_address)).collect();
    if let Some(i) = client(&addresses, &columns, request) {
        names[i] = Some("ip");
    }
    if let Some(request) = request {
        let is_status = |i: &usize| names[*i].is_none() && columns[*i].are(is_status);
        let all: Vec<usize> = (request + 1..length).filter(is_status).collect();
        let next = all.iter().find(|i| **i == request + 1);
        if let Some(status) = next.or(all.first().filter(|_| all.len() == 1)) {
            names[*status] = Some("status");
            let is_number = |text: &str| text.parse::<u64>().is_ok();
            let bytes = columns.get(status + 1).filter(|bytes| bytes.are(is_number));
            if bytes.is_some() && names[status + 1].is_none() {
                names[status + 1] = Some("bytes");
            }
        }
    }
    let named = names.into_iter().enumerate();
    named.map(|(i, name)| name.map_or(format!("c{}", i + 1), str::to_owned)).collect()
}

/// The column with the client, among the columns of addresses; `None` if it is uncertain.
///
/// The address of a server is the same in all lines, or internal. A client can't choose a column before its request,
/// but may choose one after it, so the only varying column before the request wins.
fn client(addresses: &[usize], columns: &[Column<'_>], request: Option<usize>) -> Option<usize> {
    let only = |found: &[usize]| if let [one] = found { Some(*one) } else { None };
    if let Some(one) = only(addresses) {
        return Some(one);
    }
    // Two columns may have the same address.
    let first = addresses.first().copied()?;
    if addresses.iter().all(|i| columns[*i].texts == columns[first].texts) {
        return Some(first);
    }
    let is_before = |i: usize| request.is_none_or(|request| i < request);
    let varies = |i: usize| columns[i].count() > 1;
    let inside = |i: usize| columns[i].are(|text| address::parse(text).is_some_and(is_internal));
    let outer: Vec<usize> = addresses.iter().copied().filter(|i| !inside(*i)).collect();
    let before: Vec<usize> =
        addresses.iter().copied().filter(|i| is_before(*i) && varies(*i)).collect();
    // A few internal addresses before the request are proxies, if another column has more clients.
    let is_proxy = |i: usize, client: usize| {
        inside(i) && columns[i].count() < PEERS && columns[i].count() < columns[client].count()
    };
    only(&outer)
        .filter(|client| before.iter().all(|i| i == client || is_proxy(*i, *client)))
        .or_else(|| only(&before).filter(|i| !inside(*i) || outer.is_empty()))
}

/// The texts of a column.
struct Column<'a> {
    texts: Vec<&'a str>,
}

impl Column<'_> {
    /// Tells whether nine of ten texts, and at least one, are of a kind; a dash is of every kind.
    fn are(&self, is: impl Fn(&str) -> bool) -> bool {
        let said = self.texts.iter().filter(|text| **text != "-");
        let (all, fit) =
            said.fold((0, 0), |(all, fit), text| (all + 1, fit + usize::from(is(text))));
        fit > 0 && 10 * fit >= 9 * all
    }

    /// The number of different texts.
    fn count(&self) -> usize {
        self.texts.iter().filter(|text| **text != "-").collect::<HashSet<_>>().len()
    }
}

/// True for a status in use, unlike the number of a port.
fn is_status(text: &str) -> bool {
    text.len() == 3
        && matches!(
            text.parse(),
            Ok(
                0
                | 100..=103
                | 200..=208
                | 226
                | 300..=308
                | 400..=418
                | 421..=431
                | 444
                | 449..=451
                | 460..=464
                | 495..=499
                | 500..=511
                | 520..=530
                | 561
                | 598
                | 599,
            )
        )
}

/// The most columns of a guessed layout.
const MOST: usize = 64;

/// The columns of a line, each with the text before it, and the text at the end. A column excludes quotes and brackets
/// around it.
fn tokens(line: &str, between: &str) -> Tokens {
    let mut found = Vec::new();
    let mut rest = line;
    let mut before = String::new();
    while found.len() < MOST {
        let closing = match rest.bytes().next() {
            Some(b'"') => Some("\""),
            Some(b'[') => Some("]"),
            _ => None,
        };
        if let Some(close) = closing
            && let Some(inside) = rest.get(1..)
            && let Some(end) = inside
                .find(&format!("{close}{between}"))
                .or_else(|| inside.strip_suffix(close).map(str::len))
        {
            before.push_str(rest.get(..1).unwrap_or(""));
            found.push((before, inside.get(..end).unwrap_or("").to_owned()));
            rest = inside.get(end + close.len()..).unwrap_or("");
            before = close.to_owned();
        } else {
            let mut end = rest.find(between).unwrap_or(rest.len());
            // A date and a time with a space between them are one column, `2000-10-10 13:55:36`.
            let longer = rest.get(..end + 9).filter(|text| {
                between == " " && end == 10 && Stamps::default().read(text).is_some()
            });
            end = longer.map_or(end, str::len);
            let (token, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            found.push((before, token.to_owned()));
            rest = after;
            before = String::new();
        }
        match rest.strip_prefix(between) {
            Some(after) => {
                before.push_str(between);
                rest = after;
            }
            None => break,
        }
    }
    before.push_str(rest);
    (found, before)
}

/// The standard field that a text looks like; `None` if it looks like none.
fn kind_of(token: &str) -> Option<&'static str> {
    // Since 2001, seconds, milliseconds and microseconds since 1970 have 10, 13 and 16 digits. Nine digits may be
    // another number, unless they have decimals.
    let is_epoch = digits(token).is_some_and(|(whole, part)| {
        let is_long = matches!(whole.len(), 10 | 13 | 16) || whole.len() == 9 && !part.is_empty();
        is_long && !token.ends_with('.')
    });
    let is_method = |word: &str| word.len() > 2 && word.bytes().all(|b| b.is_ascii_uppercase());
    let is_request = || {
        let (method, rest) = token.split_once(' ')?;
        (is_method(method) && rest.contains(" HTTP/")).then_some(())
    };
    if is_epoch || Stamps::default().read(token).is_some() {
        Some("time")
    } else if address::is_address(token) {
        Some("ip")
    } else if is_request().is_some() {
        Some("request")
    } else if matches!(token, "GET" | "POST" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "PATCH") {
        Some("method")
    } else if token.starts_with('/') {
        Some("path")
    } else {
        None
    }
}
