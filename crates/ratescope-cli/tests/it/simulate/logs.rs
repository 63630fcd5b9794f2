//! `ratescope simulate` over logs of all kinds, and `ratescope sample`.

use super::shell::file;
use super::{command, decisions, printed, simulate, text};
use serde_json::{Value, json};

const LOG: &str = "\
192.0.2.7 - ann [10/Oct/2000:13:55:36 -0700] \"POST /login?a HTTP/1.1\" 401 20
192.0.2.9 - - [10/Oct/2000:13:55:38 -0700] \"GET /a/b HTTP/1.1\" 200 10
half a line
::ffff:192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"POST /login HTTP/1.1\" 401 20
192.0.2.7 - - [10/Oct/2000:13:55:37 -0700] \"GET /a/c HTTP/1.1\" 200 30
";

fn sample(args: &[&str]) -> String {
    printed(&mut command(&[&["sample"], args].concat()), "")
}

/// The time and the key of each event, and whether it was allowed.
fn decided(args: &[&str]) -> Vec<(Value, Value, bool)> {
    let lines = decisions(args, LOG);
    lines
        .iter()
        .map(|l| (l["time"].clone(), l["key"].clone(), l["allowed"] == json!(true)))
        .collect()
}

/// In order, spread over their seconds, by address, and with lines that could not be read.
#[test]
fn an_access_log_is_for_reading() {
    let output = simulate(&["gcra 1/1s burst 1"], LOG);
    let want = "\
\x20                     time  key               cost  limiter                 level     limit  decision
       2000-10-10 20:55:36  192.0.2.7            1  gcra 1/1s burst 1           1         1  allowed
     2000-10-10 20:55:36.5  192.0.2.7            1  gcra 1/1s burst 1         1.5         1  refused, again in 0.5s
       2000-10-10 20:55:37  192.0.2.7            1  gcra 1/1s burst 1           1         1  allowed
       2000-10-10 20:55:38  192.0.2.9            1  gcra 1/1s burst 1           1         1  allowed
";
    assert_eq!(text(&output.stdout), want);
    let said: Vec<&str> = text(&output.stderr).lines().collect();
    assert!(said[1].starts_with("  line 3: "), "{said:?}");
    assert_eq!(
        [said[0], said[2], said[3]],
        [
            "Common Log Format: 5 lines, 4 events, 1 could not be read",
            "spread over their seconds: 1 event; --no-spread leaves them",
            "gcra 1/1s burst 1: 3 of 4 allowed (75.0%), 1 refused, keys: 2",
        ]
    );
    assert!(output.status.success());
}

#[test]
fn times_may_be_left_as_they_are() {
    let times = |args: &[&str]| -> Vec<f64> {
        decided(args).iter().map(|(time, ..)| time.as_f64().unwrap() - 971_211_336.0).collect()
    };
    assert_eq!(times(&["1/1s"]), [0.0, 0.5, 1.0, 2.0]);
    assert_eq!(times(&["1/1s", "--no-spread"]), [0.0, 0.0, 1.0, 2.0]);
    // Without any slack, the third line is late, and so is the fourth.
    assert_eq!(times(&["1/1s", "--no-spread", "--slack", "0s"]), [0.0, 2.0, 2.0, 2.0]);
    let late = simulate(&["1/1s", "--slack", "0s"], LOG);
    assert!(text(&late.stderr).contains("\ntoo late to be put in order: 2 events; see --slack\n"));
    // CSV is taken as it comes, unless it is said.
    let csv = "time,key\n1,a\n1,a\n0,a\n";
    let times = |args: &[&str]| -> Vec<Value> {
        decisions(args, csv).iter().map(|line| line["time"].clone()).collect()
    };
    assert_eq!(times(&["1/1s"]), [json!(1), json!(1), json!(0)]);
    assert_eq!(times(&["1/1s", "--slack", "1s"]), [json!(0), json!(1), json!(1)]);
    assert_eq!(times(&["1/1s", "--spread"]), [json!(0), json!(1), json!(1.5)]);
}

