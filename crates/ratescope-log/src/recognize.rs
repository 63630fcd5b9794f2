//! Recognizes the format of a log by its first lines.
//!
//! Each line is evidence for the formats in which it can be read, bare or in wrappers. A format in which the line has a
//! client's address gets the most points. Several lines decide, so a log may begin in the middle of a line or with
//! other lines, and its beginning may arrive in any pieces.

use super::format::{Format, Guess, LogForm, LogShape, Reason};
use super::layout::{self, Certainty, Layout};
use super::lines::{bare, text_of};
use super::logins::Connections;
use super::options::Options;
use super::stamp::{Instant, Stamps};
use super::unknown::Unknown;
use super::wrap::{Envelope, Layers, Wrapper, chains};
use super::{clf, csv, exim, export, json, logins};
use std::sync::Arc;

/// The most bytes of a log by which it is recognized.
pub const HEAD: usize = 1 << 16;

/// How many lines with a client's address are enough to decide.
const ENOUGH: u32 = 10;

/// The most candidates that are compared, even if every line suggests new ones.
const MOST: usize = 40;

/// So many different internal peers are the clients of the log.
pub(super) const PEERS: usize = 5;

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
    let mut evidence = Evidence { options, candidates: Vec::new(), born: Vec::new() };
    let mut count = 0;
    let mut why = None;
    for line in lines(text) {
        count += 1;
        if count == 1 && wanted(options, Format::Csv) && options.layout.is_none() {
            match csv::guess(line, &options.aliases) {
                Ok(shape) => return Ok(Some(shape)),
                Err(problem) => why = Some(problem),
            }
        }
        let problem = evidence.add_line(line);
        if options.format != Some(Format::Csv) {
            why = why.filter(|_| count > 1).or(problem);
        }
        if evidence.is_enough() {
            break;
        }
    }
    if options.layout.is_none() && wanted(options, Format::Columns) {
        evidence.guess_columns(text, count);
    }
    if !evidence.is_enough() && !complete {
        // Only the first line can be the header of CSV, so more lines would not help.
        let is_csv = options.format == Some(Format::Csv) && count > 0;
        return if is_csv { Err(unknown(head, count, options, why)) } else { Ok(None) };
    }
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
    if shape.format() == Format::Syslog {
        let mut seen = Connections::default();
        let mut layers = Layers::new(&shape.wrappers);
        for line in lines(text) {
            if let Some((envelope, message)) = layers.peel(line) {
                seen.add(envelope, message);
            }
        }
        shape.left_out = seen.left_out();
    }
    Ok(Some(shape))
}

fn wanted(options: &Options, format: Format) -> bool {
    options.format.is_none_or(|said| said == format)
}

/// Tells whether a format that was not given fits the log. Some lines of another program may fit by chance, so access
/// logs must fit one line of twenty, a server's layout one of four, and a guessed layout nine of ten.
fn fits(shape: &LogShape, text: &str, options: &Options) -> bool {
    let (part, whole) = match &shape.form {
        _ if options.layout.is_some() => return true,
        LogForm::Combined(_) if options.format.is_none() => (1, 20),
        LogForm::Columns(layout) => match layout.certainty() {
            Certainty::Sure => return true,
            Certainty::Known => (1, 4),
            Certainty::Guessed => (9, 10),
        },
        _ => return true,
    };
    let mut layers = Layers::new(&shape.wrappers);
    let mut all = 0;
    let mut read = 0;
    for line in lines(text) {
        let Some((envelope, inner)) = layers.peel(line) else { continue };
        if envelope.program == shape.program {
            let outer = envelope.instant(&mut Stamps::default());
            let is_read = match &shape.form {
                LogForm::Combined(beside) => clf::of_form(inner, *beside).is_some(),
                LogForm::Columns(layout) => layout::reads(layout, inner, options, outer).is_ok(),
                _ => true,
            };
            all += 1;
            read += u32::from(is_read);
        }
    }
    read * whole >= all * part
}

/// The lines of a text that are not blank.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(bare).filter(|line| !line.trim().is_empty())
}

