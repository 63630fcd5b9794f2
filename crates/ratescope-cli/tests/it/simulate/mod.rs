//! `ratescope simulate`, `limiters`, `completions` and `manual` as a shell meets them.

mod commands;
#[cfg(unix)]
mod live;
mod logs;

use crate::shell;
use serde_json::{Value, json};
use shell::{command, printed, run, text};
use std::io::{BufRead, BufReader, Write};
use std::process::{Output, Stdio};

/// Runs `ratescope simulate` over `input`.
fn simulate(args: &[&str], input: &str) -> Output {
    run(&mut command(&[&["simulate"], args].concat()), input)
}

/// The decisions as JSON, of a run that must succeed.
fn decisions(limiters: &[&str], input: &str) -> Vec<Value> {
    let args = [&["simulate", "--format", "jsonl"], limiters].concat();
    let printed = printed(&mut command(&args), input);
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A long key moves the columns after it, and those of the lines that follow.
#[test]
fn a_long_key_makes_its_column_wider() {
    let input = "time,key\n0,a\n1,2001:db8:89fd:ce28::/64\n2,a\n";
    let output = simulate(&["gcra 9/1s"], input);
    let place = |line: &str| line.split("gcra").next().unwrap().len();
    let places: Vec<usize> = text(&output.stdout).lines().skip(1).map(place).collect();
    assert!(places[0] < places[1] && places[1] == places[2], "{}", text(&output.stdout));
}

/// A limiter may be written at any length; those of usual length are printed one below the other.
#[test]
fn a_long_limiter_is_printed() {
    let long = format!("gcra{}1/1s", " ".repeat(70_000));
    let output = simulate(&[&long, "gcra 1/1s per größe"], "time,größe\n0,a\n");
    assert!(text(&output.stdout).contains(&long), "{}", text(&output.stderr));
    let output =
        simulate(&["gcra 1/1s per größe", "gcra 9/1s per groesse"], "time,größe,groesse\n0,a,b\n");
    let place = |line: &str| line.split("allowed").next().unwrap().chars().count();
    let places: Vec<usize> = text(&output.stdout).lines().skip(1).map(place).collect();
    assert_eq!(places[0], places[1]);
}

const INPUT: &str = "time,key,cost\n0,a,1\n0,a,1.5\n0.25,\"b, c\",1\n0.5,a,9\n1.000001,a,1\n";

/// A limit that knows the hour, by the clock of its offset, is read and written.
#[test]
fn a_limit_by_hour_is_written_as_it_was_read() {
    let limiter = "adaptive x3 decay 10m increase 2d floor 12 by hour offset +1h";
    assert_eq!(decisions(&[limiter], "time,key\n0,a\n")[0]["limiter"], json!(limiter));
}

#[test]
fn json_lines_have_every_field() {
    let lines = decisions(&["leaky-bucket 2/1s queue 2.5", "exim 2/1s strict"], INPUT);
    assert_eq!(lines.len(), 10);
    assert_eq!(
        lines[0],
        json!({
            "time": 0, "key": "a", "cost": 1, "limiter": "leaky-bucket 2/1s queue 2.5",
            "allowed": true, "wait": 0, "retry_after": null, "level": 1, "limit": 2.5,
            "decided_by": "leaky-bucket 2/1s queue 2.5 per key", "decided_key": "key=a",
        })
    );
    assert_eq!(lines[2]["wait"], json!(0.5));
    assert_eq!(lines[4]["key"], json!("b, c"));
    assert_eq!(
        lines[6],
        json!({
            "time": 0.5, "key": "a", "cost": 9, "limiter": "leaky-bucket 2/1s queue 2.5",
            "allowed": false, "wait": null, "retry_after": "never", "level": 10.5, "limit": 2.5,
            "decided_by": "leaky-bucket 2/1s queue 2.5 per key", "decided_key": "key=a",
        })
    );
    assert_eq!(lines[8]["time"], json!(1.000001));
    assert_eq!(lines[7]["limiter"], json!("exim 2/1s strict"));
}

#[test]
fn csv_has_the_same_fields() {
    let output = simulate(&["leaky-bucket 2/1s queue 2.5", "--format", "csv"], INPUT);
    let want = "\
time,key,cost,limiter,allowed,wait,retry_after,level,limit,decided_by,decided_key
0,a,1,leaky-bucket 2/1s queue 2.5,true,0,,1,2.5,BY,key=a
0,a,1.5,leaky-bucket 2/1s queue 2.5,true,0.5,,2.5,2.5,BY,key=a
0.25,\"b, c\",1,leaky-bucket 2/1s queue 2.5,true,0,,1,2.5,BY,key=b%2C%20c
0.5,a,9,leaky-bucket 2/1s queue 2.5,false,,never,10.5,2.5,BY,key=a
1.000001,a,1,leaky-bucket 2/1s queue 2.5,true,0.249999,,1.499998,2.5,BY,key=a
";
    let want = want.replace("BY", "leaky-bucket 2/1s queue 2.5 per key");
    assert_eq!(text(&output.stdout), want);
    let summary = "leaky-bucket 2/1s queue 2.5: 4 of 5 allowed (80.0%), 1 refused, keys: 2\n";
    assert_eq!(text(&output.stderr), summary);
}

/// Texts of strangers are no formulas for a spreadsheet, and nothing that a terminal obeys. Numbers stay numbers.
#[test]
fn csv_is_harmless() {
    let keys = ["=1+1", "+1", "-1", "@a", " =1", "a\u{1b}[31m", "a\u{202e}b", "a=b", "\u{ff1d}1"];
    let lines: String = keys.iter().map(|key| format!("-1,{key}\n")).collect();
    let output = simulate(
        &["gcra 10/1m per key", "--format", "csv", "--key", "key"],
        &format!("time,key\n{lines}"),
    );
    let found: Vec<&str> = text(&output.stdout).lines().skip(1).collect();
    let wanted =
        ["'=1+1", "'+1", "'-1", "'@a", "'=1", "a\\u001b[31m", "a\\u202eb", "a=b", "'\u{ff1d}1"];
    for (line, key) in found.iter().zip(wanted) {
        assert!(line.starts_with(&format!("-1,{key},1,gcra")), "{line}");
    }
    assert_eq!(found.len(), wanted.len());
    // JSON may have a line end in a text.
    let log = "{\"ts\":1,\"ip\":\"192.0.2.7\",\"user\":\"a\\nb\\t=1\"}\n";
    let args = ["gcra 10/1m per user", "--format", "csv", "--key", "user"];
    let output = simulate(&args, log);
    let rows: Vec<&str> = text(&output.stdout).lines().skip(1).collect();
    assert_eq!(rows.len(), 1);
    assert!(rows[0].starts_with("1,a\\u000ab\\u0009=1,1,"), "{rows:?}");
}

#[test]
fn the_table_is_for_reading() {
    let output = simulate(&["exim 2/1m strict", "fixed-window 1/1m"], "time\n0\n0.5\n1\n");
    let want = "\
\x20       time  key            cost  limiter                 level     limit  decision
           0                    1  exim 2/1m strict            1         2  allowed
           0                    1  fixed-window 1/1m           1         1  allowed
         0.5                    1  exim 2/1m strict      1.98755         2  allowed
         0.5                    1  fixed-window 1/1m           2         1  refused, again in 59.5s
           1                    1  exim 2/1m strict       2.9669         2  refused, again in 48.7936s
           1                    1  fixed-window 1/1m           2         1  refused, again in 59s
";
    assert_eq!(text(&output.stdout), want);
}

/// A terminal obeys characters that a client may have sent, so they are only in output that programs read.
#[test]
fn no_key_speaks_to_the_terminal() {
    let input = "time,key\n0,\x1b[2Jann\n";
    let table = simulate(&["1/1m"], input);
    assert!(text(&table.stdout).contains("  ·[2Jann  ") && !text(&table.stdout).contains('\x1b'));
    assert_eq!(decisions(&["1/1m"], input)[0]["key"], "\x1b[2Jann");
    // JSON has an escape for each of them, and reads the same.
    let key = "\u{9b}2J\x7f\u{202e}ann";
    let input = format!("time,key\n0,{key}\n");
    let lines = simulate(&["--format", "jsonl", "1/1m"], &input);
    assert!(text(&lines.stdout).contains(r"\u009b2J\u007f\u202eann"), "{}", text(&lines.stdout));
    assert_eq!(decisions(&["1/1m"], &input)[0]["key"], key);
}

/// Any column is a field that a limit may be for, and lines without it count together.
#[test]
fn any_column_is_a_field() {
    let input = "time,user,ip\n0,ann,x\n0,ann,x\n0,bob,x\n0,bob,y\n0,,\n0\n";
    let allowed = |limiter: &str| -> Vec<bool> {
        decisions(&[limiter], input).iter().map(|line| line["allowed"] == json!(true)).collect()
    };
    assert_eq!(allowed("1/1s per user"), [true, false, true, false, true, false]);
    assert_eq!(allowed("1/1s per ip"), [true, false, false, true, true, false]);
    assert_eq!(allowed("1/1s per user+ip"), [true, false, true, true, true, false]);
    // Without a column key a limit that does not say is for all.
    assert_eq!(allowed("1/1s"), allowed("1/1s per all"));
    assert_eq!(allowed("1/1s"), [true, false, false, false, false, false]);
}

/// The example of the issue: six for a user and ten for the address, and which of them decided.
#[test]
fn several_limits_for_different_keys_say_which_decided() {
    let policy = "6/10s per user & 10/10s per ip";
    let events = ["ann"; 8].iter().chain(&["bob"; 6]).map(|user| format!("0,{user},192.0.2.7\n"));
    let input = format!("time,user,ip\n{}", events.collect::<String>());
    let lines = decisions(&[policy, "10/10s per ip"], &input);
    let (both, ip): (Vec<_>, Vec<_>) = lines.iter().partition(|l| l["limiter"] == json!(policy));
    let allowed = |lines: &[&Value]| -> Vec<bool> {
        lines.iter().map(|line| line["allowed"] == json!(true)).collect()
    };
    // The refusals by ann's own limit take nothing from the address: bob gets four.
    let want = [[true; 6].as_slice(), &[false; 2], &[true; 4], &[false; 2]].concat();
    assert_eq!(allowed(&both), want);
    assert_eq!(allowed(&ip), [[true; 10].as_slice(), &[false; 4]].concat());
    let by = |line: &Value| {
        ["decided_by", "decided_key", "level", "limit"].map(|name| line[name].clone())
    };
    let user = "fixed-window 6/10s per user";
    let address = "fixed-window 10/10s per ip";
    assert_eq!(by(both[5]), [json!(user), json!("user=ann"), json!(6), json!(6)]);
    assert_eq!(by(both[6]), [json!(user), json!("user=ann"), json!(7), json!(6)]);
    assert_eq!(by(both[8]), [json!(address), json!("ip=192.0.2.7"), json!(7), json!(10)]);
    assert_eq!(by(both[13]), [json!(address), json!("ip=192.0.2.7"), json!(11), json!(10)]);

    let table = simulate(&[policy], &input);
    let last = "refused, again in 10s (fixed-window 10/10s per ip: ip=192.0.2.7)";
    assert!(text(&table.stdout).trim_end().ends_with(last), "{}", text(&table.stdout));
    assert_eq!(
        text(&table.stderr),
        "6/10s per user & 10/10s per ip: 10 of 14 allowed (71.4%), 4 refused, keys: 3\n"
    );
    let all = simulate(&["1/1s per all & 2/1s per user"], "time,user\n0,a\n0,a\n");
    let last = "refused, again in 1s (fixed-window 1/1s per all)";
    assert!(text(&all.stdout).trim_end().ends_with(last), "{}", text(&all.stdout));
}

/// A field that is no column is found as soon as there is a header, and what could be meant is
/// listed.
#[test]
fn a_field_that_is_no_column_is_named() {
    let output = simulate(&["1/1s per user & 2/1s per ip"], "time,user,path\n0,a,/\n");
    let says = "error: \"ip\" in \"1/1s per user & 2/1s per ip\": ip is not a field here; \
                write per user, per path, per all\n";
    assert_eq!((text(&output.stderr), text(&output.stdout)), (says, ""));
    assert_eq!(output.status.code(), Some(1));
    // Neither the time nor the cost is one.
    let output = simulate(&["1/1s per cost"], "time,cost\n");
    assert!(text(&output.stderr).ends_with("cost is not a field here; write per all\n"));
}

/// A limit that no event of cost 1 would pass is right where events cost less.
#[test]
fn a_limit_may_be_below_one() {
    let input = "time,cost\n0,0.125\n1,0.25\n";
    let lines = decisions(&["sliding-log 0.15/1m", "exim 0.15/1m strict & 1/1h"], input);
    let allowed: Vec<_> = lines.iter().map(|line| line["allowed"].as_bool().unwrap()).collect();
    assert_eq!(allowed, [true, true, false, false]);
}

/// A wait of more seconds than 32 bits have is told in the table as in csv.
#[test]
fn a_long_wait_is_told_in_full() {
    let limiter = "fixed-window 1/10000w";
    let wait = &decisions(&[limiter], "time\n0\n1\n")[1]["retry_after"];
    assert_eq!(*wait, json!(6_047_999_999_u64));
    let table = simulate(&[limiter], "time\n0\n1\n");
    let said = text(&table.stdout).trim_end().rsplit("again in ").next().unwrap();
    assert_eq!(said.parse::<ratescope::Span>().unwrap().as_secs_f64(), 6_047_999_999.0, "{said}");
}

/// Each key has its own limit, and several limits can be joined.
#[test]
fn keys_and_several_limits() {
    let input = "key,time\na,0\na,0\nb,0\na,0\n";
    let allowed = |limiter: &str| -> Vec<bool> {
        decisions(&[limiter], input).iter().map(|line| line["allowed"].as_bool().unwrap()).collect()
    };
    assert_eq!(allowed("1/1s"), [true, false, true, false]);
    assert_eq!(allowed("10/1s & 2/1m & 240/1h precision 1m"), [true, true, true, false]);
}

#[test]
fn a_wrong_line_is_named() {
    for (args, input, says) in [
        (&["gcra 1/1s"][..], "time\n1\nnoon\n", "error: line 3: time \"noon\": "),
        (&["gcra 1/1s"], "", "error: standard input: the input is empty"),
        // Without a header that can be used, it is a log of no known format.
        (&["gcra 1/1s", "--log", "csv"], "key\na\n", "error: standard input: the format"),
    ] {
        let output = simulate(args, input);
        assert!(text(&output.stderr).starts_with(says), "{}", text(&output.stderr));
        assert!(!output.status.success());
    }
}

/// The lines before the mistake are decided and printed.
#[test]
fn a_wrong_line_comes_after_the_right_ones() {
    let output = simulate(&["1/1s", "--format", "jsonl"], "time\n1\n2\nx\n3\n");
    assert_eq!(text(&output.stdout).lines().count(), 2);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_wrong_limiter_is_pointed_at() {
    let output = simulate(&["gcra 10/1s size 3"], "time\n");
    assert_eq!(output.status.code(), Some(2));
    let says = "\"size\" in \"gcra 10/1s size 3\": unexpected word";
    assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    assert!(!simulate(&[], "time\n").status.success());
    // As a shell hands it over when the quotes are forgotten.
    let says = text(&simulate(&["gcra", "10/1s"], "time\n").stderr).to_owned();
    assert!(says.contains("write a limiter of several words in quotes"), "{says}");
    let none = simulate(&["1/1s", "--keys", "0"], "time\n");
    assert_eq!(none.status.code(), Some(2), "{}", text(&none.stderr));
}

/// `ratescope simulate … | head -1`, with far more to print than a pipe holds.
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for format in ["table", "csv", "jsonl"] {
        let args = ["simulate", "1/1s", "--format", format];
        let mut command = command(&args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let writer = std::thread::spawn(move || {
            let lines: String = (0..50_000).map(|i| format!("{i}\n")).collect();
            let _ = input.write_all(format!("time\n{lines}").as_bytes());
        });
        BufReader::new(output).read_line(&mut String::new()).unwrap();
        let ended = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(ended.status.success(), "{format}: {}", text(&ended.stderr));
        assert_eq!(text(&ended.stderr), "", "{format}");
    }
}

/// With room for fewer keys than there are, it says so. Room comes in eights.
#[test]
fn forgotten_keys_are_told() {
    let events: String = (0..20).map(|key| format!("0,{key}\n")).collect();
    let output = simulate(&["1/1s", "--keys", "2"], &format!("time,key\n{events}"));
    let says = "1/1s: 20 of 20 allowed (100.0%), 0 refused, keys: 8 kept, 12 evicted (more than --keys 2)\n";
    assert_eq!(text(&output.stderr), says);
    // Two keys that take turns in one place are forgotten whenever the other comes.
    let events: String = (0..40).map(|i| format!("0,{}\n", i % 20)).collect();
    let output = simulate(&["1/1s", "--keys", "2"], &format!("time,key\n{events}"));
    let said = text(&output.stderr);
    assert!(said.contains(" keys: 8 kept, "), "{said}");
}

#[test]
fn without_events_there_is_no_share() {
    let output = simulate(&["1/1s"], "time,key");
    assert_eq!(text(&output.stderr), "1/1s: no events\n");
    assert!(output.status.success());
}

/// Clients that try again, instead of a log: the numbers of the page for the same clients.
#[test]
fn clients_try_again() {
    let clients = "5 clients of 10 retry at once";
    let lanes =
        ["sliding-log 10/10s", "sliding-log 10/10s retry retry-after", "exim 10/10s strict"];
    let args = [&["simulate", "--clients", clients], &lanes[..]].concat();
    let table = printed(&mut command(&args), "").replace('\u{202f}', " ");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(rows[0][..4], ["limiter", "job done", "sent for each passed", "longest wait"]);
    assert_eq!(rows[1][..6], [lanes[0], "after 40.2 s", "40.2", "9.8 s", "50.1×", "50"]);
    assert_eq!(rows[2][..6], [lanes[1], "after 41.4 s", "1.40", "10.1 s", "1.69×", "15"]);
    // An hour ends it.
    assert_eq!((rows[3][0], rows[3][1]), (lanes[2], "40 left"));
    assert_eq!(rows.len(), 4);
    // The seed is that of jitter.
    let jitter = |seed: &str| {
        let args = [
            "simulate",
            "--clients",
            "9 clients of 9 retry every 1s full",
            "--seed",
            seed,
            "gcra 2/1s",
        ];
        printed(&mut command(&args), "")
    };
    assert_eq!(jitter("7"), jitter("7"));
    assert_ne!(jitter("7"), jitter("8"));
}

#[test]
fn what_is_wrong_with_clients_is_said() {
    for (args, said) in [
        (&["--clients", "10 of 20", "gcra 2/1s"][..], "write at and a span"),
        (&["--clients", "3/1s", "gcra 2/1s"], "--clients has no clients"),
        (&["--clients", "2 clients of 3", "Cargo.toml"], "Cargo.toml is no limiter"),
        (&["--clients", "2 clients of 3"], "there is no limiter"),
        (&["--clients", "2 clients of 3", "gcra 2/1s retry often"], "not a way to try again"),
        (&["gcra 2/1s retry at once"], "retry"),
    ] {
        let output = simulate(args, "time,key\n0,a\n");
        let told = text(&output.stderr);
        assert!(!output.status.success() && told.contains(said), "{args:?}: {told}");
    }
}

/// Forty events in an instant, of two keys in turn.
fn forty() -> String {
    let each = (0..40).map(|n| format!("1,{}\n", if n % 2 == 0 { "ann" } else { "bob" }));
    format!("time,key\n{}", each.collect::<String>())
}

/// The same events go to several processes. Each alone lets the whole limit pass.
#[test]
fn processes_share_a_limit() {
    let summary = |args: &[&str]| {
        let limiter = "sliding-log 3/1m";
        let lanes = ["", " share exact", " share alone"].map(|how| format!("{limiter}{how}"));
        let lanes = lanes.each_ref().map(String::as_str);
        let output = simulate(&[args, &lanes[..]].concat(), &forty());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let told = text(&output.stderr).lines().map(str::to_owned);
        told.filter(|line| line.starts_with(limiter)).collect::<Vec<_>>()
    };
    assert_eq!(
        summary(&["--processes", "4"]),
        [
            "sliding-log 3/1m: 6 of 40 allowed (15.0%), 34 refused, keys: 2",
            "sliding-log 3/1m share exact: 6 of 40 allowed (15.0%), 34 refused, 0 over, 40 calls, keys: 2",
            // In turn, two of them get the events of each key.
            "sliding-log 3/1m share alone: 12 of 40 allowed (30.0%), 28 refused, 3 over, keys: 2",
        ]
    );
    let alone = |args: &[&str]| summary(args).pop().unwrap();
    assert!(alone(&["--processes", "5"]).contains("share alone: 30 of 40"));
    assert!(alone(&["--processes", "5", "--balance", "by key"]).contains(": 6 of 40"));
    assert!(alone(&["--processes", "5", "--balance", "all to one"]).contains(": 6 of 40"));
    let chance = |seed| alone(&["--processes", "5", "--balance", "by chance", "--seed", seed]);
    assert_eq!(chance("1"), chance("1"));
    assert!(["2", "3", "4", "5"].iter().any(|seed| chance(seed) != chance("1")));
    // Each decision is that of a process.
    let first = &decisions(&["--processes", "2", "sliding-log 3/1m share alone"], &forty())[0];
    assert_eq!(
        (&first["limiter"], &first["allowed"]),
        (&json!("sliding-log 3/1m share alone"), &json!(true))
    );
    // Clients, too.
    let clients = "2 clients of 9 retry never";
    let args =
        ["simulate", "--clients", clients, "--processes", "2", "fixed-window 4/1h share alone"];
    let table = printed(&mut command(&args), "");
    assert!(table.ends_with("fixed-window 4/1h share alone: 4 over\n"), "{table}");
}

#[test]
fn what_is_wrong_with_processes_is_said() {
    for (args, said) in [
        (&["--processes", "51", "gcra 2/1s share alone"][..], "1..=50"),
        (&["--balance", "evenly", "gcra 2/1s share alone"], "in turn"),
        (&["--call", "1m", "gcra 2/1s share alone"], "up to 10s"),
        (&["gcra 2/1s share often"], "or alone"),
        (&["gcra 2/1s & gcra 9/1m share alone"], "one limiter alone"),
        (&["leaky-bucket 2/1s share leased 1s"], "can't be leased"),
        (&["--store", "redis://127.0.0.1:1", "gcra 2/1s share exact"], "leave --store out"),
        (&["--keys", "1", "gcra 2/1s share exact"], "more than 1 keys"),
    ] {
        let output = simulate(args, &forty());
        let told = text(&output.stderr);
        assert!(!output.status.success() && told.contains(said), "{args:?}: {told}");
    }
}
