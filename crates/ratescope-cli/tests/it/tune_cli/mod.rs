//! `ratescope tune` as a shell meets it.

mod given;
mod labels;
mod logins;
mod real;
mod servers;
mod today;

use crate::committed;
use crate::servers as installed;
use crate::shell;
use committed::committed;
use serde_json::{Value, json};
use shell::{command, file, text};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::process::Output;

fn run(args: &[&str], input: &[u8]) -> Output {
    shell::run(&mut command(args), input)
}

/// The JSON of a run that must succeed.
fn tune(args: &[&str], input: &[u8]) -> Value {
    let printed = shell::printed(&mut command(&[&["tune", "--json"], args].concat()), input);
    serde_json::from_str(&printed).unwrap()
}

#[track_caller]
fn assert_wrong(args: &[&str], input: &[u8], says: &str) {
    let output = run(&[&["tune"], args].concat(), input);
    let error = text(&output.stderr);
    assert!(!output.status.success() && error.contains(says), "{error}");
    assert_eq!(text(&output.stdout), "");
}

/// A log in the Common format: busy and quiet clients, several in a second, lines out of order, and
/// one that can't be read.
fn log() -> String {
    let mut lines = Vec::new();
    let mut random = 1u64;
    for i in 0..3000u64 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (a, b) = (random >> 33, random >> 51);
        let client = if b % 3 == 0 { b % 7 } else { 10 + a % 200 };
        let at = (i * 3 + a % 5) % 86_400;
        lines.push(format!(
            "192.0.2.{client} - - [10/Oct/2000:{:02}:{:02}:{:02} +0000] \"GET /{b} HTTP/1.1\" 200 {a}",
            at / 3600, at / 60 % 60, at % 60
        ));
    }
    lines.insert(1000, "192.0.2.1 - - [10/Oct/2000:13:5".to_owned());
    lines.join("\n") + "\n"
}

const LIMITS: [&str; 6] = [
    "exim 10/1m strict",
    "exim 3/10s leaky",
    "gcra 5/1m burst 8",
    "fixed-window 7/1m",
    "sliding-log 20/10m",
    "gcra 2/1s burst 3 per ip & sliding-window 300/1h per all",
];

/// `tune --limit` counts as many refusals as `simulate` of the same log.
#[test]
fn limits_are_tried_as_simulate_does() {
    for spread in [&[][..], &["--no-spread"]] {
        let limits = LIMITS.map(|limit| ["--limit", limit]);
        let answer = tune(&[&limits.concat(), spread].concat(), log().as_bytes());
        assert_eq!((&answer["lines"], &answer["unread"]), (&json!(3001), &json!(1)));
        assert_eq!(answer["requests"], json!(3000));
        let args = [&["simulate", "--format", "jsonl"][..], spread, &LIMITS].concat();
        let simulated = run(&args, log().as_bytes());
        let lines = text(&simulated.stdout).lines().map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        for (i, limit) in LIMITS.iter().enumerate() {
            let of = lines.iter().filter(|line| line["limiter"] == *limit);
            let refused: Vec<_> = of.filter(|line| line["allowed"] == false).collect();
            let keys: BTreeSet<_> = refused.iter().map(|line| line["key"].to_string()).collect();
            let told = &answer["limits"][i];
            assert_eq!(told["limit"], json!(limit));
            assert_eq!(told["requests_refused"], json!(refused.len()), "{limit}");
            assert_eq!(told["clients_touched"], json!(keys.len()), "{limit}");
            let most = told["most_refused"].as_array().unwrap();
            assert_eq!(most.len(), keys.len().min(10), "{limit}");
            let of = |key: &Value| refused.iter().filter(|line| line["key"] == *key).count();
            let parsed = keys.iter().map(|key| serde_json::from_str(key).unwrap());
            let mut each: Vec<usize> = parsed.map(|key| of(&key)).collect();
            each.sort_by_key(|refused| Reverse(*refused));
            for (client, refused) in most.iter().zip(each) {
                assert_eq!(client["refused"], json!(refused), "{limit}");
                assert_eq!(of(&client["key"]), refused, "{limit}");
            }
        }
        let clients: BTreeSet<_> = lines.iter().map(|line| line["key"].to_string()).collect();
        assert_eq!(answer["clients"], json!(clients.len()));
    }
}

