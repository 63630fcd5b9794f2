//! The files and options of `ratescope tune`, and the messages about wrong ones.

use super::shell::{Folder, command, file};
use super::{assert_wrong, log, run, text, tune};
use serde_json::{Value, json};
#[cfg(unix)]
use std::process::Command;

#[test]
fn what_is_no_log_is_an_error() {
    assert_wrong(&[], b"", "standard input: ");
    assert_wrong(&[], b"hello\nworld\n", "standard input: ");
    assert_wrong(&[], b"time,key\n", "there are no events");
    assert_wrong(&["nowhere.log"], b"", "nowhere.log: ");
    assert_wrong(&["--key", "colour"], b"time,key\n0,a\n", "\"colour\": not a field of this log");
    assert_wrong(&["--limit", "gcra 1/1m brust 2"], b"time,key\n0,a\n", "\"brust\" in");
    assert_wrong(&["--limit", "1/1m per ip"], b"time,key\n0,a\n", "ip is not a field here");
    assert_wrong(&["--untouched", "101"], b"time,key\n0,a\n", "a percentage");
    assert_wrong(
        &[],
        b"time,key,cost\n0,a,nan\n0,a,1e13\n",
        "error: there are no events; 2 of 3 lines could not be read:\n  line 2: cost \"nan\": ",
    );
    assert_wrong(&["--period", "0s"], b"time,key\n0,a\n", "a period must be longer than zero");
    // Before the logs are read.
    assert_wrong(&["--marks", "nowhere", "nowhere.log"], b"", "error: nowhere: ");
}

/// A log is never replaced by an output, under whatever name, nor one output by the other.
#[test]
fn no_output_replaces_a_log() {
    let folder = Folder::new("replaced");
    let log = folder.write("a.csv", "time,key\n0,a\n");
    let name = log.to_str().unwrap();
    let other = folder.0.join("./a.csv");
    for option in ["--summary", "--svg"] {
        for output in [name, other.to_str().unwrap()] {
            let wrong =
                format!("error: {option}: {output} is read, and would be lost; name another file");
            assert_wrong(&[option, output, name], b"", &wrong);
        }
    }
    // A file that is read under another name, or for another reason.
    let linked = folder.0.join("linked");
    std::fs::hard_link(&log, &linked).unwrap();
    let linked = linked.to_str().unwrap();
    let config = folder.write(
        "nginx.conf",
        "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\nlimit_req zone=a;",
    );
    let marks = folder.write("marks", "a\n");
    let [config, marks] = [&config, &marks].map(|path| path.to_str().unwrap());
    for option in ["--summary", "--svg"] {
        let lost = format!("{option}: {linked} is read, and would be lost");
        assert_wrong(&[option, linked, name], b"", &lost);
        for given in [[option, config, "--config", config], [option, marks, "--marks", marks]] {
            assert_wrong(&[&given[..], &[name]].concat(), b"", "is read, and would be lost");
        }
    }
    // Standard input may be a file.
    let mut command = command(&["tune", "--svg", name]);
    let output = command.stdin(std::fs::File::open(&log).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(
        text(&output.stderr).contains("is read, and would be lost"),
        "{}",
        text(&output.stderr)
    );
    let both = folder.0.join("x");
    let spelled = folder.0.join("./x");
    let both = both.to_str().unwrap();
    for other in [both, spelled.to_str().unwrap()] {
        assert_wrong(&["--summary", both, "--svg", other, name], b"", "is the file of the summary");
    }
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "time,key\n0,a\n");
    // A sum may take the place of a summary that is a part of it.
    tune(&["--summary", both, name], b"");
    tune(&["--merge", both, "--summary", both], b"");
}

/// The answer is printed even if a file cannot be written.
#[test]
fn the_answer_comes_before_the_errors_of_files() {
    let input = b"time,key\n0,a\n1,a\n";
    let answer = text(&run(&["tune"], input).stdout).to_owned();
    assert!(answer.starts_with("2 events from 1 client (per key)"), "{answer}");
    for option in ["--svg", "--summary"] {
        let output = run(&["tune", option, "nowhere/file"], input);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stdout), answer);
        let error = text(&output.stderr);
        assert!(error.starts_with("error: nowhere/file: "), "{error}");
    }
}

