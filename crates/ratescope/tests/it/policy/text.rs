//! The one text form of limits, wherever they are written.

use crate::policy::doubling::{assert_linear, sizes};
use crate::policy::invariants::hold;
use crate::policy::table::rows;
use crate::policy::{limits, policy};
use crate::seeds;
use proptest::prelude::*;
use ratescope::policy::{Defaults, LIMITS, Limit};
use ratescope::{ParseError, Policy};

proptest! {
    #[test]
    fn what_is_written_reads_back((_, limits) in limits()) {
        let policy = Policy::new(limits).unwrap();
        let text = policy.to_string();
        let any = Defaults::default();
        prop_assert_eq!(&Policy::read(&text, &any).unwrap(), &policy);
        for limit in policy.limits() {
            prop_assert_eq!(&Limit::read(&limit.to_string(), &any).unwrap(), limit);
        }
    }

    #[test]
    fn nothing_typed_breaks_it(
        text in prop_oneof![
            "[a-z0-9/&+. \u{e9}-]{0,40}",
            prop::collection::vec(prop::sample::select(&[
                "gcra", "10/1s", "per", "as", "user", "ip+path", "all", "&", "+", "burst", "3", "é", "",
            ]), 0..12).prop_map(|words| words.join(" ")),
            prop::collection::vec(prop::sample::select(&[
                "gcra ", "10/1s", " per ", "user", "+", "+", "&", " ", "all", "\u{2003}",
            ]), 0..12).prop_map(|words| words.concat()),
        ],
    ) {
        hold(&text);
    }
}

/// The seeds of the fuzzer, and its finding: the search for the time to retry took seconds with periods of millions
/// of years.
#[test]
fn seeds_hold() {
    seeds::each("policies", 3, |data| hold(str::from_utf8(data).unwrap()));
    hold("adaptive x6000015366 decay 00000002384155858d floor 16  per ll");
}

/// Parts that may be left out, and the text that is written for them.
#[test]
fn words_left_out() {
    for [read, written] in rows("
        10/1s | fixed-window 10/1s per all
        exim 100/1h strict per user | exim 100/1h strict per user
        gcra 5/1s per ip+path | gcra 5/1s burst 5 per ip+path
        gcra 5/1s burst 9 per all | gcra 5/1s burst 9 per all
        10/1s & 120/1m & 240/1h precision 1m | \
            fixed-window 10/1s per all & fixed-window 120/1m per all & sliding-window 240/1h per all
        6/10s per user & 10/10s per ip | fixed-window 6/10s per user & fixed-window 10/10s per ip
        64K/1h&gcra 10/1s | fixed-window 64000/1h per all & gcra 10/1s burst 10 per all
        # A sign beside the `+` of a key.
        adaptive x3 decay 1m floor 5 by hour offset +1h30m per user+ip & 3/1s | \
            adaptive x3 decay 1m increase 1w floor 5 by hour offset +1h30m leaky per user+ip & fixed-window 3/1s per all
        # A field may be called nearly anything.
        1/1s per per | fixed-window 1/1s per per
        1/1s per user+gcra | fixed-window 1/1s per user+gcra
        gcra 1/1s per envoy | gcra 1/1s burst 1 per envoy
        GCRA 100 per minute PER user | gcra 100/1m burst 100 per user
        token bucket 100 per 10 s & 60/min per ip | token-bucket 100/10s burst 100 per all & fixed-window 60/1m per ip
        # Fields may be called as units are.
        gcra 10/1s per minute | gcra 10/1s burst 10 per minute
        gcra 10/1s burst 5 per second | gcra 10/1s burst 5 per second
        100 per minute per minute | fixed-window 100/1m per minute
        # A name comes last. A field may be called as its mark is.
        10/1s as daily | fixed-window 10/1s per all as daily
        gcra 5/1s per user AS a/b:1 & 3/1s per as as as | gcra 5/1s burst 5 per user as a/b:1 & fixed-window 3/1s per as as as
        1/1s per as | fixed-window 1/1s per as
        1/1s as täglich & 1/1s | fixed-window 1/1s per all as täglich & fixed-window 1/1s per all
        1/1s per per+burst & 2/1s | fixed-window 1/1s per per+burst & fixed-window 2/1s per all
        ") {
        for read in [read, written, &format!("  {} ", read.replace(' ', " \t"))] {
            assert_eq!(policy(read).to_string(), written, "{read:?}");
        }
    }
}

