//! Syslog: failed logins, and times without a year.

use super::read;
use proptest::prelude::*;
use ratescope::Time;
use ratescope_log::{Filter, Options, Year};

const NAMES: [&str; 5] = ["ip", "user", "host", "program", "pid"];

fn first_of(year: i32) -> Options {
    Options { year: Year::First(year), ..Options::default() }
}

#[track_caller]
fn assert_line(line: &str, micros: i64, fields: [&str; 5]) {
    let read = read(line.as_bytes(), &first_of(2000), NAMES);
    assert_eq!(read.fields(), [fields], "{line}");
    assert_eq!(read.events[0].0, micros, "{line}");
}

#[test]
fn failed_logins_are_events() {
    let fields = ["192.0.2.7", "root", "web1", "sshd", "4567"];
    let message = "Failed password for root from 192.0.2.7 port 52114 ssh2";
    assert_line(
        &format!("Oct 10 13:55:36 web1 sshd[4567]: {message}"),
        971_186_136_000_000,
        fields,
    );
    assert_line(
        &format!("<38>Oct  1 13:55:36 web1 sshd[4567]: {message}"),
        970_408_536_000_000,
        fields,
    );
    assert_line(
        &format!("2000-10-10T13:55:36.123456+02:00 web1 sshd-session[4567]: {message}"),
        971_178_936_123_456,
        ["192.0.2.7", "root", "web1", "sshd-session", "4567"],
    );
    assert_line(
        &format!("<38>1 2000-10-10T13:55:36.5Z web1 sshd 4567 - - {message}"),
        971_186_136_500_000,
        fields,
    );
    assert_line(
        &format!(
            "<38>1 2000-10-10T13:55:36.5Z web1 sshd 4567 ID [a b=\"\\]\"][c] \u{feff}{message}"
        ),
        971_186_136_500_000,
        fields,
    );
    // A day of one digit without a space before it, a priority before the host, and the number of a message.
    for begin in
        ["Oct 1 13:55:36 web1", "Oct  1 13:55:36 <auth.info> web1", "Oct 1 13:55:36 <4.6> web1"]
    {
        assert_line(&format!("{begin} sshd[4567]: {message}"), 970_408_536_000_000, fields);
        let numbered = format!("{begin} sshd[4567]: [ID 800047 auth.info] {message}");
        assert_line(&numbered, 970_408_536_000_000, fields);
    }
    assert_line(
        &format!("Oct 1 13:55:36.25 web1 sshd[4567]: {message}"),
        970_408_536_250_000,
        fields,
    );
    // A time since the start of the machine.
    assert_line(&format!("[ 4711.123456] web1 sshd[4567]: {message}"), 4_711_123_456, fields);
    // The client chooses the name that it logs in with.
    assert_line(
        "Oct 10 13:55:36 web1 sshd[4567]: Failed password for invalid user x from 192.0.2.9 from 192.0.2.7 port 5 ssh2",
        971_186_136_000_000,
        ["192.0.2.7", "x from 192.0.2.9", "web1", "sshd", "4567"],
    );
    assert_line(
        "Oct 10 13:55:36 mx postfix/smtpd[9]: warning: unknown[192.0.2.7]: SASL LOGIN authentication failed: UGFzc3dvcmQ6",
        971_186_136_000_000,
        ["192.0.2.7", "", "mx", "postfix/smtpd", "9"],
    );
    assert_line(
        "Oct 10 13:55:36 mx dovecot: imap-login: Disconnected (auth failed, 1 attempts in 2 secs): user=<ann>, method=PLAIN, rip=192.0.2.7, lip=198.51.100.1",
        971_186_136_000_000,
        ["192.0.2.7", "ann", "mx", "dovecot", ""],
    );
}

