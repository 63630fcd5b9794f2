//! Lines of syslog: failed logins, or messages that contain given texts.
//!
//! ```text
//! Oct 10 13:55:36 web1 sshd[4567]: Failed password for invalid user admin from 192.0.2.7 port 52114 ssh2
//! 2000-10-10T13:55:36.123456+02:00 web1 sshd-session[4567]: Failed password for root from 192.0.2.7 port 4 ssh2
//! <38>1 2000-10-10T13:55:36.123Z web1 sshd 4567 - - Failed password for ann from 192.0.2.7 port 52114 ssh2
//! ```
//!
//! The first is RFC 3164, which has no year. [`Year`] gives or guesses the year of the first line;
//! the year goes up when January follows December. So a log without a gap of nearly a year is read
//! correctly. The second form is what rsyslog writes today, and the third is RFC 5424. Each may begin
//! with a priority such as `<38>`.
//!
//! By default, an event is a message of sshd that begins with `Failed`, or one of Postfix or Dovecot
//! about a failed authentication: one line for each attempt. If texts are given, an event is a
//! message that contains one of them. Other lines are no events. `message repeated 3 times: [ ... ]`
//! is three events; where it says more than 1,000, it is 1,000 events that cost as much. The fields are `host`, `program`, `pid`, `user`, `ip` and `message`.
//!
//! [`Year`]: super::Year

use super::format::{Guess, Problem, Shape};
use super::names::Standard;
use super::stamp::{Instant, Stamps};

/// The parts of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syslog<'a> {
    host: &'a str,
    program: &'a str,
    pid: &'a str,
    message: &'a str,
    /// The number of events that the line stands for.
    pub(super) times: u32,
}

const FIELDS: [&str; 6] = ["ip", "user", "host", "program", "pid", "message"];

/// The beginning of a program's name, and the text in its message about a failed login.
const FAILED: [(&str, &str); 3] =
    [("sshd", "Failed "), ("postfix", "authentication failed"), ("dovecot", "auth failed")];

pub(super) fn guess(line: &str) -> Guess {
    let Some((_, syslog)) = parse(line, &mut Stamps::default()) else {
        return Guess::Perhaps("no time, host and program at the beginning".into());
    };
    let fields = FIELDS.iter().map(|field| (*field).to_owned()).collect();
    match syslog.program.is_empty() {
        true => Guess::Perhaps("no program before the message".into()),
        false => Guess::Yes(Shape::new("syslog".to_owned(), Some(fields))),
    }
}

/// The event of a line, if its message contains one of `wanted`; without any, if it is about a failed
/// login.
pub(super) fn read<'a>(
    line: &'a str,
    stamps: &mut Stamps,
    wanted: &[String],
) -> Result<Option<(Instant, Syslog<'a>)>, Problem> {
    let Some((instant, syslog)) = parse(line, stamps) else {
        return Err("no time, host and program at the beginning".into());
    };
    let is_event = match wanted {
        [] => syslog.is_failed_login(),
        wanted => wanted.iter().any(|text| syslog.message.contains(text.as_str())),
    };
    Ok(is_event.then_some((instant, syslog)))
}

fn parse<'a>(line: &'a str, stamps: &mut Stamps) -> Option<(Instant, Syslog<'a>)> {
    let line = priority(line).unwrap_or(line);
    let version = line.strip_prefix("1 ");
    let (instant, rest) = match line.starts_with(|c: char| c.is_ascii_digit()) {
        true => {
            let (time, rest) = version.unwrap_or(line).split_once(' ')?;
            (stamps.read(time)?, rest)
        }
        false => {
            let (instant, rest) = stamps.read_of_year(line)?;
            (instant, rest.strip_prefix(' ')?)
        }
    };
    let syslog = match version {
        Some(_) => rfc5424(rest)?,
        None => tagged(rest)?,
    };
    Some((instant, syslog.unrepeated()))
}

/// The rest after a priority such as `<38>`.
fn priority(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix('<')?.split_once('>')?;
    (number.len() <= 3 && number.bytes().all(|b| b.is_ascii_digit())).then_some(rest)
}

