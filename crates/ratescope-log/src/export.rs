//! The journal as `journalctl -o export` writes it: one field a line, and an empty line after each entry.
//!
//! ```text
//! __CURSOR=s=739ad463348b4ceca5a9e69c95a3c93f;i=4ece7
//! __REALTIME_TIMESTAMP=971186136123456
//! _HOSTNAME=web1
//! SYSLOG_IDENTIFIER=sshd
//! MESSAGE=Failed password for root from 192.0.2.7 port 5 ssh2
//! ```
//!
//! A text with unprintable characters has its name on a line of its own, then its length in eight bytes, little endian,
//! and then the text. Each entry becomes a line as `journalctl -o short-unix` writes it, which may contain a line of
//! any format.
//!
//! Source: systemd, "Journal Export Formats".

use super::lines::LONGEST;
use core::convert::Infallible;
use core::mem;

/// The first bytes of an export, and of each entry.
const BEGIN: &[u8] = b"__CURSOR=";

pub(super) fn is_export(head: &[u8]) -> bool {
    head.starts_with(BEGIN)
}

/// The lines made of all entries that end in `text`.
pub(super) fn lines(text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut add = |line: &[u8]| -> Result<(), Infallible> {
        lines.extend_from_slice(line);
        Ok(())
    };
    let Ok(()) = Export::default().feed(text, &mut add);
    lines
}

/// Makes lines of entries; the bytes may come in chunks of any size.
#[derive(Debug, Default)]
pub(super) struct Export {
    within: Within,
    /// The begun line, length or text; at most [`LONGEST`] bytes.
    begun: Vec<u8>,
    entry: Entry,
    /// The line made from the last entry.
    line: Vec<u8>,
}

/// The part of an entry to which the next bytes belong.
#[derive(Debug, Default)]
enum Within {
    #[default]
    Line,
    /// The length of the text of the field with this name.
    Length(Vec<u8>),
    /// The text of the field with this name, and the number of bytes still to come, including the line feed after the
    /// text.
    Text(Vec<u8>, u64),
}

#[derive(Debug, Default)]
struct Entry {
    micros: Option<u64>,
    host: Vec<u8>,
    program: Vec<u8>,
    command: Vec<u8>,
    pid: Vec<u8>,
    message: Vec<u8>,
}

impl Export {
    /// Passes `on` a line, with its line feed, for each entry that ends in `chunk`, up to the first error.
    pub(super) fn feed<E>(
        &mut self,
        mut chunk: &[u8],
        on: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !chunk.is_empty() {
            match &mut self.within {
                Within::Line => {
                    let Some(end) = memchr::memchr(b'\n', chunk) else {
                        keep(&mut self.begun, chunk);
                        return Ok(());
                    };
                    let (rest, after) = chunk.split_at(end);
                    keep(&mut self.begun, rest);
                    chunk = after.get(1..).unwrap_or_default();
                    let line = mem::take(&mut self.begun);
                    match line.iter().position(|byte| *byte == b'=') {
                        Some(end) => self.entry.set(&line[..end], &line[end + 1..]),
                        None if line.is_empty() => self.end(on)?,
                        None => self.within = Within::Length(line),
                    }
                }
                Within::Length(name) => {
                    let (some, after) = chunk.split_at(chunk.len().min(8 - self.begun.len()));
                    self.begun.extend_from_slice(some);
                    chunk = after;
                    if let Ok(length) = self.begun.as_slice().try_into() {
                        let length = u64::from_le_bytes(length).saturating_add(1);
                        self.within = Within::Text(mem::take(name), length);
                        self.begun.clear();
                    }
                }
                Within::Text(name, left) => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    let (some, after) = chunk.split_at(chunk.len().min(most));
                    keep(&mut self.begun, some);
                    chunk = after;
                    *left -= some.len() as u64;
                    if *left == 0 {
                        let text = self.begun.strip_suffix(b"\n").unwrap_or(&self.begun);
                        self.entry.set(name, text);
                        self.begun.clear();
                        self.within = Within::Line;
                    }
                }
            }
        }
        Ok(())
    }

    /// Passes `on` the line of the entry that has ended, if it has a time and a message.
    fn end<E>(&mut self, on: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let Entry { micros, host, program, command, pid, message } = mem::take(&mut self.entry);
        let Some(micros) = micros.filter(|_| !message.is_empty()) else { return Ok(()) };
        let line = &mut self.line;
        line.clear();
        line.extend(format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000).bytes());
        let program = if program.is_empty() { command } else { program };
        for (before, word) in [(b' ', host), (b' ', program), (b'[', pid)] {
            line.push(before);
            // A space would end the word. Real hosts and programs have none.
            let shown = |byte: u8| if byte.is_ascii_whitespace() { b'_' } else { byte };
            line.extend(word.into_iter().map(shown));
        }
        line.extend_from_slice(b"]: ");
        line.extend(message.into_iter().map(|byte| if byte == b'\n' { b' ' } else { byte }));
        line.push(b'\n');
        on(line)
    }
}

/// Appends to a text as many bytes as fit into [`LONGEST`].
fn keep(text: &mut Vec<u8>, more: &[u8]) {
    let room = LONGEST.saturating_sub(text.len());
    text.extend_from_slice(more.get(..room).unwrap_or(more));
}

impl Entry {
    fn set(&mut self, name: &[u8], text: &[u8]) {
        let field = match name {
            b"__REALTIME_TIMESTAMP" => {
                self.micros = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                return;
            }
            b"_HOSTNAME" => &mut self.host,
            b"SYSLOG_IDENTIFIER" => &mut self.program,
            b"_COMM" => &mut self.command,
            b"SYSLOG_PID" | b"_PID" => &mut self.pid,
            b"MESSAGE" => &mut self.message,
            _ => return,
        };
        text.clone_into(field);
    }
}