/// A summary that can't be written to its end leaves the one before it as it was, also where a link leads to it.
#[cfg(unix)]
#[test]
fn half_a_summary_is_never_there() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("half-a-summary");
    let lines: String = (0..1000).map(|i| format!("{i},client {i}\n")).collect();
    let log = folder.write("log.csv", format!("time,key\n{lines}"));
    let [file, link, to_link] =
        ["all.tune", "link.tune", "to-link.tune"].map(|name| folder.0.join(name));
    symlink("all.tune", &link).unwrap();
    symlink("link.tune", &to_link).unwrap();
    for summary in [&file, &link, &to_link] {
        std::fs::write(&file, "the old one").unwrap();
        // No file may have more than a few hundred bytes.
        let output = Command::new("sh")
            .args(["-c", "ulimit -f 1; exec \"$0\" tune --summary \"$1\" \"$2\""])
            .arg(command(&[]).get_program())
            .args([summary, &log])
            .output()
            .unwrap();
        assert!(!output.status.success());
        assert_eq!(std::fs::read(&file).unwrap(), b"the old one");
        // It names clients, so only the owner may read it. A link may be older than its file.
        std::fs::remove_file(&file).unwrap();
        for _ in 0..2 {
            let [summary, log] = [summary, &log].map(|path| path.to_str().unwrap());
            tune(&["--summary", summary, log], b"");
            assert_eq!(tune(&["--merge", file.to_str().unwrap()], b"")["requests"], json!(1000));
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
    assert!(link.is_symlink() && to_link.is_symlink());
    // A link to a pipe is one, too, as in `--summary >(gzip > a.tune.gz)`.
    let output = Command::new("sh")
        .args(["-c", "exec \"$0\" tune --summary /dev/fd/3 \"$1\" 3>&1 >/dev/null"])
        .arg(command(&[]).get_program())
        .arg(&log)
        .output()
        .unwrap();
    assert_eq!(output.stdout, std::fs::read(&file).unwrap(), "{}", text(&output.stderr));
}

/// A terminal obeys characters that a client may have sent.
#[test]
fn no_client_speaks_to_the_terminal() {
    let input = format!("time,key\n{}", "0,\x1b[2Jann\n".repeat(30));
    let output = run(&["tune", "--untouched", "0", "--for", "nginx"], input.as_bytes());
    let report = text(&output.stdout);
    assert!(
        report.contains("\n·[2Jann ") && report.contains("from 1 of 1 client: ·[2Jann, first on")
    );
    assert!(!report.contains('\x1b'));
    let input = input.replace('\x1b', "\u{9b}");
    let report = run(&["tune", "--json"], input.as_bytes());
    assert!(text(&report.stdout).contains(r#""key": "\u009b[2Jann""#), "{}", text(&report.stdout));
}

#[test]
fn there_is_room_for_something() {
    for room in ["--clients", "--memory"] {
        for count in ["0", "many"] {
            assert_wrong(&[room, count], b"", "write a whole number from 1 to ");
        }
    }
    assert_wrong(&["--path-depth", "0"], b"", "write a number from 1 to 255");
}

#[test]
fn what_is_limited_has_a_name() {
    assert_wrong(&["--by", "feeling"], b"", "exim, earrrl, fixed-window");
}

/// An empty log among others, as one that was just rotated, is noted; errors name their input.
#[test]
fn an_empty_log_among_others() {
    let full = file("full.csv", "time,key\n1,ann\n2,ann\n");
    let empty = file("empty.csv", "");
    let requests = |files: &[&String]| -> (Value, String) {
        let mut args = vec!["tune", "--json"];
        args.extend(files.iter().map(|file| file.as_str()));
        let output = run(&args, b"");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        (answer["requests"].clone(), text(&output.stderr).to_owned())
    };
    let said = format!("note: {empty} is empty\n");
    assert_eq!(requests(&[&empty, &full]), (json!(2), said));
    let said = format!("note: {full} is given twice, and counts twice\n");
    assert_eq!(requests(&[&full, &full]), (json!(4), said));

    // A line that can't be read is told with its log, and its number there.
    let broken = file("broken.csv", "time,key\nnoon,ann\n1,ann\n");
    let output = run(&["tune", &full, &broken], b"");
    let said = format!("\n  {broken}, line 2: time \"noon\": not a time");
    assert!(text(&output.stdout).contains(&said), "{}", text(&output.stdout));

    assert_wrong(&[&empty], b"", &format!("error: {empty}: the input is empty"));
    assert_wrong(&[&empty, &empty], b"", "error: there are no logs");
    assert_wrong(&["-"], b"", "error: standard input: the input is empty");
    let output = run(&["tune", "missing.csv"], b"");
    assert_eq!(text(&output.stderr), "error: missing.csv: No such file or directory\n");
}

/// A line of another century is told, and the others are where they were.
#[test]
fn a_line_far_ahead_is_told() {
    let line = |year: u32, second: u32| {
        format!("192.0.2.7 - - [10/Oct/{year}:13:55:{second:02} +0000] \"GET / HTTP/1.1\" 200 1\n")
    };
    let mut lines: Vec<String> = (0..60).map(|second| line(2000, second)).collect();
    lines[20] = line(2099, 20);
    let log = lines.concat();
    let answer = tune(&[], log.as_bytes());
    assert_eq!(answer["times"]["dropped_far_ahead"], json!(1));
    assert_eq!(answer["requests"], json!(59));
    let seconds = answer["to"].as_f64().unwrap() - answer["from"].as_f64().unwrap();
    assert_eq!(seconds, 59.0);
    let output = run(&["tune"], log.as_bytes());
    let told = "1 event left out, far ahead of the lines around.";
    assert!(text(&output.stdout).contains(told), "{}", text(&output.stdout));
}

/// A limit may be written at any length.
#[test]
fn a_long_limit_is_printed() {
    let long = format!("gcra{}1/1m", " ".repeat(70_000));
    let output = run(&["tune", "--limit", &long, "--limit", "1/1m per key"], b"time,key\n0,a\n");
    assert!(text(&output.stdout).contains(&long), "{}", text(&output.stderr));
}

#[test]
fn files_in_any_order() {
    let log = log();
    let half = log[..log.len() / 2].rfind('\n').unwrap() + 1;
    let (one, other) = (file("1.log", &log[..half]), file("2.log", &log[half..]));
    let ask = |a: &str, b: &str| tune(&["--no-spread", a, b], b"");
    assert_eq!(ask(&one, &other)["curve"], ask(&other, &one)["curve"]);
}

/// Values are read as people write them, and the error about a wrong one says what would be right.
#[test]
fn options_as_people_write_them() {
    let limit = |args: &[&str]| {
        let answer = tune(args, log().as_bytes());
        answer["recommended"][0]["limit"].as_str().unwrap().to_owned()
    };
    for same in ["97%", "97,0", "97.0 %"] {
        assert_eq!(limit(&["--untouched", same]), limit(&["--untouched", "97"]), "{same}");
    }
    for bucket in ["gcra", "token-bucket", "leaky-bucket"] {
        assert_eq!(limit(&["--by", bucket]), limit(&["--by", "bucket"]), "{bucket}");
    }
    assert_wrong(&["--path", "login"], b"", "paths begin with /; write /login");
    let summary = file("given.tune", "");
    tune(&["--summary", &summary], b"time,key\n0,a\n");
    assert_wrong(&[&summary], b"", "it is a summary; use --merge");
}

/// A mark may be a network, and one of no client is told.
#[test]
fn marks_of_networks_and_of_nobody() {
    let path = file("networks", "192.0.2.0/29\n198.51.100.7\n203.0.113.0/24\n");
    let args = ["--untouched", "90", "--marks", &path];
    let answer = tune(&args, log().as_bytes());
    let clients = answer["most_refused"].as_array().unwrap();
    for client in clients {
        let key = client["key"].as_str().unwrap();
        let last: u8 = key.rsplit('.').next().unwrap().parse().unwrap();
        assert_eq!(client["marked"], json!(last < 8), "{key}");
    }
    let report = run(&[&["tune"], &args[..]].concat(), log().as_bytes());
    let told = "There are 2 marks of no client: 198.51.100.7 and others.";
    assert!(text(&report.stdout).contains(told), "{}", text(&report.stdout));
}

/// The events of a log have their own name, and a log behind a proxy is told.
#[test]
fn events_have_their_name() {
    let line =
        |second: u32, message: &str| format!("Oct 10 13:55:{second:02} web1 sshd[1]: {message}\n");
    let failed = "Failed password for root from 192.0.2.7 port 5 ssh2";
    let lines = (0..40).map(|i| line(i, if i % 2 == 0 { failed } else { "Connection closed" }));
    let report = run(&["tune", "--untouched", "0"], lines.collect::<String>().as_bytes());
    let report = text(&report.stdout);
    assert!(
        report.starts_with("20 failed logins among 40 lines, from 1 client (per ip)"),
        "{report}"
    );
    assert!(report.contains(
        " of 20 failed logins, all from 1 of 1 client: 192.0.2.7, first on 10 October at 13:55."
    ));
    assert!(
        report.contains("the clients and failed logins that N would")
            && !report.contains("requests")
    );
    let proxied = |i: u32| {
        format!(
            "10.0.0.1 - - [10/Oct/2000:13:55:{i:02} +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\" \
             \"203.0.113.{i}\"\n"
        )
    };
    let log: String = (1..30).map(proxied).collect();
    let told = "All events are from 10.0.0.1: is it a proxy? Its clients are limited with the key forwarded.";
    let said =
        |args: &[&str]| text(&run(&[&["tune"], args].concat(), log.as_bytes()).stdout).to_owned();
    assert!(said(&[]).contains(told), "{}", said(&[]));
    // Several balancers are asked about as one is, also beside a few direct requests.
    let four: String = log
        .lines()
        .zip(0..)
        .map(|(line, i)| {
            format!("{}\n", line.replacen("10.0.0.1", &format!("10.0.0.{}", 1 + i % 4), 1))
        })
        .collect();
    let told_four = "All events are from 4 internal addresses, such as 10.0.0.1: are they proxies? Their clients are \
                     limited with the key forwarded.";
    let all = text(&run(&["tune"], four.as_bytes()).stdout).to_owned();
    assert!(all.contains(told_four), "{all}");
    let direct = four + &log.lines().next().unwrap().replacen("10.0.0.1", "192.0.2.7", 1) + "\n";
    let nearly = text(&run(&["tune"], direct.as_bytes()).stdout).to_owned();
    assert!(nearly.contains(&told_four.replacen("All", "Nearly all", 1)), "{nearly}");
    let own = said(&["--key", "forwarded", "--for", "nginx"]);
    assert!(!own.contains(told) && own.starts_with("29 requests from 29 clients"), "{own}");
    assert!(own.contains("real_ip_header X-Forwarded-For;"), "{own}");
}

/// A stream is followed to its end; where that is impossible, the error says why.
#[test]
fn one_log_is_followed() {
    let output = run(&["tune", "--follow", "--json", "--limit", "gcra 1/1m"], log().as_bytes());
    let last = text(&output.stdout).lines().last().unwrap();
    let answer: Value = serde_json::from_str(last).unwrap();
    let whole = tune(&["--limit", "gcra 1/1m"], log().as_bytes());
    for part in ["requests", "unread", "clients", "recommended", "limits", "times", "formats"] {
        assert_eq!(answer[part], whole[part], "{part}");
    }
    assert_wrong(&["--follow", "a.log", "b.log"], b"", "error: --follow reads one log");
    let gzip = b"\x1f\x8b\x08\x00";
    assert_wrong(
        &["--follow"],
        gzip,
        "error: standard input: it is packed with gzip; only text can be followed",
    );
    assert_wrong(&["--follow", "--merge", "a.tune"], b"", "cannot be used with");
    assert_wrong(&["--merge", "--since", "2015-05-17", "a.tune"], b"", "cannot be used with");
    assert_wrong(&["--merge", "a.tune", "--key", "path"], b"", "cannot be used with");
}

/// CSV has a key of its own, or none.
#[test]
fn clients_of_csv_are_told_apart_by_a_key() {
    let log = b"time,client_ip\n0,192.0.2.7\n1,192.0.2.8\n";
    let note =
        "Without a column key, all events of CSV count together: the key ip tells clients apart.";
    let says =
        |args: &[&str]| String::from_utf8(run(&[&["tune"], args].concat(), log).stdout).unwrap();
    assert!(says(&[]).contains(note));
    for args in [["--key", "ip"], ["--key", "all"]] {
        assert!(!says(&args).contains(note), "{args:?}");
    }
}

/// They share a key, so the limit refuses them together.
#[test]
fn events_without_a_key_are_told() {
    let log = b"time,ip,user\n0,192.0.2.1,ann\n1,192.0.2.1,\n2,192.0.2.2,\n3,192.0.2.3,ann\n";
    let limits = ["--limit", "9/1m per ip & 1/1m per user", "--limit", "9/1m per ip & 9/1m"];
    let answer = tune(&limits, log);
    assert_eq!(answer["limits"][0]["requests_without_key"], 2);
    assert_eq!(answer["limits"][1]["requests_without_key"], 0);
    let args = [&["tune"], &limits[..2]].concat();
    let says = String::from_utf8(run(&args, log).stdout).unwrap();
    let told = "\n  2 of the events have no key for a limit, which counts them as one client\n";
    assert!(says.contains(told), "{says}");
    // Of a summary, the same is known of the limit that may be tried.
    let summary = file("keyless.tune", "");
    tune(&["--key", "user", "--summary", &summary], log);
    let merged = tune(&["--merge", &summary, "--limit", "1/1m per user"], b"");
    assert_eq!(merged["limits"][0]["requests_without_key"], 2);
}
