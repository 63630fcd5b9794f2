//! Common and Combined Log Format, as Apache and nginx write it.
//!
//! ```text
//! 192.0.2.7 - ann [10/Oct/2000:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326
//! 192.0.2.7 - ann [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "http://example.org/" "Mozilla/5.0"
//! www.example.org:80 192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "-" "-"
//! 192.0.2.7, 198.51.100.3 10.0.0.5 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "-" "-"
//! ```
//!
//! A line is read up to its field `bytes`; the rest is read only on demand. Before the address there may be more
//! columns: the requested host, the X-Forwarded-For of the request, with or without quotes, or both. The
//! X-Forwarded-For may also follow the address, or replace it. The first lines of the log tell where it is. If they
//! don't, each line is checked: its first word is such a column if the second word is an address, or if the second may
//! be the name of a client and the third is the identity, `-`. A line is not read if its first word could be the host or
//! the client, as in `shop.example - 192.0.2.7 - - [`: a client may have the name of a host, and chooses its user.
//!
//! `peer` is the address that the connection came from, and `ip` is [the client](super::forwarded::client) by the list
//! beside it. If the log begins with many internal peers, these are clients, not proxies. nginx writes the
//! X-Forwarded-For at the end of the line; there it is only the field `forwarded`, since the server may not trust it.
//!
//! Source: Apache HTTP Server, "Log Files" and mod_log_config; nginx, ngx_http_log_module.

use super::counts::Reason;
use super::forwarded;
use super::instant::Instant;
use super::names::Standard;
use super::number;
use super::options::Options;
use super::record::Values;
use super::search;
use super::shape::{
    FirstLine, Format, FormatRow, Guess, Line, LogFormat, LogShape, OnEvent, Parser,
};
use super::stamp::Stamps;
use super::wrap::Wrapper;
use memchr::memchr;
use ratescope::address;

impl Format {
    /// Common and Combined Log Format.
    pub const COMBINED: Format = Format("combined");
}

pub(super) static ROW: FormatRow = FormatRow {
    servers: &["nginx", "apache", "lighttpd", "varnish", "traefik"],
    ..FormatRow::new(Format::COMBINED, &["requests"], guess)
};

impl LogFormat for Beside {
    fn variant(&self) -> &str {
        match self {
            Beside::Shown => "shown",
            Beside::Host => "host",
            Beside::Before => "before",
            Beside::After => "after",
        }
    }

    fn open(&self, shape: &LogShape, _: &Options) -> Box<dyn Parser> {
        Box::new(Written { beside: *self, many_peers: shape.many_peers })
    }

    fn is_divisible(&self, _: &[Wrapper]) -> bool {
        true
    }

    /// Some lines of another program may fit by chance.
    fn least(&self, is_said: bool) -> Option<(u32, u32)> {
        (!is_said).then_some((1, 20))
    }

    fn fits(&self, line: &str, _: &Options, _: Option<Instant>) -> bool {
        of_form(line, *self).is_some()
    }
}

impl Parser for Written {
    fn read(&mut self, line: Line<'_>, on_event: &mut OnEvent<'_>) -> Result<bool, Reason> {
        let (instant, clf) =
            read(line.text, *self, line.stamps).ok_or_else(|| problem(line.text))?;
        on_event(instant, &clf);
        Ok(true)
    }
}

/// The parts of a line.
#[derive(Clone, Copy, Debug)]
struct Clf<'a> {
    /// The columns beside the address; empty if there are none.
    leading: &'a str,
    /// The first of these columns is the host, even if it is an address.
    has_host: bool,
    /// The X-Forwarded-For from an internal peer has the client.
    believed: bool,
    peer: &'a str,
    user: &'a str,
    request: &'a str,
    status: &'a str,
    bytes: &'a str,
    /// The rest of the line after the bytes.
    rest: &'a str,
}

/// The names of the fields that a line may have.
const FIELDS: [&str; 12] = [
    "ip",
    "user",
    "method",
    "path",
    "status",
    "bytes",
    "referer",
    "agent",
    "request",
    "peer",
    "forwarded",
    "host",
];

/// The place of a column beside the address, as the first lines of the log show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Beside {
    /// Before the address, in lines that themselves show it.
    #[default]
    Shown,
    /// The host before the address.
    Host,
    /// An X-Forwarded-For before the address.
    Before,
    /// An X-Forwarded-For after the address.
    After,
}

