//! Recognizes the format of a log by its first lines.
//!
//! Each line is evidence for the formats in which it can be read, bare or in wrappers. A format in which the
//! line has the address of a client gets the most points. Several lines decide, so a log may begin in the
//! middle of a line or with lines of another kind, and its beginning may arrive in any pieces.

use super::format::{Format, Guess, LogShape, Reason};
use super::layout::{self, Layout};
use super::lines::{bare, text_of};
use super::options::Options;
use super::stamp::Stamps;
use super::unknown::Unknown;
use super::wrap::{Layers, Wrapper, chains};
use super::{clf, csv, exim, export, json, logins};
use crate::address;
use std::sync::Arc;

/// The most bytes at the beginning of a log by which it is recognized.
pub const HEAD: usize = 1 << 16;

/// The number of lines with the address of a client that is enough to decide.
const ENOUGH: u32 = 10;

/// The most candidates that are compared, also if every line of a log suggests other ones.
const MOST: usize = 40;

/// If there are this many different internal peers, they are taken for the clients of the log.
const PEERS: usize = 5;

/// A format that the log may have, and the evidence for it.
struct Candidate {
    guess: Guess,
    /// The number of lines with the address of a client.
    clients: u32,
    /// The number of lines with such an address that can't be of another format.
    proofs: u32,
    points: u32,
    peers: Vec<String>,
}

/// Recognizes a log by its beginning `head`. `None` means that more of the log is needed: then call again
/// with a longer `head`, until it has [`HEAD`] bytes or is `complete`, the whole log.
///
/// # Errors
/// When the log has none of the formats, is empty, or is not text.
pub fn recognize(
    head: &[u8],
    complete: bool,
    options: &Options,
) -> Result<Option<LogShape>, Unknown> {
    let complete = complete && head.len() <= HEAD;
    let head = head.get(..HEAD).unwrap_or(head);
    // The last line may be incomplete.
    let whole = memchr::memrchr(b'\n', head).map_or(0, |at| at + 1);
    let end = if complete { head.len() } else { whole };
    let complete = complete || head.len() == HEAD;
    let (text, is_export) = (head.get(..end).unwrap_or(head), export::is_export(head));
    let entries = is_export.then(|| export::lines(text));
    let mut shown = String::new();
    let text = text_of(entries.as_deref().unwrap_or(text), &mut shown);
    let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line));
    let (mut candidates, mut born) = (Vec::new(), Vec::new());
    let (mut count, mut why) = (0, None);
    for line in lines.map(bare).filter(|line| !line.trim().is_empty()) {
        count += 1;
        let wanted = |format| options.format.is_none_or(|said| said == format);
        if count == 1 && wanted(Format::Csv) && options.layout.is_none() {
            match csv::guess(line, &options.aliases) {
                Ok(shape) => return Ok(Some(LogShape { format: Format::Csv, ..shape })),
                Err(problem) => why = Some(problem),
            }
        }
        let problem = see(line, options, &mut candidates, &mut born);
        if options.format != Some(Format::Csv) {
            why = why.filter(|_| count > 1).or(problem);
        }
        if candidates.iter().any(|candidate: &Candidate| candidate.clients >= ENOUGH) {
            break;
        }
    }
    let is_enough = candidates.iter().any(|candidate| candidate.clients >= ENOUGH);
    if !is_enough && !complete {
        // Only the first line can be the header of CSV, so more lines would not help.
        let is_csv = options.format == Some(Format::Csv) && count > 0;
        return if is_csv { Err(unknown(head, count, options, why)) } else { Ok(None) };
    }
    // Among equal candidates the first one wins.
    let rank = |candidate: &Candidate| (candidate.clients + candidate.proofs, candidate.points);
    let best = candidates.into_iter().rev().max_by_key(rank);
    let Some(Candidate { guess, peers, .. }) = best else {
        return Err(unknown(head, count, options, why));
    };
    let mut shape = LogShape { is_export, ..guess.shape };
    shape.form.many_peers = peers.len() >= PEERS;
    Ok(Some(shape))
}

fn unknown(head: &[u8], lines: u64, options: &Options, why: Option<Reason>) -> Unknown {
    let format = options.layout.as_ref().map(|_| Format::Columns).or(options.format);
    // What begins like JSON is told why it is not read as that, even if nobody said that it is.
    let mut shown = String::new();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = bare(text_of(first, &mut shown));
    let json = json::guess(first, options, None).err().filter(|_| first.starts_with('{'));
    let json = json.filter(|_| format.is_none()).map(|why| (Format::Json, why));
    let why = format.zip(why).or(json);
    Unknown::new(head, lines, why)
}

