//! Exim's logs.

use super::{read, shape};
use proptest::prelude::*;
use ratescope_log::{Options, Reader};

const NAMES: [&str; 9] =
    ["ip", "host", "helo", "sender", "auth", "user", "bytes", "protocol", "id"];

/// 2024-05-01 12:00:00 UTC.
const NOON: i64 = 1_714_564_800_000_000;

#[track_caller]
fn assert_line(line: &str, micros: i64, fields: [&str; 9]) {
    let read = read(line.as_bytes(), &Options::default(), NAMES);
    assert_eq!(read.fields(), [fields], "{line}");
    assert_eq!(read.events[0].0, micros, "{line}");
}

#[test]
fn arrivals_are_events() {
    let id = "1s2abc-0003xY-Az";
    assert_line(
        "2024-05-01 12:00:00 1s2abc-0003xY-Az <= ann@example.org H=mx.example.org (helo.example) [192.0.2.7]:4567 I=[198.51.100.1]:25 P=esmtpsa X=TLS1.3:TLS_AES_256_GCM_SHA384:256 CV=no A=plain_login:ann S=1234 id=x@example.org T=\"Hello\" from <ann@example.org> for bob@example.com",
        NOON,
        [
            "192.0.2.7",
            "mx.example.org",
            "helo.example",
            "ann@example.org",
            "ann",
            "ann",
            "1234",
            "esmtpsa",
            id,
        ],
    );
    // A bounce, with a long id as of newer versions, milliseconds, a zone and a process.
    assert_line(
        "2024-05-01 12:00:00.123 +0200 [4567] 1s2abc-00000003xyz-0abc <= <> R=1s2abc-0003xY-Az U=Debian-exim P=local S=99",
        NOON - 2 * 3600 * 1_000_000 + 123_000,
        ["", "", "", "", "", "Debian-exim", "99", "local", "1s2abc-00000003xyz-0abc"],
    );
    // No verified name; an IPv6 address; a user that only the other side claims.
    assert_line(
        "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b H=(x) [2001:db8:1:2::3]:99 U=root P=smtp S=1",
        NOON,
        ["2001:db8:1:2::/64", "", "x", "a@b", "", "", "1", "smtp", id],
    );
    assert_line(
        "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b H=[192.0.2.7] P=smtp S=1",
        NOON,
        ["192.0.2.7", "", "", "a@b", "", "", "1", "smtp", id],
    );
}

/// Failed logins are events where no mail arrives.
#[test]
fn failed_logins_are_events_of_their_own() {
    let line = |client: &str, user: &str| {
        format!(
            "2024-05-01 12:00:00 [9] plain_login authenticator failed for {client}: 535 Incorrect authentication data{user}\n"
        )
    };
    let log = [
        line("(helo) [192.0.2.7]", " (set_id=ann)"),
        line(
            "mx.example.org ([203.0.113.9]) [192.0.2.8]:4567 I=[10.0.0.1]:587",
            " (set_id=[203.0.113.9])",
        ),
        line("H=(x) [203.0.113.9]) [2001:db8::9]", ""),
        "2024-05-01 12:00:00 H=(x) [192.0.2.9] F=<a@b> rejected RCPT <c@d>: no\n".to_owned(),
    ];
    let log = log.concat();
    let read = read(log.as_bytes(), &Options::default(), ["ip", "user"]);
    let want = [["192.0.2.7", "ann"], ["192.0.2.8", "[203.0.113.9]"], ["2001:db8::/64", ""]];
    assert_eq!((&read.fields()[..], read.counts.others), (&want[..], 1));
    let options = Options::default();
    let shape = shape(log.as_bytes(), &options);
    assert_eq!(
        (shape.to_string().as_str(), shape.events(&options.filter)),
        ("Exim's log of failed logins", "failed logins")
    );
}

/// A HELO with brackets is none of the peer's: the last address before the next field is.
#[test]
fn a_helo_may_look_like_an_address() {
    for client in [
        "(x) [203.0.113.9]) [192.0.2.7]:4567",
        "(x) [203.0.113.9]:25) [192.0.2.7]",
        "([203.0.113.9]) [192.0.2.7]",
        "mx.example.org ([203.0.113.9] x) [192.0.2.7]:4567",
        "mx.example.org [192.0.2.7]:4567",
        "[192.0.2.7]",
    ] {
        for (line, log) in [
            (
                format!(
                    "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b H={client} I=[10.0.0.1]:25 P=smtp S=1"
                ),
                "main",
            ),
            (
                format!(
                    "2024-05-01 12:00:00 H={client} I=[10.0.0.1]:25 F=<a@b> rejected RCPT <c@d>: [203.0.113.9]"
                ),
                "reject",
            ),
        ] {
            let read = read(line.as_bytes(), &Options::default(), ["ip"]);
            assert_eq!(read.fields(), [["192.0.2.7"]], "{log}: {line}");
        }
    }
}

/// Text that the sender chose is never read as something that the server found out.
#[test]
fn senders_cannot_pass_for_others() {
    let id = "1s2abc-0003xY-Az";
    assert_line(
        "2024-05-01 12:00:00 1s2abc-0003xY-Az <= \"x H=y [192.0.2.9] A=p:eve \\\" \"@evil.example H=(z) [192.0.2.7] P=smtp S=1 T=\"A=p:root H=h [192.0.2.8]\" for a@b",
        NOON,
        [
            "192.0.2.7",
            "",
            "z",
            "\"x H=y [192.0.2.9] A=p:eve \\\" \"@evil.example",
            "",
            "",
            "1",
            "smtp",
            id,
        ],
    );
    assert_line(
        "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b U=ann P=local S=1 T=\"H=h [192.0.2.8]\"",
        NOON,
        ["", "", "", "a@b", "", "ann", "1", "local", id],
    );
    assert_line(
        "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b H=([192.0.2.9]) [192.0.2.7] P=smtp S=1",
        NOON,
        ["192.0.2.7", "", "[192.0.2.9]", "a@b", "", "", "1", "smtp", id],
    );
}