/// Each limit of the help can be tried. Who is refused most is told in a table for each that refuses somebody, the same
/// of a log and of its summary, and so that no name speaks to the terminal.
#[test]
fn who_is_refused_most() {
    let help = run(&["help", "tune"], b"");
    let help =
        text(&help.stdout).split("--limit <LIMITS>").nth(1).unwrap().split("--").next().unwrap();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let limits: Vec<&str> = help.split('"').skip(1).step_by(2).collect();
    assert!(limits.len() == 3 && limits[2].ends_with(" by hour"), "{help}");
    let input: String = (0..40).map(|i| format!("{},7,\x1b[2Jann\n", i / 20)).collect();
    let (input, summary) = (format!("time,ip,user\n0,7,bob\n{input}"), file("most.tune", ""));
    for limit in limits {
        let args = ["tune", "--key", "user", "--limit", limit, "--summary", &summary];
        let report = run(&args, input.as_bytes());
        let said = format!("\nThe clients that {limit} refuses most:\nclient ");
        let of_log = text(&report.stdout).split_once(&said).unwrap().1;
        let (table, _) = of_log.split_once("\n\n").unwrap();
        let [_, ann] = table.lines().collect::<Vec<_>>()[..] else { panic!("not ann: {table}") };
        assert!(ann.starts_with("·[2Jann "), "{table}");
        let report = run(&["tune", "--merge", &summary, "--limit", limit], b"");
        let of_sum = text(&report.stdout).split_once(&said);
        assert!(limit.contains('&') || of_sum.unwrap().1.contains(ann), "{table}");
    }
    let report = run(&["tune", "--limit", "1000/1h"], input.as_bytes());
    assert!(!text(&report.stdout).contains("1000/1h refuses most"));
}

/// The curve, the recommendation and the replay tell the same of a limit.
#[test]
fn the_parts_of_the_answer_agree() {
    for by in [
        "exim",
        "earrrl",
        "fixed-window",
        "sliding-window",
        "sliding-counter",
        "sliding-log",
        "bucket",
        "nginx",
        "haproxy",
    ] {
        let answer = tune(&["--by", by, "--untouched", "97"], log().as_bytes());
        let recommended = &answer["recommended"][0];
        let limit = recommended["limit"].as_str().unwrap();
        assert_eq!(answer["periods"][0]["limit"], json!(limit));
        let tried = tune(&["--limit", limit], log().as_bytes());
        for what in ["clients_touched", "requests_refused"] {
            assert_eq!(recommended[what], tried["limits"][0][what], "{limit}: {what}");
        }
        let points = answer["curve"]["points"].as_array().unwrap();
        let same = |point: &&Value| point["clients_touched"] == recommended["clients_touched"];
        let point = points.iter().find(same).unwrap();
        assert_eq!(point["requests_refused"], recommended["requests_refused"], "{limit}");
        let refusals = answer["refusals"].as_array().unwrap().iter();
        let refusals =
            refusals.flat_map(|day| day.as_array().unwrap()).map(|n| n.as_u64().unwrap());
        assert_eq!(json!(refusals.sum::<u64>()), recommended["requests_refused"]);
    }
}

