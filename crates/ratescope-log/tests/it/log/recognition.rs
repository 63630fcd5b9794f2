//! The format of a log, and the errors for logs of no known format.

use super::of;
use ratescope_log::{Format, HEAD, Options, recognize};

const COMBINED: &str =
    "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"";
const LINES: [(Format, &str); 5] = [
    (Format::COMBINED, COMBINED),
    (Format::JSON, "{\"ts\":1}"),
    (Format::EXIM, "2024-05-01 12:00:00 1s2abc-0003xY-Az => a@b R=x T=y"),
    (Format::SYSLOG, "Oct 10 13:55:36 web1 CRON[1]: x"),
    (Format::CSV, "time,key"),
];

fn format(log: &str) -> Option<Format> {
    let shape = recognize(log.as_bytes(), true, &Options::default());
    shape.ok().flatten().map(|shape| shape.format())
}

fn unknown(log: &[u8], options: &Options) -> String {
    recognize(log, true, options).unwrap_err().to_string()
}

#[test]
fn formats_are_recognized() {
    for (want, line) in LINES {
        for begin in ["", "\n \r\n", "\u{feff}"] {
            assert_eq!(format(&format!("{begin}{line}")), Some(want), "{line}");
            assert_eq!(format(&format!("{begin}{line}\r\nnothing else\n")), Some(want), "{line}");
        }
        // The log may begin within a line, or with other lines; only a header of CSV must be its first line.
        let later = format(&format!("ond half of a line\nand another\n{line}\n"));
        assert_eq!(later, (want != Format::CSV).then_some(want), "{line}");
        assert_eq!(want.to_string().parse(), Ok(want));
    }
    let error = "tomcat".parse::<Format>().unwrap_err().problem().to_owned();
    assert!(
        error.starts_with("not a format of logs; write one of json, combined, exim, syslog, csv")
    );
    assert_eq!("apache".parse(), Ok(Format::COMBINED));
    assert_eq!("dovecot".parse(), Ok(Format::SYSLOG));
}

/// The pieces in which the beginning of a log comes make no difference: ten lines with a client decide, or
/// the header of CSV.
#[test]
fn more_is_asked_for() {
    let ten = |line: &str| format!("{line}\n").repeat(10);
    let login = "Oct 10 13:55:36 a sshd[1]: Failed password for x from 192.0.2.7 port 5 ssh2";
    for (want, lines) in [
        (Format::COMBINED, ten(COMBINED)),
        (Format::JSON, ten("{\"ts\":1,\"ip\":\"192.0.2.7\"}")),
        (Format::SYSLOG, ten(login)),
        (Format::CSV, "time,key\n".to_owned()),
    ] {
        let log = format!("\n{lines}more\nmore");
        let near_the_end = (0..log.len()).filter(|length| length.abs_diff(lines.len()) < 3);
        for length in (0..log.len()).step_by(17).chain(near_the_end) {
            let shape = recognize(&log.as_bytes()[..length], false, &Options::default()).unwrap();
            let is_whole = length > lines.len();
            assert_eq!(shape.map(|shape| shape.format()), is_whole.then_some(want), "{length}");
        }
    }
    // But there is a limit to the bytes that it asks for.
    let long = "no log\n".repeat(HEAD / 7);
    assert!(recognize(long.as_bytes(), false, &Options::default()).unwrap().is_none());
    let long = "no log\n".repeat(HEAD / 7 + 1);
    assert!(recognize(long.as_bytes(), false, &Options::default()).is_err());
    // A line that goes beyond the limit is not taken for a shorter one.
    let header = format!("time,{}", "k,".repeat(HEAD));
    assert!(recognize(header.as_bytes(), false, &Options::default()).is_err());
}

#[test]
fn unknown_formats_are_reported() {
    let line = "2024-05-01 something that \u{1b}[31mno format has, and that goes on and on and on";
    assert_eq!(
        unknown(line.as_bytes(), &Options::default()),
        "the format of the log is unknown; its first line is\n  \
         2024-05-01 something that ·[31mno format has, and that goes …\n\
         These logs are read: the access logs of nginx, Apache, lighttpd, Varnish, Caddy, Traefik, HAProxy, Envoy, \
         Istio, Squid, IIS, nginx-proxy-manager, CloudFront and the load balancers of AWS; JSON lines and CSV with a \
         time; the failed logins of sshd, Postfix, Dovecot and Exim; and Exim's main and reject log; also through \
         syslog, the journal, docker and Kubernetes. For any other log, say its columns, by --log-format or in the \
         page's box for them, as in '$remote_addr [$time_local] \"$request\" $status' or '$remote_addr %d.%m.%Y \
         %H:%M:%S $request_method $uri'"
    );
    assert_eq!(
        unknown(b"{\"msg\":1}\n", &of(Format::JSON)),
        "the format of the log is unknown; its first line is\n  {\"msg\":1}\n\
         It is not read as json: an object without a time; name its field, as in --field time=when"
    );
    // If the format is given, no other is tried.
    let says = unknown(COMBINED.as_bytes(), &of(Format::EXIM));
    let why = "\nIt is not read as exim: no line begins with a date and a time";
    assert!(says.ends_with(why), "{says}");
}

#[test]
fn a_first_line_without_an_end_is_told() {
    let line = [b"GET /", &[b'a'; HEAD][..], b"\n", COMBINED.as_bytes()].concat();
    assert_eq!(
        unknown(&line, &Options::default()),
        format!(
            "a log is recognized by whole lines in its first 64 KiB, and its first line is longer \
             than that\n  GET /{}…",
            "a".repeat(55)
        )
    );
}

#[test]
fn other_files_are_told() {
    for (bytes, says) in [
        (&b""[..], "the input is empty: there is no line in it"),
        (b"\n\n  \n", "the input is empty: there is no line in it"),
        (b"\x1f\x8b\x08\x00", "the input is no log: it is packed with gzip; unpack it first"),
        (
            b"\x28\xb5\x2f\xfd\x04",
            "the input is no log: it is packed with zstd; unpack it first with zstd -d, as browsers \
             can't, or give it to the command ratescope tune",
        ),
        (b"PK\x03\x04abc", "the input is no log: it is a zip archive; unpack it first"),
        (b"\xff\xfet\x00i\x00", "the input is no log: its text is UTF-16; write it as UTF-8"),
        (b"\x7fELF\x02\x00\x00", "the input is no log but binary; it begins with\n  ·ELF···"),
    ] {
        assert_eq!(unknown(bytes, &Options::default()), says);
    }
}
