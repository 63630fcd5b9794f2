//! A lane decides as its limiter alone, and keeps its states as long as it is the same.

use super::*;
use ratescope::limit::FORMS;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Event, Limiter, MemoryStore, Retry, Span};

/// Verdicts of a limiter that is given events of one sender.
fn alone(limiter: &str, events: impl Iterator<Item = Sent>) -> (u64, u64) {
    let limiter: AnyLimiter = limiter.parse().unwrap();
    let mut state = limiter.initial();
    events.fold((0, 0), |(allowed, refused), (at, cost, _)| {
        if limiter.check(&mut state, at, cost).is_allowed() {
            (allowed + 1, refused)
        } else {
            (allowed, refused + 1)
        }
    })
}

const SCRIPT: &str = "12 at 3s, 2/1s bursts from 5s to 40s cost 2, 1/700ms from 10s user bob";

fn events() -> Vec<Sent> {
    merged(&[
        (&[at(3.0); 12], 1.0, 0),
        (&stream(Pattern::Bursts, "2/1s", 3, 5.0, 40.0), 2.0, 0),
        (&stream(Pattern::Steady, "1/700ms", 4, 10.0, 60.0), 1.0, 1),
        (&stream(Pattern::Poisson, "1.3/1s", 1, 0.0, 60.0), 0.5, 0),
    ])
}

fn scripted(lanes: &str) -> Comparison {
    run(&[("script", SCRIPT), ("cost", "0.5"), ("lanes", lanes)], 60.0)
}

#[test]
fn a_lane_decides_as_the_limiter_alone() {
    // Half of them at once, as a page has no room for all.
    for forms in FORMS.chunks(FORMS.len().div_ceil(2)) {
        let texts: Vec<&str> = forms.iter().map(|form| form.example).collect();
        let comparison = scripted(&texts.join(";"));
        assert_eq!(comparison.lanes().len(), forms.len());
        for (lane, text) in comparison.lanes().iter().zip(texts) {
            assert_eq!(counts(lane), alone(text, events().into_iter()), "{text}");
            assert_eq!(
                lane.policy().to_string(),
                format!("{} per ip", text.parse::<AnyLimiter>().unwrap())
            );
        }
    }
}

#[test]
fn several_limits_decide_as_all_of_them() {
    let text = "gcra 10/10s & sliding-log 30/1m & exim 8/10s strict";
    let (comparison, store) =
        (scripted(text), MemoryStore::new(text.parse::<ratescope::Policy>().unwrap(), 1));
    let passes = |(time, cost, _)| store.check(&Event { time, cost, fields: &() }).is_allowed();
    let (all, allowed) = (events().len(), events().into_iter().filter(|e| passes(*e)).count());
    assert_eq!(counts(&comparison.lanes()[0]), (allowed as u64, (all - allowed) as u64));
    assert_eq!(comparison.lanes()[0].unit(), "of the tightest");
}

#[test]
fn per_user_is_a_limit_for_each() {
    let comparison = scripted("gcra;gcra per user;gcra per ip");
    let [together, each, address] = comparison.lanes() else { panic!("three lanes") };
    let of = |user| alone("gcra 10/10s", events().into_iter().filter(move |e| e.2 == user));
    let (first, bob) = (of(0), of(1));
    assert!(first.1 > 0 && bob.1 > 0, "both are refused at times");
    assert_eq!(counts(each), (first.0 + bob.0, first.1 + bob.1));
    assert_eq!(counts(together), alone("gcra 10/10s", events().into_iter()));
    assert_eq!(counts(address), counts(together));
}

/// Both at once: an event that one limit refuses, the other does not count.
#[test]
fn per_user_and_per_address_together() {
    let comparison = scripted("gcra 6/10s per user & gcra 9/10s per ip");
    let [user, address] = ["gcra 6/10s", "gcra 9/10s"].map(|t| t.parse::<AnyLimiter>().unwrap());
    let mut users = [user.initial(), user.initial()];
    let mut all = address.initial();
    let mut allowed = 0;
    for (at, cost, who) in events() {
        if user.peek(&users[who], at, cost).is_allowed()
            && address.peek(&all, at, cost).is_allowed()
        {
            user.record(&mut users[who], at, cost, true);
            address.record(&mut all, at, cost, true);
            allowed += 1;
        }
    }
    let lane = &comparison.lanes()[0];
    assert_eq!(counts(lane), (allowed, events().len() as u64 - allowed));
    let levels = [(&user, &users[0]), (&user, &users[1]), (&address, &all)];
    let levels = levels.map(|(l, s)| l.peek(s, comparison.now(), 0.0)).map(|a| (a.level, a.limit));
    let tightest = levels.into_iter().max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    assert_eq!(Some(lane.level(comparison.now())), tightest);
}