/// Adds the evidence of a line to `candidates`. Returns why the line cannot be read, bare, in the first
/// format that was tried.
fn see(
    line: &str,
    options: &Options,
    candidates: &mut Vec<Candidate>,
    born: &mut Vec<Arc<Layout>>,
) -> Option<Reason> {
    let mut why = None;
    for (wrappers, inner) in chains(line) {
        for format in Format::ALL {
            if options.format.is_some_and(|said| said != format) {
                continue;
            }
            let mut found = Vec::new();
            let line = Peeled { line, wrappers: &wrappers, inner: &inner };
            let problem = guess(format, line, options, born, &mut found);
            if wrappers.is_empty() {
                why = why.or(problem.err());
            }
            for mut guess in found {
                guess.shape.format = format;
                guess.shape.wrappers.clone_from(&wrappers);
                count(guess, candidates);
            }
        }
    }
    why
}

/// Adds the evidence of a guess to its candidate, which may be a new one.
fn count(guess: Guess, candidates: &mut Vec<Candidate>) {
    let known = candidates.iter().position(|known| known.guess.shape.is_like(&guess.shape));
    let place = known.unwrap_or(candidates.len());
    if known.is_none() && place < MOST {
        let peers = Vec::new();
        candidates.push(Candidate {
            guess: guess.clone(),
            clients: 0,
            proofs: 0,
            points: 0,
            peers,
        });
    }
    let Some(candidate) = candidates.get_mut(place) else { return };
    candidate.points += guess.points;
    candidate.clients += u32::from(guess.points >= Guess::GUESSED);
    candidate.proofs += u32::from(guess.points >= Guess::PROOF);
    if let Some(peer) = guess.peer.as_ref().filter(|peer| !candidate.peers.contains(peer))
        && candidate.peers.len() < PEERS
    {
        candidate.peers.push(peer.clone());
    }
    // The first line with a client shows which fields the log has.
    if guess.points >= Guess::GUESSED && candidate.guess.points < Guess::GUESSED {
        candidate.guess = guess;
    }
}

/// A line, its wrappers, and the text inside them.
#[derive(Clone, Copy)]
struct Peeled<'a> {
    line: &'a str,
    wrappers: &'a [Wrapper],
    inner: &'a str,
}

/// Adds the ways in which a format reads the text inside the wrappers of a line to `found`.
fn guess(
    format: Format,
    Peeled { line, wrappers, inner }: Peeled<'_>,
    options: &Options,
    born: &mut Vec<Arc<Layout>>,
    found: &mut Vec<Guess>,
) -> Result<(), Reason> {
    if options.layout.is_some() && format != Format::Columns {
        return Ok(());
    }
    let mut layers = Layers::new(wrappers);
    let Some((envelope, _)) = layers.peel(line) else { return Ok(()) };
    let stamps = &mut Stamps::default();
    let outer = envelope.instant(stamps);
    let before = found.len();
    match format {
        Format::Combined => clf::guess(inner, found)?,
        Format::Json => found.push(json::guess(inner, options, outer)?),
        Format::Exim => found.push(exim::guess(inner, outer)?),
        Format::Syslog => {
            let is_header = matches!(wrappers.last(), Some(Wrapper::Syslog | Wrapper::Json));
            if !is_header || outer.is_none() {
                return Err("no time, host and program at the beginning".into());
            }
            if envelope.program.is_empty() {
                return Err("no program before the message".into());
            }
            let fields = logins::FIELDS.iter().map(|field| (*field).to_owned()).collect();
            let shape = LogShape::new("syslog".to_owned(), Some(fields));
            let login = logins::read(envelope, inner, stamps, &options.filter.messages)?;
            let ip = login.and_then(|(_, login)| login.value("ip").and_then(address::parse));
            let points = match ip {
                Some(_) => Guess::CLIENT,
                None if logins::is_known(&envelope) => Guess::NAME,
                None => Guess::OTHER,
            };
            found.push(Guess::new(shape, points));
        }
        Format::Csv => {}
        Format::Columns => layout::guess(inner, options, outer, born, found)?,
    }
    for guess in found.iter_mut().skip(before) {
        envelope.program.clone_into(&mut guess.shape.program);
    }
    Ok(())
}
