//! Messages of syslog: failed logins, or messages that contain given texts.
//!
//! ```text
//! Failed password for invalid user admin from 192.0.2.7 port 52114 ssh2
//! warning: unknown[192.0.2.7]: SASL LOGIN authentication failed: ..., sasl_username=ann
//! imap-login: Disconnected (auth failed, 3 attempts in 9 secs): user=<ann>, method=PLAIN, rip=192.0.2.7, ...
//! login authenticator failed for (helo) [192.0.2.7]: 535 Incorrect authentication data (set_id=ann)
//! ```
//!
//! The header of the line is a [wrapper](super::wrap), which names the program. By default, an event is a failed login
//! of [sshd], [Postfix, Dovecot or Exim](mail), as fail2ban's filters find them; of several messages about one attempt,
//! one [counts](attempts). A line of Dovecot about several attempts stands for as many events. With given texts, an
//! event is a message that contains one of them. Other lines are not events. The fields are `host`, `program`, `pid`,
//! `user`, `ip` and `message`.
//!
//! A client chooses the name that it logs in with, which may look like an address or like a part of the message. So the
//! address of a failed login is read only where the program writes it. Without one there, as in `unknown[unknown]`, the
//! event has no address. In other messages, an address anywhere counts, unless it is the server's own.

mod attempts;
mod mail;
mod sshd;

use super::counts::Reason;
use super::filter::Filter;
use super::forwarded::is_client;
use super::instant::Instant;
use super::options::Options;
use super::record::{Normal, Record, Values};
use super::shape::{
    FirstLine, Format, FormatRow, Guess, Line, LogFormat, LogShape, OnEvent, Parser, pass,
};
use super::stamp::Stamps;
use super::wrap::{Envelope, Wrapper, inside};
use attempts::{Attempts, Connections, LeftOut};
use ratescope::address::is_address;
use std::cmp::Reverse;
use std::sync::Arc;

impl Format {
    /// Messages of syslog.
    pub const SYSLOG: Format = Format("syslog");
}

pub(super) static ROW: FormatRow = FormatRow {
    servers: &["sshd", "postfix", "dovecot", "journal", "rsyslog"],
    is_messages: true,
    ..FormatRow::new(Format::SYSLOG, &["failed logins", "messages"], guess)
};

/// Messages of any programs.
#[derive(Debug, Default)]
struct Messages {
    /// The programs whose other messages about failed logins do not count.
    left_out: LeftOut,
    /// The programs of the wanted events, the most frequent first.
    programs: Vec<&'static str>,
}

impl LogFormat for Messages {
    fn open(&self, _: &LogShape, options: &Options) -> Box<dyn Parser> {
        Box::new(Logins {
            wanted: options.filter.messages.clone(),
            attempts: Attempts::new(self.left_out),
        })
    }

    fn noun(&self, filter: &Filter) -> usize {
        usize::from(!filter.messages.is_empty())
    }

    /// Whether a message counts may depend on others about the same connection.
    fn is_divisible(&self, _: &[Wrapper]) -> bool {
        false
    }

    fn learned(
        &self,
        text: &str,
        wrappers: &[Wrapper],
        options: &Options,
    ) -> Option<Arc<dyn LogFormat>> {
        let mut seen = Connections::default();
        inside(text, wrappers, &mut |envelope, message| seen.add(envelope, message));
        let left_out = seen.left_out();
        let programs = programs(text, wrappers, options, left_out);
        Some(Arc::new(Messages { left_out, programs }))
    }

    fn programs(&self) -> &[&'static str] {
        &self.programs
    }
}

/// The known programs of the wanted events among the first lines, the most frequent first.
fn programs(
    text: &str,
    wrappers: &[Wrapper],
    options: &Options,
    left_out: LeftOut,
) -> Vec<&'static str> {
    let filter = &options.filter;
    let mut stamps = Stamps::default();
    let mut attempts = Attempts::new(left_out);
    let mut counts = Program::ALL.map(|program| (program, 0));
    inside(text, wrappers, &mut |envelope, message| {
        let line = Line { text: message, around: envelope, stamps: &mut stamps };
        let read = read(line, &filter.messages, &mut attempts);
        let Ok(Some((instant, login))) = read else { return };
        let normal = Normal { ipv6_prefix: 128, path_depth: None };
        let is_wanted = filter.wants(&Record::new(0, instant, &login, normal));
        let program = Program::from_name(envelope.program).filter(|_| is_wanted);
        let of = counts.iter_mut().find(|(known, _)| Some(*known) == program);
        if let Some((_, count)) = of {
            *count += login.times;
        }
    });
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let found = counts.into_iter().filter(|(_, count)| *count > 0);
    found.map(|(program, _)| program.name()).collect()
}