#[test]
fn summaries_add_up() {
    let (a, b) = (file("a.tune", ""), file("b.tune", ""));
    let log = log();
    let half = log[..log.len() / 2].rfind('\n').unwrap() + 1;
    for (path, part) in [(&a, &log[..half]), (&b, &log[half..])] {
        tune(&["--no-spread", "--summary", path], part.as_bytes());
    }
    let args = ["--limit", "gcra 5/1m burst 8"];
    let whole = tune(&[&["--no-spread"], &args[..]].concat(), log.as_bytes());
    let merged = tune(&[&["--merge", &b, &a], &args[..]].concat(), b"");
    for what in
        ["lines", "unread", "requests", "clients", "from", "to", "curve", "periods", "limits"]
    {
        assert_eq!(merged[what], whole[what], "{what}");
    }
    let first = std::fs::read(&a).unwrap();
    let piped = tune(&[&["--merge", &b, "-"], &args[..]].concat(), &first);
    assert_eq!(piped["curve"], whole["curve"]);
    let twice = run(&["tune", "--merge", &a, &a], b"");
    let note = format!("note: {a} is given twice, and counts twice\n");
    assert_eq!((twice.status.success(), text(&twice.stderr)), (true, note.as_str()));
    assert_wrong(&["--merge", "Cargo.toml"], b"", "Cargo.toml: not a summary");
    let large = [first, vec![0; 1 << 20]].concat();
    assert_wrong(&["--merge", "--memory", "1"], &large, "standard input: has more than 1 MiB");
    assert_wrong(&["--merge", &a, "--limit", "9/1m per user"], b"", "only one limit per ip");
}

/// A device that never ends is read no further than its bound.
#[cfg(unix)]
#[test]
fn a_file_without_an_end() {
    assert_wrong(&["--merge", "/dev/zero", "--memory", "1"], b"", "/dev/zero: not a summary");
    assert_wrong(&["--marks", "/dev/zero"], b"", "/dev/zero: it has more than 16777216 bytes");
}

/// Days and hours are those of the log's own clock, if it has one.
#[test]
fn times_are_told_by_the_clock_of_the_log() {
    let line = |at: &str| format!("192.0.2.1 - - [{at}] \"GET / HTTP/1.1\" 200 1\n");
    let log = |times: &[&str]| times.iter().map(|at| line(at).repeat(3)).collect::<String>();
    // The smallest limit refuses the third of three requests.
    let args = ["--untouched", "0"];
    let told = |answer: &Value| {
        let refusals = answer["refusals"].as_array().unwrap().iter().enumerate();
        let cells = refusals.flat_map(|(day, hours)| {
            let hours = hours.as_array().unwrap().iter().enumerate();
            hours.filter(|(_, n)| **n != 0).map(move |(hour, _)| (day, hour))
        });
        (answer["clock"].as_str().unwrap().to_owned(), cells.collect::<Vec<_>>())
    };
    for (times, clock, cells) in [
        (&["10/Oct/2000:13:55:36 -0730"][..], "UTC-07:30", &[(1, 13)][..]),
        (&["10/Oct/2000:13:55:36 +0000"], "UTC", &[(1, 13)]),
        (
            &[
                "29/Oct/2000:02:30:00 +0200",
                "29/Oct/2000:02:30:00 +0100",
                "29/Oct/2000:03:30:00 +0100",
            ],
            "UTC+01:00, in summer UTC+02:00",
            &[(6, 2), (6, 3)],
        ),
        // Servers in several zones, or who knows what.
        (&["10/Oct/2000:02:30:00 +0200", "10/Oct/2000:03:30:00 -0800"], "UTC", &[(1, 0), (1, 11)]),
        (&["10/Oct/2000:13:30:00 +0200", "10/Oct/2000:12:30:00 +0100"], "UTC", &[(1, 11)]),
    ] {
        assert_eq!(told(&tune(&args, log(times).as_bytes())), (clock.to_owned(), cells.to_vec()));
        let parts: Vec<String> =
            (0..times.len()).map(|i| file(&format!("clock-{i}.tune"), "")).collect();
        for (time, part) in times.iter().zip(&parts) {
            tune(&["--summary", part], log(&[time]).as_bytes());
        }
        let parts: Vec<&str> = parts.iter().rev().map(String::as_str).collect();
        let merged = tune(&[&args[..], &["--merge"], &parts].concat(), b"");
        assert_eq!(told(&merged), (clock.to_owned(), cells.to_vec()));
    }
    let exim = "2000-10-10 13:55:36 1pDvIa-0001Xy-2Z <= ann@example.org H=a [192.0.2.1] S=1\n";
    let (clock, cells) = told(&tune(&args, exim.repeat(3).as_bytes()));
    assert_eq!((&*clock, cells), ("local time", vec![(1, 13)]));
    let numbers = "time,key\n971186136,ann\n971186137,ann\n";
    assert_eq!(told(&tune(&args, numbers.as_bytes())).0, "UTC");
    let report =
        run(&["tune", "--untouched", "0"], log(&["10/Oct/2000:13:55:36 -0730"]).as_bytes());
    let report = text(&report.stdout);
    for said in [
        "2000-10-10 13:55:36 UTC-07:30\n",
        "(UTC-07:30; 9 stands for ",
        ", first on 10 October at 13:55.",
    ] {
        assert!(report.contains(said), "{said}: {report}");
    }
}

