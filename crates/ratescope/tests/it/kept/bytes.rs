//! The bytes: states come back as they were, and mistakes in the bytes are named.

use crate::kept::invariants::hold;
use crate::kept::{limiter, limiters, run, steps};
use crate::seeds;
use proptest::prelude::*;
use ratescope::limit::FORMS;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::kept::{Kept, KeptError, Shape, VERSION};
use ratescope::{Limiter, ParseError, Time};

/// The epoch of a clock of today, in microseconds.
const TODAY: i64 = 1_790_000_000_000_000;

/// A state after eight events of cost 1, a second apart.
fn eight(limiter: &AnyLimiter) -> Kept {
    let (mut state, mut now) = (limiter.initial(), Time::ZERO);
    for i in 0..8 {
        now = Time::from_micros(TODAY + i * 1_000_000);
        limiter.charge(&mut state, now, 1.0).unwrap();
    }
    limiter.keep(&state, now)
}

/// How long the content of each is, as the documentation says.
#[test]
fn contents_are_short() {
    for (text, content) in [
        ("exim 10/1m", 16),
        ("earrrl 1/1s half-life 20s", 16),
        ("adaptive x3 decay 1m floor 5", 24),
        ("adaptive x3 decay 1m floor 5 by hour", 121),
        ("gcra 10/1m burst 10", 14),
        ("gcra 60/1m burst 10", 10),
        ("fixed-window 10/1m", 9),
        ("sliding-counter 10/1m", 10),
        ("sliding-window 10/1h precision 1m", 6),
        ("sliding-window 10/1m precision 1s", 7 + 7 * 2),
        ("sliding-log 10/1m", 10 + 7 * 4),
    ] {
        let kept = eight(&limiter(text));
        let (mut out, shape) = (Vec::new(), kept.shape().to_string());
        kept.write_content(&mut out);
        assert_eq!(out.len(), content, "{text}");
        assert_eq!(kept.to_bytes().len(), 2 + shape.len() + content, "{text}");
    }
}

/// Three limits in one value, as a store would pack them whose key has their shapes.
#[test]
fn contents_follow_each_other() {
    let limits = ["10/1s", "120/1m", "240/1h"].map(limiter);
    let kept = limits.clone().map(|limiter| eight(&limiter));
    let mut packed = vec![VERSION];
    kept.iter().for_each(|kept| kept.write_content(&mut packed));
    assert_eq!(packed.len(), 28);
    let mut rest = &packed[1..];
    let back = limits.map(|l| Kept::read_content(l.shape(), &mut rest).unwrap());
    assert_eq!(back, kept);
    assert!(rest.is_empty());
}

/// Bytes of version 1, which later versions of this crate must read for ever.
#[test]
fn bytes_of_version_1() {
    for (text, hex) in [
        ("exim 10/1m", "01076578696d2f316d52c50626e7fc1d40c0af90dafe5b0600"),
        ("earrrl 1/1s half-life 20s", "010a65617272726c2f323073d4f93d7a1b6f1c40c0af90dafe5b0600"),
        (
            "adaptive x3 decay 1m floor 5",
            "010e61646170746976652f316d2f316852c50626e7fc1d40a8354e3644ba7b3fc0af90dafe5b0600",
        ),
        ("gcra 7/1m burst 10", "01066275636b6574c0af90dafe5b0600cbefec06143c"),
        ("fixed-window 10/1m", "010f66697865642d77696e646f772f316d00b3f4d8fe5b060010"),
        ("sliding-counter 10/1m", "0112736c6964696e672d636f756e7465722f316dc0af90dafe5b06000010"),
        (
            "sliding-window 10/1m precision 4s",
            "0114736c6964696e672d77696e646f772f316d2f347302c0bbe2aa03080108",
        ),
        (
            "sliding-log 10/1h",
            "010e736c6964696e672d6c6f672f3168088080afa2dbffad0602c0843d02c0843d02c0843d02c0843d02c0843d02c0843d02c0843d02",
        ),
        ("nginx 10/1s burst 20", "01056e67696e7800b09d84c59868"),
        ("nginx 10/1m burst 20", "01056e67696e789c5bb09d84c59868"),
        ("haproxy 10/1m", "010a686170726f78792f316d80b083c598680800"),
        ("fail2ban 10/1m", "010b6661696c3262616e2f316d00e025dafe5b0600c0af90dafe5b060008"),
        ("envoy 10/1m burst 10", "0108656e766f792f367300e063eef25b060000000000a0740241"),
        (
            "adaptive x3 decay 1m floor 5 by hour",
            "011961646170746976652d62792d686f75722f316d2f31772f316452c50626e7fc1d40f73f13eb80b54f3fc0\
             af90dafe5b06000e000000000000000000000000000000000000000000000000000000000000000000000000\
             0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
             00000000000000000000000000000000",
        ),
    ] {
        let kept = eight(&limiter(text));
        let bytes: Vec<String> = kept.to_bytes().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(bytes.concat(), hex, "{text}");
        assert_eq!(Kept::from_bytes(&from_hex(hex)).unwrap(), kept, "{text}");
    }
}

