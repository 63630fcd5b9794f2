//! The decisions of the service, by a clock that stands still.

use super::requests::{RULES, ask, back, counted_at, descriptor, request, service};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ratescope::clock::{Clock, FakeClock};
use ratescope::rules::Fault;
use ratescope::{Span, Time};
use ratescope_service::{
    Code, DescriptorStatus, NoAnswer, RateLimitDescriptor, RateLimitOverride, RateLimitRequest,
    RateLimitResponse, Service, Unit,
};

fn code(service: &Service<FakeClock>, request: &RateLimitRequest) -> Code {
    ask(service, request).unwrap().overall_code()
}

fn header<'a>(response: &'a RateLimitResponse, name: &str) -> Option<&'a str> {
    let header = response.response_headers_to_add.iter().find(|header| header.key == name);
    header.map(|header| header.value.as_str())
}

#[test]
fn a_limit_and_all_that_is_said_of_it() {
    let (service, clock) = service(RULES);
    let ann = request(vec![descriptor(&[("user", "ann")])]);
    let first = ask(&service, &ann).unwrap();
    assert_eq!(first.overall_code(), Code::Ok);
    let [status] = first.statuses.as_slice() else { panic!("{first:?}") };
    let limit = status.current_limit.as_ref().unwrap();
    assert_eq!((limit.name.as_str(), limit.requests_per_unit), ("web:user", 2));
    assert_eq!((limit.unit(), limit.unit_multiplier), (Unit::Minute, None));
    assert_eq!(status.limit_remaining, 1);
    assert_eq!(status.duration_until_reset.unwrap().seconds, 30);
    assert_eq!(header(&first, "x-ratelimit-remaining"), Some("1"));
    assert_eq!(header(&first, "ratelimit"), Some("\"web:user\";r=1;t=30"));
    assert_eq!(header(&first, "retry-after"), None);
    assert_eq!(counted_at(&first), "1000000000000000");

    assert_eq!(code(&service, &ann), Code::Ok);
    let refused = ask(&service, &ann).unwrap();
    assert_eq!(refused.overall_code(), Code::OverLimit);
    assert_eq!(refused.statuses[0].limit_remaining, 0);
    assert_eq!(refused.statuses[0].duration_until_reset.unwrap().seconds, 30);
    assert_eq!(header(&refused, "retry-after"), Some("30"));
    assert!(format!("{:?}", refused.dynamic_metadata).contains("web:user"), "{refused:?}");
    // Another user is not affected, and refused calls were not counted.
    assert_eq!(code(&service, &request(vec![descriptor(&[("user", "bob")])])), Code::Ok);
    clock.advance(Span::from_secs(30));
    assert_eq!([code(&service, &ann), code(&service, &ann)], [Code::Ok, Code::OverLimit]);
}

/// Descriptors match a rule as in envoyproxy/ratelimit: with all keys of the rule, in its order, and no
/// others.
#[test]
fn exactly_the_keys_of_a_rule() {
    let (service, _) = service(RULES);
    let ip = ("ip", "192.0.2.7");
    for not_limited in [
        vec![ip],
        vec![("path", "/login")],
        vec![("path", "/other"), ip],
        vec![ip, ("path", "/login")],
        vec![("path", "/login"), ip, ("user", "ann")],
        vec![("user", "ann"), ip],
    ] {
        let answer = ask(&service, &request(vec![descriptor(&not_limited)])).unwrap();
        assert_eq!(answer.statuses[0].current_limit, None, "{not_limited:?}");
        assert_eq!(answer.overall_code(), Code::Ok);
    }
    let login = request(vec![descriptor(&[("path", "/login"), ip])]);
    let codes = [(); 4].map(|()| code(&service, &login));
    assert_eq!(codes, [Code::Ok, Code::Ok, Code::Ok, Code::OverLimit]);
    let free = ask(&service, &request(vec![descriptor(&[("free", "x")])])).unwrap();
    assert_eq!(free.statuses[0].limit_remaining, u32::MAX);
}

