//! The requests of a log, and of the sample that is made up of one.

use super::events::Event;
use ratescope::{BadNumber, Span};
use ratescope_lab::traffic::sample::Sample;
use ratescope_log::{Log, Options};
use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::net::IpAddr;

/// The log that `ratescope sample --lines LINES --over OVER` writes. The passwords that are tried at night
/// are unwanted.
pub(super) fn sample(lines: u64, over: Span) -> Result<Vec<Event<IpAddr>>, BadNumber> {
    let event = |entry: ratescope_lab::traffic::sample::Entry| Event {
        at: entry.time,
        from: entry.ip,
        unwanted: entry.method == "POST",
    };
    Ok(Sample::new(1, lines, over)?.map(event).collect())
}

/// The events of a log in order of time, each by the number of its address.
pub(super) fn log(path: &str) -> Result<Vec<Event<usize>>, Box<dyn Error>> {
    let mut log = Log::open(File::open(path)?, &Options::default())?;
    let (mut events, mut numbers) = (Vec::new(), HashMap::new());
    while log.read(&mut |record| {
        let ip = record.event().field("ip").to_owned();
        let next = numbers.len();
        let from = *numbers.entry(ip).or_insert(next);
        for _ in 0..record.times() {
            events.push(Event { at: record.time(), from, unwanted: false });
        }
    })? {}
    events.sort_by_key(|event| event.at);
    Ok(events)
}
