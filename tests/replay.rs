//! The same events through many limiters: a run is decided by its commands and their times alone.
#![cfg(not(target_arch = "wasm32"))]

use ratescope::replay::{Link, Replay, Settings};
use ratescope::{Span, Time};

fn at(seconds: f64) -> Time {
    Time::from_secs(seconds).unwrap()
}

#[test]
fn eight_lanes_begin_and_see_every_event() {
    let mut replay = Replay::new(Settings::default()).unwrap();
    replay.advance(at(300.0), usize::MAX);
    assert_eq!(replay.now(), at(300.0));
    assert_eq!(replay.lanes().len(), 8);
    for lane in replay.lanes() {
        assert_eq!(lane.allowed() + lane.refused(), replay.sent(), "{}", lane.rule());
        let columns = lane.history().columns(Time::ZERO, replay.now(), 0.0);
        let events: u64 = columns.iter().map(|c| u64::from(c.allowed + c.refused)).sum();
        assert_eq!(events, replay.sent());
        eprintln!("{} {} {} {:?} {:?}", lane.limiter_text(), lane.allowed(), lane.refused(), lane.level(replay.now()), lane.again(replay.now()));
    }
    eprintln!("{}", replay.link());
    assert_eq!(replay.link().to_string().parse::<Link>().unwrap(), replay.link());
    let _ = Span::ZERO;
}
