//! `ratescope simulate`, `limiters`, `completions` and `manual` as a shell meets them.
#![allow(clippy::unwrap_used)]

#[path = "simulate/commands.rs"]
mod commands;
#[cfg(unix)]
#[path = "simulate/live.rs"]
mod live;
#[path = "simulate/logs.rs"]
mod logs;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

fn ratescope(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ratescope"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs `ratescope simulate` over `input`.
fn simulate(args: &[&str], input: &str) -> Output {
    let mut child = ratescope(&[&["simulate"], args].concat()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // It may stop reading at a mistake.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().unwrap()
    })
}

/// The decisions as JSON, of a run that must succeed.
fn decisions(limiters: &[&str], input: &str) -> Vec<Value> {
    let output = simulate(&[&["--format", "jsonl"], limiters].concat(), input);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// What is said about input that is wrong.
#[track_caller]
fn assert_wrong(input: &str, says: &str) {
    let output = simulate(&["gcra 1/1s"], input);
    assert_eq!(text(&output.stderr).trim_end(), format!("error: {says}"));
    assert!(!output.status.success());
}

const INPUT: &str = "time,key,cost\n0,a,1\n0,a,1.5\n0.25,\"b, c\",1\n0.5,a,9\n1.000001,a,1\n";

/// A limit by hour: who sends evenly by day has its habit there, and the floor at night.
#[test]
fn a_limit_knows_the_hour_of_its_offset() {
    let day = |day: u32| (0..100).map(move |i| 86_400 * day + 12 * 3600 + 36 * i);
    let night = (0..100).map(|i| 86_400 * 10 + 36 * i);
    let input: String = (0..10).flat_map(day).chain(night).map(|at| format!("{at},a\n")).collect();
    let rule = "adaptive x3 decay 10m increase 2d floor 12 by hour";
    let passed = |offset: &str| {
        let limiter = format!("{rule} offset {offset}");
        let lines = decisions(&[&limiter], &format!("time,key\n{input}"));
        assert_eq!(lines[0]["limiter"], json!(limiter));
        // 100 in an hour are 16 2/3 in ten minutes; the last day at noon, and the hour from midnight.
        let last =
            |from: usize| lines[from..from + 100].iter().filter(|l| l["allowed"] == json!(true));
        [last(900).count(), last(1000).count()]
    };
    assert_eq!(passed("+1h"), passed("-11h"));
    // At midnight it is held to what an Exim limit of the floor lets through.
    let midnight: String = (0..100).map(|i| format!("{},a\n", 36 * i)).collect();
    let fixed = decisions(&["exim 12/10m"], &format!("time,key\n{midnight}"));
    let fixed = fixed.iter().filter(|l| l["allowed"] == json!(true)).count();
    assert_eq!((passed("+1h"), fixed), ([100, 76], 76));
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
    // The rate that Exim computes, in full: never less than the cost, and what decays from there.
    let left = (-0.500001f64).exp();
    assert_eq!(lines[7]["level"], json!(9));
    let rate = lines[9]["level"].as_f64().unwrap();
    assert!((rate - ((1.0 - left) / 0.500001 + 9.0 * left)).abs() < 1e-12, "{rate}");
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

/// A terminal obeys what a client may have sent: it is for reading only in what programs read.
#[test]
fn no_key_speaks_to_the_terminal() {
    let input = "time,key\n0,\x1b[2Jann\n";
    let table = simulate(&["1/1m"], input);
    assert!(text(&table.stdout).contains("  ·[2Jann  ") && !text(&table.stdout).contains('\x1b'));
    assert_eq!(decisions(&["1/1m"], input)[0]["key"], "\x1b[2Jann");
}

/// Any column is a field that a limit may be for, and what has none of them counts together.
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
    // What ann's own limit refuses takes nothing from the address: bob gets four.
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

/// The article's abusive user, through the same limiter as in its figure.
#[test]
fn the_article_from_a_shell() {
    let fast = (0..250).map(|i| f64::from(i * 6) / 10.0);
    let slow = (150..=300).map(f64::from);
    let times: String = fast.chain(slow).map(|at| format!("{at}\n")).collect();
    let lines = decisions(&["earrrl 1/1s half-life 20s"], &format!("time\n{times}"));
    let refused: Vec<f64> = lines
        .iter()
        .filter(|line| line["allowed"] == json!(false))
        .map(|line| line["time"].as_f64().unwrap())
        .collect();
    assert_eq!((refused.first(), refused.last()), (Some(&27.0), Some(&255.0)));
    assert_eq!(lines.len() - refused.len(), 90);
    let printed_by_redis = 0.03394412100497;
    assert!((lines[1]["level"].as_f64().unwrap() - printed_by_redis).abs() < 1e-9);
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
fn columns_in_any_order_and_fields_left_out() {
    let input = "\u{feff}cost, time ,key\r\n2,0,a\r\n\r\n , -1.5\r\n3,1\r\n";
    let lines = decisions(&["sliding-log 10/1m"], input);
    let fields: Vec<_> = lines.iter().map(|l| (&l["time"], &l["key"], &l["cost"])).collect();
    assert_eq!(
        fields,
        [
            (&json!(0), &json!("a"), &json!(2)),
            (&json!(-1.5), &json!(""), &json!(1)),
            (&json!(1), &json!(""), &json!(3)),
        ]
    );
}

#[test]
fn a_wrong_line_is_named() {
    assert_wrong(
        "time\n1\nnoon\n",
        "line 3: time \"noon\": not a time; write seconds with up to six decimals, such as 12.5",
    );
    assert_wrong(
        "time,cost\r\n\r\n\r\n1,\r\n2,-1\r\n",
        "line 5: cost \"-1\": not a number from 0 to 1e12",
    );
    assert_wrong("time,cost\n1,NaN\n", "line 2: cost \"NaN\": not a number from 0 to 1e12");
    assert_wrong("time,key\n1,a,3\n", "line 2: 3 fields, but the header names 2");
    // Without a header that can be used, it is a log of no known format.
    let unknown = |first, why| {
        format!(
            "the format of the log is unknown; its first line is\n  {first}\n\
             It is not read as csv: {why}"
        )
    };
    for (input, first, why) in [
        ("key\na\n", "key", "the header has no time; it is such as time,key,cost"),
        ("time,time\n", "time,time", "the header names the column \"time\" twice"),
    ] {
        let output = simulate(&["gcra 1/1s", "--log", "csv"], input);
        assert_eq!(text(&output.stderr).trim_end(), format!("error: {}", unknown(first, why)));
        assert!(!output.status.success());
    }
    assert_wrong(
        "time,key\n1,\"a\n2,b\n",
        "line 2: a quote is not closed; within quotes it is written twice",
    );
    let long = format!("time,key\n1,a\n2,{}\n", "b".repeat(2_000_000));
    assert_wrong(&long, "line 3: longer than 1 MiB, so it is not read");
    assert_wrong("", "the input is empty: there is no line in it");
    assert_wrong("\n\n", "the input is empty: there is no line in it");
    assert_wrong(
        "time\n1.0000001\n",
        "line 2: time \"1.0000001\": not a time; write seconds with up to six decimals, such as 12.5",
    );
}

/// What came before the mistake was decided, and is printed.
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
    let says = "\"size\" in \"gcra 10/1s size 3\": not read; write gcra RATE [burst N], such as";
    assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    assert!(!simulate(&[], "time\n").status.success());
    let log = simulate(&["sliding-log 1000000000000/1d"], "time\n");
    let says = "the count of a rate cannot be 1000000000000: it must be at most 100000; a sliding-";
    assert!(text(&log.stderr).contains(says), "{}", text(&log.stderr));
    assert_eq!(log.status.code(), Some(2));
    // As a shell hands it over when the quotes are forgotten.
    let says = text(&simulate(&["gcra", "10/1s"], "time\n").stderr).to_owned();
    assert!(says.contains("write a limiter of several words in quotes"), "{says}");
    let none = simulate(&["1/1s", "--keys", "0"], "time\n");
    assert_eq!(none.status.code(), Some(2));
    assert!(
        text(&none.stderr).contains("write a whole number of at least 1"),
        "{}",
        text(&none.stderr)
    );
}

/// `ratescope simulate … | head -1`, with far more to print than a pipe holds.
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for format in ["table", "csv", "jsonl"] {
        let args = ["simulate", "1/1s", "--format", format];
        let mut child = ratescope(&args).spawn().unwrap();
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
    let says =
        "1/1s: 20 of 20 allowed (100.0%), 0 refused, keys: 20 (12 forgotten: more than --keys 2)\n";
    assert_eq!(text(&output.stderr), says);
}

#[test]
fn quoted_fields_may_have_commas_and_quotes() {
    let lines = decisions(&["1/1s"], "time,key\n0,\"a,b\"\n\"1\",\"c \"\"d\"\"\"\n");
    assert_eq!((&lines[0]["key"], &lines[1]["key"]), (&json!("a,b"), &json!("c \"d\"")));
}

#[test]
fn without_events_there_is_no_share() {
    let output = simulate(&["1/1s"], "time,key");
    assert_eq!(text(&output.stderr), "1/1s: no events\n");
    assert!(output.status.success());
}
