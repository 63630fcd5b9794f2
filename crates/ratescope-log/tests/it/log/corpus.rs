//! The inputs with which the fuzzer begins, and those that it found, run as an ordinary test.

use super::{invariants, of, read, seeds};
use ratescope_log::Format;

#[test]
fn the_corpus_holds() {
    // There is a seed for each kind of line.
    seeds::each("log", invariants::LINES.len(), invariants::hold);
}

#[test]
fn the_objects_of_the_corpus_are_read() {
    seeds::each("json", 3, |data| {
        let log = format!("{{\"ts\":0}}\n{}\n", str::from_utf8(data).unwrap());
        assert_eq!(read(log.as_bytes(), &of(Format::JSON), []).counts.unread, 0);
    });
}

/// Writes the seeds: each kind of line as a log in its own format, all lines as a log of each format, and
/// lines that are cut in the middle. Run it with `--ignored` to write them again.
#[test]
#[ignore = "writes the seeds of the corpus"]
fn write_the_seeds() {
    let write = |name: String, data: Vec<u8>| seeds::write("log", &name, data);
    for (i, line) in invariants::LINES.iter().enumerate() {
        let text = format!("{line}\n{line}\n{}", &line[..line.len() / 2]);
        write(format!("line-{i:02}"), [&[9], text.as_bytes()].concat());
    }
    for (i, layout) in
        ["$ip [$time] \"$request\" $status", "%{X-Forwarded-For}i|%h|%{sec}t|%r"].iter().enumerate()
    {
        let text = "192.0.2.7 [2000-10-10T13:55:36Z] \"GET /a HTTP/1.1\" 200\n::1, x|::1|971211336|GET /|x\n";
        write(format!("layout-{i}"), [&[8], layout.as_bytes(), b"\n", text.as_bytes()].concat());
    }
    for format in 0u8..7 {
        let text = invariants::LINES.join("\n");
        write(format!("all-{format}"), [&[format], text.as_bytes()].concat());
    }
}