/// Reads messages.
#[derive(Debug)]
struct Logins {
    /// The texts of which a message must contain one; without any, failed logins are wanted.
    wanted: Vec<String>,
    attempts: Attempts,
}

impl Parser for Logins {
    fn read(&mut self, line: Line<'_>, on_event: &mut OnEvent<'_>) -> Result<bool, Reason> {
        let read = read(line, &self.wanted, &mut self.attempts)?;
        Ok(pass(read, on_event))
    }
}

/// A message, and the fields of its header.
#[derive(Clone, Copy, Debug)]
struct Login<'a> {
    envelope: Envelope<'a>,
    failure: Option<Failure<'a>>,
    message: &'a str,
    /// The number of events that the line stands for.
    times: u32,
}

const FIELDS: [&str; 6] = ["ip", "user", "host", "program", "pid", "message"];

/// A program whose failed logins are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Program {
    Sshd,
    Postfix,
    Dovecot,
    Exim,
}

impl Program {
    const ALL: [Program; 4] = [Program::Sshd, Program::Postfix, Program::Dovecot, Program::Exim];

    fn name(self) -> &'static str {
        match self {
            Program::Sshd => "sshd",
            Program::Postfix => "postfix",
            Program::Dovecot => "dovecot",
            Program::Exim => "exim",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        match name {
            _ if name.starts_with("sshd") => Some(Program::Sshd),
            _ if name.starts_with("postfix") => Some(Program::Postfix),
            // In Dovecot's own log, the name before the message is one of its processes, such as `imap-login`.
            _ if name.starts_with("dovecot") || name.ends_with("-login") => Some(Program::Dovecot),
            _ if name == "auth" || name.starts_with("auth-worker") => Some(Program::Dovecot),
            _ if name.starts_with("exim") => Some(Program::Exim),
            _ => None,
        }
    }
}

/// The failed logins of a message.
#[derive(Clone, Copy, Debug)]
struct Failure<'a> {
    /// The client; `None` if the program does not know it, or if the client could have forged it.
    ip: Option<&'a str>,
    user: &'a str,
    /// The number of attempts.
    times: u32,
    kind: Kind,
}

/// How a message counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It counts by itself.
    Main,
    /// About an attempt that a later message also counts.
    Each,
    /// About a connection; messages with other numbers may be about the same connection.
    Other(u8),
}

fn failure(program: Program, message: &str) -> Option<Failure<'_>> {
    match program {
        Program::Sshd => sshd::failure(message),
        Program::Postfix => mail::of_postfix(message),
        Program::Dovecot => mail::of_dovecot(message),
        Program::Exim => mail::of_exim(message),
    }
}

/// A client, unless the program writes that it is unknown.
fn client(text: &str) -> Option<&str> {
    let is_known = !text.eq_ignore_ascii_case("unknown") && text != "-";
    Some(text).filter(|text| is_known && is_client(text))
}

/// The text up to a space, a separator or a closing bracket.
fn at(text: &str) -> &str {
    text.split([' ', ',', ']', ')', ';']).next().unwrap_or(text)
}

/// Recognizes a line by its header, which is the last of its wrappers.
fn guess(line: &mut FirstLine<'_>) -> Result<Vec<Guess>, Reason> {
    let FirstLine { text, wrappers, envelope: around, options, .. } = line;
    let wanted = &options.filter.messages;
    let stamps = &mut Stamps::default();
    let is_header = matches!(wrappers.last(), Some(Wrapper::Syslog | Wrapper::Json));
    if !is_header || around.instant(stamps).is_none() {
        return Err("no time, host and program at the beginning".into());
    }
    if around.program.is_empty() {
        return Err("no program before the message".into());
    }
    let line = Line { text, around, stamps };
    let login = read(line, wanted, &mut Attempts::default())?;
    let points = match login.and_then(|(_, login)| login.ip()).filter(|ip| is_address(ip)) {
        Some(_) => Guess::CLIENT,
        None if Program::from_name(around.program).is_some() => Guess::NAME,
        None => Guess::OTHER,
    };
    Ok(vec![Guess::new(LogShape::with(&ROW, Messages::default(), "syslog", FIELDS), points)])
}

