//! Properties of any fields of CSV. The tests and the fuzzer check them.

use ratescope_log::{Format, Options, Reader, recognize};

/// The fields of a line are separated by zeros. Panics unless a line as the csv crate writes it has
/// the same fields here, without the space around them; and any line is an event or a problem.
pub(crate) fn hold(data: &[u8]) {
    let fields: Vec<&[u8]> = data.split(|byte| *byte == 0).take(100).collect();
    let names: Vec<String> = (0..fields.len()).map(|i| format!("a{i}")).collect();
    let header = format!("time,{}\n", names.join(","));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let line = [&b"1"[..]].into_iter().chain(fields.iter().copied());
    writer.write_record(line).expect("memory takes everything");
    let line = writer.into_inner().expect("memory takes everything");
    let is_one_line = !data.contains(&b'\n') && !data.contains(&b'\r');
    if let (Ok(_), true) = (std::str::from_utf8(data), is_one_line) {
        let seen = read(&header, &line, &names);
        let wanted = fields.iter().map(|field| std::str::from_utf8(field).unwrap_or("").trim());
        assert_eq!(seen, [wanted.collect::<Vec<_>>()]);
    }
    read(&header, data, &names);
}

/// The fields of each event.
fn read(header: &str, lines: &[u8], names: &[String]) -> Vec<Vec<String>> {
    let options = Options { format: Some(Format::CSV), ..Options::default() };
    let shape = recognize(header.as_bytes(), true, &options).ok().flatten().expect("a header");
    let mut reader = Reader::new(&shape, &options).expect("nothing special is asked for");
    let mut events = Vec::new();
    for piece in [header.as_bytes(), lines] {
        let mut see = |record: &ratescope_log::Record<'_>| {
            let value = |name: &String| record.value(name).unwrap_or("").to_owned();
            events.push(names.iter().map(value).collect());
        };
        reader.feed(piece, &mut see).expect("it is not strict");
    }
    let mut last = 0;
    reader.finish(&mut |_| last += 1).expect("it is not strict");
    let counts = reader.counts();
    assert_eq!(counts.events, events.len() as u64 + last);
    assert!(counts.events + counts.others + counts.unread <= counts.lines);
    events
}
