//! `ratescope check`, `explain`, `test` and `simulate --rules` as a shell meets them.

mod simulate;

use crate::shell;
use ratescope::rules::LONGEST;
use serde_json::{Value, json};
use shell::{file, text};
use std::fs;
use std::process::{Command, Output};

/// `ratescope` in the folder of good rule files.
fn command(args: &[&str]) -> Command {
    let mut command = shell::command(args);
    command.current_dir("../ratescope/tests/it/rules");
    command
}

fn ratescope(args: &[&str], input: &str) -> Output {
    shell::run(&mut command(args), input)
}

#[track_caller]
fn printed(args: &[&str], input: &str) -> String {
    shell::printed(&mut command(args), input)
}

/// The output about a mistake, with the exit status that scripts look at.
#[track_caller]
fn said(args: &[&str]) -> String {
    let output = ratescope(args, "");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    text(&output.stderr).to_owned()
}

#[test]
fn check_says_what_rules_mean() {
    let words = |name: &str| {
        fs::read_to_string(format!("../ratescope/tests/it/rules/words/{name}.txt")).unwrap()
    };
    assert_eq!(printed(&["check", "good/shadow.yaml"], ""), words("shadow"));
    assert_eq!(
        printed(&["check", "good/shadow.yaml", "good/blocked.yaml"], ""),
        format!("{}\n{}", words("shadow"), words("blocked"))
    );
}

#[test]
fn check_takes_the_files_of_a_folder() {
    let files = ["a.yaml", "b.yml"].map(|name| {
        file(&format!("folder/{name}"), format!("domain: {}\nlimit: gcra 1/1s\n", &name[..1]))
    });
    let folder = std::path::Path::new(&files[0]).parent().unwrap().to_str().unwrap();
    file("folder/.hidden.yaml", "nonsense");
    let printed = printed(&["check", folder], "");
    assert_eq!(printed, self::printed(&["check", &files[0], &files[1]], ""));
    let empty = file("folder/none/notes.txt", "");
    let empty = std::path::Path::new(&empty).parent().unwrap().to_str().unwrap();
    assert!(said(&["check", empty]).ends_with("none: no file ends with .yaml or .yml\n"));
}

#[test]
fn test_writes_junit() {
    let cases = file(
        "cases.yaml",
        "tests:\n  - name: a < b & \"c\" \\e\n    events: [{fields: {ip: a}, expect: refused}]\n\
         \u{20}\u{20}- name: right\n    events: [{fields: {ip: a}, expect: allowed}]\n",
    );
    let junit = file("junit.xml", "");
    said(&["test", "good/nested.yaml", &cases, "--junit", &junit]);
    let written = fs::read_to_string(&junit).unwrap();
    let why = "event 1 at 0 s: expected refused, got allowed by shop:ip: level 1, limit 5";
    let name = "a &lt; b &amp; &quot;c&quot; \\e";
    assert_eq!(
        written,
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{cases}\" tests=\"2\" \
             failures=\"1\">\n<testcase classname=\"{cases}\" name=\"{name}\">\n<failure \
             message=\"{cases}:3:40: {name}: {why}\"/>\n</testcase>\n<testcase classname=\"{cases}\" \
             name=\"right\"/>\n</testsuite>\n</testsuites>\n"
        )
    );
    printed(&["test", "good/nested.yaml", "good/nested.cases.yaml", "--junit", &junit], "");
    assert!(fs::read_to_string(&junit).unwrap().contains("tests=\"4\" failures=\"0\""));
    let nowhere = said(&["test", "good/nested.yaml", &cases, "--junit", "/nowhere/junit.xml"]);
    assert!(nowhere.contains("/nowhere/junit.xml: "), "{nowhere}");
}

#[test]
fn check_says_what_is_wrong() {
    assert_eq!(
        said(&["check", "bad/capital_value.yaml"]),
        "error: a mistake in bad/capital_value.yaml\n\
         bad/capital_value.yaml:4:5: \"Value\": not a key of a descriptor; did you mean value?\n"
    );
    let said = said(&["check", "good/shadow.yaml", "bad/misspelled_keys.yaml"]);
    assert_eq!(said.lines().count(), 3);
    assert!(said.starts_with("error: mistakes in bad/misspelled_keys.yaml\n"), "{said}");
}