/// Reads `web1 sshd[4567]: message`.
fn tagged(text: &str) -> Option<Syslog<'_>> {
    let (host, rest) = text.split_once(' ')?;
    let (tag, message) = match rest.split_once(": ") {
        Some((tag, message)) if !tag.contains(' ') => (tag, message),
        _ => (rest.strip_suffix(':').unwrap_or(""), rest),
    };
    let (program, pid) = tag.split_once('[').unwrap_or((tag, ""));
    let pid = pid.strip_suffix(']').unwrap_or(pid);
    Some(Syslog { host, program, pid, message, times: 1 })
}

/// Reads `web1 sshd 4567 ID [data]... message`.
fn rfc5424(text: &str) -> Option<Syslog<'_>> {
    let mut words = text.splitn(5, ' ');
    let (host, program, pid) = (words.next()?, words.next()?, words.next()?);
    let (_id, mut rest) = (words.next()?, words.next()?);
    match rest.strip_prefix('-') {
        Some(after) => rest = after,
        None => {
            while rest.starts_with('[') {
                rest = element(rest)?;
            }
        }
    }
    let message = rest.strip_prefix(' ').unwrap_or(rest);
    let message = message.strip_prefix('\u{feff}').unwrap_or(message);
    Some(Syslog { host, program, pid, message, times: 1 })
}

/// The rest after an element of structured data, in whose values `"`, `\` and `]` are escaped.
fn element(text: &str) -> Option<&str> {
    let mut escaped = false;
    let end = text.bytes().position(|b| {
        let ends = b == b']' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })?;
    text.get(end + 1..)
}

impl<'a> Syslog<'a> {
    /// The message within `message repeated 3 times: [ ... ]`.
    fn unrepeated(self) -> Self {
        let repeated = || {
            let (times, rest) =
                self.message.strip_prefix("message repeated ")?.split_once(" times: [ ")?;
            Some((times.parse().ok()?, rest.strip_suffix(']')?))
        };
        let (times, message) = repeated().unwrap_or((1, self.message));
        Syslog { times, message, ..self }
    }

    fn is_failed_login(&self) -> bool {
        FAILED.iter().any(|(program, text)| {
            let said = match *program {
                "sshd" => self.message.starts_with(text),
                _ => self.message.contains(text),
            };
            said && self.program.starts_with(program)
        })
    }

    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        let value = match name {
            "ip" => self.ip()?,
            "user" => self.user()?,
            "host" => self.host,
            "program" => self.program,
            "pid" => self.pid,
            "message" => self.message,
            _ => "",
        };
        (!value.is_empty()).then_some(value)
    }

    pub(super) fn standard(&self, standard: Standard) -> Option<&'a str> {
        self.value(standard.name())
    }

    /// The address in the message. In sshd's it follows the last `from`: the user name, which the
    /// client chooses, may contain a `from`, too.
    fn ip(&self) -> Option<&'a str> {
        let is_address = |text: &&str| crate::address::parse(text).is_some();
        let word = |text: &'a str| text.split([' ', ',', ']', ')', ';']).next();
        let after = |mark: &str| word(self.message.rsplit_once(mark)?.1);
        let marked = ["from ", "rip=", "rhost=", "["].into_iter().filter_map(after);
        marked.into_iter().find(|text| is_address(text)).or_else(|| {
            self.message.split([' ', ',', '[', ']', '(', ')', '=', ';']).find(is_address)
        })
    }

    /// The user who tried to log in, from `for invalid user ann from`, `user=ann` or `user=<ann>`.
    fn user(&self) -> Option<&'a str> {
        let ssh = || {
            let (_, rest) = self.message.split_once(" for ")?;
            let (user, _) = rest.rsplit_once(" from ")?;
            Some(user.strip_prefix("invalid user ").unwrap_or(user))
        };
        let named = || {
            let (_, rest) = self.message.split_once("user=")?;
            rest.trim_start_matches('<').split([' ', ',', '>']).next()
        };
        ssh().or_else(named)
    }
}