/// The event of a message, if it contains one of the texts `wanted` or, without any, if it reports a failed login.
fn read<'a>(
    Line { text: message, around: envelope, stamps }: Line<'a>,
    wanted: &[String],
    attempts: &mut Attempts,
) -> Result<Option<(Instant, Login<'a>)>, Reason> {
    let envelope = *envelope;
    // Reads the time of every message, since the year of later messages depends on it.
    let Some(instant) = envelope.instant(stamps) else {
        return Err("no time before the message".into());
    };
    let program = Program::from_name(envelope.program);
    let failure = program.and_then(|program| failure(program, message));
    let times = match wanted {
        [] => match program.zip(failure) {
            Some((program, failure)) => attempts.count(program, envelope, &failure),
            None => 0,
        },
        wanted => wanted.iter().any(|text| message.contains(text.as_str())).into(),
    };
    let times = times.saturating_mul(envelope.times.unwrap_or(1));
    Ok((times > 0).then_some((instant, Login { envelope, failure, message, times })))
}

impl Values for Login<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let value = match name {
            "ip" => self.ip()?,
            "user" => self.user()?,
            "host" => self.envelope.host,
            "program" => self.envelope.program,
            "pid" => self.envelope.pid,
            "message" => self.message,
            _ => "",
        };
        (!value.is_empty()).then_some(value)
    }

    fn times(&self) -> Option<u32> {
        Some(self.times)
    }
}

impl<'a> Login<'a> {
    fn ip(&self) -> Option<&'a str> {
        match self.failure {
            Some(failure) => failure.ip,
            None => any_address(self.message),
        }
    }

    /// The user who tried to log in, or in other messages `user=ann`.
    fn user(&self) -> Option<&'a str> {
        if let Some(failure) = self.failure {
            return Some(failure.user);
        }
        let (_, rest) = self.message.split_once("user=")?;
        rest.trim_start_matches('<').split([' ', ',', '>']).next()
    }
}

/// Words before the address of a client, and before that of the server itself.
const BEFORE_CLIENT: [&str; 11] =
    ["from", "rip", "rhost", "src", "saddr", "client", "remote", "raddr", "peer", "host", "source"];
const BEFORE_OWN: [&str; 13] = [
    "lip",
    "i",
    "dst",
    "daddr",
    "to",
    "local",
    "laddr",
    "server",
    "on",
    "dest",
    "destination",
    "via",
    "listen",
];

/// The client in a message of any program: the address at the beginning, or the last after a word such as `from`, or
/// else the first that is not the server's own, in brackets or anywhere.
fn any_address(message: &str) -> Option<&str> {
    let is_mark = |c: char| {
        matches!(
            c,
            ' ' | ',' | ';' | '[' | ']' | '(' | ')' | '<' | '>' | '=' | '"' | '\'' | '/' | '@'
        )
    };
    let mut from_client = None;
    let mut first = None;
    let mut bracketed = None;
    let mut at = 0;
    for word in message.split(is_mark) {
        let begin = at;
        at += word.len()
            + message
                .get(at + word.len()..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8);
        let word = word.trim_end_matches(['.', ':', ',']);
        // Without a name before it, as in `outside:192.0.2.7`, and a port after it, as in `192.0.2.7#53`.
        let bare = word.split('#').next().unwrap_or(word);
        let inner = bare.rsplit_once(':').map_or(bare, |(_, inner)| inner);
        let Some(address) =
            [bare, inner].into_iter().find(|text| text.contains(['.', ':']) && is_address(text))
        else {
            continue;
        };
        if begin == 0 {
            return Some(address);
        }
        let named = bare.len() > inner.len() && address == inner;
        let before = message.get(..begin)?.trim_end_matches(|c: char| is_mark(c) || c == ':');
        let mark = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        let is = |marks: &[&str]| marks.iter().any(|known| known.eq_ignore_ascii_case(mark));
        if is(&BEFORE_CLIENT) {
            from_client = Some(address);
        } else if !is(&BEFORE_OWN) {
            if message.get(..begin)?.ends_with('[') && !named {
                bracketed = bracketed.or(Some(address));
            }
            first = first.or(Some(address));
        }
    }
    from_client.or(bracketed).or(first)
}
