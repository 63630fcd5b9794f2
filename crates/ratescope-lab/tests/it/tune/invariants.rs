//! Promises for any bytes as a summary: for the tests and for the fuzzer.

use ratescope::{Span, Time};
use ratescope_lab::tune::{Curve, Measure, Room, Summary};

/// Panics unless what was read is written as something that reads as the same, keeps to its room and
/// can be measured.
pub(crate) fn hold(data: &[u8]) {
    let room = Room { clients: 100, bytes: 1 << 16 };
    let mut summary = match Summary::read(data, room) {
        Ok(summary) => summary,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(summary.clients.len() <= room.clients);
    let written = bytes(&summary);
    let again = Summary::read(&written, room).expect("what was written is read");
    assert_eq!(bytes(&again), written);

    Curve::of(&summary.clients, Measure::Exim(Span::from_mins(1)), Some(Time::ZERO));
    summary.add(&again).expect("the key is the same");
    assert!(summary.clients.len() <= room.clients);
}

fn bytes(summary: &Summary) -> Vec<u8> {
    let mut bytes = Vec::new();
    summary.write(&mut bytes).expect("memory takes everything");
    bytes
}
