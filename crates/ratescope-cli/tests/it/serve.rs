//! `ratescope serve` as a browser meets it: over a socket, header by header.

use crate::shell;
use ratescope_lab::compare::Settings;
use ratescope_lab::run::Link;
use shell::{Running, command, file};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Server {
    running: Running,
    address: String,
}

impl Server {
    fn start(dir: &Path) -> Server {
        Server::start_with(dir, &[])
    }

    fn start_with(dir: &Path, args: &[&str]) -> Server {
        let mut child = ratescope("0", dir).args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let (_, rest) = line.split_once("http://").expect("the address is printed");
        let address = rest.split_whitespace().next().unwrap().to_owned();
        Server { running: Running(child), address }
    }

    /// The whole response to a GET, its head in lower case.
    fn get(&self, path: &str) -> (String, Vec<u8>) {
        self.get_by(&format!("host: {}\r\n", self.address), path)
    }

    /// The whole response to a GET with these lines for the host.
    fn get_by(&self, hosts: &str, path: &str) -> (String, Vec<u8>) {
        let mut stream =
            self.begin(&format!("GET {path} HTTP/1.1\r\n{hosts}connection: close\r\n\r\n"));
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let end = response.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(response[..end].to_vec()).unwrap().to_lowercase();
        (head, response[end + 4..].to_vec())
    }

    /// A connection on which so much of a request was sent.
    fn begin(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }
}

fn ratescope(port: &str, dir: &Path) -> Command {
    let mut command = command(&["serve", "--port", port, "--dir"]);
    command.arg(dir);
    command
}

/// A folder as ./scripts/build leaves it.
fn page(name: &str) -> PathBuf {
    let write = |path: &str, text: &[u8]| PathBuf::from(file(&format!("{name}/{path}"), text));
    let index = write("index.html", b"<!doctype html><title>page</title>");
    write("main.js", b"export {}");
    write("pkg/ratescope_page_bg.wasm", b"\0asm\x01\0\0\0");
    index.parent().unwrap().to_owned()
}

#[track_caller]
fn assert_refused(output: &Output, parts: &[&str]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "should fail: {message}");
    assert!(message.starts_with("error: ") && message.lines().count() == 1, "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing from {message:?}");
    }
}

#[test]
fn every_response_has_the_headers() {
    let server = Server::start(&page("headers"));
    for path in ["/", "/main.js", "/pkg/ratescope_page_bg.wasm", "/nowhere"] {
        let (head, _) = server.get(path);
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
             style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; \
             manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-embedder-policy: require-corp",
            "x-content-type-options: nosniff",
            "cache-control: no-cache",
        ] {
            assert!(head.lines().any(|line| line == header), "{path}: no {header}\n{head}");
        }
    }
}

/// Another site could have its visitors click on a framed page without their knowledge; a picture alone has nothing to protect.
#[test]
fn only_the_file_for_frames_may_be_framed() {
    let dir = page("framed");
    std::fs::write(dir.join("embed.html"), "<!doctype html><title>embed</title>").unwrap();
    std::fs::create_dir(dir.join("more")).unwrap();
    std::fs::write(dir.join("more/embed.html"), "another").unwrap();
    let server = Server::start(&dir);
    let (head, _) = server.get("/embed.html?view=compare");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let policy = head.lines().find(|line| line.starts_with("content-security-policy: ")).unwrap();
    assert!(policy.ends_with("base-uri 'none'; form-action 'none'"), "{policy}");
    for path in ["/embed.html", "/watch.js", "/style.css", "/embed.css"] {
        let (head, _) = server.get(path);
        assert!(head.lines().any(|line| line == "cross-origin-resource-policy: cross-origin"));
    }
    for path in
        ["/", "/index.html", "/more/embed.html", "/embed%2ehtml", "//embed.html", "/main.js"]
    {
        let (head, _) = server.get(path);
        assert!(head.contains("frame-ancestors 'none'"), "{path}: {head}");
        assert!(!head.contains("cross-origin-resource-policy"), "{path}: {head}");
    }
}

#[test]
fn files_have_their_types() {
    let server = Server::start(&page("types"));
    for (path, media_type) in [
        ("/", "text/html"),
        ("/main.js", "text/javascript"),
        ("/pkg/ratescope_page_bg.wasm", "application/wasm"),
    ] {
        let (head, body) = server.get(path);
        assert!(head.starts_with("http/1.1 200"), "{path}: {head}");
        assert!(head.contains(&format!("content-type: {media_type}")), "{path}: {head}");
        assert!(!body.is_empty());
    }
}

