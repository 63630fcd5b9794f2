//! The load, on which elastic rules depend: from this machine, from the admin port, from requests.

use super::program::{Program, get, http};
use super::shell::{Folder, command, text};

const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 2/52w, throttle: elastic up to 2x while load < 70%}
";

fn passed(program: &Program, user: &str, load: &str) -> usize {
    let path = format!("/check?user={user}{load}");
    (0..6).filter(|_| get(program.http, &path, "").0 == 200).count()
}

#[test]
fn a_load_is_told_on_the_admin_port() {
    let program = Program::of(RULES, &["--load", "admin"]);
    let ask = |method: &str, path: &str| {
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let answer = http(program.admin, &head);
        let status = answer.split(' ').nth(1).unwrap().to_owned();
        (status, answer.split("\r\n\r\n").nth(1).unwrap().trim_end().to_owned())
    };
    let of = |status: &str, said: &str| (status.to_owned(), said.to_owned());
    assert_eq!(ask("GET", "/load"), of("200", "unknown"));
    assert_eq!(passed(&program, "ann", ""), 2);
    assert_eq!(ask("PUT", "/load?percent=42.5"), of("200", "42.5%"));
    assert_eq!(passed(&program, "bob", ""), 4);
    assert_eq!(ask("PUT", "/load?percent=70"), of("200", "70%"));
    assert_eq!(passed(&program, "eve", ""), 2);
    for wrong in ["/load", "/load?percent=-1", "/load?percent=x", "/load?percent=NaN"] {
        assert_eq!(ask("PUT", wrong).0, "400", "{wrong}");
    }
    assert_eq!(ask("POST", "/load?percent=1").0, "405");
    let metrics = get(program.admin, "/metrics", "").1;
    assert!(metrics.contains("ratescope_load_percent"), "{metrics}");
}

#[test]
fn a_load_is_told_by_requests_and_a_soft_pass_is_seen() {
    let program = Program::of(
        RULES,
        &["--load", "field:busy", "--field", "busy=x-load", "--field", "user=x-user"],
    );
    assert_eq!(passed(&program, "ann", "&busy=12%25"), 4);
    assert_eq!(passed(&program, "bob", "&busy=99"), 2);
    // By a header of /auth; the third and the fourth pass softly, and say so.
    let soft: Vec<bool> = (0..5)
        .map(|_| {
            let (status, head) = get(program.http, "/auth", "x-user: eve\r\nx-load: 5\r\n");
            (status == 200) && head.contains("x-ratelimit-soft: \"web:user\"")
        })
        .collect();
    assert_eq!(soft, [false, false, true, true, false]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_load_is_measured_and_checks_say_from_where() {
    let folder = Folder::new("load");
    let rules = folder.write("rules.yaml", RULES);
    let rules = rules.to_str().unwrap();
    let run = |args: &[&str]| {
        let output = command(&["run", "--check", rules]).args(args).output().unwrap();
        (output.status.success(), text(&[output.stdout, output.stderr].concat()).to_owned())
    };
    let (is_right, said) = run(&[]);
    assert!(
        !is_right && said.contains("depends on the load, which nobody tells; run with --load"),
        "{said}"
    );
    let (is_right, said) = run(&["--load", "average"]);
    assert!(is_right && said.contains("(/proc/loadavg); it is "), "{said}");
    let (is_right, said) = run(&["--load", "field:busy"]);
    assert!(is_right && said.contains("in the field busy"), "{said}");
    assert!(
        run(&["--load", "nonsense"]).1.contains("write pressure, average, admin or field:NAME")
    );
    let checked = command(&["check", rules]).output().unwrap();
    assert!(text(&checked.stderr).contains("ratescope run needs --load"), "{checked:?}");
    // It starts where the machine tells its load.
    if std::fs::read_to_string("/proc/loadavg").is_ok() {
        let program = Program::of(RULES, &["--load", "average"]);
        let told = get(program.admin, "/load", "").1;
        assert!(told.contains('%') || told.contains("unknown"), "{told}");
    }
}
