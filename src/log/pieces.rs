//! A log in pieces of whole lines, for one reader or for several.

use super::format::{Shape, recognize};
use super::input::Error;
use super::lines::LONGEST;
use super::options::Options;
use memchr::memrchr;
use std::io::{self, Read};

/// How many bytes are read at once. They fit in a processor's second-level cache.
const PIECE: usize = 1 << 17;

/// A log whose format was recognized. Its lines are still to be [read](super::Reader).
///
/// If the lines are [independent](Shape::is_divisible), several threads can share the work: each
/// takes the next piece and reads it with its own reader.
#[derive(Debug)]
pub struct Pieces<R> {
    input: R,
    shape: Shape,
    /// The bytes that were read last and not handed out yet.
    buffer: Box<[u8]>,
    length: usize,
    /// The beginning of a line that has not ended yet.
    begun: Vec<u8>,
    bytes: u64,
    ended: bool,
}

impl<R: Read> Pieces<R> {
    /// Reads as much of `input` as it takes to recognize its format.
    ///
    /// # Errors
    /// When the input is empty, has no known format, or fails.
    pub fn open(mut input: R, options: &Options) -> Result<Self, Error> {
        let mut buffer = vec![0; PIECE].into_boxed_slice();
        let (mut length, mut ended) = (0, false);
        let shape = loop {
            let head = buffer.get(..length).unwrap_or_default();
            if let Some(shape) = recognize(head, ended, options)? {
                break shape;
            }
            let more = read(&mut input, buffer.get_mut(length..).unwrap_or_default());
            let more = more.map_err(|error| Error::Input { line: 0, error })?;
            (length, ended) = (length + more, more == 0);
        };
        Ok(Pieces { input, shape, buffer, length, begun: Vec::new(), bytes: length as u64, ended })
    }

    /// Replaces `piece` by the next lines; `false` at the end of the log.
    ///
    /// All lines are whole; only the last one of the log may lack a line feed. A line of more than
    /// [`LONGEST`] bytes is cut to one byte more than that.
    ///
    /// # Errors
    /// When the input fails or is cut off. Then nothing more comes.
    pub fn next(&mut self, piece: &mut Vec<u8>) -> io::Result<bool> {
        piece.clear();
        core::mem::swap(piece, &mut self.begun);
        loop {
            let read_last = self.buffer.get(..self.length).unwrap_or_default();
            self.length = 0;
            if let Some(last) = memrchr(b'\n', read_last) {
                let (lines, begun) = read_last.split_at(last + 1);
                piece.extend_from_slice(lines);
                self.begun.extend_from_slice(begun);
                return Ok(true);
            }
            piece.extend_from_slice(read_last);
            piece.truncate(LONGEST + 1);
            if self.ended {
                return Ok(!piece.is_empty());
            }
            let more = read(&mut self.input, &mut self.buffer);
            self.ended = !matches!(more, Ok(1..));
            self.length = more?;
            self.bytes += self.length as u64;
        }
    }

    /// The format, and what the first lines say about it.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many bytes of the log have been read, counted after unpacking.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Reads once, and repeats a read that was interrupted.
fn read(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