#[test]
fn a_module_is_sent_packed_to_those_who_unpack_it() {
    let dir = page("packed");
    let [module, packed] =
        ["pkg/ratescope_page_bg.wasm", "pkg/ratescope_page_bg.wasm.br"].map(|file| dir.join(file));
    std::fs::write(&packed, "packed").unwrap();
    let server = Server::start(&dir);
    let get = |accept: &str| {
        let host = format!("host: {}\r\n{accept}", server.address);
        server.get_by(&host, "/pkg/ratescope_page_bg.wasm")
    };
    for accept in ["accept-encoding: br\r\n", "accept-encoding: gzip, br;q=0.5\r\n"] {
        let (head, body) = get(accept);
        assert!(head.lines().any(|line| line == "content-encoding: br"), "{head}");
        assert!(head.lines().any(|line| line == "content-type: application/wasm"), "{head}");
        assert_eq!(body, b"packed", "{accept}");
    }
    for accept in ["", "accept-encoding: gzip\r\n", "accept-encoding: br;q=0, gzip\r\n"] {
        let (head, body) = get(accept);
        assert!(head.lines().any(|line| line == "vary: accept-encoding"), "{head}");
        assert!(!head.contains("content-encoding"), "{head}");
        assert_eq!(body, std::fs::read(&module).unwrap(), "{accept}");
    }
}

#[test]
fn other_paths_are_not_found() {
    let server = Server::start(&page("not-found"));
    for path in ["/nowhere", "/pkg", "/pkg/", "/../serve.rs", "/%2e%2e/Cargo.toml"] {
        let (head, _) = server.get(path);
        assert!(!head.starts_with("http/1.1 200"), "{path}: {head}");
    }
    assert!(server.get("/nowhere").0.starts_with("http/1.1 404"));
}

#[test]
fn a_port_in_use_names_the_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = ratescope(&port, &page("port")).output().unwrap();
    assert_refused(&output, &[&port, "in use", "--port"]);
}

#[test]
fn a_page_that_was_not_built_names_the_command() {
    let missing = Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-built");
    let output = ratescope("0", &missing).output().unwrap();
    assert_refused(&output, &["pkg", "./scripts/build"]);
}

/// A field with a fixed value is left out of the key in Compare. A rule that Compare can't show is reported.
#[test]
fn rules_become_lanes() {
    let dir = page("rules");
    let rules = dir.join("mail.yaml");
    let text = "\
domain: mail
limit: exim 100/1h strict per user+ip & gcra 5/1s burst 10 per ip
descriptors:
  - key: path
    value: /login
    limit: sliding-log 3/1m per path
  - key: tenant
    limit: fixed-window 9/1s
";
    std::fs::write(&rules, text).unwrap();
    let mut command = ratescope("0", &dir);
    let command = command.arg("--rules").arg(&rules).stdout(Stdio::piped());
    let mut running = Running(command.spawn().unwrap());
    let lines = BufReader::new(running.0.stdout.as_mut().unwrap()).lines().take(3);
    let lines: Vec<String> = lines.map(Result::unwrap).collect();
    drop(running);

    let (before, link) = lines[1].split_once("/compare.html#").unwrap();
    assert!(before.starts_with(&format!("{}, a lane each: http://127.0.0.1:", rules.display())));
    assert!(!link.contains(' '), "a terminal takes it for one address: {link}");
    let settings = link.parse::<Link<Settings>>().unwrap().settings;
    let lanes: Vec<&str> = settings.lanes.iter().map(|rule| rule.as_str()).collect();
    let both = "exim 100/1h strict per user+ip & gcra 5/1s burst 10 per ip";
    assert_eq!(lanes, [both, "sliding-log 3/1m per all"]);
    let tenant = "  not shown: mail:tenant (line 7): it is per tenant, and the events in Compare have a \
                  user and an ip";
    assert_eq!(lines[2], tenant);

    let output = ratescope("0", &dir).args(["--rules", "nowhere.yaml"]).output().unwrap();
    assert_refused(&output, &["nowhere.yaml"]);
}

