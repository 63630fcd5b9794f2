//! The entries of a made-up log, written as various servers write them.

use super::Entry;
use core::fmt::{self, Write};
use ratescope::internal::by_name;
use ratescope::time::Time;
use ratescope_log::civil::{Civil, Date, MONTHS, SECOND};

/// The style of a log. Its text form is the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `combined`: Combined Log Format, with times in whole seconds.
    Combined,
    /// `json`: JSON lines, as nginx may be configured to write them, with times in milliseconds.
    Json,
    /// `exim`: Exim's main log; every entry is an incoming mail, with times in whole seconds.
    Exim,
    /// `syslog`: every entry is a failed login, in the format of RFC 3164, without a year.
    Syslog,
    /// `csv`: with a header, and with times in microseconds.
    Csv,
}

const STYLES: [(Style, &str); 5] = [
    (Style::Combined, "combined"),
    (Style::Json, "json"),
    (Style::Exim, "exim"),
    (Style::Syslog, "syslog"),
    (Style::Csv, "csv"),
];

impl Style {
    /// All styles.
    pub const ALL: [Style; 5] =
        [Style::Combined, Style::Json, Style::Exim, Style::Syslog, Style::Csv];

    /// The line before the first entry, if the format has one.
    pub fn header(self) -> &'static str {
        match self {
            Style::Csv => "time,ip,user,method,path,status,bytes\n",
            _ => "",
        }
    }

    /// Appends the line of an entry to `out`.
    pub fn write(self, entry: &Entry, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Style::Combined => combined(entry, out),
            Style::Json => json(entry, out),
            Style::Exim => exim(entry, out),
            Style::Syslog => syslog(entry, out),
            Style::Csv => csv(entry, out),
        };
    }
}

by_name!(Style, STYLES, "not a style of logs; they are combined, json, exim, syslog and csv");

/// A time as logs write it.
struct Shown {
    date: Date,
    month: &'static str,
    /// The time of day in whole seconds, as in `13:55:36`.
    clock: String,
    millis: i64,
}

impl Shown {
    fn new(time: Time) -> Self {
        let civil = Civil(time);
        let date = civil.date();
        let seconds = civil.of_day() / SECOND;
        let [hours, minutes, seconds] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
        Shown {
            date,
            month: MONTHS.get(usize::from(date.month()) - 1).copied().unwrap_or(""),
            clock: format!("{hours:02}:{minutes:02}:{seconds:02}"),
            millis: civil.of_day() / 1000 % 1000,
        }
    }
}

fn combined(entry: &Entry, out: &mut String) -> fmt::Result {
    let Entry { ip, user, method, page, status, bytes, agent, .. } = entry;
    let Shown { date, month, clock, .. } = Shown::new(entry.time);
    write!(out, "{ip} - ")?;
    match user {
        Some(user) => write!(out, "user{user}")?,
        None => out.push('-'),
    }
    write!(out, " [{:02}/{month}/{}:{clock} +0000] ", date.day(), date.year())?;
    write!(out, "\"{method} {page} HTTP/1.1\" {status} ")?;
    match bytes {
        0 => out.push('-'),
        bytes => write!(out, "{bytes}")?,
    }
    match entry.from {
        Some(page) => write!(out, " \"https://www.example.org{page}\"")?,
        None => out.push_str(" \"-\""),
    }
    writeln!(out, " \"{agent}\"")
}

fn json(entry: &Entry, out: &mut String) -> fmt::Result {
    let Entry { ip, user, method, page, status, bytes, agent, .. } = entry;
    let Shown { date, clock, millis, .. } = Shown::new(entry.time);
    write!(out, "{{\"time_iso8601\":\"{date}T{clock}.{millis:03}+00:00\"")?;
    write!(out, ",\"remote_addr\":\"{ip}\"")?;
    match user {
        Some(user) => write!(out, ",\"remote_user\":\"user{user}\"")?,
        None => out.push_str(",\"remote_user\":\"\""),
    }
    write!(out, ",\"request_method\":\"{method}\",\"request_uri\":\"{page}\",\"status\":{status}")?;
    writeln!(out, ",\"body_bytes_sent\":{bytes},\"http_user_agent\":\"{agent}\"}}")
}

fn exim(entry: &Entry, out: &mut String) -> fmt::Result {
    let Entry { ip, user, bytes, .. } = entry;
    let Shown { date, clock, .. } = Shown::new(entry.time);
    let id = entry.time.as_micros();
    write!(out, "{date} {clock} {:08X}-{:06X}-{:02} <= ", id / SECOND, id % SECOND, id % 97)?;
    match user {
        Some(user) => {
            write!(out, "user{user}@example.org H=([{ip}]) [{ip}]:4567 P=esmtpsa")?;
            write!(out, " A=plain_login:user{user}")?;
        }
        None => write!(out, "news@list.example H=mx.list.example [{ip}]:25 P=esmtps")?,
    }
    writeln!(
        out,
        " S={} id={id:x}@example.org T=\"H=x [192.0.2.1] A=y:z\" for ann@example.org",
        bytes + 1
    )
}

fn syslog(entry: &Entry, out: &mut String) -> fmt::Result {
    let Entry { ip, user, .. } = entry;
    let Shown { date, month, clock, .. } = Shown::new(entry.time);
    let pid = 1000 + entry.time.as_micros() % 30_000;
    write!(out, "{month} {:2} {clock} web1 sshd[{pid}]: ", date.day())?;
    match user {
        Some(user) => write!(out, "Failed password for user{user}")?,
        None => out.push_str("Failed password for invalid user admin"),
    }
    writeln!(out, " from {ip} port {} ssh2", 1024 + pid)
}

fn csv(entry: &Entry, out: &mut String) -> fmt::Result {
    let Entry { time, ip, user, method, page, status, bytes, .. } = entry;
    write!(out, "{time},{ip},")?;
    if let Some(user) = user {
        write!(out, "user{user}")?;
    }
    writeln!(out, ",{method},{page},{status},{bytes}")
}
