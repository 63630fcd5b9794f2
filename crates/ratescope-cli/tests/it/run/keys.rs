//! The keys on the admin port, and `ratescope keys`.

use super::program::{Program, get, http};
use super::server::Server;
use super::shell::{Folder, command, text};
use serde_json::Value;
use std::process::Output;

const RULES: &str = "domain: web\ndescriptors:\n- {key: user, limit: gcra 1/52w}\n";

fn keys(program: &Program, args: &[&str]) -> Output {
    let admin = program.admin.to_string();
    command(&["keys", "--admin", &admin]).args(args).output().unwrap()
}

#[track_caller]
fn printed(program: &Program, args: &[&str]) -> String {
    let output = keys(program, args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// An operator finds who is refused, looks at the key, and lets it start over.
fn find_look_and_reset(program: &Program) {
    let ask = |user: &str| get(program.http, &format!("/check?user={user}"), "").0;
    assert_eq!([ask("ann"), ask("ann"), ask("ann"), ask("bob")], [200, 429, 429, 200]);
    let refused = printed(program, &["refused"]);
    assert!(refused.ends_with(" web:user, user=ann\n"), "{refused}");
    assert!(refused.lines().nth(1).unwrap().trim_start().starts_with("2 "), "{refused}");
    assert_eq!(printed(program, &["busiest", "--most", "1"]).lines().count(), 2);
    assert_eq!(printed(program, &["fullest"]).lines().count(), 3);
    let json: Value = serde_json::from_str(&printed(program, &["refused", "--json"])).unwrap();
    assert_eq!(
        (&json["refused"][0]["key"], &json["refused"][0]["events"]),
        (&"user=ann".into(), &2.into())
    );
    let look = printed(program, &["look", "user=ann"]);
    assert!(
        look.starts_with("user=ann by web:user: gcra 1/52w")
            && look.contains("one more would be refused, all free after 3144"),
        "{look}"
    );
    assert_eq!(printed(program, &["reset", "user=ann"]), "user=ann by web:user starts over\n");
    assert_eq!([ask("ann"), ask("ann"), ask("bob")], [200, 429, 429]);
}

/// An operator raises the limit of a key for a while, sees it in the list, and ends it.
fn raise_and_end(program: &Program, other: &Program) {
    let ask =
        |program: &Program, user: &str| get(program.http, &format!("/check?user={user}"), "").0;
    let raised = printed(program, &["except", "3/52w", "--for", "1d", "user=eve"]);
    assert!(
        raised.starts_with("user=eve by web:user: gcra 3/52w burst 3 for 1d, as 127.0.0.1:"),
        "{raised}"
    );
    assert_eq!([(); 4].map(|()| ask(program, "eve")), [200, 200, 200, 429]);
    // A list is told by each process, at most a second later.
    let list = until(|| Some(printed(other, &["exceptions"])).filter(|list| !list.is_empty()));
    assert!(list.starts_with("user=eve by web:user: gcra 3/52w burst 3 for "), "{list}");
    let ended = printed(program, &["except", "usual", "user=eve"]);
    assert_eq!(ended, "user=eve by web:user has its usual limit again\n");
    until(|| printed(other, &["exceptions"]).is_empty().then_some(()));
    for (args, expected) in [
        (&["except", "3/52w", "user=eve"][..], "for how long"),
        (&["except", "3/52w", "--for", "2y", "user=eve"], "for how long"),
        (&["except", "sliding-log 3/1m", "--for", "1d", "user=eve"], "can't stand in"),
        (&["except", "3/52w", "--for", "1d", "nothing=x"], "no rule counts by these fields"),
    ] {
        let output = keys(program, args);
        assert!(!output.status.success() && text(&output.stderr).contains(expected), "{output:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_limit_is_raised_for_a_while_and_the_log_says_by_whom() {
    let program = Program::of(RULES, &["--log", "json"]);
    raise_and_end(&program, &program);
    let log = program.ended();
    let made = line_of(&log, "an operator made an exception");
    assert_eq!(
        (&made["fields"]["key"], &made["fields"]["limit"], &made["fields"]["span"]),
        (&"user=eve".into(), &"gcra 3/52w burst 3".into(), &"1d".into())
    );
    assert!(made["fields"]["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{made}");
    line_of(&log, "an operator ended an exception");
}

/// On Redis, all processes have it, also those that begin later.
#[test]
fn a_limit_that_is_raised_on_redis_is_raised_in_all_processes() {
    let Some(redis) = Server::start(&[]) else { return };
    let start = || Program::of(RULES, &["--store", &redis.url()]);
    let (one, other) = (start(), start());
    raise_and_end(&one, &other);
    printed(&one, &["except", "2/52w", "--for", "1h", "user=mal"]);
    let third = start();
    until(|| (!printed(&third, &["exceptions"]).is_empty()).then_some(()));
    let ask = |user: &str| get(third.http, &format!("/check?user={user}"), "").0;
    assert_eq!(
        [ask("mal"), ask("mal"), ask("mal"), ask("ann"), ask("ann")],
        [200, 200, 429, 200, 429]
    );
}

/// Asks until there is an answer.
fn until<T>(ask: impl Fn() -> Option<T>) -> T {
    let begun = std::time::Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed().as_secs() < 60, "it does not come");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// The line of a log with this message.
fn line_of(log: &str, message: &str) -> Value {
    let line = log.lines().find(|line| line.contains(message));
    serde_json::from_str(line.unwrap_or_else(|| panic!("{log}"))).unwrap()
}

fn reset_line(log: &str) -> Value {
    line_of(log, "an operator reset a key")
}

/// Where there are several tokens, the log says whose reset a key.
#[cfg(unix)]
#[test]
fn who_resets_a_key_is_told() {
    let folder = Folder::new("keys-who");
    let rules = folder.write("rules.yaml", RULES);
    let tokens = [("ann", "0123456789abcdef"), ("robot", "fedcba9876543210")]
        .map(|(name, token)| folder.write(name, token).to_str().unwrap().to_owned());
    let [ann, robot] = &tokens;
    let args = ["--admin-token-file", ann, "--admin-token-file", robot, "--log", "json"];
    let program = Program::start(&rules, &args);
    printed(&program, &["reset", "user=eve", "--admin-token-file", robot]);
    let line = reset_line(&program.ended());
    assert_eq!(line["fields"]["token"], "robot", "{line}");
    assert!(!line.to_string().contains("fedcba9876543210"));
}

#[cfg(unix)]
#[test]
fn a_client_that_is_refused_is_found_and_reset() {
    let program = Program::of(RULES, &["--log", "json"]);
    find_look_and_reset(&program);
    let line = reset_line(&program.ended());
    assert_eq!(
        (&line["fields"]["rule"], &line["fields"]["key"]),
        (&"web:user".into(), &"user=ann".into())
    );
    assert!(line["fields"]["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
}

#[test]
fn a_client_that_is_refused_on_redis_is_found_and_reset() {
    let Some(redis) = Server::start(&[]) else { return };
    find_look_and_reset(&Program::of(RULES, &["--store", &redis.url()]));
}

/// Attempts with wrong tokens are logged once a minute, without the token; those without any are not.
#[cfg(unix)]
#[test]
fn wrong_tokens_are_told() {
    let folder = Folder::new("wrong-token");
    let rules = folder.write("rules.yaml", RULES);
    let token = folder.write("token", "0123456789abcdef\n");
    let program = Program::start(&rules, &["--admin-token-file", token.to_str().unwrap()]);
    assert_eq!(get(program.admin, "/metrics", "").0, 401);
    for guess in 0..20 {
        let guess = format!("authorization: Bearer 0123456789abcd{guess:02}\r\n");
        assert_eq!(get(program.admin, "/keys", &guess).0, 401);
    }
    assert_eq!(get(program.admin, "/keys", "authorization: Bearer 0123456789abcdef\r\n").0, 200);
    let log = program.ended();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("a wrong token")).collect();
    assert!(told.len() == 1 && told[0].contains("peer=\"127.0.0.1\""), "{log}");
    assert!(!log.contains("0123456789abcd"), "{log}");
}

#[test]
fn keys_need_the_token_and_no_page_resets_them() {
    let folder = Folder::new("keys-token");
    let rules = folder.write("rules.yaml", RULES);
    let token = folder.write("token", "0123456789abcdef\n");
    let (token, short) = (token.to_str().unwrap(), folder.write("other", "0123456789abcdeg\n"));
    let guarded = Program::start(&rules, &["--admin-token-file", token]);
    let open = Program::start(&rules, &[]);
    for path in ["/keys", "/key?user=ann"] {
        assert_eq!(get(guarded.admin, path, "").0, 401, "{path}");
    }
    let refused = keys(&guarded, &["refused", "--admin-token-file", short.to_str().unwrap()]);
    assert!(
        !refused.status.success()
            && text(&refused.stderr).contains("the token is missing or wrong")
    );
    assert!(printed(&guarded, &["refused", "--admin-token-file", token]).lines().count() == 1);
    let status = |program: &Program, head: &str| {
        let answer = http(program.admin, &format!("{head}\r\nconnection: close\r\n\r\n"));
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    // Of a page of another site, a browser sends a POST without asking first, but no DELETE; and by a foreign name that
    // leads here, nothing.
    for (head, expected) in [
        ("DELETE /key?user=ann HTTP/1.1\r\nhost: localhost", 200),
        ("POST /key?user=ann HTTP/1.1\r\nhost: localhost", 405),
        ("OPTIONS /key?user=ann HTTP/1.1\r\nhost: localhost", 405),
        ("DELETE /key?user=ann HTTP/1.1\r\nhost: evil.example", 421),
        ("DELETE /keys HTTP/1.1\r\nhost: localhost", 405),
        ("GET /keys?by=nonsense HTTP/1.1\r\nhost: localhost", 400),
        ("GET /keys?most=1000000 HTTP/1.1\r\nhost: localhost", 400),
        ("GET /key?nothing=x HTTP/1.1\r\nhost: localhost", 404),
    ] {
        assert_eq!(status(&open, head), expected, "{head}");
    }
    assert_eq!(status(&guarded, "DELETE /key?user=ann HTTP/1.1\r\nhost: localhost"), 401);
    let unknown = keys(&open, &["look", "nothing=x"]);
    assert!(text(&unknown.stderr).contains("no rule counts by these fields"), "{unknown:?}");
}

#[test]
fn keys_can_be_hidden() {
    let program = Program::of(RULES, &["--hide-keys"]);
    assert_eq!(get(program.http, "/check?user=ann", "").0, 200);
    let busiest = printed(&program, &["busiest"]);
    assert!(busiest.contains(" web:user, #") && !busiest.contains("ann"), "{busiest}");
}