/// Nobody reads where it listens, or that disk is full: it says so elsewhere, and serves.
#[test]
fn an_address_that_can_not_be_printed_ends_nothing() {
    let (reader, unread) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = ratescope("0", &page("unprinted"));
    let mut running = Running(command.stdout(unread).stderr(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let at = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}"));
    let address = at.split_whitespace().next().unwrap().to_owned();
    assert!(Server { running, address }.get("/").0.starts_with("http/1.1 200"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_it_cleanly() {
    let mut server = Server::start(&page("ctrl-c"));
    server.get("/");
    server.running.signal("INT");
    assert!(server.running.0.wait().unwrap().success());
}

/// A connection whose client reads the beginning of a large answer only.
#[cfg(unix)]
fn deaf(server: &Server, dir: &Path) -> TcpStream {
    // More than the buffers of a socket hold.
    std::fs::File::create(dir.join("large.bin")).unwrap().set_len(64 << 20).unwrap();
    let host = &server.address;
    let mut deaf = server.begin(&format!("GET /large.bin HTTP/1.1\r\nhost: {host}\r\n\r\n"));
    deaf.read_exact(&mut [0; 12]).unwrap();
    deaf
}

/// Neither a client that is silent in the middle of a request, or before one, nor one that does not
/// read the answer.
#[cfg(unix)]
#[test]
fn nobody_keeps_it_running() {
    let dir = page("silent");
    let mut server = Server::start_with(&dir, &["--drain", "10ms"]);
    let host = &server.address;
    let _silent = server.begin("");
    let _half = server.begin(&format!("GET / HTTP/1.1\r\nhost: {host}\r\nx-"));
    let _deaf = deaf(&server, &dir);
    server.running.signal("INT");
    assert!(server.running.0.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_ends_open_requests() {
    let dir = page("impatient");
    let mut server = Server::start_with(&dir, &["--drain", "1h"]);
    let _deaf = deaf(&server, &dir);
    server.running.signal("INT");
    // The first one has arrived when nothing listens any more.
    while TcpStream::connect(&server.address).is_ok() {
        std::thread::yield_now();
    }
    assert_eq!(server.running.0.try_wait().unwrap(), None, "a request is open");
    server.running.signal("INT");
    assert!(server.running.0.wait().unwrap().success());
}

/// Who has said all, and closes that half of the connection, gets an answer for each request.
#[test]
fn a_half_closed_connection_is_answered() {
    let server = Server::start(&page("half-closed"));
    let request = format!("GET /main.js HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
    for _ in 0..20 {
        let mut stream = server.begin(&request.repeat(2));
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    }
}

/// Half a request is not waited for.
#[test]
fn a_head_has_to_come() {
    let server = Server::start(&page("half"));
    let mut half = server.begin(&format!("GET / HTTP/1.1\r\nhost: {}\r\nx-", server.address));
    let mut response = Vec::new();
    half.read_to_end(&mut response).unwrap();
    assert!(!response.starts_with(b"HTTP/1.1 200"));
}

/// A site elsewhere whose name leads to this machine gets nothing.
#[test]
fn only_names_of_this_machine_are_served() {
    let server = Server::start(&page("hosts"));
    let (_, port) = server.address.split_once(':').unwrap();
    for name in ["localhost", "LocalHost", "127.0.0.1", "[::1]"] {
        let (head, _) = server.get_by(&format!("host: {name}:{port}\r\n"), "/");
        assert!(head.starts_with("http/1.1 200"), "{name}: {head}");
    }
    let here = &server.address;
    for hosts in [
        format!("host: evil.example:{port}\r\n"),
        format!("host: localhost.evil.example:{port}\r\n"),
        format!("host: 127.0.0.1.evil.example:{port}\r\n"),
        "host: localhost\r\n".to_owned(),
        "host: [::1]\r\n".to_owned(),
        "host: 127.0.0.1:1\r\n".to_owned(),
        "host: \r\n".to_owned(),
        format!("host: {here}\r\nhost: evil.example:{port}\r\n"),
        String::new(),
    ] {
        let (head, body) = server.get_by(&hosts, "/");
        assert!(head.starts_with("http/1.1 421"), "{hosts}: {head}");
        assert!(head.contains("content-security-policy") && body.is_empty(), "{hosts}: {head}");
    }
}

/// Hidden files and files outside of the folder are not found, whatever the path.
#[cfg(unix)]
#[test]
fn nothing_but_the_page_is_served() {
    use std::os::unix::fs::symlink;
    let dir = page("outside");
    let elsewhere = page("elsewhere");
    std::fs::create_dir_all(dir.join(".git")).unwrap();
    std::fs::create_dir_all(dir.join("inner")).unwrap();
    for file in [".env", ".git/config", "seen.txt"] {
        std::fs::write(dir.join(file), "secret").unwrap();
    }
    for (link, to) in [
        ("out", elsewhere.clone()),
        ("out.js", elsewhere.join("main.js")),
        ("inner/index.html", elsewhere.join("index.html")),
        ("within.txt", dir.join("seen.txt")),
        ("main.js.br", elsewhere.join("main.js")),
    ] {
        let _ = std::fs::remove_file(dir.join(link));
        symlink(to, dir.join(link)).unwrap();
    }
    // A process that opens a pipe waits for its other end.
    let _ = std::fs::remove_file(dir.join("pipe"));
    assert!(Command::new("mkfifo").arg(dir.join("pipe")).status().unwrap().success());
    let server = Server::start(&dir);
    let long = format!("/{}", "a".repeat(5000));
    let deep = "/a".repeat(2500);
    for path in [
        "/pipe",
        "/.env",
        "/%2eenv",
        "/.git/config",
        "/.git/",
        "/./seen.txt",
        "/out.js",
        "/out/main.js",
        "/main.js",
        "/out/",
        "/inner/",
        "/inner/index.html",
        "/%00",
        "/%ff",
        "//etc/passwd",
        &long,
        &deep,
    ] {
        let (head, _) = server.get(path);
        assert!(head.starts_with("http/1.1 404"), "{path}: {head}");
    }
    assert_eq!(server.get("/within.txt").1, b"secret");
}