#[test]
fn marks_are_heeded() {
    let path = file("marks", "192.0.2.1 # the office\n");
    let of = |args: &[&str]| tune(&[&["--untouched", "90"], args].concat(), log().as_bytes());
    let (with, without) = (of(&["--marks", &path]), of(&[]));
    assert_ne!(with["recommended"][0]["limit"], without["recommended"][0]["limit"]);
    let marked = with["most_refused"].as_array().unwrap().iter().find(|c| c["key"] == "192.0.2.1");
    assert_eq!(
        (&marked.unwrap()["marked"], &marked.unwrap()["refused"]),
        (&json!(true), &json!(0))
    );
}

/// A client that asks 40 times a minute for half an hour is no reason for a higher limit: not by itself, unless it is
/// marked as legitimate, and not if it is to be stopped or left out, itself or by its network.
#[test]
fn clients_to_stop_and_clients_left_out() {
    let scraped = |i: u32| {
        let (minute, second) = (10 + i / 40, i % 40);
        format!(
            "203.0.113.9 - - [10/Oct/2000:00:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" 200 1\n"
        )
    };
    let scraped: String = (0..1200).map(scraped).collect();
    let in_order = |log: &str| {
        let mut lines: Vec<&str> = log.lines().collect();
        lines.sort_by_key(|line| line.split('[').nth(1));
        lines.join("\n")
    };
    let answer = |args: &[&str], log: &str| {
        tune(&[&["--untouched", "100", "--only", "--period", "1m"], args].concat(), log.as_bytes())
    };
    let all = in_order(&(log() + &scraped));
    let quiet = answer(&[], &in_order(&log()))["recommended"].clone();
    let as_it_is = answer(&[], &all);
    assert_eq!(as_it_is["recommended"][0]["limit"], quiet[0]["limit"]);
    assert_eq!(as_it_is["far_above"]["keys"], json!(["203.0.113.9"]));
    assert_eq!(as_it_is["stops"], json!([]));
    let legitimate = file("scraper", "203.0.113.9\n");
    let legitimate = answer(&["--marks", &legitimate], &all);
    let limit = &legitimate["recommended"][0]["limit"];
    assert_ne!(*limit, quiet[0]["limit"]);
    assert_eq!(as_it_is["far_above"]["limit_with_them"], *limit);
    assert_eq!(
        (&legitimate["far_above"], &legitimate["recommended"][0]["requests_refused"]),
        (&Value::Null, &json!(0))
    );
    for key in ["203.0.113.9", "203.0.113.0/24"] {
        let stopped = answer(&["--stop", key], &all);
        assert_eq!(stopped["recommended"][0]["limit"], quiet[0]["limit"], "{key}");
        let [stop] = &stopped["stops"].as_array().unwrap()[..] else { panic!("{stopped}") };
        assert!(stop.as_str().unwrap().starts_with("203.0.113.9 is stopped: "), "{stop}");
        let rows = stopped["most_refused"].as_array().unwrap();
        let [most, others @ ..] = &rows[..] else { panic!("{stopped}") };
        assert_eq!((&most["key"], &most["stop"]), (&json!("203.0.113.9"), &json!(true)));
        assert!(others.iter().all(|row| row["stop"] == false && row["refused"] == 0), "{rows:?}");

        let left_out = answer(&["--without", key], &all);
        assert_eq!(left_out["recommended"][0]["limit"], quiet[0]["limit"], "{key}");
        assert_eq!(left_out["stops"], json!([]));
    }
}