#[test]
fn keys_are_chosen() {
    let keys = |args: &[&str]| -> Vec<String> {
        decided(args).iter().map(|(_, key, _)| key.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(keys(&["1/1s"]), ["192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.9"]);
    assert_eq!(keys(&["1/1s", "--key", "user"]), ["ann", "", "", ""]);
    assert_eq!(keys(&["1/1s", "--key", "path"]), ["/login", "/login", "/a/c", "/a/b"]);
    assert_eq!(
        keys(&["1/1s", "--key", "path", "--path-depth", "1"]),
        ["/login", "/login", "/a", "/a"]
    );
    assert_eq!(keys(&["1/1s", "--key", "all"]), [""; 4]);
    let both = keys(&["1/1s", "--key", "method+ip"]);
    assert_eq!(both[0], "method=POST,ip=192.0.2.7");
    // A limit may be for any other field, and one that says nothing is for the key.
    let lines = decisions(&["5/1m & 1/1m per path", "--key", "ip", "--path-depth", "1"], LOG);
    let by: Vec<&Value> = lines.iter().map(|line| &line["decided_key"]).collect();
    assert_eq!(
        by,
        [&json!("path=/login"), &json!("path=/login"), &json!("path=/a"), &json!("path=/a")]
    );
    let wrong = simulate(&["1/1s per agent"], LOG);
    let says = "agent is not a field here; write per ip, per user, per method, per path,";
    assert!(text(&wrong.stderr).contains(says), "{}", text(&wrong.stderr));
    let nobody = simulate(&["1/1s", "--key", "who"], "{\"ts\":1}\n");
    assert!(
        text(&nobody.stderr).contains("no event has the field who, so they are counted together")
    );
    let few = |args: &[&str]| {
        let output = simulate(&[&["1/1s", "--key", "user"], args].concat(), LOG);
        text(&output.stderr).lines().rev().nth(1).unwrap().to_owned()
    };
    assert_eq!(few(&[]), "3 of 4 have no user and count as one client; see --only-keyed");
    assert_eq!(few(&["--only-keyed"]), "3 without user left out");
}

#[test]
fn costs_and_filters_are_chosen() {
    let costs = |args: &[&str]| -> Vec<Value> {
        decisions(args, LOG).iter().map(|line| line["cost"].clone()).collect()
    };
    assert_eq!(costs(&["100/1s", "--cost", "bytes"]), [20, 20, 30, 10].map(Value::from));
    assert_eq!(costs(&["100/1s", "--cost", "bytes", "--path", "/a"]), [30, 10].map(Value::from));
    assert_eq!(costs(&["100/1s", "--cost", "bytes", "--path", "/a/b,/x"]), [10].map(Value::from));
    assert_eq!(
        costs(&["100/1s", "--cost", "bytes", "--method", "post"]),
        [20, 20].map(Value::from)
    );
    assert_eq!(costs(&["100/1s", "--cost", "bytes", "--status", "2xx"]), [30, 10].map(Value::from));
    let filtered = simulate(&["1/1s", "--status", "5xx"], LOG);
    assert!(filtered.status.success());
    assert!(
        text(&filtered.stderr).starts_with("Common Log Format: 5 lines, 0 events, 4 filtered out,")
    );
    let wrong = simulate(&["1/1s", "--cost", "size"], LOG);
    assert!(
        text(&wrong.stderr).starts_with("error: \"size\": not a field of this log; it has ip, ")
    );
    assert_eq!(wrong.status.code(), Some(1));
    let wrong = simulate(&["1/1s", "--message", "CMD"], LOG);
    let says =
        "error: \"CMD\": only lines of syslog have a message, and this is Common Log Format; ";
    assert!(text(&wrong.stderr).starts_with(says), "{}", text(&wrong.stderr));
    let note = "note: --field is for json and csv, so it has no effect on Common Log Format\n";
    let read = simulate(&["1/1s", "--field", "time=when"], LOG);
    assert!(text(&read.stderr).starts_with(note), "{}", text(&read.stderr));
}

/// More logs than a process may usually have open.
#[test]
fn any_number_of_logs() {
    let path = file("one-of-many.csv", "time,key\n1,a\n");
    let mut args = vec!["gcra 1/1s", "--format", "jsonl"];
    args.resize(1_103, &path);
    let output = simulate(&args, "");
    assert_eq!(text(&output.stdout).lines().count(), 1_100, "{}", text(&output.stderr));
}

/// A file that is no log, or has no event, is an error and not an empty success.
#[test]
fn no_events_are_an_error() {
    let error = |args: &[&str], input: &str| {
        let output = simulate(&[&["1/1s"], args].concat(), input);
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr).lines().last().unwrap().to_owned()
    };
    let read = error(&[], "what is this\n");
    assert!(read.starts_with("These logs are read: the access logs of nginx, Apache, "), "{read}");
    assert!(error(&["--log", "exim"], LOG).starts_with("It is not read as exim: "));
    let cron = "Oct 10 13:55:36 web1 CRON[1]: (root) CMD (true)\n";
    assert_eq!(
        error(&[], cron),
        "error: syslog: 1 line, no failed login of sshd, Postfix, Dovecot or Exim among them; --message TEXT counts \
         others"
    );
    assert!(simulate(&["1/1s", "--message", "CMD"], cron).status.success());
    assert_eq!(simulate(&["1/1s", "--log", "tomcat"], LOG).status.code(), Some(2));
    assert_eq!(simulate(&["1/1s", "--spread", "--no-spread"], LOG).status.code(), Some(2));
}

#[test]
fn made_up_logs_are_read() {
    for (format, about) in [
        ("combined", "Combined Log Format: 2000 lines, 2000 events\n"),
        ("exim", "Exim's main log: 2000 lines, 2000 events\n"),
        ("syslog", "syslog: 2000 lines, 2000 events\n"),
        ("csv", "gcra 10/1m burst 10 per ip: "),
    ] {
        let log = sample(&["--format", format, "--lines", "2000", "--seed", "3"]);
        let output = simulate(&["gcra 10/1m burst 10 per ip"], &log);
        assert!(text(&output.stderr).starts_with(about), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout).lines().count(), 2001);
    }
    assert_eq!(
        sample(&["--lines", "10"]),
        sample(&["--lines", "10", "--seed", "1", "--over", "2d"])
    );
    assert_ne!(sample(&["--lines", "10"]), sample(&["--lines", "10", "--seed", "2"]));
    assert_eq!(sample(&["--lines", "5", "--format", "csv"]).lines().count(), 6);
    let wrong = command(&["sample", "--lines", "x"]).output().unwrap();
    assert!(text(&wrong.stderr).contains("write a whole number from 0 to "));
}

