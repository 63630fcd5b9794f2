//! Restarts: a restored store decides as one that never stopped. Bytes that this crate did not save, or that
//! are not whole, are refused.

use crate::store::random::{KINDS, admitting, limiter, magnitude, steps};
use crate::store::{gcra, is_held_back, mail, remembered, seconds, sends};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::kept::KeptError;
use ratescope::policy::Limit;
use ratescope::store::{Keyed, SavedError, saved::VERSION};
use ratescope::{Event, MemoryStore, Policy, Retry, Span, Time, files};
use siphasher::sip::SipHasher13;
use std::fs;
use std::hash::Hasher;
use std::path::Path;

proptest! {
    /// Any limiter, saved and restored between any two events, and a moment after the first of them unless
    /// an event from before that moment is still to come: for that one the clock is set back further.
    #[test]
    fn a_restored_store_decides_as_one_that_never_stopped(
        case in admitting(&KINDS),
        (steps, keys) in (steps(false), prop::collection::vec(0..5u8, 60)),
        (stop, pause) in (0..60usize, 0..100i64),
    ) {
        let one = Keyed::new(case.limiter.clone(), 10);
        let mut other = one.fork();
        let events = case.events(&steps);
        for (i, ((now, cost), key)) in events.iter().copied().zip(keys).enumerate() {
            prop_assert_eq!(one.check(&key, now, cost), other.check(&key, now, cost));
            if i == stop {
                let later = now.after(Span::from_micros(pause.unsigned_abs()));
                let coming = events[i + 1..].iter().map(|(at, _)| *at).min();
                let later = coming.map_or(later, |coming| later.min(coming)).max(now);
                other = Keyed::restore(case.limiter.clone(), 10, &other.save(later)).unwrap();
            }
        }
    }

    /// Bytes that somebody has changed, and who then knew how to make the checksum.
    #[test]
    fn made_up_bytes_do_no_harm(
        kind in prop::sample::select(KINDS.as_slice()),
        at in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let limiter = crate::store::random::case(kind, 5.0, Span::from_secs(60), 5.0).limiter;
        let keyed = Keyed::new(limiter.clone(), 10);
        for second in 0..4 {
            let _ = keyed.check(&(second % 3), seconds(second), 1.0);
        }
        let mut saved = keyed.save(seconds(4));
        saved.truncate(saved.len() - 8);
        let at = at.index(saved.len() - 10) + 10;
        let end = (at + bytes.len()).min(saved.len());
        saved.splice(at..end, bytes);
        let mut hasher = SipHasher13::new();
        hasher.write(&saved);
        saved.extend(hasher.finish().to_le_bytes());
        if let Ok(restored) = Keyed::restore(limiter, 10, &saved) {
            let _ = restored.check(&0, seconds(5), 1.0);
        }
    }
}

proptest! {
    #[test]
    fn a_restart_with_other_numbers_is_as_a_reload(
        (old, count, part) in (admitting(&KINDS), magnitude(0.0, 3.0), magnitude(-1.5, 0.5)),
        (steps, later) in (steps(false), 0.0f64..2.0),
    ) {
        let Ok(new) = old.limiter.relaxed(100.0 * part) else { return Ok(()) };
        let [old_rule, new_rule] =
            [&old.limiter, &new].map(|limiter| Policy::from(Limit::from(limiter.clone())));
        let store = MemoryStore::new(old_rule, 10);
        let mut now = Time::ZERO;
        let event = |time, cost| Event { time, cost, fields: &[("user", "ann")] };
        for (at, cost) in old.events(&steps) {
            now = at;
            // A charge may be more than there is room for.
            let _ = store.settle(&event(at, cost * count), at, None);
        }
        now = now.after(Span::try_from_secs_f64(later * old.period.as_secs_f64()).unwrap());
        let restored = MemoryStore::restore(new_rule.clone(), 10, &store.save(now)).unwrap();
        let _ = store.replace(new_rule.into(), now);
        for part in 0..8 {
            let then = now.after(Span::try_from_secs_f64(f64::from(part) / 4.0 * old.period.as_secs_f64()).unwrap());
            prop_assert_eq!(restored.remaining(&event(then, 1.0)), store.remaining(&event(then, 1.0)), "{}", new);
            prop_assert_eq!(restored.retry_after(&event(then, 1.0)), store.retry_after(&event(then, 1.0)), "{}", new);
        }
    }
}