/// Carlson's counting bug: events that the limit per second refuses use up those per minute and per hour.
#[test]
fn ten_of_72_000_attempts_pass() {
    let attempts =
        ["10/1s", "120/1m", "240/1h"].map(|rate| format!("fixed-window {rate} attempts"));
    let lanes = format!("{};10/1s & 120/1m & 240/1h", attempts.join(" & "));
    let run =
        run(&[("auto", "off"), ("lanes", &lanes), ("script", "1 at 0s,120/1s to 10m")], 600.0);
    assert_eq!(run.sent(), 72_000);
    let allowed: Vec<u64> = run.lanes().iter().map(|lane| counts(lane).0).collect();
    assert_eq!(allowed, [10, 240]);
}

#[test]
fn another_limit_keeps_the_lanes_that_it_does_not_touch() {
    let mut comparison =
        run(&[("lanes", "gcra 5/10s;exim strict;adaptive x2 decay 2s floor 3")], 30.0);
    let before: Vec<_> = comparison.lanes().iter().map(counts).collect();
    comparison.set("limit", "20/10s").unwrap();
    let now: Vec<_> = comparison.lanes().iter().map(counts).collect();
    let fresh = run(&[("lanes", "exim 20/10s strict")], 30.0);
    assert_eq!(now, [before[0], counts(&fresh.lanes()[0]), before[2]]);
    assert_eq!(comparison.lanes()[1].policy().to_string(), "exim 20/10s strict per ip");
    comparison.advance(at(40.0), usize::MAX);
    let untouched = run(&[("lanes", "gcra 5/10s;exim strict;adaptive x2 decay 2s floor 3")], 40.0);
    for i in [0, 2] {
        assert_eq!(counts(&comparison.lanes()[i]), counts(&untouched.lanes()[i]));
        let now = comparison.now();
        assert_eq!(comparison.lanes()[i].level(now), untouched.lanes()[i].level(now));
    }
}

/// A run is a function of its commands, so it can be done again with other lanes.
#[test]
fn what_is_compared_has_seen_all_of_the_run() {
    let done = "auto-rate=3&script=20 at 4s user ann&do=2:events*5,6:cost=2,9:auto=off";
    let with = |first: &str, seconds: f64| {
        let mut comparison =
            Comparison::open(&format!("lanes={first}&{done}").parse().unwrap()).unwrap();
        comparison.advance(at(seconds), usize::MAX);
        comparison
    };
    let last = "exim 8/10s strict per user;sliding-log;gcra";
    let fresh = |seconds| -> Vec<_> { with(last, seconds).lanes().iter().map(counts).collect() };
    // Between two commands, at the instant of one, and when all is done.
    for seconds in [5.0, 6.0, 12.0] {
        let mut comparison = with("gcra", seconds);
        comparison.set_lane(1, "fixed-window").unwrap();
        comparison.set("lanes", last).unwrap();
        let all =
            |comparison: &Comparison| -> Vec<_> { comparison.lanes().iter().map(counts).collect() };
        assert_eq!((comparison.now(), all(&comparison)), (at(seconds), fresh(seconds)));
        // The later events come as in a fresh run, and the link has all of them.
        comparison.advance(at(20.0), usize::MAX);
        assert_eq!(all(&comparison), fresh(20.0));
        let mut again = Comparison::open(&comparison.link().unwrap()).unwrap();
        again.advance(at(20.0), usize::MAX);
        assert_eq!(all(&again), fresh(20.0));
    }
}

#[test]
fn after_too_much_to_do_again_a_lane_begins_anew() {
    let mut comparison = run(&[("lanes", "gcra"), ("auto-rate", "10000")], 60.0);
    let before = counts(&comparison.lanes()[0]);
    comparison.set_lane(1, "sliding-log").unwrap();
    assert_eq!((counts(&comparison.lanes()[0]), counts(&comparison.lanes()[1])), (before, (0, 0)));
    // It was refused nothing because it was not there: so the link tells.
    assert_eq!(comparison.link().unwrap().commands.len(), 1);
}

