//! Settings and links that are wrong, and links as they are written.

use super::*;
use ratescope_lab::run::Setting;

#[test]
fn a_setting_that_cannot_be_read_changes_nothing() {
    let mut scope = Scope::new(Settings::default()).unwrap();
    for (name, value, problem) in [
        ("decay", "10", "\"10\": a unit is missing; write 10s, 10m or 10h"),
        ("decay", "10ms", "\"10ms\": out of range; choose from 100ms to 1w"),
        ("limit", "-1", "\"-1\": out of range; choose from 0 to 1000000000"),
        ("limit", "NaN", "\"NaN\": not a number; choose from 0 to 1000000000"),
        ("limit", "1e10/1m", "\"1e10/1m\": out of range; choose from 0 to 1000000000"),
        ("limit", "60/10ms", "\"60/10ms\": out of range; choose from 100ms to 1w"),
        ("auto-rate", "5000000/s", "\"5000000/s\": out of range; choose from 0.001 to 1000000"),
        ("auto-rate", "fast", "\"fast\": not a number; choose from 0.001 to 1000000"),
        ("auto-rate", "2000000", "\"2000000\": out of range; choose from 0.001 to 1000000"),
        ("mode", "lax", "\"lax\": write strict or leaky"),
        ("window", "5s", "\"5s\": out of range; choose from 10s to 1d"),
        ("seed", "-1", "\"-1\": write a whole number from 0 to 18446744073709551615"),
        ("auto", "yes", "\"yes\": write on or off"),
        ("bucket", "yes", "\"yes\": write on or off"),
        ("last", "0", "\"0\": out of range; choose from 1 to 1000"),
        ("last", "1001", "\"1001\": out of range; choose from 1 to 1000"),
        ("last", "2.5", "\"2.5\": not a whole number; choose from 1 to 1000"),
        ("last", "99999999999", "\"99999999999\": not a whole number; choose from 1 to 1000"),
    ] {
        assert_eq!(scope.set(name, value).unwrap_err().to_string(), problem);
        assert_eq!(*scope.settings(), Settings::default());
    }
}

/// The box of the limiter refuses the same numbers that a link can't have.
#[test]
fn the_numbers_of_a_limiter_are_in_the_range_of_the_settings() {
    for (text, range) in [
        ("exim 1000/30d strict", "100ms to 1w"),
        ("exim 10/1ms", "100ms to 1w"),
        ("exim 2000000000/1m", "0 to 1000000000"),
    ] {
        let mut scope = Scope::new(Settings::default()).unwrap();
        let error = scope.set("limiter", text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("\"{text}\": ")) && error.ends_with(range), "{error}");
        assert_eq!(*scope.settings(), Settings::default());
    }
}

const WORDS: &str = "exim gcra token-bucket fixed-window strict leaky readonly burst & per user minute 3 10 2.5 0 \
    1e9 2e9 / 1ms 1s 30d 10/1ms 10/10s 1000/30d on off";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// So a link can have it.
    #[test]
    fn a_value_that_is_taken_is_taken_again(text in recorded::nearly(WORDS), limiter in recorded::nearly(WORDS)) {
        let mut settings = Settings::default();
        let _ = settings.set("limiter", &limiter);
        for Setting { name, .. } in Settings::SETTINGS {
            if settings.set(name, &text).is_ok() {
                for Setting { name, .. } in Settings::SETTINGS {
                    let (mut again, value) = (settings.clone(), settings.get(name));
                    prop_assert_eq!(again.set(name, &value), Ok(()), "{} {}", name, value);
                    prop_assert_eq!(&again, &settings);
                }
            }
        }
    }
}

/// A rate has an interval of its own, which becomes the decay interval, as Exim takes it.
#[test]
fn a_limit_is_read_as_people_write_rates() {
    for (text, limit, decay) in [
        ("5r/s", "5", "1s"),
        ("100/s", "100", "1s"),
        ("60/min", "60", "1m"),
        ("100 requests per minute", "100", "1m"),
        ("300k/1h", "300000", "1h"),
        ("1e3/Hour", "1000", "1h"),
        ("300k", "300000", "10s"),
        ("1e9", "1000000000", "10s"),
        ("1 000 000", "1000000", "10s"),
        ("2.5M", "2500000", "10s"),
        ("1E-3", "0.001", "10s"),
        ("10 / 1 min", "10", "1m"),
        ("1e3/hour", "1000", "1h"),
        ("10k/1h", "10000", "1h"),
    ] {
        let link: Link = format!("limit={}", text.replace(' ', "%20")).parse().unwrap();
        for settings in [set("limit", text).settings(), &link.settings] {
            assert_eq!(["limit", "decay"].map(|name| settings.get(name)), [limit, decay], "{text}");
        }
    }
    assert_eq!(set("auto-rate", "30/min").settings().get("auto-rate"), "0.5");
    for text in [
        "", "k", "e9", "inf", "nan", "1e999", "ten", "1.2.3", "0x10", "-", "/", "10/", "/1s",
        "10/0s", "ten/1s", "-3",
    ] {
        assert!(Settings::default().set("limit", text).is_err(), "{text}");
    }
}

fn set(name: &str, value: &str) -> Scope {
    let mut scope = Scope::new(Settings::default()).unwrap();
    scope.set(name, value).unwrap();
    scope
}

#[test]
fn a_link_names_what_is_not_usual() {
    let changes = [("decay", "20s"), ("auto", "off"), ("recent", "on")];
    recorded::assert_names_what_is_not_usual::<Settings>(changes);
}

#[test]
fn a_link_that_is_wrong_says_where() {
    for (link, problem) in [
        ("decay=10x", "\"x\" in \"decay=10x\": not a unit; the units are w, d, h, m, s, ms and us"),
        (
            "limit=10&do=1:evnts*3",
            "\"evnts\" in \"limit=10&do=1:evnts*3\": not a command; \
             write events or one of decay, increase, limit, mode, auto, pattern, auto-rate, seed, \
             speed, window, exact, ghost, bucket, mean, last, recent, rate-2009, memory, limiter",
        ),
        (
            "do=5:events,1:events",
            "\"1:events\" in \"do=5:events,1:events\": a time before zero, or earlier than the command before it",
        ),
    ] {
        assert_eq!(link.parse::<Link>().unwrap_err().to_string(), problem);
    }
}
