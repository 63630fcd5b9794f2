//! A log that is read from its source by whoever asks for the next piece.

use super::format::{Shape, Unknown, recognize};
use super::options::Options;
use super::reader::{Counts, Reader, Unread};
use super::record::Record;
use crate::text::ParseError;
use core::fmt;
use std::io::{self, Read};

/// How much is read at once. It fits into a processor's second cache, with the lines looked at in it.
const PIECE: usize = 1 << 17;

/// A log, recognized and being read.
#[derive(Debug)]
pub struct Log<R> {
    input: R,
    shape: Shape,
    reader: Reader,
    /// The piece that was read last; before the first one, what the log was recognized by.
    piece: Vec<u8>,
    length: usize,
    bytes: u64,
    /// The input has ended.
    ended: bool,
    /// Nothing more comes.
    finished: bool,
}

impl<R: Read> Log<R> {
    /// Reads as much of `input` as it takes to recognize its format.
    ///
    /// # Errors
    /// When it is empty or no log that is known, the options do not fit it, or the input fails.
    pub fn open(mut input: R, options: &Options) -> Result<Self, Error> {
        let mut piece = vec![0; PIECE];
        let (mut length, mut ended) = (0, false);
        let shape = loop {
            let head = piece.get(..length).unwrap_or_default();
            if let Some(shape) = recognize(head, ended, options)? {
                break shape;
            }
            let read = read(&mut input, piece.get_mut(length..).unwrap_or_default());
            let read = read.map_err(|error| Error::Input { line: 0, error })?;
            (length, ended) = (length + read, read == 0);
        };
        let reader = Reader::new(&shape, options)?;
        Ok(Log { input, shape, reader, piece, length, bytes: 0, ended, finished: false })
    }

    /// Reads the next piece and hands out its events; `false` when there is no more.
    ///
    /// # Errors
    /// When the input fails or ends where it should not, or when a line can't be read and the log
    /// is read strictly. Then nothing more comes.
    pub fn read(&mut self, on_event: &mut dyn FnMut(&Record<'_>)) -> Result<bool, Error> {
        if self.finished {
            return Ok(false);
        }
        if self.length == 0 && !self.ended {
            match read(&mut self.input, &mut self.piece) {
                Ok(length) => (self.length, self.ended) = (length, length == 0),
                Err(error) => {
                    self.finished = true;
                    return Err(Error::Input { line: self.reader.counts().lines, error });
                }
            }
        }
        let piece = self.piece.get(..self.length).unwrap_or_default();
        (self.finished, self.length) = (piece.is_empty(), 0);
        self.bytes += piece.len() as u64;
        let told = match piece {
            [] => self.reader.finish(on_event),
            piece => self.reader.feed(piece, on_event),
        };
        self.finished |= told.is_err();
        told?;
        Ok(!self.finished)
    }

    /// From here on, a line that can't be read is an error, and not only counted.
    pub fn be_strict(&mut self) {
        self.reader.be_strict();
    }

    /// The format, and what the first lines told about it.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What became of the lines so far.
    pub fn counts(&self) -> &Counts {
        self.reader.counts()
    }

    /// How many bytes of the log have been read, as they are when unpacked.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Reads once, and again where that was interrupted.
fn read(input: &mut impl Read, piece: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Why a log can't be read, or not to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It is none that is known.
    Unknown(Unknown),
    /// What was said about it does not fit it.
    Options(ParseError),
    /// A line can't be read, and the log is read strictly.
    Unread(Unread),
    /// The input failed.
    Input {
        /// How many lines came before.
        line: u64,
        /// How it failed.
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