/// Properties of the whole log, as its first lines show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Written {
    beside: Beside,
    /// There are many internal peers, which are then clients, not proxies.
    many_peers: bool,
}

/// How the line can be read, the likeliest form first.
fn guess(line: &mut FirstLine<'_>) -> Result<Vec<Guess>, Reason> {
    let line = line.text;
    let mut found = Vec::new();
    for beside in [Beside::Shown, Beside::Host, Beside::Before, Beside::After] {
        let Some(clf) = of_form(line, beside) else { continue };
        let common = clf.quoted(1).is_none();
        let name = if common { "Common Log Format" } else { "Combined Log Format" };
        let (host, list) = clf.columns();
        let column = match (host, list) {
            ("", "") => "",
            (_, "") => ", after a column with the host",
            ("", _) if beside == Beside::After => {
                ", with a column of X-Forwarded-For after the address"
            }
            ("", _) => ", after a column with X-Forwarded-For",
            _ => ", after columns with the host and X-Forwarded-For",
        };
        let known = |field: &&str| match *field {
            "host" => !host.is_empty(),
            "forwarded" => !list.is_empty() || clf.quoted(2).is_some(),
            "referer" | "agent" => !common,
            _ => true,
        };
        let fields = FIELDS.into_iter().filter(known);
        let shape = LogShape::with(&ROW, beside, &format!("{name}{column}"), fields);
        let internal = address::parse(clf.peer).filter(|address| address::is_internal(*address));
        let peer = internal.map(|_| clf.peer.to_owned());
        found.push(Guess { peer, ..Guess::new(shape, clf.points(beside)) });
    }
    if found.is_empty() {
        // The log may begin in the middle of a line, so this line does not decide.
        Err(problem(line))
    } else {
        Ok(found)
    }
}

/// Tells whether a line is of the format, by itself.
pub(super) fn is_clf(line: &str) -> bool {
    of_form(line, Beside::Shown).is_some()
}

/// A line that stands alone, if it has this form.
fn of_form(line: &str, beside: Beside) -> Option<Clf<'_>> {
    let written = Written { beside, many_peers: false };
    read(line, written, &mut Stamps::default()).map(|(_, clf)| clf)
}

/// The event of a line; `None` if the line cannot be read. Inlined, since returning the event through memory
/// costs a third of the time of reading it.
#[inline(always)]
fn read<'a>(line: &'a str, form: Written, stamps: &mut Stamps) -> Option<(Instant, Clf<'a>)> {
    let ((leading, peer, user), stamp, rest) = match form.beside {
        Beside::Shown => parts(line)?,
        beside => any_parts(line, beside)?,
    };
    let has_host = form.beside == Beside::Host;
    let (leading, peer) = if search::is_dotted(peer.as_bytes()) {
        (leading, peer)
    } else {
        other_peer(leading, peer)?
    };
    let instant = time(stamp, stamps)?;
    let (request, rest) = in_quotes(rest)?;
    let (status, bytes, rest) = numbers(rest)?;
    let believed = !form.many_peers;
    Some((instant, Clf { leading, has_host, believed, peer, user, request, status, bytes, rest }))
}

/// The columns beside the peer, and the peer, if it is not a plain IPv4 address: it may be the last of a list, as in
/// `192.0.2.7,10.0.0.5`. `None` if it is not a client.
#[inline(never)]
fn other_peer<'a>(leading: &'a str, peer: &'a str) -> Option<(&'a str, &'a str)> {
    // A list may be in quotes.
    if let Some(list) = peer.strip_prefix('"') {
        let (list, peer) = forwarded::last(list.strip_suffix('"')?);
        return (leading.is_empty() && address::is_address(peer)).then_some((list, peer));
    }
    let is_list = leading.is_empty() && forwarded::is_list(peer);
    let (leading, peer) = if is_list { forwarded::last(peer) } else { (leading, peer) };
    forwarded::is_client(peer).then_some((leading, peer))
}

#[inline(always)]
fn time(stamp: &str, stamps: &mut Stamps) -> Option<Instant> {
    stamps.read(stamp).or_else(|| seconds(stamp))
}

/// Reads a time in seconds, as Apache's `%{sec}t` writes it.
#[cold]
fn seconds(stamp: &str) -> Option<Instant> {
    number::plain(stamp, None).map(|(instant, _)| instant)
}

