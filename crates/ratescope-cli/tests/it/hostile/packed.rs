//! Packed logs.

use crate::hostile::growth::{Parser, are_linear};
use flate2::{Compression, write::GzEncoder};
use ratescope_log::unpack;
use std::io::{Write, copy, sink};

/// Unpacks, and keeps nothing.
fn unpacked(packed: &[u8]) {
    copy(&mut unpack(packed).unwrap(), &mut sink()).unwrap();
}

/// Small packed files in a row.
fn files(file: &[u8], length: usize) -> Vec<u8> {
    file.repeat(length / file.len())
}

/// A thousand times as much text.
fn dense(length: usize) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&[b'\n'; 1 << 20]).unwrap();
    files(&packer.finish().unwrap(), length)
}

/// Frames of zstd without any text, of which the first is to be read and the others to be skipped.
fn skipped(length: usize) -> Vec<u8> {
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 0];
    [ZSTD, &*files(&skipped, length)].concat()
}

const GZIP: &[u8] = include_bytes!("../../../../ratescope-log/tests/it/log/packed/time.csv.gz");
const ZSTD: &[u8] = include_bytes!("../../../../ratescope-log/tests/it/log/packed/time.csv.zst");
const BZIP2: &[u8] = include_bytes!("../../../../ratescope-log/tests/it/log/packed/time.csv.bz2");
const XZ: &[u8] = include_bytes!("../../../../ratescope-log/tests/it/log/packed/time.csv.xz");

const PARSERS: &[Parser] = &[
    Parser::of("gzip: files", |n| files(GZIP, n), unpacked, 4),
    Parser::of("gzip: much text", dense, unpacked, 4),
    Parser::of("zstd: files", |n| files(ZSTD, n), unpacked, 4),
    Parser::of("zstd: skipped frames", skipped, unpacked, 4),
    Parser::of("bzip2: files", |n| files(BZIP2, n), unpacked, 4),
    Parser::of("xz: files", |n| files(XZ, n), unpacked, 4),
];

#[test]
fn packed_logs_are_read_in_proportion_to_their_length() {
    are_linear(PARSERS);
}
