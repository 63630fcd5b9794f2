//! Messages of syslog: failed logins, or messages that contain given texts.
//!
//! ```text
//! Failed password for invalid user admin from 192.0.2.7 port 52114 ssh2
//! warning: unknown[192.0.2.7]: SASL LOGIN authentication failed: ..., sasl_username=ann
//! imap-login: Disconnected (auth failed, 3 attempts in 9 secs): user=<ann>, method=PLAIN, rip=192.0.2.7, ...
//! ```
//!
//! The header of the line is a [wrapper](super::wrap), which tells the program. By default, an event is a
//! message of sshd that begins with `Failed`, or one of Postfix or Dovecot about a failed authentication. A
//! line of Dovecot about several attempts stands for as many events. If texts are given, an event is a
//! message that contains one of them. Other lines are no events. The fields are `host`, `program`, `pid`,
//! `user`, `ip` and `message`.
//!
//! A client chooses the name that it logs in with, which may look like an address or like a part of the
//! message. So the address of a failed login is where the program writes it: in sshd's messages before the
//! last ` port `, in Postfix's in the first brackets, in Dovecot's after the last `rip=` outside of the user.
//! If there is none, as in `unknown[unknown]`, the event has no address. In other messages, an address in
//! another place counts, too.

use super::format::{Guess, LogForm, LogShape, Reason};
use super::stamp::{Instant, Stamps};
use super::wrap::{Envelope, Wrapper};
use ratescope::address::is_address;

/// A message, and the fields of its header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Login<'a> {
    envelope: Envelope<'a>,
    program: Option<Program>,
    message: &'a str,
    /// The number of events that the line stands for.
    pub(super) times: u32,
}

const FIELDS: [&str; 6] = ["ip", "user", "host", "program", "pid", "message"];

/// A program whose failed logins are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Sshd,
    Postfix,
    Dovecot,
}

impl Program {
    fn of(name: &str) -> Option<Self> {
        match name {
            _ if name.starts_with("sshd") => Some(Program::Sshd),
            _ if name.starts_with("postfix") => Some(Program::Postfix),
            // In Dovecot's own log, the name before the message is that of its part, such as `imap-login`.
            _ if name.starts_with("dovecot") || name.ends_with("-login") => Some(Program::Dovecot),
            _ => None,
        }
    }

    /// The number of failed logins that a message reports.
    fn failed(self, message: &str) -> u32 {
        let is_failed = match self {
            Program::Sshd => message.starts_with("Failed "),
            Program::Postfix => message.contains("authentication failed"),
            Program::Dovecot => {
                let Some((_, rest)) = message.split_once("auth failed, ") else { return 0 };
                let attempts = rest.split_once(" attempts").and_then(|(n, _)| n.parse().ok());
                return attempts.unwrap_or(1);
            }
        };
        is_failed.into()
    }
}

/// Recognizes a line by its header, which is the last of its wrappers.
pub(super) fn guess(
    wrappers: &[Wrapper],
    envelope: Envelope<'_>,
    message: &str,
    wanted: &[String],
) -> Result<Guess, Reason> {
    let stamps = &mut Stamps::default();
    let is_header = matches!(wrappers.last(), Some(Wrapper::Syslog | Wrapper::Json));
    if !is_header || envelope.instant(stamps).is_none() {
        return Err("no time, host and program at the beginning".into());
    }
    if envelope.program.is_empty() {
        return Err("no program before the message".into());
    }
    let login = read(envelope, message, stamps, wanted)?;
    let points = match login.and_then(|(_, login)| login.ip()).filter(|ip| is_address(ip)) {
        Some(_) => Guess::CLIENT,
        None if Program::of(envelope.program).is_some() => Guess::NAME,
        None => Guess::OTHER,
    };
    Ok(Guess::new(LogShape::with(LogForm::Syslog, "syslog", FIELDS), points))
}

