//! Rules, scripts and settings as text.

use super::invariants::hold;
use super::table::rows;
use super::*;
use proptest::prelude::*;
use ratescope::ParseError;
use ratescope_lab::compare::script::Script;
use ratescope_lab::compare::{Link, Template};
use ratescope_lab::run::Setting;

#[track_caller]
pub(super) fn wrong<T: core::fmt::Debug>(read: Result<T, ParseError>, part: &str, problem: &str) {
    let error = read.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&format!("\"{part}\"")), "{text}");
    assert!(text.contains(problem), "{text}");
}

#[test]
fn a_template_is_kept_as_it_is_written() {
    for [text, tidy, limits] in rows("
        exim strict | exim strict | exim 10/10s strict per ip
        token-bucket  burst   20 | token-bucket burst 20 | token-bucket 10/10s burst 20 per ip
        gcra 5/1s per user | gcra 5/1s per user | gcra 5/1s burst 5 per user
        3/1s | 3/1s | fixed-window 3/1s per ip
        exim per all | exim per all | exim 10/10s leaky per all
        fixed-window per user&gcra per ip | fixed-window per user & gcra per ip | \
            fixed-window 10/10s per user & gcra 10/10s burst 10 per ip
        3/1s per user  &5/1s per user+ip & exim | 3/1s per user & 5/1s per user+ip & exim | \
            fixed-window 3/1s per user & fixed-window 5/1s per user+ip & exim 10/10s leaky per ip
        adaptive x3 decay 1m floor 5 | adaptive x3 decay 1m floor 5 | \
            adaptive x3 decay 1m increase 1h floor 5 leaky per ip
        adaptive x3 decay 1m floor 5 by hour offset +1h per user&gcra | \
            adaptive x3 decay 1m floor 5 by hour offset +1h per user & gcra | \
            adaptive x3 decay 1m increase 1w floor 5 by hour offset +1h leaky per user & gcra 10/10s burst 10 per ip
        ") {
        let template: Template = text.parse().unwrap();
        assert_eq!(template.to_string(), tidy);
        assert_eq!(template.to_string().parse::<Template>().unwrap(), template);
        let comparison = comparison(&[("lanes", text)]);
        assert_eq!(comparison.lanes()[0].policy().to_string(), limits);
        let link: Link = comparison.link().unwrap().to_string().parse().unwrap();
        assert_eq!(link.settings, *comparison.settings(), "{text}");
    }
}

#[test]
fn a_template_that_is_wrong_says_where() {
    let template = |text: &str| text.parse::<Template>();
    wrong(template("exim  strikt"), "strikt", "unexpected word; write exim RATE");
    wrong(template("gcra 10/1x & exim"), "x", "not a unit");
    let fields = "write per user, per ip, per all";
    wrong(
        template("gcra per account"),
        "account",
        &format!("account is not a field here; {fields}"),
    );
    wrong(template("gcra per"), "gcra per", &format!("the key after per is missing; {fields}"));
    wrong(template(""), "", "a limiter is missing");
    wrong(template("sliding-window precision 1m"), "1m", "the precision in seconds cannot be 60");
    let nine = ["gcra"; 9].join("&");
    assert_eq!(template(&nine).unwrap_err().at(), nine.len() - 4..nine.len());
}

#[test]
fn a_script_reads_as_it_is_written() {
    for text in [
        "",
        "10 at 59s",
        "1/600ms to 2m30s",
        "2/1s poisson from 10s to 1m",
        "1/1s from 2m30s",
        "5/1m day-and-night 2m cost 2.5 user a1",
        "1 at 0s, 3/1s bursts, 4 at 1h cost 0 user b, 1 at 2s user a",
    ] {
        let script: Script = text.parse().unwrap();
        assert_eq!(script.to_string(), text);
    }
    let loose: Script = "  2/1s to 1m from 10s poisson user x cost 3,1 at 90s ".parse().unwrap();
    assert_eq!(loose.to_string(), "2/1s poisson from 10s to 1m cost 3 user x, 1 at 1m30s");
    assert_eq!(loose.users, ["", "x"]);
}

#[test]
fn a_script_that_is_wrong_says_where() {
    let script = |text: &str| text.parse::<Script>();
    wrong(script("10 at 59"), "59", "a unit is missing");
    wrong(script("1 at 1s, ten at 59s"), "ten", "not a number of events");
    wrong(script("20000 at 59s"), "20000", "from 1 to 10000");
    wrong(script("10"), "10", "when is missing");
    wrong(script("1/1s, 0/1s"), "0/1s", "above 0 and up to 10000 a second");
    wrong(script("1/1s, 20000/1s"), "20000/1s", "above 0 and up to 10000 a second");
    wrong(script("1/1s from 10s to 10s"), "10s", "not after the beginning");
    wrong(script("1/1s evenly"), "evenly", "not a pattern");
    wrong(script("1/1s steady 2m"), "2m", "unexpected word");
    wrong(script("1/1s day-and-night 0s"), "0s", "a day must be longer than zero");
    wrong(script("1 at 1s user x-y"), "x-y", "letters and digits");
    wrong(script("1 at 1s cost 2000000"), "2000000", "from 0 to 1000000");
    wrong(script("1 at 1s,"), "1 at 1s,", "a phase is missing");
    assert!(script(&["1 at 1s"; 16].join(",")).is_ok());
    wrong(script(&["1 at 1s"; 17].join(",")), " 1 at 1s".trim(), "more than 16 phases");
}