#[test]
fn all_descriptors_pass_or_none_is_counted() {
    let (service, _) = service(RULES);
    let [ann, login] =
        [descriptor(&[("user", "ann")]), descriptor(&[("path", "/login"), ("ip", "a")])];
    let both = request(vec![ann.clone(), login.clone()]);
    assert_eq!([code(&service, &both), code(&service, &both)], [Code::Ok, Code::Ok]);
    let refused = ask(&service, &both).unwrap();
    let codes: Vec<Code> = refused.statuses.iter().map(|status| status.code()).collect();
    assert_eq!(codes, [Code::OverLimit, Code::Ok]);
    assert_eq!(refused.statuses[1].limit_remaining, 1);
    // The refused request did not use up the third hit of three.
    let login = request(vec![login]);
    assert_eq!([code(&service, &login), code(&service, &login)], [Code::Ok, Code::OverLimit]);
    // A descriptor that is there twice counts twice.
    let twice = request(vec![descriptor(&[("user", "eve")]), descriptor(&[("user", "eve")])]);
    assert_eq!([code(&service, &twice), code(&service, &twice)], [Code::Ok, Code::OverLimit]);
}

/// Wherever the refused descriptors are in a request, no other descriptor is counted, and each of them is
/// counted once.
#[test]
fn the_order_of_descriptors_does_not_matter() {
    let rules = "domain: web\ndescriptors:\n- {key: a, limit: fixed-window 3/1h}\n\
                 - {key: b, limit: haproxy 1/1h}\n- {key: c, limit: haproxy 1/1h}\n";
    for order in ["abc", "acb", "bac", "bca", "cab", "cba"] {
        let (service, clock) = service(rules);
        let of = |key: char| descriptor(&[(&key.to_string(), "x")]);
        let whole = request(order.chars().map(of).collect());
        let said = |request| {
            let answer = ask(&service, request).unwrap();
            let status = |status: &DescriptorStatus| (status.code(), status.limit_remaining);
            answer.statuses.iter().map(status).collect::<Vec<_>>()
        };
        let expected = |a, b, c| {
            let of = |key| match key {
                'a' => a,
                'b' => b,
                _ => c,
            };
            order.chars().map(of).collect::<Vec<_>>()
        };
        let [ok, over] = [Code::Ok, Code::OverLimit];
        assert_eq!(said(&whole), expected((ok, 2), (ok, 0), (ok, 0)), "{order}");
        for _ in 0..2 {
            assert_eq!(said(&whole), expected((ok, 2), (over, 0), (over, 0)), "{order}");
        }
        // HAProxy counts refused events, too: after three requests each of the two keys has the count 3. A
        // third of it, the limit of 1, is left after 1 h 40 m.
        for (minutes, then) in [(99, over), (102, ok)] {
            clock.set(Time::from_micros(1_000_000_000_000_000 + minutes * 60_000_000));
            for key in ['b', 'c'] {
                let look = RateLimitDescriptor { hits_addend: Some(0), ..of(key) };
                assert_eq!(code(&service, &request(vec![look])), then, "{order} {key} {minutes}");
            }
        }
    }
}

#[test]
fn hits_of_the_request_and_of_a_descriptor() {
    let (service, _) = service(RULES);
    let of = |whole: u32, own: Option<u64>| {
        let hits_addend = own;
        let login = descriptor(&[("path", "/login"), ("ip", "a")]);
        let login = RateLimitDescriptor { hits_addend, ..login };
        RateLimitRequest { hits_addend: whole, ..request(vec![login]) }
    };
    let left = |request: &RateLimitRequest| {
        let answer = ask(&service, request).unwrap();
        (answer.overall_code(), answer.statuses[0].limit_remaining)
    };
    assert_eq!(left(&of(7, Some(0))), (Code::Ok, 3), "a look");
    assert_eq!(left(&of(0, None)), (Code::Ok, 2));
    assert_eq!(left(&of(3, None)), (Code::OverLimit, 2), "more than is left, and not counted");
    assert_eq!(left(&of(3, Some(2))), (Code::Ok, 0), "its own wins");
    assert_eq!(left(&of(0, Some(0))), (Code::OverLimit, 0), "a look");
    let too_many = ask(&service, &of(0, Some(u64::MAX))).unwrap_err();
    assert!(matches!(too_many, NoAnswer::Invalid(_)), "{too_many}");
}