/// Why a line cannot be read.
#[cold]
fn problem(line: &str) -> Reason {
    let Some(((leading, peer, _), stamp, rest)) = parts(line) else {
        let has_time = line.find("] \"").is_some_and(|end| line[..end].contains(" ["));
        return if has_time {
            "which column has the client is uncertain; say the columns, as in %v %h %l %u %t \"%r\" %>s %b"
        } else {
            "no address and [time] before a \"request\""
        }
        .into();
    };
    if other_peer(leading, peer).is_none() {
        return format!("not a client: {peer}").into();
    }
    match (time(stamp, &mut Stamps::default()), in_quotes(rest)) {
        (None, _) => format!("not a time: [{stamp}]").into(),
        (_, None) => "the request is not closed by a quote".into(),
        _ => "no status and bytes after the request".into(),
    }
}

/// The column beside the address, the address, and the user.
type Head<'a> = (&'a str, &'a str, &'a str);

/// The columns before the time, the time, and the text after the opening quote of the request.
#[inline(always)]
fn parts(line: &str) -> Option<(Head<'_>, &str, &str)> {
    let bytes = line.as_bytes();
    let space = memchr(b' ', bytes)?;
    // Usually the identity is a dash, and so is the user, since nobody is logged in.
    let open = match bytes.get(space..space + 6)? {
        b" - - [" => space + 5,
        [b' ', b'-', b' ', ..] => space + 3 + memchr(b'[', bytes.get(space + 3..)?)?,
        _ => return any_parts(line, Beside::Shown),
    };
    // The time usually has this length; otherwise the other forms are tried.
    let close = open + 1 + STAMP;
    if bytes.get(close..close + 3) != Some(b"] \"") || open < space + 5 {
        return any_parts(line, Beside::Shown);
    }
    let user = line.get(space + 3..open - 1)?;
    if user.contains(' ') {
        return any_parts(line, Beside::Shown);
    }
    Some((("", line.get(..space)?, user), line.get(open + 1..close)?, line.get(close + 3..)?))
}

/// The length of `10/Oct/2000:13:55:36 -0700`.
const STAMP: usize = 26;

/// As [`parts`], for lines with a column beside the address or another form of the time.
#[cold]
fn any_parts(line: &str, beside: Beside) -> Option<(Head<'_>, &str, &str)> {
    let end = line.find("] \"")?;
    let before = line.get(..end)?;
    let open = before.rfind(" [")?;
    let head = head(before.get(..open)?, beside)?;
    Some((head, before.get(open + 2..)?, line.get(end + 3..)?))
}

/// The column beside the address, the address and the user, from the columns before the time. The user may
/// contain spaces.
fn head(text: &str, beside: Beside) -> Option<Head<'_>> {
    match beside {
        Beside::Shown => shown(text, false),
        Beside::Host => shown(text, true),
        Beside::Before => {
            let mut all = text.match_indices(" - ").filter_map(|(end, dash)| {
                let before = text.get(..end)?;
                let from = before.rfind([' ', ','])?;
                let peer = before.get(from + 1..).filter(|peer| address::is_address(peer))?;
                Some((before.get(..from)?, peer, text.get(end + dash.len()..)?))
            });
            // If the list has only addresses, the address after it is the peer. Otherwise a client may have forged an
            // address with ` - ` after it in the list, so the line is read only if one place fits.
            let is_list = |leading: &str| {
                let list = leading.trim_matches(['"', ',']);
                list == "-" || list.split(',').map(str::trim).all(address::is_address)
            };
            let first = all.next()?;
            (is_list(first.0) || all.next().is_none()).then_some(first)
        }
        Beside::After => {
            let (peer, rest) = text.split_once(' ')?;
            let (list, user) = rest.rsplit_once(" - ")?;
            (!is_host(peer)).then_some((list, peer, user))
        }
    }
}