/// As at a reload, nobody is locked out for the time in which a larger bucket would have drained.
#[test]
fn a_smaller_bucket_is_not_fuller_than_full() {
    let event = |time| Event { time, cost: 1.0, fields: &[("user", "ann")] };
    for (old, new, wait) in [
        ("gcra 1000/1h burst 1000", "gcra 10/1h burst 10", Span::from_mins(6)),
        ("token-bucket 1000/1h", "token-bucket 10/1h", Span::from_mins(6)),
        ("leaky-bucket 1000/1h queue 1000", "leaky-bucket 10/1h queue 10", Span::from_mins(6)),
        // A debt under the same numbers stays.
        ("gcra 10/1h burst 10", "gcra 10/1h burst 10", Span::from_mins(99 * 60 + 6)),
    ] {
        let store = MemoryStore::new(format!("{old} per user").parse::<Policy>().unwrap(), 10);
        store.settle(&Event { cost: 1000.0, ..event(seconds(0)) }, seconds(0), None).unwrap();
        let new: Policy = format!("{new} per user").parse().unwrap();
        let restored = MemoryStore::restore(new, 10, &store.save(seconds(0))).unwrap();
        assert_eq!(restored.retry_after(&event(seconds(0))), Retry::After(wait), "{old}");
    }
}

/// Each byte counts, and so does the end.
#[test]
fn what_is_cut_or_changed_is_refused() {
    let keyed = Keyed::new(gcra(), 10);
    assert!(sends(&keyed, 1, seconds(0)) && sends(&keyed, 2, seconds(1)));
    let bytes = keyed.save(seconds(2));
    let restore = |bytes: &[u8]| Keyed::restore(gcra(), 10, bytes).map(|keyed| keyed.len());
    assert_eq!(restore(&bytes), Ok(2));
    for end in 0..bytes.len() {
        assert!(restore(&bytes[..end]).is_err(), "the first {end} bytes");
    }
    for i in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[i] ^= 1;
        assert!(restore(&changed).is_err(), "byte {i}");
    }
    assert_eq!(restore(&[bytes.as_slice(), b"\n"].concat()), Err(SavedError::Damaged));
    assert_eq!(restore(b"domain: web\n"), Err(SavedError::Foreign));
    // A writer that is wrong, which no checksum tells: the last byte of the only state is missing.
    let keyed = Keyed::new(gcra(), 10);
    assert!(sends(&keyed, 1, seconds(0)));
    let mut wrong = keyed.save(seconds(0));
    wrong.truncate(wrong.len() - 9);
    let at = wrong.windows(6).position(|some| some == b"bucket").unwrap() + 6;
    let length = (wrong.len() - at - 8) as u64;
    wrong[at..at + 8].copy_from_slice(&length.to_le_bytes());
    let sealed = |bytes: &[u8]| {
        let mut hasher = SipHasher13::new();
        hasher.write(bytes);
        [bytes, &hasher.finish().to_le_bytes()].concat()
    };
    let error = restore(&sealed(&wrong)).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap();
    assert!(cause.is::<KeptError>() && error.to_string().ends_with(&cause.to_string()), "{error}");
    // A refused cost that is no number would protect its key for ever.
    let mut wrong = bytes.clone();
    wrong.truncate(wrong.len() - 8);
    let at = wrong.windows(6).position(|some| some == b"bucket").unwrap();
    let at = at + 54 + gcra().to_string().len();
    assert_eq!(restore(&sealed(&wrong)), Ok(2));
    wrong[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(restore(&sealed(&wrong)), Err(SavedError::Damaged));
    let mut newer = bytes;
    newer[9] = VERSION + 1;
    assert_eq!(restore(&newer), Err(SavedError::Version { found: VERSION + 1 }));
}

