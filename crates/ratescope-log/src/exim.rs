//! Exim's main log, whose events are arriving mails, and its reject log, whose events are refusals or failed logins.
//!
//! ```text
//! 2024-05-01 12:00:00 1s2abc-0003xY-Az <= ann@example.org H=mx.example.org (helo) [192.0.2.7]:4567 P=esmtpsa A=plain:ann S=1234 T="Hello" for bob@example.com
//! 2024-05-01 12:00:00 H=mx.example.org (helo) [192.0.2.7]:4567 F=<ann@example.org> rejected RCPT <x@example.net>: relay not permitted
//! 2024-05-01 12:00:00 login authenticator failed for (helo) [192.0.2.7]:4567: 535 Incorrect authentication data (set_id=ann)
//! ```
//!
//! The main log also has lines about refusals and failed logins. A log is read as the main log if its first lines have
//! an arrival from an address, and otherwise as the log that more of these lines fit. In the main log, only arrivals
//! are events, not deliveries, connections, refusals or failed logins. In the reject log, only refusals are events; the
//! lines after a refusal are the headers of the mail, which Exim did not write. The time may be followed by decimals, a
//! zone and the number of the process. The fields are `ip`, `host` (a verified name), `helo`, `sender` (empty for a
//! bounce), `auth` (who logged in), `user` (the same, or the local user who sent the mail), `bytes`, `protocol` and
//! `id`. Text that the sender chose, such as the subject, comes after all of these or in parentheses, and is never read
//! as one of them. With `log_selector = +received_recipients`, the main log also has `recipients`: their addresses or,
//! as a cost, their number. (Exim cuts lines at 8 kB, and so long lists.)
//!
//! Source: the Exim specification, chapter "Log files".

use super::counts::Reason;
use super::filter::Filter;
use super::forwarded::is_client;
use super::instant::Instant;
use super::options::Options;
use super::record::Values;
use super::shape::{
    FirstLine, Format, FormatRow, Guess, Line, LogFormat, LogShape, OnEvent, Parser, pass,
};
use super::stamp::Stamps;

impl Format {
    /// Exim's main log or reject log.
    pub const EXIM: Format = Format("exim");
}

pub(super) static ROW: FormatRow =
    FormatRow { ..FormatRow::new(Format::EXIM, &["mails", "refusals", "failed logins"], guess) };

impl LogFormat for Events {
    fn variant(&self) -> &str {
        match self {
            Events::Arrivals => "arrivals",
            Events::Refusals => "refusals",
            Events::Logins => "logins",
        }
    }

    fn open(&self, _: &LogShape, _: &Options) -> Box<dyn Parser> {
        Box::new(*self)
    }

    fn noun(&self, _: &Filter) -> usize {
        *self as usize
    }
}

impl Parser for Events {
    fn read(&mut self, line: Line<'_>, on_event: &mut OnEvent<'_>) -> Result<bool, Reason> {
        let outer = line.around.instant(line.stamps);
        Ok(pass(read(line.text, outer, line.stamps, *self)?, on_event))
    }
}

/// The lines that are events, in the order of their nouns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Events {
    /// Mails that arrive.
    Arrivals,
    /// Refusals, as in the reject log.
    Refusals,
    /// Failed logins.
    Logins,
}

/// The fields of an arrival, a refusal or a failed login.
#[derive(Clone, Copy, Debug, Default)]
struct EximLine<'a> {
    id: &'a str,
    sender: &'a str,
    host: &'a str,
    helo: &'a str,
    ip: &'a str,
    auth: &'a str,
    local: &'a str,
    protocol: &'a str,
    bytes: &'a str,
    /// The rest of the line after the bytes: the subject, then the recipients.
    tail: &'a str,
}

/// The name of the field with the accepted recipients of a mail.
const RECIPIENTS: &str = "recipients";

const FIELDS: [&str; 10] =
    ["ip", "host", "helo", "sender", "auth", "user", "bytes", "protocol", "id", RECIPIENTS];