/// The columns before the time, if the line itself shows whether there are columns before the address; `has_host` if
/// the log has a column of hosts.
fn shown(text: &str, has_host: bool) -> Option<Head<'_>> {
    let mut leading = "";
    let mut from = 0;
    let (first, after) = text.split_once(' ')?;
    let next = word(after);
    if !first.contains(['"', ',']) && (has_host || is_host(first)) {
        if next == "-" {
            let user = after.get(2..)?;
            // There are four columns: a host, no client, no identity, and the user.
            if let Some(user) = user.strip_prefix("- ") {
                return Some((first, "-", user));
            }
            if user.contains(' ') && user.ends_with(" -") {
                return None;
            }
            // A log with hosts may have lines without, but then not with the name of a client.
            if has_host && is_host(first) {
                return None;
            }
        } else if is_date(first.as_bytes()) {
            // This is the time of a wrapper, not a host.
            return None;
        } else if is_list_or_address(next) {
            (leading, from) = (first, first.len() + 1);
        } else {
            return named(first, after);
        }
    }
    loop {
        let rest = text.get(from..)?;
        let quoted = rest.strip_prefix('"').map(|inside| inside.find("\" "));
        let end = match quoted {
            Some(end) => end? + 2,
            None => rest.find(' ')?,
        };
        let column = rest.get(..end)?;
        let after = rest.get(end + 1..)?;
        let next = word(after);
        if column.ends_with(',') || is_list_or_address(next) {
            if is_date(column.as_bytes()) {
                return None;
            }
            from += end + 1;
            leading = text.get(..from - 1)?;
            continue;
        }
        let (_identity, user) = after.split_once(' ')?;
        if next.is_empty() {
            return None;
        }
        if quoted.is_some() {
            if next != "-" {
                return named(text.get(..from + end)?, after);
            }
            // A list without a peer after it ends with the peer. A list after an address is refused.
            if !columns(leading, has_host).1.is_empty() {
                return None;
            }
        }
        let list = column.trim_matches('"');
        let (_, peer) = forwarded::last(list);
        let before =
            from + (column.len() - column.trim_start_matches('"').len()) + list.len() - peer.len();
        let leading = if peer.len() < list.len() { text.get(..before)? } else { leading };
        return forwarded::is_client(peer).then_some((leading, peer, user));
    }
}

/// The columns before the time, if the name of a client follows the columns `leading`: then the identity is a dash.
fn named<'a>(leading: &'a str, after: &'a str) -> Option<Head<'a>> {
    let (peer, rest) = after.split_once(' ')?;
    let user = rest.strip_prefix("- ")?;
    forwarded::is_client(peer).then_some((leading, peer, user))
}

/// The first word.
fn word(text: &str) -> &str {
    text.split(' ').next().unwrap_or(text)
}

/// Knows a column of addresses, and one in quotes.
fn is_list_or_address(word: &str) -> bool {
    word.starts_with('"') || word.split(',').next().is_some_and(address::is_address)
}

/// Tells whether a column can't be a client's address: it is a name, or a server's address. Only a server has a port
/// below 1024, and brackets without a port are those of a URL.
fn is_host(column: &str) -> bool {
    if !address::is_address(column) {
        return true;
    }
    let port = column.rsplit_once(':').map(|(address, port)| (address.contains(':'), port));
    match port {
        _ if column.ends_with(']') => true,
        Some((true, _)) if !column.starts_with('[') => false,
        Some((_, port)) => port.parse::<u16>().is_ok_and(|port| port < 1024),
        None => false,
    }
}

/// The host and the list of forwarded addresses in the columns beside the address; each may be empty.
fn columns(leading: &str, has_host: bool) -> (&str, &str) {
    let (first, rest) = leading.split_once(' ').unwrap_or((leading, ""));
    let is_first = !first.contains([',', '"']) && (has_host || first != "-" && is_host(first));
    let (host, list) = if is_first { (first, rest) } else { ("", leading) };
    (host, list.trim_matches([' ', ',', '"']))
}

/// True for a word that begins like `2000-10-10T13:55:36`.
fn is_date(word: &[u8]) -> bool {
    word.iter().take(4).all(u8::is_ascii_digit) && word.get(4) == Some(&b'-')
}

/// The text up to the closing quote, and the text after it; `None` without a closing quote. `\"` does not close.
#[inline]
fn in_quotes(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    loop {
        let at = from + memchr(b'"', text.as_bytes().get(from..)?)?;
        let inside = text.get(..at)?;
        // A backslash before the quote may be escaped itself.
        let backslashes = inside.len() - inside.trim_end_matches('\\').len();
        if backslashes % 2 == 0 {
            return Some((inside, text.get(at + 1..)?));
        }
        from = at + 1;
    }
}

/// The status, the bytes and the rest of a text such as ` 200 2326 ...`.
#[inline]
fn numbers(text: &str) -> Option<(&str, &str, &str)> {
    let (status, rest) = number(text)?;
    let (bytes, rest) = number(rest)?;
    (status.len() == 3 || status == "-").then_some((status, bytes, rest))
}

