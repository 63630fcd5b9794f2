//! Recognizes the format of a log by its first lines.
//!
//! Each line is evidence for the formats in which it can be read, bare or in wrappers. A format in which the line has a
//! client's address gets the most points. Several lines decide, so a log may begin in the middle of a line or with
//! other lines, and its beginning may arrive in any pieces.

use super::counts::Reason;
use super::error::Unknown;
use super::export;
use super::formats::FORMATS;
use super::json;
use super::layout::Layout;
use super::lines::{HEAD, bare, nonblank, text_of};
use super::options::Options;
use super::shape::{FirstLine, Format, FormatRow, Guess, Inside, LogShape, PEERS};
use super::stamp::Stamps;
use super::wrap::{Layers, Wrapper, chains, inside};
use std::sync::Arc;

/// How many lines with a client's address are enough to decide.
const ENOUGH: u32 = 10;

/// The most candidates that are compared, even if every line suggests new ones.
const MOST: usize = 40;

/// The first lines whose wrappers are tried for a guess of the columns.
const FEW: usize = 20;

/// A format that the log may have, and the evidence for it.
struct Candidate {
    guess: Guess,
    /// The number of lines with the address of a client.
    clients: u32,
    /// The number of these lines that no other format could have.
    proofs: u32,
    points: u32,
    peers: Vec<String>,
}

/// Recognizes a log by its beginning `head`. `None` asks for another call with a longer `head`, up to [`HEAD`] bytes or
/// the `complete` log.
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
    let text = head.get(..end).unwrap_or(head);
    let is_export = export::is_export(head);
    let entries = is_export.then(|| export::lines(text));
    let mut shown = String::new();
    let text = text_of(entries.as_deref().unwrap_or(text), &mut shown);
    let mut evidence = Evidence { options, candidates: Vec::new(), headers: Vec::new() };
    let mut count = 0;
    let mut why = None;
    let mut no_header = None;
    for line in nonblank(text) {
        count += 1;
        for header in wanted(options).filter_map(|row| row.header).filter(|_| count == 1) {
            match header(line, options) {
                Ok(shape) => return Ok(Some(shape)),
                Err(problem) => no_header = Some(problem),
            }
        }
        why = why.or(evidence.add_line(line));
        if evidence.is_enough() {
            break;
        }
    }
    evidence.guess_all(text, count);
    if !evidence.is_enough() && !complete {
        // Only the first line can be the header of a log, so more lines would not help.
        if options.format.is_none() || no_header.is_none() {
            return Ok(None);
        }
    }
    let why = no_header.or(why);
    // Among equal candidates the first wins.
    let rank = |candidate: &Candidate| (candidate.clients + candidate.proofs, candidate.points);
    evidence.candidates.sort_by_key(|candidate| core::cmp::Reverse(rank(candidate)));
    let fits = |candidate: &Candidate| fits(&candidate.guess.shape, text, options);
    let Some(Candidate { guess, peers, .. }) = evidence.candidates.into_iter().find(fits) else {
        return Err(unknown(head, count, options, why));
    };
    let mut shape = guess.shape;
    shape.is_export = is_export;
    shape.many_peers = peers.len() >= PEERS;
    if let Some(learned) = shape.form.learned(text, &shape.wrappers, options) {
        shape.form = learned;
    }
    Ok(Some(shape))
}

/// The format that the options say.
fn said(options: &Options) -> Option<Format> {
    options.layout.as_ref().map(|_| Format::COLUMNS).or(options.format)
}

/// The formats that a log with these options may have.
fn wanted(options: &Options) -> impl Iterator<Item = &'static FormatRow> {
    let said = said(options);
    FORMATS.iter().copied().filter(move |row| said.is_none_or(|said| said == row.format))
}

/// Tells whether a format fits as many of the lines as it has to.
fn fits(shape: &LogShape, text: &str, options: &Options) -> bool {
    let least = shape.form.least(options.format.is_some());
    let Some((part, whole)) = least.filter(|_| options.layout.is_none()) else { return true };
    let mut all = 0;
    let mut read = 0;
    inside(text, &shape.wrappers, &mut |envelope, inner| {
        if envelope.program == shape.program {
            let outer = envelope.instant(&mut Stamps::default());
            all += 1;
            read += u32::from(shape.form.fits(inner, options, outer));
        }
    });
    read * whole >= all * part
}