/// Recognizes a line by the id of a message, or else by the refusal of a host. A date and a time alone are not enough,
/// since many programs write them.
fn guess(line: &mut FirstLine<'_>) -> Result<Vec<Guess>, Reason> {
    one(line.text, line.outer()).map(|guess| vec![guess])
}

fn one(line: &str, outer: Option<Instant>) -> Result<Guess, Reason> {
    let Some((_, rest)) = time_of(line, outer, &mut Stamps::default()) else {
        return Err("no line begins with a date and a time".into());
    };
    let shape = |events, about, has_recipients| {
        let fields = FIELDS.into_iter().filter(|name| has_recipients || *name != RECIPIENTS);
        LogShape::with(&ROW, events, about, fields)
    };
    let Some((id, arrow, rest)) = message(rest) else {
        if login(rest).is_some() {
            let about = "Exim's log of failed logins";
            return Ok(Guess::new(shape(Events::Logins, about, false), Guess::NAME));
        }
        let problem = "no line has the id of a message, or a host that is refused, after its time";
        refusal(rest).ok_or(problem)?;
        return Ok(Guess::new(shape(Events::Refusals, "Exim's reject log", false), Guess::NAME));
    };
    let exim =
        if arrow == "<=" { arrival(id, rest).unwrap_or_default() } else { EximLine::default() };
    let points = if exim.ip.is_empty() { Guess::NAME } else { Guess::CLIENT };
    let has_recipients = exim.value(RECIPIENTS).is_some();
    Ok(Guess::new(shape(Events::Arrivals, "Exim's main log", has_recipients), points))
}

/// The event of a line; `None` if the line has no such event. `outer` is the time for a line without a time.
fn read<'a>(
    line: &'a str,
    outer: Option<Instant>,
    stamps: &mut Stamps,
    events: Events,
) -> Result<Option<(Instant, EximLine<'a>)>, Reason> {
    let timed = time_of(line, outer, stamps);
    match events {
        Events::Arrivals => {
            let (instant, rest) = timed.ok_or("no date and time at the beginning")?;
            let Some((id, "<=", rest)) = message(rest) else { return Ok(None) };
            let exim = arrival(id, rest).ok_or("no sender after <=")?;
            Ok(Some((instant, exim)))
        }
        Events::Refusals => Ok(timed.and_then(|(instant, rest)| Some((instant, refusal(rest)?)))),
        Events::Logins => Ok(timed.and_then(|(instant, rest)| Some((instant, login(rest)?)))),
    }
}

/// The time of a line, or else `outer`, and the text after it.
fn time_of<'a>(
    line: &'a str,
    outer: Option<Instant>,
    stamps: &mut Stamps,
) -> Option<(Instant, &'a str)> {
    own_time(line, stamps).or(outer.map(|instant| (instant, line)))
}

/// Reads `2024-05-01 12:00:00.123 +0200 [4567] `; decimals, zone and process may be missing.
fn own_time<'a>(line: &'a str, stamps: &mut Stamps) -> Option<(Instant, &'a str)> {
    let word = |from: usize| {
        let rest = line.get(from..)?;
        Some(from + rest.find(' ').unwrap_or(rest.len()))
    };
    let mut end = word(word(0)? + 1)?;
    if line.get(end..).is_some_and(|rest| rest.starts_with(" +") || rest.starts_with(" -")) {
        end = word(end + 1)?;
    }
    let instant = stamps.read(line.get(..end)?)?;
    let rest = line.get(end..)?.trim_start_matches(' ');
    let process = rest.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    Some((instant, process.map_or(rest, |(_, rest)| rest)))
}

/// The id of a message, the arrow after it, and the rest.
fn message(text: &str) -> Option<(&str, &str, &str)> {
    let (id, rest) = text.split_once(' ')?;
    let (arrow, rest) = rest.split_once(' ')?;
    let is_arrow = matches!(arrow, "<=" | "=>" | "->" | "**" | "==" | ">>" | "*>");
    (is_id(id) && is_arrow).then_some((id, arrow, rest))
}

/// Tells whether a word is the id of a message, such as 1s2abc-0003xY-Az, or a longer id as since Exim 4.97.
fn is_id(word: &str) -> bool {
    let parts = || word.split('-');
    let is_part = |part: &str| part.len() >= 2 && part.bytes().all(|b| b.is_ascii_alphanumeric());
    parts().count() == 3 && parts().all(is_part) && (16..=24).contains(&word.len())
}

