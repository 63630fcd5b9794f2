//! The same input gives the same bits in the page as natively, where `tests/bits.rs` wrote them,
//! and the same texts, though in the page it is the browser that reads and prints numbers.
//!
//! `wasm-pack test --headless --chrome -- --features page-tune --test web`
#![cfg(all(feature = "page", target_arch = "wasm32"))]

mod common;

use ratescope::{Rate, Span};
use ratescope_lab::run::Named as _;
use ratescope_lab::scope::Settings;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn the_replay_has_the_committed_bits() {
    common::assert_same_lines(&common::bits(), include_str!("vectors/bits.txt"));
}

#[wasm_bindgen_test]
fn the_limiters_make_the_committed_decisions() {
    let committed = include_str!("vectors/limiters.txt");
    common::assert_same_lines(&common::limiters::decisions(), committed);
}

#[wasm_bindgen_test]
fn the_runs_have_the_committed_columns() {
    common::assert_same_lines(&common::runs::runs(), include_str!("vectors/runs.txt"));
}

#[wasm_bindgen_test]
fn the_naughty_user_on_redis() {
    common::limiters::assert_naughty_user();
}

#[wasm_bindgen_test]
fn numbers_are_written_as_natively() {
    common::assert_decimals();
}

#[wasm_bindgen_test]
fn every_rate_of_the_replay_comes_back_from_its_text() {
    for line in include_str!("vectors/bits.txt").lines() {
        for bits in line.split(' ').skip(2) {
            common::assert_comes_back(f64::from_bits(u64::from_str_radix(bits, 16).unwrap()));
        }
    }
}

/// Panics unless a plain decimal is read as std reads it, and the value is written as std writes it.
fn assert_read_and_written(text: &str) {
    let rate: Rate = format!("{text}/1s").parse().unwrap();
    let value: f64 = text.parse().unwrap();
    assert_eq!(rate.count().to_bits(), value.to_bits(), "{text}");
    assert_eq!(rate.to_string(), format!("{value}/1s"));
}

#[wasm_bindgen_test]
fn numbers_of_any_size_are_read_and_written_as_by_std() {
    let (mut bits, mut seen) = (1_u64, 0);
    while seen < 3000 {
        // xorshift
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        let value = f64::from_bits(bits >> 1);
        if value.is_finite() {
            seen += 1;
            assert_read_and_written(&value.to_string());
            // More digits than a number has, and fewer.
            assert_read_and_written(&format!("{value:.340}"));
            assert_read_and_written(&format!("{:.3}", value % 1e6));
        }
    }
    // Powers of two have a nearer neighbour below, and fractions like these may be halfway between two texts.
    let fractions =
        (-1074..1024).flat_map(|e| [1.0, 1001.0, 6_209_871_085.0].map(|n| n * 2_f64.powi(e)));
    for value in fractions.filter(|value| value.is_finite()) {
        assert_read_and_written(&value.to_string());
    }
    for value in
        [f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::MIN_POSITIVE - 5e-324, 1e308, 1e23, 9.5e-7]
    {
        assert_read_and_written(&value.to_string());
    }
    for text in
        ["5.", ".5", "007", "0.", ".0", "9007199254740993", "9007199254740993.0000000000000000001"]
    {
        assert_read_and_written(text);
    }
}

/// The digits of 5 to the power `n`.
fn power_of_five(n: usize) -> String {
    let mut digits = vec![1];
    for _ in 0..n {
        let mut carry = 0;
        for digit in &mut digits {
            carry += *digit * 5;
            *digit = carry % 10;
            carry /= 10;
        }
        digits.extend((carry > 0).then_some(carry));
    }
    digits.iter().rev().map(ToString::to_string).collect()
}

/// Halfway between two numbers the even one is nearest, but not if any digit follows.
#[wasm_bindgen_test]
fn halfway_between_numbers_every_digit_counts() {
    for n in [1075, 1076, 1000, 100, 60] {
        // 2^-n, exactly; with n = 1075 it is half of the least number.
        let half = format!("0.{:0>n$}", power_of_five(n));
        for tail in ["", "0", "1", "00000000000000000000000000000000000001"] {
            assert_read_and_written(&format!("{half}{tail}"));
        }
        // 1 + 2^-53 is halfway between 1 and the next number.
        let [half, below] = [53, 54].map(|n| format!("1.{:0>n$}", power_of_five(n)));
        for text in [&half, &below, &format!("{half}{:0>n$}", 1)] {
            assert_read_and_written(text);
        }
    }
}

/// Only numbers are read, whatever JavaScript would read.
#[wasm_bindgen_test]
fn exponents_are_read_as_by_std() {
    let mut texts = vec![String::new()];
    for _ in 0..5 {
        let longer = |text: &String| ["0", "5", ".", "e", "+", "-"].map(|c| format!("{text}{c}"));
        texts.extend(texts.iter().flat_map(longer).collect::<Vec<_>>());
        texts.sort();
        texts.dedup();
    }
    texts.extend(
        ["1e5\u{feff}", "1e400", "1e-400", "0e5x", "1e5_0", "1E3", "1e٣"].map(str::to_owned),
    );
    let is_exponential = |text: &&String| {
        text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(['e', 'E'])
    };
    for text in texts.iter().filter(is_exponential) {
        let value = text.parse().ok().filter(|value: &f64| (0.001..=1e6).contains(value));
        let mut settings = Settings::default();
        assert_eq!(settings.set("auto-rate", text).is_ok(), value.is_some(), "{text}");
        if let Some(value) = value {
            assert_eq!(settings.get("auto-rate"), value.to_string(), "{text}");
        }
    }
}

#[wasm_bindgen_test]
fn numbers_that_are_refused_are_named_as_by_std() {
    for value in [-1.5, -1e-7, -1e21, -0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = Rate::new(value, Span::seconds(1)).unwrap_err().to_string();
        assert!(error.contains(&format!(" be {value}: ")), "{error}");
    }
}