/// If a program does not know the address of a failed login, no other one stands in for it: the client
/// chooses its name, and would blame somebody else.
#[test]
fn a_name_is_no_address() {
    let ip = |line: &str| {
        let read = read(format!("Oct 10 13:55:36 {line}").as_bytes(), &first_of(2000), ["ip"]);
        read.fields().concat().concat()
    };
    let sshd = |user: &str| {
        format!(
            "web1 sshd[1]: Failed password for invalid user {user} from UNKNOWN port 65535 ssh2"
        )
    };
    let postfix = |user: &str| {
        format!(
            "mx postfix/smtpd[1]: warning: unknown[unknown]: SASL LOGIN authentication failed: x, sasl_username={user}"
        )
    };
    let dovecot = |elements: &str| {
        format!(
            "mx dovecot: imap-login: Disconnected (auth failed, 1 attempts in 2 secs): {elements}"
        )
    };
    for user in ["192.0.2.9", "[192.0.2.9]", "x rhost=192.0.2.9", "x from 192.0.2.9 port 5 ssh2"] {
        assert_eq!([ip(&sshd(user)), ip(&postfix(user))], ["", ""], "{user}");
    }
    // Dovecot leaves the address out of a login over a socket of the same machine.
    for user in ["192.0.2.9", "x, rip=192.0.2.9", "x>, method=PLAIN, rip=192.0.2.9"] {
        assert_eq!(ip(&dovecot(&format!("user=<{user}>, method=PLAIN, secured"))), "", "{user}");
        let first = dovecot(&format!("rip=192.0.2.7, user=<{user}>, method=PLAIN"));
        assert_eq!(ip(&first), "192.0.2.7", "{user}");
    }
}

#[test]
fn other_lines_are_no_events() {
    let log = "\
Oct 10 13:55:36 web1 CRON[1]: pam_unix(cron:session): session opened for user root
Oct 10 13:55:37 web1 sshd[2]: Invalid user admin from 192.0.2.7 port 5
Oct 10 13:55:37 web1 sshd[2]: Failed password for invalid user admin from 192.0.2.7 port 5 ssh2
Oct 10 13:55:38 web1 sshd[3]: Accepted publickey for ann from 192.0.2.9 port 6 ssh2
no time
Oct 10 13:55:39 web1 sshd[2]: message repeated 3 times: [ Failed password for root from 192.0.2.7 port 5 ssh2]
";
    let read = read(log.as_bytes(), &first_of(2000), ["user"]);
    // A message that was repeated counts as that many events.
    assert_eq!(read.fields(), [["admin"], ["root"], ["root"], ["root"]]);
    let counts = &read.counts;
    assert_eq!((counts.lines, counts.events, counts.others, counts.unread), (6, 4, 3, 1));
}

/// A line with more than 1,000 repetitions is 1,000 events, whose costs add up to the number of repetitions.
#[test]
fn repetitions_share_the_cost() {
    let line = |times: &str| {
        format!(
            "Oct 10 13:55:39 web1 sshd[2]: message repeated {times} times: \
             [ Failed password for root from 192.0.2.7 port 5 ssh2]"
        )
    };
    let events = |times: &str| {
        let read = read(line(times).as_bytes(), &first_of(2000), ["ip"]);
        assert_eq!(read.counts.events, read.events.len() as u64);
        (read.events.len(), read.events.iter().map(|(_, cost, _)| cost).sum::<f64>())
    };
    assert_eq!(events("1000"), (1000, 1000.0));
    assert_eq!(events("1500"), (1000, 1500.0));
    assert_eq!(events("100000"), (1000, 100_000.0));
    assert_eq!(events("0"), (0, 0.0));
    // A number that is too large is not read as one of repetitions, so the message is about something else.
    assert_eq!(events("4294967296"), (0, 0.0));
}

/// Messages with given texts can be asked for, of any program.
#[test]
fn messages_may_be_asked_for() {
    let log = "\
Oct 10 13:55:36 fw kernel: DROP IN=eth0 SRC=192.0.2.7 DST=198.51.100.1
Oct 10 13:55:37 web1 sshd[2]: Failed password for root from 192.0.2.8 port 5 ssh2
Oct 10 13:55:38 web1 sshd[3]: Accepted publickey for ann from 192.0.2.9 port 6 ssh2
";
    let messages = |texts: &[&str]| {
        let messages = texts.iter().map(|text| (*text).to_owned()).collect();
        let filter = Filter { messages, ..Filter::default() };
        let options = Options { filter, ..first_of(2000) };
        read(log.as_bytes(), &options, ["ip"]).fields().concat().join(" ")
    };
    assert_eq!(messages(&["Accepted"]), "192.0.2.9");
    assert_eq!(messages(&["Accepted", "DROP"]), "192.0.2.7 192.0.2.9");
    assert_eq!(messages(&[""]), "192.0.2.7 192.0.2.8 192.0.2.9");
    assert_eq!(messages(&[]), "192.0.2.8");
}