/// A number or `-` after a space, and the rest.
#[inline]
fn number(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix(' ')?;
    let end = search::digits(text.as_bytes());
    let end = if end == 0 && text.starts_with('-') { 1 } else { end };
    let (number, rest) = text.split_at_checked(end)?;
    (end > 0 && (rest.is_empty() || rest.starts_with(' '))).then_some((number, rest))
}

impl Values for Clf<'_> {
    #[inline]
    fn value(&self, name: &str) -> Option<&str> {
        let value = match name {
            "ip" if self.leading.is_empty() => self.peer,
            "ip" => self.client(),
            "peer" => self.peer,
            "request" => self.request,
            _ => return Standard::from_name(name).and_then(|standard| self.standard(standard)),
        };
        present(value)
    }

    fn standard(&self, standard: Standard) -> Option<&str> {
        present(match standard {
            Standard::Ip => return self.value("ip"),
            Standard::User => after_id(self.user),
            Standard::Method => super::request::method(self.request)?,
            Standard::Path => super::request::target(self.request)?,
            Standard::Status => self.status,
            Standard::Bytes => self.bytes,
            Standard::Host => self.host()?,
            Standard::Referer => self.quoted(0)?,
            Standard::Agent => self.quoted(1)?,
            Standard::Forwarded => self.forwarded().or_else(|| self.quoted(2))?,
            Standard::Request => self.request,
            Standard::Time => return None,
        })
    }

    fn plain_path(&self) -> Option<&str> {
        super::request::plain_path(self.request)
    }
}

impl<'a> Clf<'a> {
    /// The client of a line with columns beside the address.
    fn client(&self) -> &'a str {
        let (_, list) = self.columns();
        let client = self.believed.then(|| forwarded::client(list, Some(self.peer))).flatten();
        client.unwrap_or(self.peer)
    }

    /// The weight of the line as evidence for this form.
    fn points(&self, beside: Beside) -> u32 {
        let (host, list) = self.columns();
        let is_address = address::is_address(self.peer);
        match beside {
            Beside::Host if host.is_empty() => Guess::CLIENT,
            // An address in place of a host may as well be an X-Forwarded-For.
            Beside::Host if host == "-" || !is_host(host) => Guess::OTHER,
            _ if self.peer == "-" => Guess::OTHER,
            // Only a log that names its hosts has two names.
            Beside::Host if !is_address => Guess::GUESSED,
            Beside::Host => Guess::PROOF,
            _ if !is_address => Guess::NAME,
            Beside::Shown => Guess::CLIENT,
            // An X-Forwarded-For may be empty, or have several addresses.
            _ if list == "-" || forwarded::is_list(list) => Guess::PROOF,
            _ => Guess::GUESSED,
        }
    }

    /// The requested host and the X-Forwarded-For in the columns beside the address; each may be empty.
    fn columns(&self) -> (&'a str, &'a str) {
        columns(self.leading, self.has_host)
    }

    /// The requested host without its port.
    fn host(&self) -> Option<&'a str> {
        let (host, _) = self.columns();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => {
                // The last group of an address of IPv6 is no port.
                if name.contains(':') && !name.ends_with(']') { host } else { name }
            }
            _ => host,
        };
        (!name.is_empty()).then_some(name)
    }

    /// The X-Forwarded-For in a column beside the address.
    fn forwarded(&self) -> Option<&'a str> {
        let (_, list) = self.columns();
        (!list.is_empty()).then_some(list)
    }

    /// A quoted text after the field `bytes`, after `skip` others.
    fn quoted(&self, skip: usize) -> Option<&'a str> {
        let mut rest = self.rest;
        for _ in 0..skip {
            // A missing value is a dash, whose end need not be searched.
            rest = match rest.strip_prefix(" \"-\"") {
                Some(rest) => rest,
                None => in_quotes(rest.strip_prefix(" \"")?)?.1,
            };
        }
        in_quotes(rest.strip_prefix(" \"")?).map(|(text, _)| text)
    }
}

/// The user after nginx's `$request_id`, which BunkerWeb writes before it: 32 hexadecimal digits. With them, each
/// request would have another user.
fn after_id(user: &str) -> &str {
    match user.split_at_checked(32) {
        Some((id, rest)) if id.bytes().all(|b| b.is_ascii_hexdigit()) => {
            rest.strip_prefix(' ').unwrap_or(user)
        }
        _ => user,
    }
}

/// The value, unless it is a dash, which stands for a missing value.
#[inline]
fn present(value: &str) -> Option<&str> {
    (value != "-").then_some(value)
}