#[track_caller]
fn wrong<T: std::fmt::Debug>(read: Result<T, ParseError>, text: &str, word: &str, problem: &str) {
    let error = read.unwrap_err();
    assert_eq!(&text[error.at()], word, "{text}: {error}");
    assert!(error.problem().starts_with(problem), "{text}: {error}");
    assert!(error.problem().len() <= 100, "{text}: {error}");
}

/// The word that is wrong, and the error about it.
#[test]
fn mistakes_are_pointed_at() {
    for (text, word, problem) in [
        ("", "", "a limiter is missing; write a rate such as 10/1m"),
        ("10/1s & ", " ", "a limiter is missing"),
        ("& 10/1s", "", "a limiter is missing"),
        ("per user", "", "a limiter is missing"),
        ("10/1s & per user", " ", "a limiter is missing"),
        ("10/1s per ip & gcra 5/1x per user", "x", "not a unit"),
        (
            "10/1s per",
            "",
            "the key after per is missing; write a field, several as in per ip+path,",
        ),
        ("10/1s per & 5/1s", "", "the key after per is missing"),
        (
            "gcra 10/1s per user burst 3",
            "burst",
            "unexpected word; after the key comes only a name, as in per user as daily",
        ),
        (
            "10/1s per user per ip",
            "per",
            "unexpected word; after the key comes only a name, as in per user as daily",
        ),
        ("5/1s & 10/1s per us=er", "us=er", "not the name of a field"),
        ("5/1s & 10/1s per user+all", "all", "everybody together is not a field"),
        ("10/1s per ip+ip", "ip", "a field that is there already"),
        ("10/1s per ip+", "", "a field is missing"),
        // Only in old links a `+` joins limits.
        ("10/1s + 5/1s", "+", "unexpected word; write a rate as in 240/1h"),
        (
            "10/1s per user + 5/1s",
            "+",
            "unexpected word; after the key comes only a name, as in per user as daily",
        ),
        (
            "10/1s per user+gcra 5/1s",
            "5/1s",
            "unexpected word; after the key comes only a name, as in per user as daily",
        ),
        ("10/1s per user+5/1s", "5/1s", "not the name of a field"),
        ("10/1s per user as", "as", "unexpected word; after the key comes only a name"),
        ("10/1s as daily per user", "as", "unexpected word"),
        ("10/1s as two words", "as", "unexpected word"),
        ("5/1s & 10/1s per user as \"daily\"", "\"daily\"", "not a name; write letters, digits"),
        ("10/1s as da,ily", "da,ily", "not a name"),
    ] {
        wrong(text.parse::<Policy>(), text, word, problem);
    }
    let text = "gcra 1/1s per ip & 1/1s";
    wrong(
        text.parse::<Limit>(),
        text,
        "&",
        "unexpected word; after the key comes only a name, as in per user as daily",
    );
}

#[test]
fn there_are_at_most_eight_limits() {
    let text = |n: i32| (1..=n).map(|i| format!("{i}/1s")).collect::<Vec<_>>().join("&");
    assert_eq!(policy(&text(8)).limits().len(), LIMITS);
    wrong(text(9).parse::<Policy>(), &text(9), "9/1s", "more than 8 limits");
    wrong(text(100).parse::<Policy>(), &text(100), "9/1s", "more than 8 limits");
    let limits = |n: usize| vec![policy("1/1s").limits()[0].clone(); n];
    assert_eq!(Policy::new(limits(8)).unwrap().limits().len(), 8);
    for n in [0, 9] {
        let error = Policy::new(limits(n)).unwrap_err().to_string();
        assert_eq!(error, format!("the number of limits cannot be {n}: it must be from 1 to 8"));
    }
}