/// With `log_selector = +received_recipients`, the recipients follow all that a sender chose: the id of the mail and
/// its subject, in which Exim escapes quotes.
#[test]
fn recipients_are_counted() {
    let line = |rest: &str| {
        format!("2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b H=h [192.0.2.7] P=smtp S=7{rest}\n")
    };
    let options = Options { cost: Some("recipients".parse().unwrap()), ..Options::default() };
    for (rest, list, count) in [
        (" id=1@b T=\"x\" for c@d e@f", "c@d e@f", 2.0),
        (" id=\"for x y\"@b T=\"said \\\"for a b c\\\"\" from <a@b> for c@d", "c@d", 1.0),
        (" for \"c for\"@d e@f g@h", "\"c for\"@d e@f g@h", 3.0),
        // This mail has none in the log, although the log has them.
        ("", "", 1.0),
    ] {
        let log = line(" for x@y") + &line(rest);
        let read = read(log.as_bytes(), &options, ["recipients", "bytes"]);
        assert_eq!(read.fields()[1], [list, "7"], "{rest}");
        assert_eq!(read.events[1].1, count, "{rest}");
    }
    let without = line(" T=\"for a b\"");
    let error = Reader::new(&shape(without.as_bytes(), &options), &options).unwrap_err();
    assert!(error.to_string().starts_with("\"recipients\": not a field of this log; it has ip"));
}

#[test]
fn other_lines_are_no_events() {
    let log = "\
2024-05-01 12:00:00 exim 4.96 daemon started: pid=1, -q30m, listening for SMTP on port 25
2024-05-01 12:00:01 1s2abc-0003xY-Az <= a@b H=h [192.0.2.7] P=smtp S=1
2024-05-01 12:00:01 1s2abc-0003xY-Az => bob@example.com R=dnslookup T=remote_smtp H=mx [192.0.2.9] C=\"250 OK\"
2024-05-01 12:00:01 1s2abc-0003xY-Az Completed
2024-05-01 12:00:02 H=h [192.0.2.7] F=<a@b> rejected RCPT <c@d>: relay not permitted
  a line that goes on
2024-05-01 12:00:03 End queue run: pid=2
";
    let read = read(log.as_bytes(), &Options::default(), ["ip"]);
    let counts = &read.counts;
    assert_eq!((counts.lines, counts.events, counts.others, counts.unread), (7, 1, 5, 1));
    assert_eq!(read.problems(), ["line 6: no date and time at the beginning"]);
    assert_eq!(shape(log.as_bytes(), &Options::default()).to_string(), "Exim's main log");
}

proptest! {
    /// The address is that of the connection, for any sender, subject and HELO.
    #[test]
    fn the_address_is_that_of_the_connection(
        local in "[a-zA-Z0-9 =\\[\\]().:<>-]{0,30}",
        subject in "\\PC{0,30}",
        helo in "[a-zA-Z0-9.\\[\\]:-]{1,20}",
    ) {
        let log = format!(
            "2024-05-01 12:00:00 1s2abc-0003xY-Az <= \"{local}\"@x H=({helo}) [192.0.2.7]:1 P=smtp S=5 T=\"{subject}\""
        );
        let read = read(log.as_bytes(), &Options::default(), ["ip", "bytes", "auth"]);
        prop_assert_eq!(read.fields(), [["192.0.2.7", "5", ""]]);
    }
}

/// The reject log of a real Exim 4.96: the refusals and the clients. The headers of a refused mail pretend to
/// be lines of the log.
#[test]
fn refusals_are_events() {
    let log = include_str!("real/exim-rejectlog.txt");
    let found = read(log.as_bytes(), &Options::default(), ["ip", "helo", "sender", "id"]);
    let id = "1xVLWu-0002CJ-1R";
    let helo = "mx.sender.example";
    let of = |sender| ["192.0.2.7", helo, sender, ""];
    assert_eq!(
        found.fields(),
        [
            ["192.0.2.66", "", "", ""],
            ["192.0.2.7", "evil", "", ""],
            of(""),
            of("a@b.example"),
            of("a@b.example"),
            of("a@b.example"),
            ["192.0.2.7", helo, "a@b.example", id],
            ["2001:db8::/64", "[203.0.113.9]", "\"x H=[203.0.113.9] rejected\"@b.example", ""],
        ]
    );
    assert_eq!((found.counts.others, found.counts.unread), (11, 0));
    let shape = shape(log.as_bytes(), &Options::default());
    assert_eq!(shape.to_string(), "Exim's reject log");
    assert_eq!(shape.events(&Options::default().filter), "refusals");
    // The main log has the same lines, but its events are the arriving mails.
    let arrival = "2026-11-23 04:19:50 1s2abc-0003xY-Az <= a@b H=[192.0.2.9] P=smtp S=1\n";
    let main = read(format!("{log}{arrival}").as_bytes(), &Options::default(), ["ip"]);
    assert_eq!(main.fields(), [["192.0.2.9"]]);
}
