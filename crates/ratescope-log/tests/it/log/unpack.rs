//! Packed logs, as the tools write them, whole and damaged.

use ratescope_log::{Log, Options, packer, unpack};
use std::io::{self, Read};

/// Three lines, packed by gzip 1.12, zstd 1.5, bzip2 1.0 and xz 5.4.
const GZIP: &[u8] = include_bytes!("packed/time.csv.gz");
const ZSTD: &[u8] = include_bytes!("packed/time.csv.zst");
const BZIP2: &[u8] = include_bytes!("packed/time.csv.bz2");
const XZ: &[u8] = include_bytes!("packed/time.csv.xz");
const PACKED: [(&str, &[u8]); 4] = [("gzip", GZIP), ("zstd", ZSTD), ("bzip2", BZIP2), ("xz", XZ)];
const TEXT: &str = "time,key\n0,a\n1,b\n";

fn text(packed: &[u8]) -> Result<String, String> {
    let mut text = String::new();
    let result = unpack(packed).and_then(|mut input| input.read_to_string(&mut text));
    result.map(|_| text).map_err(|error| error.to_string())
}

#[test]
fn packed_logs_are_read() {
    for (name, packed) in PACKED.into_iter().chain([("", TEXT.as_bytes())]) {
        assert_eq!(packer(packed).unwrap_or(""), name);
        assert_eq!(text(packed).unwrap(), TEXT, "{name}");
        let mut log = Log::open(unpack(packed).unwrap(), &Options::default()).unwrap();
        let mut events = 0;
        while log.read(&mut |_| events += 1).unwrap() {}
        assert_eq!(events, 2);
    }
    // Several in a row, as `cat` joins them.
    for (name, packed) in PACKED {
        assert_eq!(text(&packed.repeat(2)).unwrap(), TEXT.repeat(2), "{name}");
    }
    // A last block filled with zeros, as tapes leave it.
    for zeros in [1, 511, 200_000] {
        assert_eq!(text(&[GZIP, &vec![0; zeros]].concat()).unwrap(), TEXT, "{zeros}");
    }
    let followed = text(&[GZIP, b"\0\0x"].concat());
    assert_eq!(followed, Err("the gzip data is cut off".to_owned()));
    // Frames of zstd, with one to be skipped between them.
    let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"12345"].concat();
    let frames = [ZSTD, &skippable, ZSTD].concat();
    assert_eq!(text(&frames).unwrap(), TEXT.repeat(2));
    for short in ["", "\u{1f}", "t", "tim", "time"] {
        assert_eq!(text(short.as_bytes()).unwrap(), short);
    }
}

#[test]
fn broken_ones_are_told() {
    for (name, packed) in PACKED {
        let magic = (1..packed.len()).find(|end| packer(&packed[..*end]).is_some()).unwrap();
        for length in magic..packed.len() {
            let error = text(&packed[..length]).unwrap_err();
            assert_eq!(error, format!("the {name} data is cut off"), "{length}");
        }
        let says = ["damaged", "cut off", "of a kind that is not read here"];
        let says = says.map(|what| format!("the {name} data is {what}"));
        for place in magic..packed.len() {
            let mut damaged = packed.to_vec();
            damaged[place] ^= 0x55;
            // Damage that is not noticed, as in the name of the file, must not change the text.
            match text(&damaged) {
                Ok(text) => assert_eq!(text, TEXT, "{name} {place}"),
                Err(error) => assert!(says.contains(&error), "{name} {place}: {error}"),
            }
        }
    }
    // All lines before the damage are read, and the error has the number of the last one.
    let stored = [&GZIP[..GZIP.len() - 8], &[0; 8]].concat();
    let mut log = Log::open(unpack(&stored[..]).unwrap(), &Options::default()).unwrap();
    let mut events = 0;
    let error = loop {
        match log.read(&mut |_| events += 1) {
            Ok(true) => {}
            Ok(false) => panic!("no error"),
            Err(error) => break error.to_string(),
        }
    };
    assert_eq!(events, 2);
    assert_eq!(error, "after line 3: the gzip data is damaged");
    assert!(!log.read(&mut |_| {}).unwrap(), "nothing comes after it");
}

#[test]
fn an_input_that_fails_says_why_itself() {
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
            match self.0.read(text)? {
                0 => Err(io::Error::other("the disk is gone")),
                n => Ok(n),
            }
        }
    }
    for (name, packed) in PACKED {
        let mut input = unpack(Failing(&packed[..packed.len() - 1])).unwrap();
        let error = input.read_to_string(&mut String::new()).unwrap_err();
        assert_eq!(error.to_string(), "the disk is gone", "{name}");
    }
}

/// A small file that needs much memory: its dictionary has 1.5 GiB, as with `xz -9e --lzma2=dict=1536MiB`.
#[test]
fn a_dictionary_that_does_not_fit_is_refused() {
    const HUGE: &[u8] = include_bytes!("packed/huge.csv.xz");
    assert_eq!(text(HUGE).unwrap_err(), "the xz data needs more than 100 MiB to be unpacked");
}
