//! Live on the admin port.

use super::program::{Program, get, get_by};
use super::shell::{Folder, listen};
use std::net::TcpStream;

const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 2/1h}
- {key: path, shadow: true, limit: gcra 1/1h}
";

/// The page draws the past of as many rules as a service keeps, in a crate of its own.
#[test]
fn the_page_draws_what_is_kept() {
    assert_eq!(ratescope_live::PAST_RULES, ratescope_lab::live::DRAWN);
}

#[cfg(unix)]
#[test]
fn live_is_on_the_admin_port() {
    let mut program = Program::of(RULES, &["--drain", "1h"]);
    for _ in 0..3 {
        get(program.http, "/check?domain=web&user=ann", "");
    }
    let mut stream = TcpStream::connect(program.admin).unwrap();
    let request =
        format!("GET /live/events HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", program.admin.port());
    let said = listen(&mut stream, &request, &["\nid: "]);
    assert!(said.contains("content-type: text/event-stream"), "{said}");
    // The sums have the time before the viewer came.
    let sums = said.split("event: sums\ndata: [").nth(1).and_then(|rest| rest.split(']').next());
    assert!(sums.is_some_and(|sums| sums.ends_with(",2,1,0,0,0,0")), "{said}");
    assert!(get(program.admin, "/elsewhere", "").1.contains("/live.html"));
    // At the root there is Live, and not the Scope.
    assert_eq!(get(program.admin, "/", "").1, get(program.admin, "/live.html", "").1);
    // A viewer does not keep the program from ending.
    program.running.signal("TERM");
    assert!(program.running.0.wait().unwrap().success());
}

/// Without a token, the port answers only at names of this machine: a site could have a name of its own lead
/// here, and its page would read the answers. A probe of a supervisor may name any host.
#[test]
fn a_foreign_name_that_leads_here_is_told_nothing() {
    let folder = Folder::new("names");
    let rules = folder.write("rules.yaml", RULES);
    let token = folder.write("token", "0123456789abcdef\n");
    let open = Program::start(&rules, &[]);
    let guarded = Program::start(&rules, &["--admin-token-file", token.to_str().unwrap()]);
    for path in ["/metrics", "/rules", "/healthz?verbose", "/readyz?verbose", "/live/events"] {
        for host in ["evil.example", "127.0.0.1.evil.example:6070", "192.0.2.1"] {
            assert_eq!(get_by(host, open.admin, path, "").0, 421, "{path} {host}");
        }
        for host in ["LocalHost:6070", "[::1]", "127.0.0.1", "127.8.9.10:6070"] {
            if path != "/live/events" {
                assert_eq!(get_by(host, open.admin, path, "").0, 200, "{path} {host}");
            }
        }
    }
    let bearer = "authorization: Bearer 0123456789abcdef\r\n";
    assert_eq!(get_by("evil.example", guarded.admin, "/metrics", "").0, 401);
    assert_eq!(get_by("limits.example", guarded.admin, "/metrics", bearer).0, 200);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get_by("10.0.0.7:6070", open.admin, path, "").0, 200);
    }
}

#[test]
fn live_asks_for_the_token_and_the_page_does_not() {
    let folder = Folder::new("live-token");
    let rules = folder.write("rules.yaml", RULES);
    let token = folder.write("token", "0123456789abcdef\n");
    let program = Program::start(&rules, &["--admin-token-file", token.to_str().unwrap()]);
    assert_eq!(get(program.admin, "/live/events", "").0, 401);
    assert_eq!(get(program.admin, "/live.html", "").0, 200);
    let mut stream = TcpStream::connect(program.admin).unwrap();
    let request = "GET /live/events HTTP/1.1\r\nhost: limits.example\r\n\
                   authorization: Bearer 0123456789abcdef\r\n\r\n";
    listen(&mut stream, request, &["event: sums"]);
}