fn unknown(head: &[u8], lines: u64, options: &Options, why: Option<Reason>) -> Unknown {
    let format = options.layout.as_ref().map(|_| Format::Columns).or(options.format);
    // If the first line begins like JSON, the error says why it is not, even without a given format.
    let mut shown = String::new();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = bare(text_of(first, &mut shown));
    let json = json::guess(first, options, None).err().filter(|_| first.starts_with('{'));
    let json = json.filter(|_| format.is_none()).map(|why| (Format::Json, why));
    let why = format.zip(why).or(json);
    Unknown::new(head, lines, why)
}

/// The evidence of the lines so far about the format.
struct Evidence<'a> {
    options: &'a Options,
    candidates: Vec<Candidate>,
    /// The layouts that headers of the log name.
    born: Vec<Arc<Layout>>,
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
            for format in Format::ALL {
                let found = match self.guess(format, &wrappers, envelope, inner) {
                    Ok(found) => found,
                    Err(problem) => {
                        why = why.or(Some(problem).filter(|_| wrappers.is_empty()));
                        continue;
                    }
                };
                for mut guess in found {
                    guess.shape.wrappers.clone_from(&wrappers);
                    envelope.program.clone_into(&mut guess.shape.program);
                    self.count(guess);
                }
            }
        }
        why
    }

    /// How a format, unless it is ruled out, reads the text inside the wrappers of a line.
    fn guess(
        &mut self,
        format: Format,
        wrappers: &[Wrapper],
        envelope: Envelope<'_>,
        inner: &str,
    ) -> Result<Vec<Guess>, Reason> {
        let options = self.options;
        let said = options.layout.as_ref().map(|_| Format::Columns).or(options.format);
        if said.is_some_and(|said| said != format) {
            return Ok(Vec::new());
        }
        let outer = envelope.instant(&mut Stamps::default());
        Ok(match format {
            Format::Combined => clf::guess(inner)?,
            Format::Json => vec![json::guess(inner, options, outer)?],
            Format::Exim => vec![exim::guess(inner, outer)?],
            Format::Syslog => {
                vec![logins::guess(wrappers, envelope, inner, &options.filter.messages)?]
            }
            Format::Csv => Vec::new(),
            Format::Columns => layout::guess(inner, options, outer, &mut self.born)?,
        })
    }

    /// Adds the layout that most lines seem to have, if no format fits half of the `count` lines.
    fn guess_columns(&mut self, text: &str, count: u64) {
        let best = self.candidates.iter().map(|candidate| candidate.clients).max();
        if 2 * u64::from(best.unwrap_or(0)) >= count || !self.born.is_empty() {
            return;
        }
        let mut tried: Vec<Vec<Wrapper>> = Vec::new();
        for wrappers in lines(text).take(FEW).flat_map(chains) {
            if tried.contains(&wrappers) || tried.len() == MOST {
                continue;
            }
            let inner = unwrapped(text, &wrappers);
            tried.push(wrappers.clone());
            let texts: Vec<&str> = inner.iter().map(|line| line.text.as_str()).collect();
            let Some(layout) = layout::guessed(&texts) else { continue };
            let layout = Arc::new(layout);
            for line in &inner {
                let read = layout::reads(&layout, &line.text, self.options, line.outer);
                let Ok(mut guess) = read else { continue };
                guess.points = guess.points.min(Guess::GUESSED);
                guess.shape.wrappers.clone_from(&wrappers);
                guess.shape.program.clone_from(&line.program);
                self.count(guess);
            }
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

/// The text inside the wrappers of a line, with the fields of the wrappers.
struct Unwrapped {
    program: String,
    text: String,
    outer: Option<Instant>,
}

/// The lines inside these wrappers, of the program of the first line.
fn unwrapped(text: &str, wrappers: &[Wrapper]) -> Vec<Unwrapped> {
    let mut layers = Layers::new(wrappers);
    let mut found: Vec<Unwrapped> = Vec::new();
    for line in lines(text) {
        let Some((envelope, inner)) = layers.peel(line) else { continue };
        if found.first().is_none_or(|first| first.program == envelope.program) {
            found.push(Unwrapped {
                program: envelope.program.to_owned(),
                text: inner.to_owned(),
                outer: envelope.instant(&mut Stamps::default()),
            });
        }
    }
    found
}