/// Reads the refusal of a host, up to the word `rejected`, because the other side chose the text after it. `None` if
/// the text has no such word.
fn refusal(text: &str) -> Option<EximLine<'_>> {
    let (id, rest) = text.split_once(' ').filter(|(id, _)| is_id(id)).unwrap_or(("", text));
    let mut exim = EximLine { id, ..EximLine::default() };
    let mut rest = exim.host(rest.strip_prefix("H=")?);
    loop {
        if rest.starts_with("rejected ") || rest.starts_with("temporarily rejected ") {
            return Some(exim).filter(|exim| !exim.ip.is_empty());
        }
        let (word, after) = rest.split_at_checked(end_of_word(rest))?;
        rest = after.strip_prefix(' ')?;
        match word.split_once('=')? {
            ("F", sender) => exim.sender = sender.strip_prefix('<')?.strip_suffix('>')?,
            ("A", login) => exim.auth = login.split_once(':').map_or("", |(_, id)| id),
            ("P", protocol) => exim.protocol = protocol,
            _ => {}
        }
    }
}

/// Reads a failed login.
fn login(text: &str) -> Option<EximLine<'_>> {
    let (ip, user) = failed_login(text)?;
    Some(EximLine { ip: ip?, auth: user, ..EximLine::default() })
}

/// The client, if it is known, and the user of a failed login: `login authenticator failed for mx.example.org (helo)
/// [192.0.2.7]:4567: 535 Incorrect authentication data (set_id=ann)`. The HELO may look like an address, so the last
/// address before the next field counts.
pub(super) fn failed_login(message: &str) -> Option<(Option<&str>, &str)> {
    let (name, rest) = message.split_once(" authenticator failed for ")?;
    let (client, said) = rest.split_once(": 535 Incorrect authentication data")?;
    let name = name.rsplit(' ').next().unwrap_or(name);
    if name.is_empty()
        || !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    {
        return None;
    }
    let (_, _, ip, _) = host(client.strip_prefix("H=").unwrap_or(client));
    let user = said.split_once("(set_id=").and_then(|(_, user)| user.rsplit_once(')'));
    let ip = Some(ip).filter(|ip| !ip.is_empty() && is_client(ip));
    Some((ip, user.map_or("", |(user, _)| user)))
}

/// Reads the fields of an arrival, up to the subject, because the sender chose the text after it. `None` if the text is
/// empty.
fn arrival<'a>(id: &'a str, text: &'a str) -> Option<EximLine<'a>> {
    let (sender, mut rest) = text.split_at_checked(end_of_word(text))?;
    let sender = if sender == "<>" { "" } else { sender };
    let mut exim = EximLine { id, sender, ..EximLine::default() };
    while !rest.is_empty() {
        rest = rest.trim_start_matches(' ');
        if let Some(host) = rest.strip_prefix("H=").filter(|_| exim.ip.is_empty()) {
            rest = exim.host(host);
            continue;
        }
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        match word.split_once('=') {
            Some(("A", login)) => exim.auth = login.split_once(':').map_or("", |(_, id)| id),
            Some(("U", user)) => exim.local = user,
            Some(("P", protocol)) => exim.protocol = protocol,
            Some(("S", bytes)) => (exim.bytes, exim.tail) = (bytes, after),
            Some(("T", _)) => break,
            None if word == "for" || word == "from" => break,
            _ => {}
        }
    }
    (!text.is_empty()).then_some(exim)
}

/// The recipients after the size and the subject, in which Exim escapes quotes; empty if they are not logged.
fn recipients(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(' ');
        let (word, rest) = text.split_at(end_of_word(text));
        match word {
            "for" => return rest.trim_start_matches(' '),
            "" => return "",
            _ => text = rest,
        }
    }
}