#[test]
fn a_store_that_cannot_be_asked_is_told_with_the_cause() {
    let error = NoAnswer::Unavailable(Fault::unreachable("nobody answers"));
    assert_eq!(error.to_string(), "the store can't be reached");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "nobody answers");
}

#[test]
fn shadows_and_domains_without_rules_pass() {
    let (service, _) = service(RULES);
    let seen = request(vec![descriptor(&[("seen", "x")])]);
    assert_eq!([code(&service, &seen), code(&service, &seen)], [Code::Ok, Code::Ok]);
    let elsewhere = RateLimitRequest { domain: "elsewhere".into(), ..seen };
    let answer = ask(&service, &elsewhere).unwrap();
    assert_eq!((answer.overall_code(), answer.statuses.len()), (Code::Ok, 1));
}

#[test]
fn a_limit_that_the_request_brings() {
    let (service, clock) = service(RULES);
    let of = |user: &str, count: u32, multiplier: Option<u32>| {
        let limit = RateLimitOverride {
            requests_per_unit: count,
            unit: Unit::Second.into(),
            unit_multiplier: multiplier,
        };
        let own = RateLimitDescriptor { limit: Some(limit), ..descriptor(&[("user", user)]) };
        request(vec![own])
    };
    let codes = [(); 4].map(|()| code(&service, &of("ann", 3, None)));
    assert_eq!(codes, [Code::Ok, Code::Ok, Code::Ok, Code::OverLimit], "3, not the 2 of the rule");
    assert_eq!(code(&service, &of("bob", 3, None)), Code::Ok);
    let none = ask(&service, &of("eve", 0, None)).unwrap();
    assert_eq!(none.overall_code(), Code::OverLimit);
    clock.advance(Span::from_secs(1));
    assert_eq!(code(&service, &of("ann", 3, None)), Code::Ok);
    let longer = ask(&service, &of("ann", 1, Some(90))).unwrap();
    let limit = longer.statuses[0].current_limit.as_ref().unwrap();
    assert_eq!((limit.unit(), limit.unit_multiplier), (Unit::Second, Some(90)));
    // However many different limits requests bring, memory is bounded, and each limit decides.
    for count in 1..200 {
        assert_eq!(code(&service, &of("ann", count, Some(1000))), Code::Ok, "{count}");
    }
    let unit = RateLimitOverride { requests_per_unit: 1, unit: 99, unit_multiplier: None };
    let wrong = RateLimitDescriptor { limit: Some(unit), ..descriptor(&[("user", "ann")]) };
    assert!(matches!(ask(&service, &request(vec![wrong])), Err(NoAnswer::Invalid(_))));
}

