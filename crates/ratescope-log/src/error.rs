//! Why a log cannot be read.

use super::columns::Proposal;
use super::counts::{Reason, Unread};
use super::lines::HEAD;
use super::shape::Format;
use core::fmt;
use ratescope::internal::shown;
use ratescope::text::ParseError;
use std::io;

/// Why a log cannot be read to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The format is unknown.
    Unknown(Unknown),
    /// The options do not fit the log.
    Options(ParseError),
    /// A line cannot be read, and the log is read strictly.
    Unread(Unread),
    /// The input failed.
    Input {
        /// The number of lines before the failure, in the last named file.
        line: u64,
        /// The error of the input.
        error: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unknown(unknown) => unknown.fmt(f),
            Error::Options(error) => error.fmt(f),
            Error::Unread(unread) => unread.fmt(f),
            Error::Input { line: 0, error } => write!(f, "the input can't be read: {error}"),
            Error::Input { line, error } => write!(f, "after line {line}: {error}"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(match self {
            Error::Unknown(unknown) => unknown,
            Error::Options(error) => error,
            Error::Unread(unread) => unread,
            Error::Input { error, .. } => error,
        })
    }
}

impl From<Unknown> for Error {
    fn from(unknown: Unknown) -> Self {
        Error::Unknown(unknown)
    }
}

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        Error::Options(error)
    }
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Self {
        Error::Unread(unread)
    }
}

/// The error of an input in no known format, which says how it begins, and why it is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    says: String,
    is_empty: bool,
}

/// The first bytes of other kinds of files, each with advice.
const OTHERS: [(&[u8], &str); 10] = [
    (b"\x1f\x8b", "it is packed with gzip; unpack it first"),
    (
        b"\x28\xb5\x2f\xfd",
        "it is packed with zstd; unpack it first with zstd -d, as browsers can't, or give it to the \
         command ratescope tune",
    ),
    (b"BZh", "it is packed with bzip2; unpack it first, or give it to the command ratescope tune"),
    (
        b"\xfd7zXZ",
        "it is packed with xz; unpack it first, or give it to the command ratescope tune",
    ),
    (b"PK\x03\x04", "it is a zip archive; unpack it first"),
    (b"\xff\xfe", "its text is UTF-16; write it as UTF-8"),
    (b"\xfe\xff", "its text is UTF-16; write it as UTF-8"),
    (b"SQLite format 3", "it is a database"),
    (b"ratescope clients\n", "it is a summary; ratescope tune --merge adds summaries up"),
    (b"LPKSHHRH", "it is a journal of systemd; write it with journalctl -o short-iso"),
];

/// The formats that are read, for people.
const READ: &str = "\
These logs are read: the access logs of nginx, Apache, lighttpd, Varnish, Caddy, Traefik, HAProxy, Envoy, Istio, Squid, \
IIS, nginx-proxy-manager, CloudFront and the load balancers of AWS; JSON lines and CSV with a time; the failed logins of \
sshd, Postfix, Dovecot and Exim; and Exim's main and reject log; also through syslog, the journal, docker and Kubernetes. \
For any other log, say its columns, by --log-format or in the page's box for them, as in '$remote_addr [$time_local] \
\"$request\" $status' or '$remote_addr %d.%m.%Y %H:%M:%S $request_method $uri'";

impl Unknown {
    /// Tells whether the input has no line, or only blank ones.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The error of a log that begins with `head`. `lines` is the number of whole lines that were tried, and `why` the
    /// problem of the given format, if any.
    pub(super) fn new(head: &[u8], lines: u64, why: Option<(Format, Reason)>) -> Self {
        const SHOWN: usize = 60;
        let text = String::from_utf8_lossy(head);
        let Some(line) = text.lines().find(|line| !line.trim().is_empty()) else {
            let says = "the input is empty: there is no line in it".to_owned();
            return Unknown { says, is_empty: true };
        };
        if head.get(257..262) == Some(b"ustar") {
            return Unknown::of("the input is no log: it is a tar archive; unpack it first".into());
        }
        if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Unknown::of(format!("the input is no log: {what}"));
        }
        let shown = shown(line, SHOWN);
        if lines == 0 {
            let most = HEAD >> 10;
            return Unknown::of(format!(
                "a log is recognized by whole lines in its first {most} KiB, and its first line is \
                 longer than that\n  {shown}"
            ));
        }
        if head.contains(&0) {
            return Unknown::of(format!(
                "the input is no log but binary; it begins with\n  {shown}"
            ));
        }
        let mut says = format!("the format of the log is unknown; its first line is\n  {shown}\n");
        match why {
            Some((format, why)) => {
                says += &format!("It is not read as {format}: {}", self::shown(&why, 2 * SHOWN));
            }
            None => {
                says += READ;
                let proposal = Proposal::new(head).filter(|proposal| proposal.has("time"));
                if let Some(Proposal { notation, .. }) = proposal {
                    let notation = self::shown(&notation, 2 * SHOWN);
                    says += &format!(
                        "\nPerhaps its columns are '{notation}': name the client's column ip"
                    );
                }
            }
        }
        Unknown::of(says)
    }

    fn of(says: String) -> Self {
        Unknown { says, is_empty: false }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)
    }
}

impl core::error::Error for Unknown {}
