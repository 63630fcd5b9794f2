//! Links of Compare as text, of all ages.

use super::texts::wrong;
use super::*;
use ratescope_lab::compare::{Link, Template};

#[test]
fn a_link_names_what_is_not_usual() {
    assert_eq!(Link::default().settings.lanes.len(), 8);
    let changes = [("cost", "2"), ("auto", "off"), ("window", "5m")];
    recorded::assert_names_what_is_not_usual::<Settings>(changes);
}

#[test]
fn a_link_reads_as_it_is_written() {
    let mut comparison = comparison(&[
        ("lanes", "gcra per user & exim strict;earrrl"),
        ("script", "1 at 1s, 2 at 2s"),
    ]);
    comparison.advance(at(1.5), usize::MAX);
    comparison.set("lanes", "gcra;fixed-window & sliding-log").unwrap();
    comparison.set("script", "3 at 3s, 1/1s").unwrap();
    comparison.click();
    let link = Link { paused: true, ..comparison.link().unwrap() };
    let text = link.to_string();
    // Lanes hold from the start of the run; a script holds from the time at which it was set.
    assert!(text.starts_with("lanes=gcra;fixed-window %26 sliding-log&"));
    assert!(text.contains("&script=1 at 1s, 2 at 2s&"));
    let done = "&at=1.5&paused&do=1.5:script=3 at 3s%2C 1/1s,1.5:events*1";
    assert!(text.ends_with(done), "{text}");
    let read: Link = text.parse().unwrap();
    assert_eq!(read.to_string(), text);
    assert_eq!((read.settings.clone(), read.at, read.paused), (link.settings, link.at, true));
    let mut again = Comparison::open(&read).unwrap();
    again.advance(read.at, usize::MAX);
    assert_eq!(again.settings(), comparison.settings());
}

/// Everything encoded, as some programs pass an address on; spaces encoded, as a browser has them; and separators
/// encoded, as a program may that wrote the address down.
#[test]
fn links_read_alike_however_they_are_encoded() {
    let plain = "lanes=gcra per user;earrrl&script=1 at 1s&paused\
        &do=1.5:lanes=gcra;fixed-window,1.5:script=3 at 3s,1.5:events*1";
    let everything = |c: char| {
        if c.is_ascii_alphanumeric() { c.to_string() } else { format!("%{:02x}", c as u8) }
    };
    let read = |text: &str| text.parse::<Link>().unwrap_or_else(|error| panic!("{error}"));
    for text in [
        plain.replace(' ', "%20"),
        plain.chars().map(everything).collect(),
        plain.replace('&', "%26"),
        plain.replace(',', "%2C"),
    ] {
        assert_eq!(read(&text), read(plain), "{text}");
    }
    // In a value, separators have to be encoded.
    let within = "lanes=gcra per user %26 exim strict;earrrl&script=1 at 1s, 2 at 2s&paused\
        &do=1.5:lanes=gcra;fixed-window %26 sliding-log,1.5:script=3 at 3s%2C 1/1s,1.5:events*1";
    let link = read(within);
    assert_eq!(link.commands.len(), 3);
    let lanes: Vec<_> = link.settings.lanes.iter().map(Template::as_str).collect();
    assert_eq!(lanes, ["gcra per user & exim strict", "earrrl"]);
    assert_eq!(read(&within.replace(' ', "%20")), link);
}

#[test]
fn a_link_that_is_wrong_says_where() {
    let link = |text: &str| text.parse::<Link>();
    // As a person would read it, not as the address has it.
    let error = link("seed=2&lanes=gcra%20%26%20exm%20strict&auto=off").unwrap_err();
    assert_eq!(error.at(), 20..23);
    let text = "\"exm\" in \"seed=2&lanes=gcra & exm strict&auto=off\": not a limiter";
    assert!(error.to_string().starts_with(text), "{error}");
    let error = link("do=1:lanes=gcra%20per%20user,2:lanes=gcra%20%26%20gcr").unwrap_err();
    let text = "\"gcr\" in \"do=1:lanes=gcra per user,2:lanes=gcra & gcr\"";
    assert!(error.to_string().starts_with(text), "{error}");
    wrong(link("limt%20=5"), "limt ", "it has at, paused, do, limit,");
    wrong(link("seed=%zz"), "%zz", "write a whole number");
    wrong(link("seed=%ff"), "\u{fffd}", "write a whole number");
    wrong(link("limit=10/10x"), "x", "not a unit");
    wrong(link("lanes=gcra;gcra+exm"), "gcra+exm", "not a limiter");
    wrong(link("decay=10"), "decay", "it has at, paused, do, limit,");
    wrong(link("do=1:lanes=gcra,2:lanes=gcr"), "gcr", "not a limiter");
    wrong(link("at=soon"), "soon", "not a time");
}

#[test]
fn a_link_has_a_greatest_length() {
    let long = format!("at=1&{}", "&".repeat(1 << 20));
    let (link, error) = Link::good_parts(&long);
    assert_eq!(link, None);
    assert_eq!(
        error.unwrap().to_string(),
        "\"at=1&&&&&&&&&&&&&&&&…\": a link of more than 1048576 bytes"
    );
    assert!(long[..1 << 20].parse::<Link>().is_ok());
}