/// Counted hits can be given back, but never more than were counted.
#[test]
fn hits_are_given_back() {
    let (service, clock) = service(RULES);
    let of = |entries: &[(&str, &str)], hits: u64, is_negative_hits: bool| {
        let now = clock.now().as_micros().to_string();
        let hits_addend = Some(hits);
        if is_negative_hits {
            back(entries, hits, &now)
        } else {
            RateLimitDescriptor { hits_addend, ..descriptor(entries) }
        }
    };
    let left = |descriptors: Vec<RateLimitDescriptor>| {
        let answer = ask(&service, &request(descriptors)).unwrap();
        let each = answer.statuses.iter().map(|status| status.limit_remaining).collect();
        (answer.overall_code(), each)
    };
    let (user, login) = ([("user", "ann")], [("path", "/login"), ("ip", "a")]);
    // A bucket and a window, both full.
    assert_eq!(left(vec![of(&user, 2, false), of(&login, 3, false)]), (Code::Ok, vec![0, 0]));
    assert_eq!(left(vec![of(&user, 1, true)]), (Code::Ok, vec![1]));
    assert_eq!(left(vec![of(&login, 2, true)]), (Code::Ok, vec![2]));
    // After giving back more than was counted, no more is left than for a new key, now and later.
    assert_eq!(left(vec![of(&user, 1000, true), of(&login, 7, true)]), (Code::Ok, vec![2, 3]));
    clock.advance(Span::from_hours(1));
    assert_eq!(left(vec![of(&user, 9, true), of(&login, 9, true)]), (Code::Ok, vec![2, 3]));
    assert_eq!(left(vec![of(&user, 3, false)]), (Code::OverLimit, vec![2]));
    // Giving back 0 hits only looks, too; and a key that is not known has nothing to give back.
    assert_eq!(left(vec![of(&user, 0, true)]), (Code::Ok, vec![2]));
    assert_eq!(left(vec![of(&[("user", "new")], 1, true)]), (Code::Ok, vec![2]));
    // If another descriptor is refused, nothing is given back.
    assert_eq!(left(vec![of(&user, 2, false)]), (Code::Ok, vec![0]));
    let both = vec![of(&user, 1, true), of(&login, 4, false)];
    assert_eq!(left(both), (Code::OverLimit, vec![0, 3]));
    assert_eq!(left(vec![of(&user, 1, true), of(&login, 3, false)]), (Code::Ok, vec![1, 0]));
    // Hits of a limit that the request brings can be given back, too.
    let limit =
        RateLimitOverride { requests_per_unit: 3, unit: Unit::Day.into(), unit_multiplier: None };
    let own = |hits, back| RateLimitDescriptor { limit: Some(limit), ..of(&user, hits, back) };
    assert_eq!(left(vec![own(3, false)]), (Code::Ok, vec![0]));
    assert_eq!(left(vec![own(2, true)]), (Code::Ok, vec![2]));
}

/// A client that fills a limit again and again, holds all of it open and then ends it at once gets back no more than
/// what the limit still counts.
#[test]
fn hits_that_are_held_open_are_no_credit() {
    for (limiter, most) in [
        ("token-bucket 20/2s", 20),
        ("gcra 20/2s", 20),
        ("fixed-window 20/2s", 20),
        ("sliding-window 20/2s precision 1s", 20),
        ("sliding-counter 20/2s", 20),
        ("sliding-log 20/2s", 20),
    ] {
        let (service, clock) =
            service(&format!("domain: web\ndescriptors:\n- {{key: user, limit: {limiter}}}\n"));
        let ann = request(vec![descriptor(&[("user", "ann")])]);
        let pass = || ask(&service, &ann).ok().filter(|answer| answer.overall_code() == Code::Ok);
        let mut open = Vec::new();
        for _ in 0..200 {
            while let Some(answer) = pass() {
                open.push(counted_at(&answer));
            }
            clock.advance(Span::from_micros(500_000));
        }
        assert!(open.len() > 500, "{limiter}: {}", open.len());
        let mut passed = 0;
        for at in open {
            let ended = request(vec![back(&[("user", "ann")], 1, &at)]);
            assert_eq!(code(&service, &ended), Code::Ok);
            while pass().is_some() {
                passed += 1;
            }
        }
        // Of those in the last period, all that are open are given back, and no more.
        assert!(passed <= most, "{limiter}: {passed}");
    }
}

