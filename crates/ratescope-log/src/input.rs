//! A log that reads its source itself, piece by piece, in the caller's thread.
//!
//! Tuning uses [`Reader`]s instead: it passes pieces, since a page can't wait for a file, or reads in several threads.

use super::counts::Counts;
use super::error::Error;
use super::options::Options;
use super::pieces::{Piece, Pieces};
use super::reader::Reader;
use super::record::Record;
use super::shape::LogShape;
use std::io::Read;

/// A log whose format was recognized.
#[derive(Debug)]
pub struct Log<R> {
    pieces: Pieces<R>,
    reader: Reader,
    /// The last piece; its memory is reused.
    piece: Piece,
    /// The log has ended or failed.
    finished: bool,
}

impl<R: Read> Log<R> {
    /// Reads as much of `input` as its format takes to be recognized.
    ///
    /// # Errors
    /// When the input is empty or has no known format, the options do not fit it, or the input fails.
    pub fn open(input: R, options: &Options) -> Result<Self, Error> {
        Log::with(Pieces::open(input, options)?, options)
    }

    /// A log with a known format.
    ///
    /// # Errors
    /// When the options do not fit the format.
    pub fn with_shape(shape: LogShape, input: R, options: &Options) -> Result<Self, Error> {
        Log::with(Pieces::with_shape(shape, input), options)
    }

    fn with(pieces: Pieces<R>, options: &Options) -> Result<Self, Error> {
        let reader = Reader::new(pieces.shape(), options)?;
        Ok(Log { pieces, reader, piece: Piece::default(), finished: false })
    }

    /// Reads the next piece and passes its events to `on_event`; `false` at the end of the log.
    ///
    /// # Errors
    /// When the input fails or is cut off, or when a line cannot be read and the log is read strictly. After
    /// that, nothing more is read.
    pub fn read(&mut self, on_event: &mut dyn FnMut(&Record<'_>)) -> Result<bool, Error> {
        if self.finished {
            return Ok(false);
        }
        self.finished = true;
        let line = self.reader.line();
        let more =
            self.pieces.next(&mut self.piece).map_err(|error| Error::Input { line, error })?;
        if more {
            self.reader.feed(&self.piece.lines, on_event)?
        } else {
            self.reader.finish(on_event)?
        }
        self.finished = !more;
        Ok(more)
    }

    /// Goes on with the next file of this log, after [`read`](Self::read) returned `false`; `name` is [its
    /// name](Self::name).
    pub fn next_file(&mut self, input: R, name: &str) {
        self.pieces.next_file(input);
        self.finished = false;
        self.reader.name(name);
    }

    /// Names the file whose lines come next. Problems of its lines have this name, and line numbers within the file;
    /// with an empty name, line numbers within all that is read.
    pub fn name(&mut self, name: &str) {
        self.reader.name(name);
    }

    /// Makes every later unreadable line an error, instead of counting it.
    pub fn be_strict(&mut self) {
        self.reader.be_strict();
    }

    /// The format and its properties, from the first lines.
    pub fn shape(&self) -> &LogShape {
        self.pieces.shape()
    }

    /// The counts of the lines so far.
    pub fn counts(&self) -> &Counts {
        self.reader.counts()
    }
}