#[test]
fn lanes_are_added_changed_moved_and_removed() {
    let mut comparison = run(&[("lanes", "gcra;exim strict;fixed-window")], 30.0);
    let [gcra, exim, fixed] = [0, 1, 2].map(|i| counts(&comparison.lanes()[i]));
    let texts = |r: &Comparison| -> Vec<String> {
        r.lanes().iter().map(|l| l.template().to_string()).collect()
    };
    let all = |r: &Comparison| -> Vec<_> { r.lanes().iter().map(counts).collect() };
    comparison.set("lanes", "exim strict;fixed-window;gcra").unwrap();
    assert_eq!(all(&comparison), [exim, fixed, gcra]);
    comparison.set("lanes", "gcra;exim strict;fixed-window").unwrap();
    assert_eq!(all(&comparison), [gcra, exim, fixed]);
    comparison.set_lane(1, " exim   leaky ").unwrap();
    assert_eq!(texts(&comparison), ["gcra", "exim leaky", "fixed-window"]);
    // The new lane has seen the same events as the others.
    let leaky = counts(&run(&[("lanes", "exim leaky")], 30.0).lanes()[0]);
    assert_eq!(all(&comparison), [gcra, leaky, fixed]);
    comparison.set_lane(3, "gcra").unwrap();
    assert_eq!(all(&comparison), [gcra, leaky, fixed, gcra]);
    comparison.set("lanes", "gcra;fixed-window;gcra").unwrap();
    assert_eq!(all(&comparison), [gcra, fixed, gcra]);
    assert_eq!(comparison.set_lane(0, "gcra 1/x").unwrap_err().at(), 7..8);
    let wrong = comparison.set_lane(9, "token-buket").unwrap_err().to_string();
    let help = "\"token-buket\": not a limiter; did you mean token-bucket?";
    assert!(wrong.starts_with(help), "{wrong}");
    (3..12).for_each(|i| comparison.set_lane(i, "gcra").unwrap());
    let wrong = comparison.set_lane(12, "gcra").unwrap_err();
    assert_eq!(wrong.to_string(), "\"gcra\": there are 12 lanes already");
    assert!(comparison.set("lanes", "").is_err());
    assert_eq!(comparison.lanes().len(), 12);
}

#[test]
fn a_user_keeps_its_state_when_the_script_changes() {
    let lanes = ("lanes", "gcra per user");
    let mut comparison = run(&[lanes, ("auto", "off"), ("script", "10 at 1s user b")], 2.0);
    assert_eq!(counts(&comparison.lanes()[0]), (10, 0));
    // b was the second user and is the third now; a is new and first user's clicks go on.
    comparison.set("script", "10 at 2s user a, 10 at 2s user b").unwrap();
    comparison.advance(at(2.5), usize::MAX);
    assert_eq!(counts(&comparison.lanes()[0]), (21, 9));
}

#[test]
fn a_change_of_cost_does_not_disturb_the_traffic() {
    let mut comparison = comparison(&[("lanes", "gcra")]);
    comparison.advance(at(10.0), usize::MAX);
    comparison.set("cost", "0").unwrap();
    comparison.advance(at(60.0), usize::MAX);
    assert_eq!(comparison.sent(), run(&[("lanes", "gcra")], 60.0).sent());
}

#[test]
fn what_a_lane_says_of_itself() {
    let lanes = "exim;earrrl;token-bucket;gcra;leaky-bucket;fixed-window;sliding-log;\
        adaptive x3 decay 1s increase 1m floor 2";
    let mut comparison = comparison(&[("lanes", lanes), ("auto", "off")]);
    (0..12).for_each(|_| comparison.click());
    let units: Vec<_> = comparison.lanes().iter().map(Lane::unit).collect();
    let told = "rate, estimate, tokens used, tokens used, queue, in window, in window, rate";
    assert_eq!(units.join(", "), told);
    let now = comparison.now();
    let [_, _, bucket, .., log, adaptive] = comparison.lanes() else { panic!("eight lanes") };
    assert_eq!(bucket.level(now), (10.0, 10.0));
    assert_eq!(bucket.retry_after(now), Retry::After(Span::from_secs(1)));
    assert_eq!(log.retry_after(now), Retry::After(Span::from_secs(10)));
    // A period is open at its beginning, so it is a microsecond short of the next token.
    assert_eq!((bucket.max_admitted(1.0), log.max_admitted(1.0)), (19.999999, 10.0));
    assert_eq!(adaptive.max_admitted(1.0), f64::INFINITY);
    // Asked about the settings' cost.
    comparison.set("cost", "11").unwrap();
    assert_eq!(comparison.lanes()[2].retry_after(now), Retry::Never);
}