/// The report for people, whole.
#[test]
fn a_report() {
    let report = shell::printed(&mut command(&["tune", "--untouched", "97"]), log());
    assert_eq!(report, committed("tests/it/tune_cli/report.txt", &report));
}

/// All together are a client without a name.
#[test]
fn who_has_no_name_is_not_named() {
    let answer = tune(&["--limit", "1/1m", "--untouched", "0"], b"time\n0\n0\n0\n");
    let says = answer["recommended"][0]["says"].as_str().unwrap();
    let end = ", all from 1 of 1 client: one without a name, first on 1 January at 00:00.";
    assert!(says.ends_with(end), "{says}");
}

/// Where few clients are in the part of the log from which the limit is learned, the fastest of them may set it. It is
/// named if half of the limit would do without it: if it is one, has a name, and no marked client needs a higher limit.
#[test]
fn who_sets_the_limit_is_named() {
    let marks = file("decides.txt", "c\n");
    let times = |n: usize, line: &str| line.repeat(n);
    let a = times(5, "0,a\n");
    for (lines, args, who) in [
        ("1,b\n2,b\n9,c\n", &[][..], Some(", a,")),
        ("1,b\n1,b\n1,b\n9,c\n", &[], None),
        (&("1,b\n".to_owned() + &times(7, "9,c\n")), &[], Some(", a,")),
        (&("1,b\n".to_owned() + &times(7, "9,c\n")), &["--marks", &marks], None),
        (&(times(5, "1,b\n") + "9,c\n"), &[], None),
    ] {
        for by in ["exim", "bucket", "sliding-log"] {
            let args = [&["tune", "--no-spread", "--by", by], args].concat();
            let output = run(&args, format!("time,key\n{a}{lines}").as_bytes());
            let report = text(&output.stdout);
            match who {
                Some(who) => {
                    let says = format!(
                        "\nBut 99.9 % of 2 clients means all of them, so the fastest one{who} sets the limit, "
                    );
                    assert!(report.contains(&says), "{by}: {says}{report}");
                }
                None => assert!(!report.contains("sets the limit"), "{by}: {report}"),
            }
        }
    }
    for (name, who) in [("", ""), ("\x1b[2Jann", ", ·[2Jann,")] {
        let lines = format!("time,key\n{}1,b\n9,c\n", times(5, &format!("0,{name}\n")));
        let output = run(&["tune", "--no-spread"], lines.as_bytes());
        let says = format!("so the fastest one{who} sets the limit, and without it 2 would do; ");
        assert!(text(&output.stdout).contains(&says), "{}", text(&output.stdout));
    }
}

/// The clients that a bucket touches are counted over the whole log, as for every other limit.
#[test]
fn buckets_touch_whom_their_replay_touches() {
    // In the last third come more clients who send at once than in the first two.
    let seconds = (0..1000).map(|i| format!("{i},a{}\n", i % 200));
    let late = (990..999).flat_map(|i| vec![format!("{i},late{}\n", i % 3); 9]);
    let input = format!("time,key\n{}", seconds.chain(late).collect::<String>());
    let answer = tune(&["--untouched", "97", "--no-spread"], input.as_bytes());
    let mut touched = 0;
    for bucket in answer["buckets"].as_array().unwrap() {
        let [rate, burst] = ["rate", "burst"].map(|name| bucket[name].to_string().replace('"', ""));
        let limit = format!("gcra {rate} burst {burst}");
        let tried = tune(&["--limit", &limit, "--no-spread"], input.as_bytes());
        assert_eq!(bucket["clients_touched"], tried["limits"][0]["clients_touched"], "{limit}");
        touched += bucket["clients_touched"].as_u64().unwrap();
    }
    assert!(touched > 0);
}

#[test]
fn the_pictures_of_the_page() {
    let path = file("page.svg", "");
    for by in ["exim", "sliding-log"] {
        let report = tune(&["--by", by, "--svg", &path], log().as_bytes());
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        let limit = report["periods"][0]["limit"].as_str().unwrap();
        for text in [limit, "When the limit refuses, UTC", "recommended"] {
            assert!(svg.contains(text), "{by}: {text}");
        }
    }
}