/// A later version may measure another last digit, and still reads the one that was written.
#[test]
fn a_habit_with_another_last_digit_is_read() {
    let hex = "010e61646170746976652f316d2f316852c50626e7fc1d40ac354e3644ba7b3fc0af90dafe5b0600";
    let (bytes, limiter) = (from_hex(hex), limiter("adaptive x3 decay 1m floor 5"));
    let kept = Kept::from_bytes(&bytes).unwrap();
    assert_eq!(kept.to_bytes(), bytes);
    assert_ne!(kept, eight(&limiter));
    let now = Time::from_micros(TODAY + 7_000_000);
    let [read, measured] = [&kept, &eight(&limiter)].map(|kept| {
        let state = limiter.restore(kept).unwrap();
        limiter.peek(&state, now, 1.0)
    });
    assert_eq!(read, measured);
}

fn from_hex(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Times before the origin are times, too, back to the first.
#[test]
fn they_come_back_from_before_the_origin() {
    for form in FORMS {
        let limiter = limiter(form.example);
        for at in [-1, -12_345_678, -TODAY, i64::MIN + 1, i64::MIN].map(Time::from_micros) {
            let mut state = limiter.initial();
            limiter.charge(&mut state, at, 2.0).unwrap();
            let bytes = limiter.keep(&state, at).to_bytes();
            let restored = limiter.restore(&Kept::from_bytes(&bytes).unwrap()).unwrap();
            assert_eq!(
                limiter.peek(&restored, at, 1.0),
                limiter.peek(&state, at, 1.0),
                "{limiter}"
            );
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let good = eight(&limiter("gcra 7/1m burst 10")).to_bytes();
    let says = |bytes: &[u8], want: &str| {
        assert_eq!(Kept::from_bytes(bytes).unwrap_err().to_string(), want);
    };
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    says(b"", "the bytes end within the version");
    says(&good[..1], "the bytes end within the length of the shape");
    says(&good[..5], "the bytes end within the shape");
    says(&good[..10], "the bytes end within the time");
    says(&good[..18], "the bytes end within the content");
    says(&good[..20], "the bytes end within the fraction of the content");
    says(&with(0, 2), "the version is 2, and this is read by version 1");
    says(
        &with(2, b'p'),
        "the shape cannot be read: \"pucket\": not an algorithm; one of fixed-window, sliding-window, \
         sliding-counter, sliding-log, bucket, exim, earrrl, adaptive, nginx, haproxy, envoy, \
         fail2ban, adaptive-by-hour",
    );
    says(&with(1, 0x7f), "the bytes end within the shape");
    says(&[1, 0x80, 0], "the length of the shape is out of range");
    for of in [3, 20] {
        says(&with(good.len() - 1, of), "the fraction of the content is out of range");
    }
    says(&[&good[..], b"!!"].concat(), "2 bytes follow the state");
    let rate = |rate: f64| [b"\x01\x07exim/1m".as_slice(), &rate.to_le_bytes(), &[0; 8]].concat();
    assert!(Kept::from_bytes(&rate(1.5)).is_ok());
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        says(&rate(bad), "the rate is out of range");
    }
    let ending = |text, last: &[u8]| {
        let mut bytes = eight(&limiter(text)).to_bytes();
        let at = bytes.len() - last.len();
        bytes[at..].copy_from_slice(last);
        bytes
    };
    for bad in [f64::NAN, f64::INFINITY] {
        let bytes = ending("envoy 10/1m burst 10", &bad.to_le_bytes());
        says(&bytes, "when the bucket was empty is out of range");
    }
    for bad in [f32::NAN, f32::INFINITY, -1.0] {
        let bytes = ending("adaptive x3 decay 1m floor 5 by hour", &bad.to_le_bytes());
        says(&bytes, "the habit of an hour is out of range");
    }
    says(
        b"\x01\x07exim/0s",
        "the shape cannot be read: \"0s\" in \"exim/0s\": a span must be longer than zero",
    );
    let window = b"\x01\x14sliding-window/1h/1m".as_slice();
    // A block that ends before it begins, beyond the end of time, or with no end at all.
    for block in [&[0xff; 12][..], &[0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0], &[0x80, 0, 0]] {
        says(&[window, &[1], block].concat(), "the number of a block is out of range");
    }
    let log = b"\x01\x0esliding-log/1m".as_slice();
    says(&[log, &[2, 0, 2, 0, 2]].concat(), "the number of a block is out of range");
    says(&[log, &[3, 0, 2, 1, 2]].concat(), "the bytes end within the number of a block");
    says(&[log, &[0xff, 0xff, 0xff, 0x7f]].concat(), "the bytes end within the number of a block");
}

#[test]
fn shapes_are_read_as_they_are_written() {
    for form in FORMS {
        let shape = limiter(form.example).shape();
        assert_eq!(shape.to_string().parse::<Shape>().unwrap(), shape);
    }
    for (text, problem) in [
        ("", "\"\": not an algorithm; one of fixed-window,"),
        ("exam/1m", "\"exam\" in \"exam/1m\": not an algorithm"),
        ("exim", "\"exim\": a span is missing; write exim/period"),
        ("exim/1x", "\"x\" in \"exim/1x\": not a unit"),
        (
            "sliding-window/0s/1m",
            "\"0s\" in \"sliding-window/0s/1m\": a span must be longer than zero",
        ),
        ("exim/0s", "\"0s\" in \"exim/0s\": a span must be longer than zero"),
        (
            "sliding-window/1h",
            "\"sliding-window/1h\": a span is missing; write sliding-window/period/precision",
        ),
        ("bucket/1m", "\"/1m\" in \"bucket/1m\": more than it has; write bucket"),
    ] {
        let error = text.parse::<Shape>().unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

/// Some bytes that begin well and then are anything.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let rest = prop::collection::vec(any::<u8>(), 0..60);
    let shapes = FORMS.iter().map(|form| limiter(form.example).shape().to_string());
    let shape = prop::sample::select(shapes.collect::<Vec<_>>());
    let begun = (shape, rest).prop_map(|(shape, rest)| {
        [&[VERSION, shape.len() as u8], shape.as_bytes(), &rest].concat()
    });
    prop_oneof![1 => prop::collection::vec(any::<u8>(), 0..60), 9 => begun]
}

#[test]
fn an_unknown_shape_is_told_with_its_cause() {
    let error = Kept::from_bytes(&[VERSION, 4, b'n', b'o', b'n', b'e']).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap();
    assert!(cause.is::<ParseError>() && error.to_string().ends_with(&cause.to_string()), "{error}");
}

proptest! {
    #[test]
    fn they_come_back((limiter, period) in limiters(), steps in steps()) {
        let (state, now) = run(&limiter, &steps, period);
        let kept = limiter.keep(&state, now);
        prop_assert_eq!(Kept::from_bytes(&kept.to_bytes()), Ok(kept));
    }

    /// Wherever they are cut off, and whatever follows.
    #[test]
    fn they_are_read_whole((limiter, period) in limiters(), steps in steps(), cut in 0.0..1.0) {
        let (state, now) = run(&limiter, &steps, period);
        let mut bytes = limiter.keep(&state, now).to_bytes();
        let cut = &bytes[..(cut * bytes.len() as f64) as usize];
        let error = Kept::from_bytes(cut).unwrap_err();
        let truncated = matches!(error, KeptError::Truncated { .. });
        prop_assert!(truncated, "{error}");
        bytes.push(0);
        prop_assert_eq!(Kept::from_bytes(&bytes), Err(KeptError::Trailing { bytes: 1 }));
    }

    /// The fuzzer tries this, too.
    #[test]
    fn no_bytes_are_too_strange(bytes in bytes()) {
        hold(&bytes);
    }
}

/// The seeds of the fuzzer, and its finding: blocks at the end of time.
#[test]
fn seeds_hold() {
    seeds::each("kept", 3, hold);
    hold(
        b"\x01\x0esliding-log/1s\x03\xc1\x8d\xb7\xb7\x01\xa0\x8d\x06\xc1\x8d\xb7\x01\xa37\x06\
          \xc1\x8d\xf7\x01",
    );
}

/// Each kind after some events. Run it with `--ignored` to write the seeds again.
#[test]
#[ignore = "writes the seeds of the corpus"]
fn write_the_seeds() {
    for form in FORMS {
        let limiter = limiter(form.example);
        let mut state = limiter.initial();
        for i in 0..3 {
            limiter.charge(&mut state, Time::from_micros(i * 100_000), 1.5).unwrap();
        }
        seeds::write("kept", form.name, limiter.keep(&state, Time::ZERO).to_bytes());
    }
}
