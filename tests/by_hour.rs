//! The tables of `limit::by_hour` say what its example prints.
#![cfg(not(target_arch = "wasm32"))]

#[allow(dead_code, unreachable_pub)]
#[path = "../examples/by_hour/main.rs"]
mod example;

use std::fs;

#[test]
fn the_tables_are_what_is_measured() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/src/limit/by_hour/measured.md");
    let docs = fs::read_to_string(docs).unwrap();
    for table in [example::of_mail().unwrap(), example::of_sample().unwrap()] {
        assert!(docs.contains(&table), "it should have this table:\n{table}");
    }
}