#[test]
fn rules_see_the_fields_of_a_log() {
    let rules = "domain: web\ndescriptors:\n  - key: path\n    value: /login\n    rate_limit:\n      unit: minute\n      requests_per_unit: 1\n";
    let rules = file("rules.yaml", rules);
    let output = simulate(&["--rules", &rules, "--format", "jsonl"], LOG);
    let refused = text(&output.stdout).lines().filter(|line| line.contains("\"allowed\":false"));
    assert_eq!(refused.count(), 1, "{}{}", text(&output.stdout), text(&output.stderr));
}

/// Logs may be named as for tune; several are one log, whether or not the last line of one has an end.
#[test]
fn logs_by_name() {
    let line = |second| {
        format!("192.0.2.7 - - [10/Oct/2000:13:55:{second} +0000] \"GET / HTTP/1.1\" 200 1")
    };
    let [old, new] = [&file("access.log.1", line(36)), &file("access.log", line(37) + "\n")];
    let stdin = simulate(&["1/1m", "--format", "jsonl"], &format!("{}\n{}\n", line(36), line(37)));
    let named = simulate(&["1/1m", old, new, "--format", "jsonl"], "");
    assert_eq!(text(&stdin.stdout).lines().count(), 2);
    assert_eq!(text(&named.stdout), text(&stdin.stdout), "{}", text(&named.stderr));
    assert!(text(&named.stderr).starts_with("Common Log Format: 2 lines, 2 events\n"));
    // Each CSV has its header.
    let csv = [file("a.csv", "time,key\n1,a\n"), file("b.csv", "time,key\n2,b\n")];
    let named = simulate(&["1/1m", &csv[0], &csv[1], "--format", "jsonl"], "");
    assert_eq!(text(&named.stdout).lines().count(), 2, "{}", text(&named.stderr));
    // A line that can't be read is named by its file. Empty files are passed over, such as those just rotated.
    let [empty, wrong] = [&file("empty.csv", ""), &file("wrong.csv", "time,key\nx,b\n")];
    let named = simulate(&["1/1m", empty, &csv[0], empty, wrong], "");
    let says = format!("error: {wrong}, line 2: time \"x\": ");
    assert!(text(&named.stderr).starts_with(&says), "{}", text(&named.stderr));
    let half = &file("half.log", line(36) + "\nhalf");
    let named = simulate(&["1/1m", new, half, new], "");
    let says = format!("could not be read\n  {half}, line 2: ");
    assert!(text(&named.stderr).contains(&says), "{}", text(&named.stderr));
    // The first log may have no line that tells the format: a night without mail.
    let quiet = &file("mainlog.1", "2024-05-01 12:00:00 Start queue run: pid=1\n");
    let mail = "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b H=c [192.0.2.7] S=9\n";
    let named = simulate(&["1/1m", quiet, &file("mainlog", mail)], "");
    let says = "Exim's main log: 2 lines, 1 event, 1 that is no event\n";
    assert!(text(&named.stderr).starts_with(says), "{}", text(&named.stderr));
    // Where none is recognized, the first is told.
    let named = simulate(&["1/1m", quiet, quiet], "");
    let says = format!("error: {quiet}: the format");
    assert!(text(&named.stderr).starts_with(&says), "{}", text(&named.stderr));
    // A log that ends early is named, and so is one that cannot be opened, before any is read.
    let cut = file("cut.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\xff");
    let named = simulate(&["1/1m", &csv[0], &cut], "");
    assert_eq!(
        text(&named.stderr),
        format!("error: {cut}: the input can't be read: the gzip data is cut off\n")
    );
    let dir = env!("CARGO_TARGET_TMPDIR");
    let folder = simulate(&["1/1m", &csv[0], dir], "");
    let says = format!("error: {dir}: Is a directory");
    assert!(text(&folder.stderr).starts_with(&says), "{}", text(&folder.stderr));
    let missing = simulate(&["1/1m", "no.log"], "");
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        text(&missing.stderr).contains("there is no such file, and it is no limiter: "),
        "{}",
        text(&missing.stderr)
    );
    let alone = simulate(&[new], "");
    assert!(text(&alone.stderr).contains("there is no limiter"), "{}", text(&alone.stderr));
}
