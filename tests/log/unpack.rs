//! Packed logs, as the tools pack them, whole and broken.

use ratescope::log::{Log, Options, unpack};
use std::io::Read;

/// Three lines, packed by gzip 1.12 and zstd 1.5, the second also as two frames with a skippable one
/// between them.
const GZIP: &[u8] = include_bytes!("packed/time.csv.gz");
const ZSTD: &[u8] = include_bytes!("packed/time.csv.zst");
const TEXT: &str = "time,key\n0,a\n1,b\n";

fn text(packed: &[u8]) -> Result<String, String> {
    let mut text = String::new();
    let result = unpack(packed).and_then(|mut input| input.read_to_string(&mut text));
    result.map(|_| text).map_err(|error| error.to_string())
}

#[test]
fn packed_logs_are_read() {
    for packed in [GZIP, ZSTD, TEXT.as_bytes()] {
        assert_eq!(text(packed).unwrap(), TEXT);
        let mut log = Log::open(unpack(packed).unwrap(), &Options::default()).unwrap();
        let mut events = 0;
        while log.read(&mut |_| events += 1).unwrap() {}
        assert_eq!((events, log.bytes()), (2, TEXT.len() as u64));
    }
    // One after the other, as `cat` puts them together.
    assert_eq!(text(&[GZIP, GZIP].concat()).unwrap(), TEXT.repeat(2));
    let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"12345"].concat();
    let frames = [ZSTD, &skippable, ZSTD].concat();
    assert_eq!(text(&frames).unwrap(), TEXT.repeat(2));
    for short in ["", "\u{1f}", "t", "tim", "time"] {
        assert_eq!(text(short.as_bytes()).unwrap(), short);
    }
}

#[test]
fn broken_ones_are_told() {
    for length in 2..GZIP.len() {
        assert_eq!(text(&GZIP[..length]).unwrap_err(), "the gzip data is cut off", "{length}");
    }
    for length in 4..ZSTD.len() {
        let error = text(&ZSTD[..length]).unwrap_err();
        assert!(error.starts_with("the zstd data is cut off or damaged ("), "{length}: {error}");
    }
    for (packed, says) in [(GZIP, "the gzip data is "), (ZSTD, "the zstd data is ")] {
        for place in 4..packed.len() {
            let mut damaged = packed.to_vec();
            damaged[place] ^= 0x55;
            // What is not noticed, as in the name of the file, changes nothing.
            match text(&damaged) {
                Ok(text) => assert_eq!(text, TEXT, "{place}"),
                Err(error) => assert!(error.starts_with(says), "{place}: {error}"),
            }
        }
    }
    // What came before the end is read, and then the error comes with the number of lines.
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
    assert!(error.starts_with("after line 3: the gzip data is damaged ("), "{error}");
    assert!(!log.read(&mut |_| {}).unwrap(), "nothing comes after it");
}
