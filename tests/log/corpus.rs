//! The inputs with which the fuzzer begins, and those that it found, run as an ordinary test.

use super::{invariants, of, read};
use ratescope::log::Format;
use std::fs;
use std::path::Path;

/// The inputs of a fuzz target, each with its name; none in the published crate, which has no fuzzer.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap().path());
    let mut files: Vec<_> =
        files.map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn the_corpus_holds() {
    let files = corpus("log");
    assert!(
        files.is_empty() || files.len() >= invariants::LINES.len(),
        "it has a seed for each kind of line"
    );
    for (name, data) in files {
        // If it fails, the name of the input is in the output.
        println!("{name}");
        invariants::hold(&data);
    }
}

#[test]
fn the_objects_of_the_corpus_are_read() {
    for (name, data) in corpus("json") {
        println!("{name}");
        let line = String::from_utf8(data).unwrap();
        let log = format!("{{\"ts\":0}}\n{line}\n");
        assert_eq!(read(log.as_bytes(), &of(Format::Json), []).counts.unread, 0);
    }
}

/// Writes the seeds: each kind of line as a log in its own format, all lines as a log of each format, and
/// lines that are cut in the middle. Run it with `--ignored` to write them anew.
#[test]
#[ignore = "writes the seeds of the corpus"]
fn write_the_seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/log");
    fs::create_dir_all(&folder).unwrap();
    let write = |name: String, data: Vec<u8>| fs::write(folder.join(name), data).unwrap();
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
