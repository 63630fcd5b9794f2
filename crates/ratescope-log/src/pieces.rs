//! A log in pieces of whole lines, for one reader or several.

use super::error::Error;
use super::layout::{Layout, last_header};
use super::lines::{HEAD, LONGEST};
use super::options::Options;
use super::recognize::recognize;
use super::shape::LogShape;
use memchr::memrchr;
use std::io::{self, Read};
use std::sync::Arc;

/// The number of bytes that are read at once. A piece and its events fit into a processor's second-level cache, and
/// take so long to read that threads rarely contend. The beginning of a log, by which its format is
/// [recognized](HEAD), fits into a piece.
const PIECE: usize = 1 << 17;
const _: () = assert!(HEAD <= PIECE);

/// Whole lines of a log. Their memory is reused when the next piece is read into it.
#[derive(Debug, Default)]
pub struct Piece {
    pub(super) lines: Vec<u8>,
    /// The columns of the first line; `None` if they depend on all earlier lines.
    pub(super) layout: Option<Arc<Layout>>,
}

/// A log whose format was recognized, but whose lines are still to be [read](super::Reader).
///
/// If the lines are [independent](LogShape::is_divisible), several threads can share the work: each takes the
/// next piece and reads it with a reader of its own.
#[derive(Debug)]
pub struct Pieces<R> {
    input: R,
    shape: LogShape,
    /// The bytes that were read to recognize the format, and not given out yet.
    head: Vec<u8>,
    /// The beginning of the line after the last piece.
    begun: Vec<u8>,
    /// The columns of the next line, from the header above it; `None` without such headers.
    layout: Option<Arc<Layout>>,
    ended: bool,
}

impl<R: Read> Pieces<R> {
    /// Reads as much of `input` as its format takes to be recognized.
    ///
    /// # Errors
    /// When the input is empty, has no known format, or fails.
    pub fn open(mut input: R, options: &Options) -> Result<Self, Error> {
        let mut head = vec![0; PIECE];
        let mut length = 0;
        let mut ended = false;
        let mut tried = 0;
        let shape = loop {
            // Each attempt reads the whole beginning again, so the next waits for a tenth more. Otherwise an input that
            // gives a few bytes at a time would take quadratic time.
            if ended || length >= tried + tried / 10 {
                let begun = head.get(..length).unwrap_or_default();
                if let Some(shape) = recognize(begun, ended, options)? {
                    break shape;
                }
                tried = length;
            }
            let more = read(&mut input, head.get_mut(length..).unwrap_or_default());
            let more = more.map_err(|error| Error::Input { line: 0, error })?;
            length += more;
            ended = more == 0;
        };
        head.truncate(length);
        Ok(Pieces { head, ended, ..Pieces::with_shape(shape, input) })
    }

    /// A log with a known format.
    pub(super) fn with_shape(shape: LogShape, input: R) -> Self {
        let layout = shape.form.layout().cloned().filter(|_| shape.is_divisible());
        let head = Vec::new();
        let begun = Vec::new();
        Pieces { input, shape, head, begun, layout, ended: false }
    }

    /// Replaces the content of `piece` by the next lines; returns `false` at the end of the log.
    ///
    /// All lines are whole; only the last of the log may lack a line feed. A line of more than [`LONGEST`] bytes may be
    /// cut, but to more than [`LONGEST`] bytes.
    ///
    /// # Errors
    /// When the input fails or is cut off. After that, nothing more is read.
    pub fn next(&mut self, piece: &mut Piece) -> io::Result<bool> {
        let more = self.lines(&mut piece.lines)?;
        piece.layout.clone_from(&self.layout);
        if let Some(between) = self.layout.as_ref().and_then(|layout| layout.between) {
            self.layout = last_header(&piece.lines, between).or(self.layout.take());
        }
        Ok(more)
    }

    fn lines(&mut self, piece: &mut Vec<u8>) -> io::Result<bool> {
        // Overwrites the old bytes: after clearing, resizing would fill the piece with zeros.
        let mut length = self.begun.len();
        piece.resize(length + PIECE, 0);
        piece.get_mut(..length).unwrap_or_default().copy_from_slice(&self.begun);
        self.begun.clear();
        loop {
            let from = length;
            let more = match core::mem::take(&mut self.head) {
                head if head.is_empty() => self.read(piece.get_mut(from..).unwrap_or_default()),
                head => {
                    piece
                        .get_mut(from..from + head.len())
                        .unwrap_or_default()
                        .copy_from_slice(&head);
                    Ok(head.len())
                }
            };
            length += more?;
            let read_last = piece.get(from..length).unwrap_or_default();
            if let Some(last) = memrchr(b'\n', read_last) {
                self.begun.extend_from_slice(read_last.get(last + 1..).unwrap_or_default());
                piece.truncate(from + last + 1);
                return Ok(true);
            }
            if self.ended {
                piece.truncate(length.min(LONGEST + 1));
                return Ok(length > 0);
            }
            length = length.min(LONGEST + 1);
            piece.resize(length + PIECE, 0);
        }
    }

    /// Goes on with another file of the log, after the last piece of the previous file.
    pub(super) fn next_file(&mut self, input: R) {
        self.input = input;
        self.ended = false;
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        let more = read(&mut self.input, into);
        self.ended = !matches!(more, Ok(1..));
        more
    }

    /// The format and its properties, from the first lines.
    pub fn shape(&self) -> &LogShape {
        &self.shape
    }
}

/// Reads once, and again if the read was interrupted.
fn read(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