/// The event of a message: if it contains one of the texts `wanted` or, without any, if it reports a failed
/// login.
pub(super) fn read<'a>(
    envelope: Envelope<'a>,
    message: &'a str,
    stamps: &mut Stamps,
    wanted: &[String],
) -> Result<Option<(Instant, Login<'a>)>, Reason> {
    // The time of every message is read, since the year of later ones depends on it.
    let Some(instant) = envelope.instant(stamps) else {
        return Err("no time before the message".into());
    };
    let program = Program::of(envelope.program);
    let times = match wanted {
        [] => program.map_or(0, |program| program.failed(message)),
        wanted => wanted.iter().any(|text| message.contains(text.as_str())).into(),
    };
    let times = times.saturating_mul(envelope.times.unwrap_or(1));
    Ok((times > 0).then_some((instant, Login { envelope, program, message, times })))
}

impl<'a> Login<'a> {
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
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

    fn ip(&self) -> Option<&'a str> {
        let message = self.message;
        let text = match self.program {
            Some(Program::Sshd) => of_sshd(message),
            Some(Program::Postfix) => message.split_once('[').and_then(|(_, rest)| word(rest)),
            Some(Program::Dovecot) => of_dovecot(message),
            None => None,
        };
        let is_login = self.program.is_some_and(|program| program.failed(message) > 0);
        let other = || if is_login { None } else { self.any_address() };
        text.filter(|text| is_address(text)).or_else(other)
    }

    /// An address in a message of any program: at its beginning, after a mark such as `from `, or else the
    /// first one.
    fn any_address(&self) -> Option<&'a str> {
        if word(self.message).is_some_and(is_address) {
            return word(self.message);
        }
        let after = |mark: &str| word(self.message.rsplit_once(mark)?.1);
        let marked = ["from ", "rip=", "rhost=", "["].into_iter().filter_map(after);
        marked.into_iter().find(|text| is_address(text)).or_else(|| {
            let mut words = self.message.split([' ', ',', '[', ']', '(', ')', '=', ';']);
            words.find(|text| is_address(text))
        })
    }

    /// The user who tried to log in, from `for invalid user ann from`, `user=<ann>, method=`,
    /// `sasl_username=ann` or `user=ann`.
    fn user(&self) -> Option<&'a str> {
        let message = self.message;
        match self.program {
            Some(Program::Sshd) => {
                let (_, rest) = message.split_once(" for ")?;
                let (user, _) = rest.rsplit_once(" from ")?;
                Some(user.strip_prefix("invalid user ").unwrap_or(user))
            }
            Some(Program::Postfix) => message.split_once("sasl_username=").map(|(_, user)| user),
            Some(Program::Dovecot) => user_of_dovecot(message).map(|[_, user, _]| user),
            None => {
                let (_, rest) = message.split_once("user=")?;
                rest.trim_start_matches('<').split([' ', ',', '>']).next()
            }
        }
    }
}

/// The text up to a space, a separator or a closing bracket.
fn word(text: &str) -> Option<&str> {
    text.split([' ', ',', ']', ')', ';']).next()
}

/// The address in a message of sshd: before the last ` port `, or else after the last `from `. In a
/// disconnect the address comes first, and the text after it is the client's.
fn of_sshd(message: &str) -> Option<&str> {
    if let Some(rest) = message.strip_prefix("Received disconnect from ") {
        return word(rest);
    }
    let before_port = || {
        let (before, rest) = message.rsplit_once(" port ")?;
        let is_port = rest.starts_with(|c: char| c.is_ascii_digit());
        before.rsplit(' ').next().filter(|text| is_port && is_address(text))
    };
    before_port().or_else(|| word(message.rsplit_once("from ")?.1))
}

/// The address in a message of Dovecot: after the last `rip=`, before or after the user.
fn of_dovecot(message: &str) -> Option<&str> {
    let [before, _, after] = user_of_dovecot(message).unwrap_or([message, "", ""]);
    [before, after].into_iter().find_map(|text| word(text.rsplit_once("rip=")?.1))
}

/// The user in a message of Dovecot, with the text before and after it.
fn user_of_dovecot(message: &str) -> Option<[&str; 3]> {
    let (before, rest) = message.split_once("user=<")?;
    let end = rest.rfind(">, method=").or(rest.rfind(">, rip=")).or(rest.find('>'))?;
    let (user, after) = rest.split_at_checked(end)?;
    Some([before, user, after])
}
