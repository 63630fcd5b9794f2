//! The tables of the chapter "What a refusal does to clients".

use ratescope_lab::compare::{Comparison, Link};
use ratescope_lab::view::compare::{Job, job};

/// The clients of all tables: fifty requests, five times as many as may pass at once.
const CLIENTS: &str = "5 clients of 10";

const HEAD: &str =
    "| job done | sent for each that passed | longest wait | load | busiest second |\n";

/// A row for each lane, which the function names.
fn table(head: &str, lanes: &[String], name: impl Fn(&str) -> String) -> String {
    let lanes = lanes.join(";");
    let link = format!("limit=10/10s&auto=off&lanes={lanes}&script={CLIENTS} retry at once&at=600");
    let link: Link = link.parse().expect("a link");
    let mut run = Comparison::open(&link).expect("a run");
    run.advance(link.at, usize::MAX);
    let mut table = format!("{head} {HEAD}|---|---|---|---|---|---|\n");
    for lane in run.lanes() {
        let Job { done, sent, longest, load, busiest, .. } =
            job(lane, run.settings().limit).expect("clients");
        let name = name(lane.template().as_str());
        table += &format!("| `{name}` | {done} | {sent} | {longest} | {load} | {busiest} |\n");
    }
    // The narrow space between a number and its unit.
    table.replace('\u{202f}', " ")
}

/// The tables, in the order of the chapter.
pub(crate) fn tables() -> [String; 2] {
    let ways = [
        "at once",
        "every 1s",
        "every 1s full",
        "exponential 1s",
        "exponential 1s full",
        "exponential 1s equal",
        "exponential 1s decorrelated",
        "retry-after",
        "retry-after full",
    ];
    let lanes = ways.map(|way| format!("sliding-log retry {way}"));
    let ways = table("| retry", &lanes, |lane| {
        lane.split_once(" retry ").map_or("", |(_, way)| way).to_owned()
    });
    let limiters = [
        "fixed-window",
        "sliding-window",
        "sliding-counter",
        "sliding-log",
        "token-bucket",
        "leaky-bucket",
        "exim leaky",
        "exim strict",
        "earrrl",
    ];
    let lanes = limiters.map(|limiter| format!("{limiter} retry every 1s"));
    let limiters = table("| limiter", &lanes, |lane| {
        lane.split_once(" retry ").map_or("", |(limiter, _)| limiter).to_owned()
    });
    [ways, limiters]
}

#[cfg(test)]
#[test]
fn the_chapter_has_the_tables_of_the_program() {
    let path = format!("{}/../ratescope/src/guide/clients.md", env!("CARGO_MANIFEST_DIR"));
    let chapter = std::fs::read_to_string(path).unwrap();
    for table in tables() {
        assert!(chapter.contains(&table), "The chapter lacks this table:\n{table}");
    }
}