/// The end of a word or a sender: the first space outside of quotes, as in `"ann b"@example.org`.
fn end_of_word(text: &str) -> usize {
    let mut quoted = false;
    let mut escaped = false;
    let end = text.bytes().position(|b| {
        quoted ^= b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        b == b' ' && !quoted
    });
    end.unwrap_or(text.len())
}

/// Reads `mx.example.org (helo) [192.0.2.7]:4567`, where the name and the helo may be missing. Returns the name, the
/// helo, the address, each empty if missing, and the rest.
///
/// If Exim is configured to accept any helo, it may contain spaces and brackets. So the last address before the next
/// field counts, of those at the beginning, after a name or after a closing parenthesis.
fn host(text: &str) -> (&str, &str, &str, &str) {
    let word = |text: &'_ str| text.find(' ').unwrap_or(text.len());
    let mut name = "";
    let mut from = 0;
    if !text.starts_with(['(', '[']) {
        let end = word(text);
        name = text.get(..end).unwrap_or("");
        from = (end + 1).min(text.len());
    }
    let begin = from;
    let mut found = None;
    let mut follows = true;
    let mut is_open = text.get(from..).is_some_and(|rest| rest.starts_with('('));
    while let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty())
        && (is_open || !is_next(rest))
    {
        let one = rest.get(..word(rest)).unwrap_or("");
        if follows && let Some(ip) = in_brackets(one) {
            found = Some((from, ip, (from + one.len() + 1).min(text.len())));
        }
        follows = one.ends_with(')');
        is_open &= !follows;
        from = (from + one.len() + 1).min(text.len());
    }
    let Some((at, ip, after)) = found else {
        return (name, "", "", text.get(begin..).unwrap_or(""));
    };
    let helo = text.get(begin..at).unwrap_or("").trim_end_matches(' ');
    let helo = helo.strip_prefix('(').map_or("", |helo| helo.strip_suffix(')').unwrap_or(helo));
    (name, helo, ip, text.get(after..).unwrap_or(""))
}

/// The address in `[192.0.2.7]` or `[192.0.2.7]:4567`.
fn in_brackets(word: &str) -> Option<&str> {
    let (ip, port) = word.strip_prefix('[')?.split_once(']')?;
    let is_port =
        port.strip_prefix(':').is_none_or(|port| port.bytes().all(|b| b.is_ascii_digit()));
    (is_port && (port.is_empty() || port.starts_with(':'))).then_some(ip)
}

/// True for a text that begins with a field such as `P=esmtp`, or with words such as `rejected`.
fn is_next(text: &str) -> bool {
    let letters = text.bytes().take(5).take_while(u8::is_ascii_alphabetic).count();
    (1..5).contains(&letters) && text.as_bytes().get(letters) == Some(&b'=')
        || ["rejected ", "temporarily ", "sender verify ", "Warning: "]
            .iter()
            .any(|word| text.starts_with(word))
}

impl<'a> EximLine<'a> {
    /// Reads `mx.example.org (helo) [192.0.2.7]:4567`, and returns the rest.
    fn host(&mut self, text: &'a str) -> &'a str {
        let rest;
        (self.host, self.helo, self.ip, rest) = host(text);
        rest
    }

    /// The number of recipients; 1 if they are not in the line.
    fn recipients(&self) -> f64 {
        let mut list = recipients(self.tail);
        let mut count = 0.0;
        while !list.is_empty() {
            list = list.split_at(end_of_word(list)).1.trim_start_matches(' ');
            count += 1.0;
        }
        f64::max(count, 1.0)
    }
}

impl Values for EximLine<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let value = match name {
            "ip" => self.ip,
            "host" => self.host,
            "helo" => self.helo,
            "sender" => self.sender,
            "auth" => self.auth,
            "user" if !self.auth.is_empty() => self.auth,
            // Only for a local mail: otherwise the other host claims `U=`.
            "user" if self.ip.is_empty() => self.local,
            "bytes" => self.bytes,
            "protocol" => self.protocol,
            "id" => self.id,
            RECIPIENTS => recipients(self.tail),
            _ => "",
        };
        (!value.is_empty()).then_some(value)
    }

    fn members(&self, name: &str) -> Option<f64> {
        (name == RECIPIENTS).then(|| self.recipients())
    }
}