fn unknown(head: &[u8], lines: u64, options: &Options, why: Option<Reason>) -> Unknown {
    let format = said(options);
    // If the first line begins like JSON, the error says why it is not, even without a given format.
    let mut shown = String::new();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = bare(text_of(first, &mut shown));
    let json = json::why_not(first, options).filter(|_| format.is_none());
    let why = format.zip(why).or(json.map(|why| (Format::JSON, why)));
    Unknown::new(head, lines, why)
}

/// The evidence of the lines so far about the format.
struct Evidence<'a> {
    options: &'a Options,
    candidates: Vec<Candidate>,
    /// The layouts that headers of the log name.
    headers: Vec<Arc<Layout>>,
}

impl Evidence<'_> {
    /// Tells whether more lines would change nothing.
    fn is_enough(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.clients >= ENOUGH)
    }

    /// Adds a line. Returns why it cannot be read, without wrappers, in the first format that was tried.
    fn add_line(&mut self, line: &str) -> Option<Reason> {
        let mut why = None;
        for wrappers in chains(line) {
            let mut layers = Layers::new(&wrappers);
            let Some((envelope, inner)) = layers.peel(line) else { continue };
            for row in wanted(self.options) {
                let Evidence { options, headers, .. } = self;
                let (text, wrappers, envelope) = (inner, &wrappers, &envelope);
                match (row.guess)(&mut FirstLine { text, wrappers, envelope, options, headers }) {
                    Ok(found) => self.count_all(found, wrappers, envelope.program),
                    Err(problem) => why = why.or(Some(problem).filter(|_| wrappers.is_empty())),
                }
            }
        }
        why
    }

    /// Adds the shape that the lines seem to have together, if no format fits half of the `count` lines.
    fn guess_all(&mut self, text: &str, count: u64) {
        let best = self.candidates.iter().map(|candidate| candidate.clients).max();
        let is_found = 2 * u64::from(best.unwrap_or(0)) >= count || !self.headers.is_empty();
        if is_found || self.options.layout.is_some() {
            return;
        }
        let mut tried: Vec<Vec<Wrapper>> = Vec::new();
        for wrappers in nonblank(text).take(FEW).flat_map(chains) {
            if tried.contains(&wrappers) || tried.len() == MOST {
                continue;
            }
            let lines = unwrapped(text, &wrappers);
            let program = lines.first().map_or("", |line| &line.program);
            for row in wanted(self.options) {
                self.count_all((row.guess_all)(&lines, self.options), &wrappers, program);
            }
            tried.push(wrappers);
        }
    }

    fn count_all(&mut self, found: Vec<Guess>, wrappers: &[Wrapper], program: &str) {
        for mut guess in found {
            guess.shape.wrappers = wrappers.to_vec();
            program.clone_into(&mut guess.shape.program);
            self.count(guess);
        }
    }

    /// Adds the evidence of a guess to its candidate, perhaps a new one.
    fn count(&mut self, guess: Guess) {
        let candidates = &mut self.candidates;
        let known = candidates.iter().position(|known| known.guess.shape.is_like(&guess.shape));
        let place = known.unwrap_or(candidates.len());
        if known.is_none() && place < MOST {
            candidates.push(Candidate {
                guess: guess.clone(),
                clients: 0,
                proofs: 0,
                points: 0,
                peers: Vec::new(),
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
}

/// The lines inside these wrappers, of the program of the first line.
fn unwrapped(text: &str, wrappers: &[Wrapper]) -> Vec<Inside> {
    let mut found: Vec<Inside> = Vec::new();
    inside(text, wrappers, &mut |envelope, inner| {
        if found.first().is_none_or(|first| first.program == envelope.program) {
            found.push(Inside {
                program: envelope.program.to_owned(),
                text: inner.to_owned(),
                outer: envelope.instant(&mut Stamps::default()),
            });
        }
    });
    found
}
