//! Each text that serde_json reads as an object is read as an object here, too.
#![no_main]

use ratescope_log::{Format, Options, Reader, recognize};
use serde_json::{Map, Value};

libfuzzer_sys::fuzz_target!(|line: &str| {
    let is_json = serde_json::from_str::<Map<String, Value>>(line).is_ok();
    if !is_json || line.contains('\n') || line.matches(['{', '[']).count() > 30 {
        return;
    }
    let log = format!("{{\"ts\":0}}\n{line}\n");
    let options = Options { format: Some(Format::JSON), ..Options::default() };
    let Ok(Some(shape)) = recognize(log.as_bytes(), true, &options) else {
        panic!("the first line is right");
    };
    let Ok(mut reader) = Reader::new(&shape, &options) else { panic!("nothing is asked for") };
    let _ = reader.feed(log.as_bytes(), &mut |_| {});
    let problems = &reader.counts().problems;
    let is_time = |problem: &str| problem.starts_with("not a time");
    assert!(problems.iter().all(|unread| is_time(&unread.problem)), "{problems:?}");
});