/// A file has 10,000 rules at most: where it has more, it says how customers are written.
#[test]
fn check_says_what_to_write_in_place_of_many_rules() {
    let rules = |n: u32| -> String {
        let each = (0..n).map(|i| format!("- {{key: user, value: u{i}, limit: gcra 1/1s}}\n"));
        format!("domain: web\ndescriptors:\n{}", each.collect::<String>())
    };
    let [most, more] = [10_000, 10_001].map(|n| file(&format!("{n}.yaml"), rules(n)));
    assert!(ratescope(&["check", &most], "").status.success());
    let refused = ratescope(&["check", &more], "");
    let error = text(&refused.stderr);
    assert!(!refused.status.success());
    assert!(error.contains("10001.yaml:10003:"), "{error}");
    assert!(error.contains("many customers are keys of one rule"), "{error}");
}

/// A rule for a value that no request has never applies.
#[test]
fn check_says_which_values_no_request_has() {
    let of = |name: &str, step: &str| {
        let rules = format!("domain: web\ndescriptors:\n- {{{step}, limit: gcra 1/1h}}\n");
        file(&format!("never-{name}.yaml"), &rules)
    };
    for (name, step, right) in [
        (
            "method",
            "key: method, value: get",
            "no request has the method get, since it is read as GET; write GET",
        ),
        ("host", "key: host, value: API.example.org", "write api.example.org"),
        ("path", "key: path, value: //x", "write /x"),
        ("ip", "key: remote_address, value: \"2001:db8::7\"", "write 2001:db8::/64"),
    ] {
        let file = of(name, step);
        let said = said(&["check", &file]);
        assert!(said.contains("line 3: ") && said.contains(right), "{said}");
    }
    let path = of("slashes", "key: path, value: //x");
    printed(&["check", "--keep-slashes", &path], "");
    printed(&["check", "--form", "path=text", &path], "");
}

/// Redis has f64 only.
#[test]
fn check_says_what_redis_cannot_compute() {
    let text = "domain: d\nlimit: 5/1s\ndescriptors:\n  - {key: a, limit: 9000000000/1s}\n";
    let name = file("f64.yaml", text);
    assert!(printed(&["check", &name], "").contains("9000000000/1s per a: for each a, at most"));
    let said = said(&["check", "--redis", &name]);
    let place =
        format!("{name}:4:21: \"fixed-window 9000000000/1s per a\": not exact where only f64");
    assert!(said.contains(&place), "{said}");
    printed(&["check", "--redis", "good/throttle.yaml"], "");
}

/// A network as a value is a text that no address equals.
#[test]
fn check_notes_a_network_that_is_a_text() {
    let text = "domain: d\ndescriptors:\n  - key: ip\n    value: 10.0.0.0/8\n    descriptors:\n      \
                - {key: a, limit: 1/1s}\n      - {key: b, limit: 1/1s}\n  \
                - {key: ip, value: \"2001:db8::/64\", limit: 1/1s}\n  \
                - {key: masked_remote_address, value: 10.0.0.0/8, limit: 1/1s}\n  \
                - {key: path, value: /a/8, limit: 1/1s}\n";
    let name = file("networks.yaml", text);
    let output = ratescope(&["check", &name], "");
    let note = "ip is compared with the text 10.0.0.0/8; for the addresses in it, write network: 10.0.0.0/8";
    assert_eq!(shell::text(&output.stderr), format!("note: {name}:6: {note}\n"));
    assert!(output.status.success());
}

/// Notes on parts that were not read as they are written, and on a service, which lets nobody wait.
#[test]
fn check_notes_what_is_not_as_it_seems() {
    let text = "domain: web
descriptors:
- {key: path, Value: /jobs, limit: leaky-bucket 2/1s queue 2}
- {key: ip, limit: [[60, 10], [3600, 100, 7200]]}
";
    let name = file("seems.yaml", text);
    let output = ratescope(&["check", &name], "");
    assert!(output.status.success());
    let notes = String::from_utf8(output.stderr).unwrap();
    let queue = "leaky-bucket 2/1s queue 2: nobody waits in ratescope run, which refuses what would have to wait";
    for note in
        ["seems.yaml:3:15: \"Value\": read as value;", queue, "\"7200\": the precision is longer"]
    {
        assert!(notes.contains(note), "{note} is not in\n{notes}");
    }
}

#[test]
fn a_dash_is_standard_input() {
    let file = fs::read_to_string("../ratescope/tests/it/rules/good/shadow.yaml").unwrap();
    assert_eq!(printed(&["check", "-"], &file), printed(&["check", "good/shadow.yaml"], ""));
    let wrong = ratescope(&["check", "-"], "domain: web\nlimits: 1/1m\n");
    assert_eq!(wrong.status.code(), Some(1));
    let said = text(&wrong.stderr);
    assert!(said.contains("standard input:2:1: \"limits\""), "{said}");
}

#[test]
fn a_file_that_is_not_there() {
    for command in ["check", "explain"] {
        let said = said(&[command, "nowhere.yaml"]);
        assert!(said.starts_with("error: nowhere.yaml: "), "{said}");
    }
}

