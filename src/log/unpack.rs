//! Packed logs.
//!
//! Both unpackers are pure Rust: building needs no C compiler, and mostly safe code reads bytes from
//! strangers. gzip is read by zlib-rs through flate2, as fast as the C library. zstd is read by
//! ruzstd: on logs it takes about twice as long as the C library, and no longer than gzip.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// The bytes of a packed input that are read at once.
const PIECE: usize = 1 << 16;

/// The text of `input`, unpacked if its first bytes are those of gzip or zstd. The file name does not
/// count: it may be wrong, and standard input has none. Packed inputs that follow one another are
/// read as one text.
///
/// # Errors
/// When the first bytes cannot be read. If a packed input is cut off or damaged, reading the text
/// ends with an error that says so.
pub fn unpack<'a>(mut input: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut begin = Vec::new();
    input.by_ref().take(4).read_to_end(&mut begin)?;
    let (gzip, zstd) = (begin.starts_with(GZIP), begin.starts_with(ZSTD));
    let input = Cursor::new(begin).chain(input);
    if !gzip && !zstd {
        return Ok(Box::new(input));
    }
    let input = BufReader::with_capacity(PIECE, input);
    Ok(match gzip {
        true => Box::new(Gzip(MultiGzDecoder::new(input))),
        false => Box::new(Zstd { input, decoder: FrameDecoder::new(), within: false }),
    })
}

struct Gzip<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
        self.0.read(text).map_err(|error| {
            let what = match error.kind() {
                ErrorKind::UnexpectedEof => "the gzip data is cut off".to_owned(),
                ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                    format!("the gzip data is damaged ({error})")
                }
                _ => return error,
            };
            io::Error::new(error.kind(), what)
        })
    }
}

/// Reads frames, one after the other.
struct Zstd<R> {
    input: R,
    decoder: FrameDecoder,
    /// Whether a frame has begun and was not handed out completely.
    within: bool,
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.within && !self.begin()? {
                return Ok(0);
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(text);
            }
            if self.decoder.is_finished() {
                self.check()?;
                self.within = false;
                continue;
            }
            let some = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder.decode_blocks(&mut self.input, some).map_err(|error| damaged(&error))?;
        }
    }
}

impl<R: BufRead> Zstd<R> {
    /// Begins the next frame; `false` at the end of the input.
    fn begin(&mut self) -> io::Result<bool> {
        use FrameDecoderError::ReadFrameHeaderError as Header;
        use ReadFrameHeaderError::SkipFrame;
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => {
                    self.within = true;
                    return Ok(true);
                }
                Err(Header(SkipFrame { length, .. })) => {
                    io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(damaged(&error)),
            }
        }
        Ok(false)
    }

    /// Compares the checksum at the end of a frame, if it has one.
    fn check(&self) -> io::Result<()> {
        let said = self.decoder.get_checksum_from_data();
        match said.is_none() || said == self.decoder.get_calculated_checksum() {
            true => Ok(()),
            false => Err(damaged(&"its checksum is another")),
        }
    }
}

fn damaged(error: &dyn std::fmt::Display) -> io::Error {
    let what = format!("the zstd data is cut off or damaged ({error})");
    io::Error::new(ErrorKind::InvalidData, what)
}