/// Where a message of another kind has its address is not known, so any in it counts.
#[test]
fn other_messages_have_addresses_too() {
    let filter = Filter { messages: vec![String::new()], ..Filter::default() };
    let options = Options { filter, ..first_of(2000) };
    for line in [
        "web1 sshd[1]: pam_unix(sshd:auth): authentication failure; logname= uid=0 rhost=192.0.2.7  user=root",
        "mx postfix/smtpd[1]: warning: hostname example.org does not resolve to address 192.0.2.7",
        "mx dovecot: auth: pam(ann,192.0.2.7): unknown user",
    ] {
        let read = read(format!("Oct 10 13:55:36 {line}").as_bytes(), &options, ["ip"]);
        assert_eq!(read.fields(), [["192.0.2.7"]], "{line}");
    }
}

/// The dates of the lines with these times, each as year-month-day.
fn dates(year: Year, stamps: &[&str]) -> Vec<String> {
    let message = "Failed password for root from 192.0.2.7 port 5 ssh2";
    let line = |stamp: &&str| format!("{stamp} 12:00:00 web1 sshd[1]: {message}\n");
    let log: String = stamps.iter().map(line).collect();
    let read = read(log.as_bytes(), &Options { year, ..Options::default() }, []);
    let date =
        |micros: &i64| ratescope_log::civil::Civil(Time::from_micros(*micros)).date().to_string();
    read.events.iter().map(|(micros, _, _)| date(micros)).collect()
}

#[test]
fn the_year_follows_from_the_months() {
    let year = Year::First(1999);
    assert_eq!(
        dates(year, &["Nov 30", "Dec 31", "Jan 1", "Feb 28", "Feb 29", "Jan  1"]),
        ["1999-11-30", "1999-12-31", "2000-01-01", "2000-02-28", "2000-02-29", "2000-01-01"]
    );
    // Lines that are slightly out of order do not change the year.
    assert_eq!(
        dates(year, &["Dec 31", "Jan  1", "Dec 31", "Jan  1", "Feb  1", "Jan 31"]),
        ["1999-12-31", "2000-01-01", "1999-12-31", "2000-01-01", "2000-02-01", "2000-01-31"]
    );
    // 29 February 1999 did not exist.
    assert_eq!(dates(year, &["Feb 28", "Feb 29"]), ["1999-02-28"]);
}

/// The first line is not in the future: its year is the last one that fits.
#[test]
fn the_first_year_is_the_last_that_fits() {
    let clock = |text: &str| Year::Before(Time::try_from_secs_f64(text.parse().unwrap()).unwrap());
    // 10 March 2024, 12:00 UTC.
    let now = clock("1710072000");
    for (stamp, date) in [
        ("Mar  9", "2024-03-09"),
        ("Mar 11", "2024-03-11"),
        ("Mar 12", "2023-03-12"),
        ("Dec 31", "2023-12-31"),
        ("Feb 29", "2024-02-29"),
    ] {
        assert_eq!(dates(now, &[stamp]), [date]);
    }
    // 10 January 2023.
    assert_eq!(dates(clock("1673352000"), &["Feb 29"]), ["2020-02-29"]);
    // Without a clock, the year is any in which the day exists.
    assert_eq!(dates(Year::Any, &["Feb 29", "Mar  1"]), ["2000-02-29", "2000-03-01"]);
}

proptest! {
    #[test]
    fn the_address_is_that_of_the_connection(user in "\\PC{0,40}") {
        let log = format!(
            "Oct 10 13:55:36 web1 sshd[1]: Failed password for invalid user {user} from 192.0.2.7 port 5 ssh2\n"
        );
        let read = read(log.as_bytes(), &first_of(2000), ["ip"]);
        prop_assert_eq!(read.fields(), [["192.0.2.7"]]);
    }
}
