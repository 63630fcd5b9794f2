//! The tables of `limit::by_hour` are those that its example prints.

use crate::by_hour_example as example;
use std::fs;

#[test]
fn the_tables_are_what_is_measured() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../ratescope/src/limit/by_hour/measured.md");
    let docs = fs::read_to_string(docs).unwrap();
    for table in [example::of_mail().unwrap(), example::of_sample().unwrap()] {
        assert!(docs.contains(&table), "it should have this table:\n{table}");
    }
}