#[test]
fn states_of_another_limiter_are_refused() {
    let bytes = Keyed::new(gcra(), 10).save(seconds(0));
    let error = Keyed::restore(limiter("exim 1/1m"), 10, &bytes).unwrap_err();
    assert_eq!(error.to_string(), "the saved states are of bucket, and the limiter's of exim/1m");
    // The numbers of a limiter may change, and a limiter may be chosen at run time.
    assert!(Keyed::restore(limiter("token-bucket 7/1h"), 10, &bytes).is_ok());
}

/// The secret is random, and so is each half of it.
#[test]
fn no_two_secrets_are_alike() {
    let at = 40 + gcra().to_string().len();
    let secrets = [0; 2].map(|_| Keyed::new(gcra(), 10).save(seconds(0))[at..at + 16].to_vec());
    assert_ne!(secrets[0], secrets[1]);
    assert_ne!(secrets[0][..8], secrets[0][8..]);
}

/// With less room, those that were used last are there.
#[test]
fn those_used_last_survive_in_less_room() {
    let keyed = Keyed::new(gcra(), 80);
    (0..80).for_each(|key| assert!(sends(&keyed, key, seconds(0))));
    (0..8).for_each(|key| assert!(sends(&keyed, key, seconds(1))));
    let restored = Keyed::restore(gcra(), 7, &keyed.save(seconds(2))).unwrap();
    assert_eq!(remembered(&restored), (0..8).collect::<Vec<_>>());
}

/// A refused key is not forgotten, nor is it after a restart.
#[test]
fn a_refused_key_is_still_protected() {
    let keyed = Keyed::new(gcra(), 7);
    is_held_back(&keyed, 0, seconds(0));
    let restored = Keyed::restore(gcra(), 7, &keyed.save(seconds(0))).unwrap();
    (100..200).for_each(|key| assert!(sends(&restored, key, seconds(1))));
    assert_eq!(remembered(&restored), [0]);
}

#[test]
fn limits_find_their_states_and_new_ones_have_none() {
    let store = |policy: &str| MemoryStore::new(policy.parse::<ratescope::Policy>().unwrap(), 100);
    let old = store("gcra 3/1m per user & gcra 9/1h per user & gcra 5/1m per ip");
    (0..3).for_each(|_| assert!(mail(&old, "ann", "x", seconds(0)).is_allowed()));
    let bytes = old.save(seconds(0));
    let restored = |policy: &str| {
        MemoryStore::restore(policy.parse::<ratescope::Policy>().unwrap(), 100, &bytes).unwrap()
    };
    let passes = |store: MemoryStore, user| {
        (0..20).filter(|_| mail(&store, user, "x", seconds(0)).is_allowed()).count()
    };
    assert_eq!(passes(restored(&crate::judged::policy_of(&old).to_string()), "ann"), 0);
    assert_eq!(passes(restored(&crate::judged::policy_of(&old).to_string()), "bob"), 2);
    assert_eq!(passes(restored("gcra 4/1m per user"), "ann"), 1);
    assert_eq!(passes(restored("gcra 100/1m per user & gcra 9/1h per user"), "ann"), 6);
    assert_eq!(passes(restored("exim 4/1m per user & gcra 9/1m per ip"), "ann"), 4);
    assert_eq!(
        MemoryStore::restore(crate::judged::policy_of(&old), 100, &bytes[1..]).err(),
        Some(SavedError::Foreign)
    );
}