/// The time is the answer's, and says exactly what a log counted then.
#[test]
fn hits_are_given_back_by_the_time_of_the_answer() {
    let (service, clock) = service(
        "domain: web\ndescriptors:\n- {key: user, limit: sliding-log 3/1h}\n- {key: ip, limit: gcra 60/1h}\n",
    );
    let user = || descriptor(&[("user", "ann")]);
    let first = ask(&service, &request(vec![user()])).unwrap();
    clock.advance(Span::from_mins(10));
    assert_eq!(code(&service, &request(vec![user()])), Code::Ok);
    let left = |descriptor: RateLimitDescriptor| {
        ask(&service, &request(vec![descriptor])).unwrap().statuses[0].limit_remaining
    };
    // Nothing was counted at a time that is made up.
    assert_eq!(left(back(&[("user", "ann")], 1, "1000000000000001")), 1);
    assert_eq!(left(back(&[("user", "ann")], 1, &counted_at(&first))), 2);
    // The part that a bucket has drained since is gone: ten in ten minutes.
    let ip = RateLimitDescriptor { hits_addend: Some(30), ..descriptor(&[("ip", "a")]) };
    let counted = counted_at(&ask(&service, &request(vec![ip])).unwrap());
    clock.advance(Span::from_mins(10));
    assert_eq!(left(back(&[("ip", "a")], 30, &counted)), 60);
    clock.advance(Span::from_mins(10));
    // Looks and refusals count nothing, and so tell no time.
    let look = RateLimitDescriptor { hits_addend: Some(0), ..user() };
    let much = RateLimitDescriptor { hits_addend: Some(9), ..user() };
    for descriptor in [look, much] {
        let answer = ask(&service, &request(vec![descriptor])).unwrap();
        assert!(!format!("{:?}", answer.dynamic_metadata).contains("counted_at"), "{answer:?}");
    }
}

#[test]
fn hits_are_not_given_back_without_their_time() {
    let (service, _) = service(RULES);
    assert_eq!(code(&service, &request(vec![descriptor(&[("user", "ann")]); 2])), Code::Ok);
    let bare = RateLimitDescriptor { is_negative_hits: true, ..descriptor(&[("user", "ann")]) };
    let wrong = ["", "now", "1.5", "-", "99999999999999999999"];
    let wrong = wrong.map(|at| back(&[("user", "ann")], 1, at)).into_iter();
    for descriptor in wrong.chain([bare, back(&[], 1, "1")]) {
        let answer = ask(&service, &request(vec![descriptor.clone()]));
        assert!(matches!(answer, Err(NoAnswer::Invalid(_))), "{descriptor:?}: {answer:?}");
    }
    // Far from all times, too, nothing is given back.
    for at in ["-9223372036854775808", "9223372036854775807", "0"] {
        assert_eq!(code(&service, &request(vec![back(&[("user", "ann")], 1, at)])), Code::Ok);
        assert_eq!(
            code(&service, &request(vec![descriptor(&[("user", "ann")])])),
            Code::OverLimit,
            "{at}"
        );
    }
    // The entry is a key like any other where hits are taken.
    let taken = descriptor(&[("user", "bob"), ("counted_at", "1")]);
    assert_eq!(ask(&service, &request(vec![taken])).unwrap().statuses[0].current_limit, None);
}

