//! Packed inputs, whole and broken, come to an end.
#![no_main]

use std::io::Read;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(input) = ratescope_log::unpack(data) {
        // A small input may unpack to very much.
        let _ = input.take(1 << 20).read_to_end(&mut Vec::new());
    }
});