/// A log, which takes memory for each event, is saved as a whole: 10,000 entries in 50 kB.
#[test]
fn a_full_log_survives() {
    let log: AnyLimiter = limiter("sliding-log 10000/1h");
    let keyed = Keyed::new(log.clone(), 10);
    (0..10_000).for_each(|i| assert!(keyed.check("a", Time::from_micros(i), 1.0).is_allowed()));
    let bytes = keyed.save(seconds(1));
    assert!(bytes.len() < 50_000, "{}", bytes.len());
    let restored = Keyed::restore(log, 10, &bytes).unwrap();
    assert_eq!(restored.state("a"), keyed.state("a"));
}

#[test]
fn rules_find_their_states_by_their_names() {
    use ratescope::rules::{Load, MemoryStore, Rules};
    let text = "
domain: web
descriptors:
  - {key: user, limit: 2/1m, throttle: elastic up to 2x while load < 70%}
  - {key: ip, limit: [gcra 9/1m, gcra 99/1h]}
";
    let rules = |text: &str| Rules::read("rules.yaml", text).unwrap();
    let fields = &[("user", "ann"), ("ip", "x")];
    let passes = |ruled: &MemoryStore| {
        let event = ratescope::Event { time: seconds(0), cost: 1.0, fields };
        (0..20).filter(|_| ruled.check(&event).is_allowed()).count()
    };
    let old = MemoryStore::new(rules(text), 100);
    assert_eq!(passes(&old), 2);
    old.set_load(Some(Load::from_percent(10.0).unwrap()));
    assert_eq!(passes(&old), 2);
    let bytes = old.save(seconds(0));

    let restored = MemoryStore::restore(rules(text), 100, &bytes).unwrap();
    assert_eq!((passes(&restored), restored.len()), (0, old.len()));
    restored.set_load(Some(Load::from_percent(10.0).unwrap()));
    assert_eq!(passes(&restored), 0);
    // Each relaxed limit finds its own.
    let two = text.replace("[gcra 9/1m, gcra 99/1h]", "gcra 3/1h, throttle: soft 100%");
    let old = MemoryStore::new(rules(&two), 100);
    let user = |ruled: &MemoryStore| {
        let fields = &[("user", "bob")];
        let event = ratescope::Event { time: seconds(0), cost: 1.0, fields };
        ruled.set_load(Some(Load::from_percent(10.0).unwrap()));
        (0..9).filter(|_| ruled.check(&event).is_allowed()).count()
    };
    assert_eq!((passes(&old), user(&old)), (2, 4));
    let restored = MemoryStore::restore(rules(&two), 100, &old.save(seconds(0))).unwrap();
    assert_eq!((user(&restored), passes(&restored)), (0, 2));
    // Another name is another rule; the other one has admitted four.
    let renamed = text.replace("key: user", "key: customer");
    assert_eq!(passes(&MemoryStore::restore(rules(&renamed), 100, &bytes).unwrap()), 5);
    assert!(MemoryStore::restore(rules(text), 100, &bytes[..bytes.len() - 1]).is_err());
}

/// The old file or the new one, and nothing beside it.
#[test]
fn files_are_written_whole() {
    let name = format!("saved-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let path = folder.join("states");
    assert!(files::write(&path, b"one").is_err(), "there is no such folder");
    fs::create_dir(&folder).unwrap();
    assert_eq!(files::read(&path, 10).unwrap(), None);
    files::write(&path, b"one").unwrap();
    files::write(&path, b"three").unwrap();
    assert_eq!(files::read(&path, 5).unwrap().unwrap(), b"three");
    let error = files::read(&path, 4).unwrap_err().to_string();
    assert!(error.ends_with("states has more than 4 bytes"), "{error}");
    // A folder of that name cannot be replaced.
    fs::create_dir(folder.join("taken")).unwrap();
    assert!(files::write(folder.join("taken"), b"one").is_err());
    // The longest name that a file can have.
    files::write(folder.join("a".repeat(255)), b"one").unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(files::write("..", b"one").is_err());
    fs::remove_dir_all(folder).unwrap();
}
