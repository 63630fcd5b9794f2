//! Unpacks logs.
//!
//! All decompressors are pure Rust, so that building needs no C compiler, and mostly safe code reads untrusted bytes.
//! zlib-rs, through flate2, reads gzip as fast as the C library. ruzstd reads zstd: on logs it takes about twice as
//! long as the C library, and no longer than gzip. libbz2-rs-sys reads bzip2, and lzma-rust2, without its unsafe parts,
//! reads xz.

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// A format of packed files.
#[derive(Clone, Copy)]
enum Packer {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// The formats with their names, and the first bytes by which each is recognized.
const PACKERS: [(Packer, &str, &[u8]); 4] = [
    (Packer::Gzip, "gzip", b"\x1f\x8b"),
    (Packer::Zstd, "zstd", b"\x28\xb5\x2f\xfd"),
    (Packer::Bzip2, "bzip2", b"BZh"),
    (Packer::Xz, "xz", b"\xfd7zXZ\0"),
];

/// The most bytes by which a format is recognized.
const LONGEST: usize = 6;

/// The bytes of a packed input that are read at once.
const PIECE: usize = 1 << 16;

/// The most KiB of memory for unpacking xz. `xz -9` needs 65 MiB.
const XZ_ROOM: u32 = 100 << 10;

/// The name of the format of an input that begins with `begin`; `None` if it is not packed. The file name
/// does not count: it may be wrong, and standard input has none.
pub fn packer(begin: &[u8]) -> Option<&'static str> {
    of(begin).map(|(_, name)| name)
}

fn of(begin: &[u8]) -> Option<(Packer, &'static str)> {
    let known = PACKERS.iter().find(|(.., magic)| begin.starts_with(magic));
    known.map(|(packer, name, _)| (*packer, *name))
}

/// A reader of the text of `input`, which is unpacked if its first bytes are those of gzip, zstd, bzip2 or
/// xz. Several packed inputs in a row are read as one text.
///
/// # Errors
/// When the first bytes cannot be read. If a packed input is cut off or damaged, or an xz needs more than 100
/// MiB to unpack, reading the text ends with an error that says so.
pub fn unpack<'a>(mut input: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut begin = Vec::new();
    input.by_ref().take(LONGEST as u64).read_to_end(&mut begin)?;
    let packer = of(&begin);
    let input = Cursor::new(begin).chain(input);
    let Some((packer, name)) = packer else { return Ok(Box::new(input)) };
    let end = Arc::default();
    let input = BufReader::with_capacity(PIECE, Watched { input, end: Arc::clone(&end) });
    let text: Box<dyn Read + Send + 'a> = match packer {
        Packer::Gzip => Box::new(Gzip { member: Some(GzDecoder::new(input)) }),
        Packer::Zstd => Box::new(Zstd { input, decoder: FrameDecoder::new(), within: false }),
        Packer::Bzip2 => Box::new(MultiBzDecoder::new(input)),
        Packer::Xz => Box::new(XzReader::new_mem_limit(input, true, XZ_ROOM)),
    };
    Ok(Box::new(Unpacked { text, name, end }))
}

/// How reading a packed input has ended.
#[derive(Debug, Default)]
enum End {
    /// It has not ended.
    #[default]
    NotYet,
    /// It ended after its last byte.
    Last,
    /// It failed.
    Failed(io::Error),
}

/// A packed input that records how it ended, since the decompressors' errors differ.
struct Watched<R> {
    input: R,
    end: Arc<Mutex<End>>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes);
        let end = match &read {
            Ok(1..) => return read,
            Err(error) if error.kind() == ErrorKind::Interrupted => return read,
            Ok(0) => End::Last,
            Err(error) => End::Failed(io::Error::new(error.kind(), error.to_string())),
        };
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = end;
        read
    }
}

/// The unpacked text, with errors that say what is wrong with the input.
struct Unpacked<'a> {
    text: Box<dyn Read + Send + 'a>,
    name: &'static str,
    end: Arc<Mutex<End>>,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
        self.text.read(text).map_err(|error| {
            let end = mem::take(&mut *self.end.lock().unwrap_or_else(PoisonError::into_inner));
            let why = match (end, error.kind()) {
                (End::Failed(error), _) => return error,
                (_, ErrorKind::Interrupted) => return error,
                (_, ErrorKind::OutOfMemory) => "needs more than 100 MiB to be unpacked",
                (_, ErrorKind::Unsupported) => "is of a kind that is not read here",
                (End::Last, _) => "is cut off",
                (End::NotYet, _) => "is damaged",
            };
            io::Error::new(ErrorKind::InvalidData, format!("the {} data {why}", self.name))
        })
    }
}

/// Unpacks gzip, member after member.
struct Gzip<R> {
    /// `None` at the end of the input.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(text)?;
            if read > 0 || text.is_empty() {
                return Ok(read);
            }
            if is_padded_to_the_end(member.get_mut())? {
                self.member = None;
            } else {
                self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
            }
        }
        Ok(0)
    }
}

/// Skips zeros, as gzip does: tapes and some disks pad the last block of a file. Returns whether the input ends after
/// them.
fn is_padded_to_the_end(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = input.fill_buf()?;
        let all = bytes.len();
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        input.consume(zeros);
        if zeros < all || all == 0 {
            return Ok(all == 0);
        }
    }
}

/// Unpacks zstd, frame after frame.
struct Zstd<R> {
    input: R,
    decoder: FrameDecoder,
    /// A frame has begun, and some of its text is still to come.
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
            self.decoder.decode_blocks(&mut self.input, some).map_err(io::Error::other)?;
        }
    }
}

impl<R: BufRead> Zstd<R> {
    /// Begins the next frame, after skippable frames; returns `false` at the end of the input.
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
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    /// Compares the checksum of a frame that has ended, if it has one.
    fn check(&self) -> io::Result<()> {
        let said = self.decoder.get_checksum_from_data();
        if said.is_none() || said == self.decoder.get_calculated_checksum() {
            Ok(())
        } else {
            Err(io::Error::other("another checksum"))
        }
    }
}