#[test]
fn an_event_has_each_field_once() {
    assert_eq!(
        said(&["explain", "good/nested.yaml", "ip=::1", "action=order", "ip=::2"]),
        "error: the field ip has two values; an event has one\n"
    );
    for wrong in ["=x", "ip"] {
        let output = ratescope(&["explain", "good/nested.yaml", wrong], "");
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("write a field as NAME=VALUE"));
    }
}

#[test]
fn a_text_that_is_not_utf_8() {
    let wide: Vec<u8> = "domain: d".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, place) in [
        (&b"domain: d\nlimit: 1/1s\n# \xc3\xa9 \xe9\n"[..], "3:5: this byte is not UTF-8; write"),
        (&[b"\xff\xfe", &wide[..]].concat(), "1:1: the text is UTF-16; write it as UTF-8"),
        (&[&[b'a'; LONGEST][..], b"\xc3\xa9"].concat(), "1:1: more than 1 MiB long"),
    ] {
        let name = file("utf8.yaml", bytes);
        for args in [&["check", &name][..], &["explain", &name, "ip=::1"]] {
            let said = said(args);
            let start = format!("error: a mistake in {name}\n{name}:{place}");
            assert!(said.starts_with(&start), "{said}");
        }
    }
}

/// If the output can't be written, that is a failure, not a panic.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_under_the_errors() {
    let full = fs::File::create("/dev/full").unwrap();
    let status = command(&["check", "nowhere.yaml"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn explain_says_which_limits_apply_and_why_others_do_not() {
    let fields = ["action=order", "customer=ann", "ip=192.0.2.7"];
    assert_eq!(
        printed(&[&["explain", "good/nested.yaml"], &fields[..]].concat(), ""),
        "2 of 4 rules apply:
1. shop:action=order,customer (line 8)
   fixed-window 2/1m per action+customer: counts for action=order,customer=ann
2. shop:ip (line 13)
   fixed-window 5/1h per ip: counts for ip=192.0.2.7
these do not apply:
   shop:action=order (line 4): shop:action=order,customer lies within it
   shop:action=order,customer=wholesale (line 10): the event has another customer
"
    );
    assert_eq!(
        printed(&["explain", "good/throttle.yaml", "elastic=a b,c=d"], ""),
        "1 of 4 rules apply:
1. api:elastic (line 10)
   fixed-window 100/1s per elastic: counts for elastic=a%20b%2Cc%3Dd
   throttle: elastic up to 2x while load < 70%
these do not apply:
   api:hard (line 4): the event has no hard
   api:soft (line 7): the event has no soft
   api:bucket (line 13): the event has no bucket
"
    );
    let shadow = printed(&["explain", "good/shadow.yaml", "user=ann"], "");
    assert!(
        shadow.contains("1. mail:user (line 4): a shadow, which refuses nothing\n"),
        "{shadow}"
    );
    let none = printed(&["explain", "good/shadow.yaml"], "");
    assert!(
        none.starts_with("no rule applies: the event is not limited\nthese do not apply:\n"),
        "{none}"
    );
    let output = ratescope(&["explain", "good/shadow.yaml", "usr=ann"], "");
    let note = "note: the event has fields that no rule of good/shadow.yaml is about: usr\n";
    assert_eq!(text(&output.stderr), note);
}

#[test]
fn test_says_what_was_expected_and_what_came() {
    let cases = "good/nested.cases.yaml";
    assert_eq!(
        printed(&["test", "good/nested.yaml", cases], ""),
        "ok      the deepest rule counts, and not the one around it
ok      the very value before none
ok      what one rule refuses counts in no other
ok      an empty field is none
"
    );
    let name = file(
        "cases.yaml",
        "
tests:
  - name: too many
    events:
      - {fields: {ip: a}, times: 4, every: 1m, expect: allowed}
      - {at: 10m, fields: {ip: a}, times: 2, expect: allowed, by: shop:ip}
      - {fields: {ip: a}, expect: allowed}
  - name: all that may be expected
    events:
      - fields: {ip: a}
        expect: softly
        by: shop:user
        wait: 1s
        retry_after: never
        shadow: [mail:ip]
  - name: right
    events:
      - {fields: {ip: a}, expect: allowed, by: shop:ip, wait: 0s, retry_after: 0s, shadow: none}
",
    );
    let output = ratescope(&["test", "good/nested.yaml", &name], "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "error: 2 of 3 tests failed\n");
    let got = "allowed by shop:ip: level 1, limit 5";
    assert_eq!(
        text(&output.stdout),
        format!(
            "FAILED  too many
        {name}:6:54: too many: event 6 at 600 s: expected allowed, got refused by shop:ip: level 6, limit 5
FAILED  all that may be expected
        {name}:11:17: all that may be expected: event 1 at 0 s: expected allowed softly, got {got}
        {name}:12:13: all that may be expected: event 1 at 0 s: expected a decision by shop:user, got {got}
        {name}:13:15: all that may be expected: event 1 at 0 s: expected a wait of 1s, got {got}
        {name}:14:22: all that may be expected: event 1 at 0 s: expected no retry, got a retry at once
        {name}:15:17: all that may be expected: event 1 at 0 s: expected a refusal of the shadow mail:ip, got no shadow that refuses
ok      right
"
        )
    );
    let output = ratescope(&["test", "good/shadow.yaml", "good/nested.cases.yaml"], "");
    let note = text(&output.stderr).lines().next().unwrap();
    assert!(note.starts_with("note: good/nested.cases.yaml has fields "), "{note}");
    assert!(note.ends_with(": action, customer"), "{note}");
    let said = said(&["test", "good/nested.yaml", "bad/cases_unknown_key.yaml"]);
    assert!(said.contains("cases_unknown_key.yaml:3:5: \"evnets\""), "{said}");
}

/// `ratescope … | true`: a reader may have seen enough, which is no error. A test that fails is one.
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let failing =
        file("fails.yaml", "tests:\n  - name: x\n    events:\n      - {expect: refused}\n");
    let nested = "good/nested.yaml";
    for (args, says) in [
        (&["check", nested][..], ""),
        (&["explain", nested, "ip=a"], ""),
        (&["test", nested, "good/nested.cases.yaml"], ""),
        (&["test", nested, &failing], "error: 1 of 1 tests failed\n"),
        (&["run", "--check", nested], ""),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(args).stdout(writer).output().unwrap();
        assert_eq!(text(&output.stderr), says, "{args:?}");
        assert_eq!(output.status.success(), says.is_empty(), "{args:?}");
    }
}

/// The example in `ratescope test --help` is one that works.
#[test]
fn the_example_of_the_help_works() {
    let help = printed(&["test", "--help"], "");
    let block = |begin: &str| -> String {
        let lines = help.lines().skip_while(|line| line.trim() != begin);
        let block = lines.take_while(|line| !line.trim().is_empty());
        block.map(|line| format!("{}\n", line.strip_prefix("    ").unwrap())).collect()
    };
    let rules = file("help.yaml", block("domain: messaging"));
    let cases = file("help.cases.yaml", block("tests:"));
    let printed = printed(&["test", &rules, &cases], "");
    assert_eq!(printed, "ok      five marketing messages a day to a number\n");
}

const EVENTS: &str = "\
time,user,ip,path,cost
0,ann,a,/x,1
0,ann,a,/x,1
0,bob,a,,1
1,,,,1
";

/// Nothing in a file moves the cursor, colours the screen or turns the direction of the text.
#[test]
fn a_terminal_obeys_nothing() {
    let rules = file("escapes.yaml", "domain: \"a\\e[31m\\u202eb\"\nlimit: 1/1m\n");
    let cases = file(
        "escapes-cases.yaml",
        "tests:\n  - name: \"red\\e[31m \\u202e\\u2066\\nok\"\n    events:\n      - {fields: {}, expect: refused}\n",
    );
    for args in [
        &["check", &rules][..],
        &["explain", &rules, "a\u{1b}[31m=b\u{202e}"],
        // A text that is no argument, such as a file of this name, is repeated in the message.
        &["explain", &rules, "a\u{1b}[31m\u{202e}"],
        &["test", &rules, &cases],
    ] {
        let output = ratescope(args, "");
        let all = [text(&output.stdout), text(&output.stderr)].concat();
        let is_wrong = |c: char| c != '\n' && ratescope::internal::visible(c) != c;
        assert!(!all.is_empty() && !all.contains(is_wrong), "{args:?}: {all:?}");
    }
    // Long ones are cut, and the message still says what is wrong.
    let long = "é".repeat(50_000);
    let (option, value) = (format!("--{long}"), format!("--clients={long}"));
    for (args, wrong, most) in [
        (["check", &rules, &option], "unexpected argument", 2000),
        (["tune", &rules, &value], "write a whole number", 2000),
        (["check", &rules, &long], "too long", 9000),
    ] {
        let output = ratescope(&args, "");
        let said = text(&output.stderr);
        assert!(said.contains(wrong) && said.contains("éé…") && said.len() < most, "{said:.1999}");
    }
    let output = ratescope(&["test", &rules, &cases], "");
    assert!(text(&output.stdout).starts_with("FAILED  red·[31m ···ok\n"), "{output:?}");
}