/// A limit that would refuse every event is a mistake, and one of 0 is meant.
#[test]
fn limits_that_nothing_passes() {
    for (text, limit, remedy) in [
        ("exim 1/1m strict per user", "exim 1/1m strict per user", "a count above 1"),
        ("10/1s & exim 0.9/1s", "exim 0.9/1s", "a count above 1"),
        ("gcra 0.5/1m", "gcra 0.5/1m", "a burst of at least 1"),
        ("leaky-bucket 0.5/1m", "leaky-bucket 0.5/1m", "a queue of at least 1"),
        ("sliding-log 0.5/1m", "sliding-log 0.5/1m", "a count of at least 1"),
        (
            "adaptive x3 decay 1m increase 1h floor 1",
            "adaptive x3 decay 1m increase 1h floor 1",
            "a floor above 1",
        ),
    ] {
        let problem = format!("no event of cost 1 can pass; write {remedy}");
        wrong(text.parse::<Policy>(), text, limit, &problem);
        let fractions = Defaults { cost: 0.25, ..Defaults::default() };
        assert!(Policy::read(text, &fractions).is_ok(), "{text}, where an event costs less");
    }
    for text in ["0/1m", "exim 0/1m", "gcra 1/1m", "exim 1.1/1m strict", "gcra 0.5/1m burst 1"] {
        assert!(text.parse::<Policy>().is_ok(), "{text}");
    }
}

/// Of many long names, the first are enough: those that begin within 50 bytes, if they end there, too.
#[test]
fn a_long_list_of_fields_is_cut() {
    // "per ", 20 bytes, ", " and 24 bytes.
    let fields = [("a", 20), ("b", 24), ("c", 1)].map(|(name, times)| name.repeat(times));
    let defaults = Defaults { fields: Some(fields.to_vec()), ..Defaults::default() };
    let problem =
        format!("x is not a field here; write per {}, per {}, ..., per all", fields[0], fields[1]);
    wrong(Policy::read("1/1s per x", &defaults), "1/1s per x", "x", &problem);
}

/// The place gives the defaults for a limit that leaves something out, and the known fields.
#[test]
fn defaults_are_values() {
    let defaults = Defaults {
        rate: Some("10/10s".parse().unwrap()),
        per: "address".parse().unwrap(),
        fields: Some(vec!["user".to_owned(), "address".to_owned()]),
        cost: 0.0,
    };
    let read = |text: &str| Policy::read(text, &defaults);
    for (text, written) in [
        ("exim strict", "exim 10/10s strict per address"),
        ("gcra burst 3 per user", "gcra 10/10s burst 3 per user"),
        ("3/1s & gcra per all", "fixed-window 3/1s per address & gcra 10/10s burst 10 per all"),
        ("fixed-window 5/1s per address+user", "fixed-window 5/1s per address+user"),
    ] {
        assert_eq!(read(text).unwrap().to_string(), written);
    }
    let known = "write per user, per address, per all";
    for (text, word, problem) in [
        ("gcra & exim per ip", "ip", format!("ip is not a field here; {known}")),
        ("gcra per user+ip", "user+ip", format!("ip is not a field here; {known}")),
        ("gcra per", "", format!("the key after per is missing; {known}")),
        ("gcra burst 0", "0", "the burst cannot be 0".to_owned()),
    ] {
        wrong(read(text), text, word, &problem);
    }
    // Without a known field the limit is for everybody together.
    let nobody = Defaults { fields: Some(Vec::new()), ..Defaults::default() };
    wrong(
        Policy::read("1/1s per a", &nobody),
        "1/1s per a",
        "a",
        "a is not a field here; write per all",
    );
}

/// A field may come twice.
#[test]
fn the_fields_of_a_policy() {
    let policy = policy("1/1s per user & 2/1s per ip+path & 3/1s per all & 4/1s per user+ip");
    assert_eq!(policy.fields().collect::<Vec<_>>(), ["user", "ip", "path", "user", "ip"]);
    assert_eq!(
        Policy::from(policy.limits()[1].clone()).to_string(),
        "fixed-window 2/1s per ip+path"
    );
}

/// A key of many fields is refused without reading each of them again and again.
#[test]
fn long_texts_are_read_in_one_pass() {
    let fields = |n: usize| (0..n).map(|i| format!("a{i}")).collect::<Vec<_>>().join("+");
    let text = |n| format!("gcra 3/1s per {}", fields(n));
    assert_eq!(text(16).parse::<Policy>().unwrap().limits()[0].per.fields().len(), 16);
    let error = text(17).parse::<Policy>().unwrap_err().to_string();
    assert!(error.contains(": more than 16 fields"), "{error}");
    assert_linear(&sizes(500), |n| assert!(text(*n).parse::<Policy>().is_err()));
    // Also where each sign might be that of an offset, or join limits.
    for part in ["offset +", "per x +y", "per a+gcra 1/1s", " + "] {
        assert_linear(&sizes(500), |n| assert!(part.repeat(*n).parse::<Policy>().is_err()));
    }
}