#[test]
fn a_setting_that_cannot_be_read_changes_nothing() {
    let mut comparison = comparison(&[]);
    for [name, value, problem] in rows(
        r#"
        limit | 0/10s | 0.001 to 100000 in 100ms to 1w
        limit | 10/1ms | 0.001 to 100000 in 100ms to 1w
        limit | ten | "ten": not a rate; write a rate as a count and a span, such as 10/1m
        auto-rate | 20000 | 0.001 to 10000
        cost | -1 | 0 to 1000000
        speed | 2000 | 0.1 to 1000
        window | 5s | 10s to 1d
        lanes | gcra;exim strikt | "strikt" in "gcra;exim strikt": unexpected word
        decay | 5 | "decay": not a setting; there are limit, lanes, processes, balance, call, auto, pattern, auto-rate, seed, cost, script, speed, window
        "#,
    ) {
        let error = comparison.set(name, value).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
        assert_eq!(*comparison.settings(), Settings::default());
    }
    assert!(comparison.link().unwrap().commands.is_empty());
}

/// A lane may be possible under one limit only.
#[test]
fn a_limit_that_a_lane_cannot_have_is_refused() {
    let mut comparison =
        comparison(&[("limit", "10/1m"), ("lanes", "gcra;sliding-window precision 30s")]);
    let error = comparison.set("limit", "10/10s").unwrap_err().to_string();
    let part = "\"10/10s\": \"30s\" in \"sliding-window precision 30s\": the precision in seconds";
    assert!(error.starts_with(part), "{error}");
    assert_eq!(comparison.settings().limit.to_string(), "10/1m");
    // In any order of the link.
    let link = "lanes=sliding-window precision 30s&limit=10/1m";
    assert_eq!(link.parse::<Link>().unwrap().settings.limit.to_string(), "10/1m");
}

/// However few phases and lanes there are, an instant ends.
#[test]
fn too_many_limits_for_too_many_users_are_refused() {
    let template = ["exim per user"; 8].join("&");
    let lanes = [template.as_str(); 11].join(";");
    let users = |n| (1..n).map(|i| format!("1/1s user u{i}")).collect::<Vec<_>>().join(",");
    let mut comparison = comparison(&[("lanes", &lanes), ("script", &users(2))]);
    let error = comparison.set("script", &users(3)).unwrap_err().to_string();
    let problem = "264 limits in all, one per user counted for each; 256 are the most";
    assert!(error.ends_with(problem), "{error}");
    comparison.set("script", "").unwrap();
    comparison.set_lane(11, &template).unwrap();
    comparison.set("lanes", &[template.as_str(); 10].join(";")).unwrap();
    comparison.set("script", &users(3)).unwrap();
    let error = comparison.set_lane(10, &template).unwrap_err();
    assert!(error.to_string().ends_with(problem), "{error}");
    assert_eq!(comparison.lanes().len(), 10);
}

const WORDS: &str = "exim earrrl token-bucket sliding-log adaptive gcra per user address strict burst 20 x3 decay 1s \
    10/10s 1/600ms at from to cost poisson day-and-night & + %26 %2C % ; , = : * do paused lanes= limit= script= \
    events é 0 0/0s 1e9 -";

#[track_caller]
fn checked<T>(text: &str, read: Result<T, ParseError>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(error.at().start <= error.at().end && error.at().end <= text.len(), "{error}");
            assert!(!error.problem().is_empty());
            None
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_text_panics(text in recorded::nearly(WORDS)) {
        if let Some(template) = checked(&text, text.parse::<Template>()) {
            prop_assert_eq!(template.to_string().parse::<Template>().unwrap(), template);
        }
        if let Some(script) = checked(&text, text.parse::<Script>()) {
            prop_assert_eq!(script.to_string().parse::<Script>().unwrap(), script);
        }
        if let Some(link) = checked(&text, text.parse::<Link>()) {
            prop_assert_eq!(link.to_string().parse::<Link>().unwrap(), link);
        }
        hold(&text);
        let mut settings = Settings::default();
        for Setting { name, .. } in Settings::SETTINGS {
            if checked(&text, settings.set(name, &text)).is_some() {
                let value = settings.get(name);
                let mut again = settings.clone();
                again.set(name, &value).unwrap();
                prop_assert_eq!(&again, &settings);
            }
        }
    }
}

/// The seeds of the fuzzer.
#[test]
fn seeds_of_links_hold() {
    crate::seeds::each("links", 3, |data| hold(str::from_utf8(data).unwrap()));
}