/// Limiters that measure a rate can't give hits back, since their states don't tell how much is left of these.
#[test]
fn limiters_that_cannot_give_back_refuse_it() {
    let text =
        "domain: web\ndescriptors:\n- {key: user, limit: gcra 5/1h}\n- {key: ip, limit: LIMIT}\n";
    let can = ["token-bucket 5/1h", "leaky-bucket 5/1h", "fixed-window 5/1h", "gcra 5/1h"];
    let windows = ["sliding-window 5/1h precision 1m", "sliding-counter 5/1h", "sliding-log 5/1h"];
    let not = ["exim 5/1h strict", "exim 5/1h leaky", "earrrl 5/1h", "haproxy 5/1h", "nginx 5/1m"];
    let each = can.iter().chain(&windows).map(|limit| (limit, true));
    for (limit, can) in each.chain(not.iter().map(|limit| (limit, false))) {
        let (service, clock) = service(&text.replace("LIMIT", limit));
        let user = || descriptor(&[("user", "ann")]);
        let ip = || descriptor(&[("ip", "a")]);
        let counted = counted_at(&ask(&service, &request(vec![user(), ip()])).unwrap());
        clock.advance(Span::from_secs(1));
        let answer = ask(&service, &request(vec![user(), back(&[("ip", "a")], 1, &counted)]));
        match answer {
            Ok(answer) => assert!(can && answer.overall_code() == Code::Ok, "{limit}"),
            Err(error) => assert!(!can && matches!(error, NoAnswer::Unsupported(_)), "{limit}"),
        }
        let left = ask(&service, &request(vec![user()])).unwrap().statuses[0].limit_remaining;
        assert_eq!(left, if can { 2 } else { 3 }, "{limit}");
        let last = ask(&service, &request(vec![ip()])).unwrap();
        // Of a queue, nothing more passes at once.
        let left = if limit.starts_with("leaky-bucket") { 0 } else { 4 };
        let is_as_given =
            (last.overall_code(), last.statuses[0].limit_remaining) == (Code::Ok, left);
        assert!(!can || is_as_given, "{limit}: {last:?}, though one hit of two was given back");
    }
}

#[test]
fn invalid_requests_are_refused() {
    let (service, _) = service(RULES);
    let ann = || descriptor(&[("user", "ann")]);
    for wrong in [
        request(vec![]),
        request(vec![descriptor(&[])]),
        request(vec![ann(); 65]),
        request(vec![descriptor(&[("user", "ann"); 65])]),
        RateLimitRequest { domain: String::new(), ..request(vec![ann()]) },
    ] {
        assert!(matches!(ask(&service, &wrong), Err(NoAnswer::Invalid(_))), "{wrong:?}");
    }
}

/// The rule for one descriptor can replace the rule for another, as in envoyproxy/ratelimit.
#[test]
fn a_descriptor_can_replace_another() {
    let (service, _) = service(
        "
domain: web
descriptors:
- {key: user, rate_limit: {name: all, unit: minute, requests_per_unit: 1}}
- key: plan
  value: gold
  rate_limit: {unit: minute, requests_per_unit: 3, replaces: [{name: all}]}
",
    );
    let gold = request(vec![descriptor(&[("user", "ann")]), descriptor(&[("plan", "gold")])]);
    let codes = [(); 4].map(|()| code(&service, &gold));
    assert_eq!(codes, [Code::Ok, Code::Ok, Code::Ok, Code::OverLimit]);
}

/// A limit at the top of the file counts each request once, and not each of its descriptors.
#[test]
fn a_limit_for_all_counts_a_request_once() {
    let (service, _) = service("domain: web\nlimit: gcra 2/1m per ip\n");
    let two = |ip: &str| request(vec![descriptor(&[("x", "1")]), descriptor(&[("ip", ip)])]);
    let codes = [(); 3].map(|()| code(&service, &two("a")));
    assert_eq!(codes, [Code::Ok, Code::Ok, Code::OverLimit]);
    assert_eq!(code(&service, &two("b")), Code::Ok);
}

