//! Times in a form that is said as for `strftime`.

use super::read;
use super::table::rows;
use ratescope_log::{Layout, Options, Year};
use std::sync::Arc;

/// 10 October 2000, 13:55:36 UTC.
const MICROS: i64 = 971_186_136_000_000;

#[test]
fn times_are_read_in_any_usual_form() {
    for [form, time] in rows(
        "
        %d/%b/%Y:%H:%M:%S %z | 10/Oct/2000:06:55:36 -0700
        %d.%m.%Y %H:%M:%S | 10.10.2000 13:55:36
        %d.%m.%y %T | 10.10.00 13:55:36
        %m/%d/%Y %I:%M:%S %p | 10/10/2000 1:55:36 PM
        %m/%d/%Y %r | 10/10/2000 01:55:36 pm
        %b %d, %Y %I:%M:%S %p | Oct 10, 2000 01:55:36 PM
        %B %e %Y %T | October 10 2000 13:55:36
        %e %b %Y %H:%M:%S | 10 Oct 2000 13:55:36
        %d-%b-%Y %H:%M:%S | 10-Oct-2000 13:55:36
        %a %b %e %H:%M:%S %Y | Tue Oct 10 13:55:36 2000
        %c | Tue Oct 10 13:55:36 2000
        %a, %d %b %Y %T %Z | Tue, 10 Oct 2000 13:55:36 GMT
        %a %b %d %H:%M:%S %Z %Y | Tue Oct 10 15:55:36 CEST 2000
        %A, %d-%b-%y %T %Z | Tuesday, 10-Oct-00 13:55:36 UTC
        %Y%m%d%H%M%S | 20001010135536
        %Y%m%dT%H%M%SZ | 20001010T135536Z
        %Y%m%d %H%M%S | 20001010 135536
        %y%m%d %k:%M:%S | 001010 13:55:36
        %FT%T%z | 2000-10-10T15:55:36+02:00
        %F %H.%M.%S | 2000-10-10 13.55.36
        %Y/%m/%d-%H:%M:%S | 2000/10/10-13:55:36
        %H:%M:%S %d.%m.%Y | 13:55:36 10.10.2000
        %Y-%j %T | 2000-284 13:55:36
        %D %T | 10/10/00 13:55:36
        %F %T.%f | 2000-10-10 13:55:36.000
        %F %T,%3N | 2000-10-10 13:55:36,000
        %F %T.%L %z | 2000-10-10 13:55:36.000000000 +0000
        %s | 971186136
        %s.%f | 971186136.000
        %b %d %H:%M:%S | Oct 10 13:55:36
        %d/%m %H:%M | 10/10 13:55
        ",
    ) {
        let want = if form.contains("%S") || form.contains(['T', 'c', 'r', 's']) {
            MICROS
        } else {
            MICROS - 36_000_000
        };
        for (layout, line) in [
            (format!("$ip [{form}] $method"), format!("192.0.2.7 [{time}] GET")),
            (format!("{form}|$ip|$method"), format!("{time}|192.0.2.7|GET")),
            (format!("%h [%{{{form}}}t] %m"), format!("192.0.2.7 [{time}] GET")),
            (format!("%h %{{begin:{form}}}t %m"), format!("192.0.2.7 {time} GET")),
        ] {
            let said: Layout = layout.parse().unwrap();
            let options = Options {
                layout: Some(Arc::new(said)),
                year: Year::First(2000),
                ..Options::default()
            };
            let read = read(line.as_bytes(), &options, ["ip", "method"]);
            assert_eq!(read.fields(), [["192.0.2.7", "GET"]], "{layout}: {line}");
            let is_coarse = !form.contains(['f', 'L', 'N']);
            assert_eq!((read.events[0].0, read.coarse[0]), (want, is_coarse), "{layout}: {line}");
        }
    }
}

/// Decimals after a form, as Apache writes them.
#[test]
fn decimals_may_be_a_directive_of_their_own() {
    let layout: Layout = "%h [%{%Y-%m-%d %H:%M:%S}t.%{usec_frac}t] %m".parse().unwrap();
    let options = Options { layout: Some(Arc::new(layout)), ..Options::default() };
    let read = read(b"192.0.2.7 [2000-10-10 13:55:36.250000] GET", &options, []);
    assert_eq!(read.events[0].0, MICROS + 250_000);
}

#[test]
fn forms_that_tell_no_time_are_refused() {
    for [layout, says] in rows(
        "
        $ip [%H:%M:%S] | a time needs a day and a month, as in %d.%m.%Y, and not only %H:%M:%S
        $ip [%d.%m.%Y] | a time needs an hour, as in %H:%M:%S, and not only %d.%m.%Y
        %h [%{%d.%m.%Y %I:%M}t] | a time needs an hour, as in %H:%M:%S, and not only %d.%m.%Y %I:%M
        %h [%{%Y-W%V %H}t] | %V is not read in a time; write it as in %d/%b/%Y:%H:%M:%S %z
        ",
    ) {
        assert_eq!(layout.parse::<Layout>().unwrap_err().problem(), says, "{layout}");
    }
}

/// A text that is no time of this form is not read.
#[test]
fn other_texts_are_no_times() {
    let layout: Layout = "$ip [%d.%m.%Y %H:%M:%S %Z]".parse().unwrap();
    let options = Options { layout: Some(Arc::new(layout)), ..Options::default() };
    let right = "192.0.2.7 [10.10.2000 13:55:36 UTC]\n";
    for wrong in [
        "31.02.2000 13:55:36 UTC",
        "10.10.2000 24:55:36 UTC",
        "10.10.2000 13:60:36 UTC",
        "10.13.2000 13:55:36 UTC",
        "10.10.2000 13:55:36 XYZ",
        "10.10.2000 13:55:36",
        "",
        "é",
        "99999999999999999999",
    ] {
        let log = format!("{right}192.0.2.7 [{wrong}]\n");
        let read = read(log.as_bytes(), &options, []);
        assert_eq!((read.events.len(), read.counts.unread), (1, 1), "{wrong}");
    }
}