/// Also if its first descriptor brings its own limit, only looks, or is for a rule that another one replaces.
#[test]
fn a_limit_for_all_is_asked_whatever_the_descriptors_are() {
    let rules = "domain: web\nlimit: gcra 2/1m\ndescriptors:\n- {key: user, name: user, limit: gcra 1/1m}\n\
                 - {key: plan, limit: 9/1m, replaces: [user]}\n";
    let limit =
        RateLimitOverride { requests_per_unit: 9, unit: Unit::Hour.into(), unit_multiplier: None };
    let brings = || RateLimitDescriptor { limit: Some(limit), ..descriptor(&[("x", "1")]) };
    let looks = || RateLimitDescriptor { hits_addend: Some(0), ..descriptor(&[("user", "ann")]) };
    let [user, plan] = [("user", "ann"), ("plan", "gold")].map(|own| move || descriptor(&[own]));
    let (ok, over) = (Code::Ok, Code::OverLimit);
    for descriptors in [
        vec![brings()],
        vec![brings(), brings()],
        vec![looks(), plan()],
        vec![plan(), looks()],
        vec![user(), plan()],
        vec![plan(), user()],
    ] {
        let (service, _) = service(rules);
        let request = request(descriptors);
        assert_eq!([(); 3].map(|()| code(&service, &request)), [ok, ok, over], "{request:?}");
        let last = ask(&service, &request).unwrap();
        assert!(last.statuses.iter().all(|status| status.code() == over), "{last:?}");
        assert_eq!(last.statuses.len(), request.descriptors.len());
        let name = |status: &DescriptorStatus| status.current_limit.clone().unwrap().name;
        assert!(last.statuses.iter().map(name).all(|name| name == "web"), "{last:?}");
    }
    // A look alone tells of it, and counts nothing.
    let (service, _) = service(rules);
    let two = request(vec![plan(), brings()]);
    let look = request(vec![looks(), looks()]);
    let codes = [&look, &two, &look, &two, &look].map(|request| code(&service, request));
    assert_eq!(codes, [ok, ok, ok, ok, over]);
}

/// It counts the cost of the dearest descriptor, and gives back as much.
#[test]
fn what_a_limit_for_all_counts() {
    let (service, _) = service("domain: web\nlimit: fixed-window 9/1h\ndescriptors: [{key: x}]\n");
    let of = |hits, is_negative_hits| {
        let entries = [("x", &*format!("{hits}"))];
        if is_negative_hits {
            back(&entries, hits, "1000000000000000")
        } else {
            RateLimitDescriptor { hits_addend: Some(hits), ..descriptor(&entries) }
        }
    };
    let left = |descriptors| {
        let answer = ask(&service, &request(descriptors)).unwrap();
        answer.statuses.iter().map(|status| status.limit_remaining).collect::<Vec<_>>()
    };
    assert_eq!(left(vec![of(2, false), of(4, false), of(0, false)]), [5, 5, 5]);
    assert_eq!(left(vec![of(3, true), of(1, false)]), [4, 4]);
    assert_eq!(left(vec![of(1, true), of(2, true)]), [6, 6]);
    assert_eq!(left(vec![of(5, false)]), [1]);
    assert_eq!(left(vec![of(1, true)]), [2]);
}

/// A rule of any file that [`rules_and_requests`] makes.
fn rule(at: usize, (limit, count, label, replaces): (bool, u32, bool, Option<usize>)) -> String {
    let mut text = String::new();
    if limit {
        text += &format!("rate_limit: {{unit: hour, requests_per_unit: {count}}}");
    } else {
        text += "limit: unlimited";
    }
    if label {
        text += &format!(", name: r{at}");
    }
    // Only earlier names, so that no two replace each other.
    if let Some(other) = replaces.filter(|other| *other < at) {
        text += &format!(", replaces: [r{other}]");
    }
    text
}

/// How a descriptor is drawn: its key and value, and its hits.
type Drawn = (usize, u8, u8, u64);

fn drawn((key, value, kind, hits): Drawn) -> RateLimitDescriptor {
    let limit =
        RateLimitOverride { requests_per_unit: 3, unit: Unit::Hour.into(), unit_multiplier: None };
    let entries = [(["a", "b", "c", "d"][key], ["x", "y"][usize::from(value % 2)])];
    match kind {
        1 => RateLimitDescriptor { limit: Some(limit), ..descriptor(&entries) },
        2 => RateLimitDescriptor { hits_addend: Some(hits), ..descriptor(&entries) },
        3 => back(&entries, hits, "1000000000000000"),
        _ => descriptor(&entries),
    }
}

proptest::proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whatever a file says of the top and of other keys, and whatever a request asks for: in any order of its
    /// descriptors it has one answer, and leaves the same states.
    #[test]
    fn the_order_of_descriptors_is_never_seen(
        top in option::of((any::<bool>(), 1..6u32, any::<bool>(), option::of(0..4usize))),
        each in vec((any::<bool>(), 1..4u32, any::<bool>(), option::of(0..4usize)), 3),
        requests in vec(vec((0..4usize, 0..2u8, 0..4u8, 0..4u64), 1..5), 1..8),
        turns in vec(0..24usize, 8),
    ) {
        // Names that are replaced are there.
        let each: Vec<_> = each.into_iter().map(|(limit, count, _, other)| (limit, count, true, other)).collect();
        let rules: Vec<String> = each.iter().enumerate().map(|(at, own)| rule(at, *own)).collect();
        let top = top.map(|own| rule(3, own).replace(", ", "\n").replace("hour\n", "hour, "));
        let text = format!(
            "domain: web\n{}\ndescriptors:\n- {{key: a, {}}}\n- {{key: b, {}}}\n- {{key: c, {}}}\n",
            top.unwrap_or_default(), rules[0], rules[1], rules[2],
        );
        let [(one, _), (other, _)] = [service(&text), service(&text)];
        for (request_of, turn) in requests.iter().zip(turns) {
            // A descriptor that is there twice is one key twice, in which the order may be seen.
            let mut places = request_of.clone();
            places.sort_unstable();
            places.dedup_by_key(|(key, value, ..)| (*key, *value));
            let descriptors: Vec<_> = places.into_iter().map(drawn).collect();
            let mut order: Vec<usize> = (0..descriptors.len()).collect();
            order.rotate_left(turn % descriptors.len());
            if turn > 11 {
                order.reverse();
            }
            let turned = order.iter().map(|at| descriptors[*at].clone()).collect();
            let first = ask(&one, &request(descriptors)).unwrap();
            let second = ask(&other, &request(turned)).unwrap();
            prop_assert_eq!(first.overall_code(), second.overall_code(), "{}", text);
            for (at, status) in order.iter().zip(&second.statuses) {
                prop_assert_eq!(&first.statuses[*at], status, "{}", text);
            }
        }
    }
}

/// A proxy can't wait, so an event that would be delayed is refused, and the answer says how long to wait.
#[test]
fn a_delay_is_a_refusal() {
    let (service, _) = service("domain: web\nlimit: leaky-bucket 1/1s queue 5 per all\n");
    let any = request(vec![descriptor(&[("x", "1")])]);
    assert_eq!(code(&service, &any), Code::Ok);
    let delayed = ask(&service, &any).unwrap();
    assert_eq!(delayed.overall_code(), Code::OverLimit);
    assert_eq!(header(&delayed, "retry-after"), Some("1"));
}

/// A proxy can't wait, so the room of a queue is not told as remaining.
#[test]
fn nothing_is_left_of_a_queue_that_would_have_to_wait() {
    for (limit, left) in [
        ("leaky-bucket 5/1h", [0, 0]),
        ("nginx 60/1m burst 5", [0, 0]),
        ("nginx 60/1m burst 5 delay 2", [2, 1]),
        ("gcra 5/1h", [4, 3]),
    ] {
        let rules = format!("domain: web\ndescriptors:\n- {{key: user, limit: {limit}}}\n");
        let (service, _) = service(&rules);
        let ann = request(vec![descriptor(&[("user", "ann")])]);
        for left in left {
            let answer = ask(&service, &ann).unwrap();
            assert_eq!(answer.statuses[0].limit_remaining, left, "{limit}");
            assert_eq!(
                header(&answer, "x-ratelimit-remaining"),
                Some(&*left.to_string()),
                "{limit}"
            );
        }
    }
}
