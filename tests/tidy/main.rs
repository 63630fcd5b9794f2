//! The rules of the house, held by a test. What is read is code: comments, texts and
//! `#[cfg(test)]` are not. Each failure lists every place, as file and line.
#![cfg(not(target_arch = "wasm32"))]

mod code;
#[path = "../common/committed.rs"]
mod committed;
mod limiters;
mod surface;

use code::{Code, read};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A floor, the floors below that its rooms may import, and its rooms. A room is a file or a
/// folder directly in src. On the floors 0 and 1 a room may import those before it; elsewhere, none
/// of its own floor. A room that is missing here is not part of the house: give it a floor.
const FLOORS: [(char, &str, &[&str]); 9] = [
    (
        '0',
        "",
        &["extremes", "text", "address", "time", "civil", "rate", "outcome", "estimate", "limit"],
    ),
    ('1', "0", &["event", "policy", "store", "log", "traffic"]),
    ('2', "01", &["rules", "lab"]),
    ('p', "", &["plot"]),
    ('3', "012p", &["view"]),
    ('c', "0", &["clock"]),
    ('4', "0123pc", &["web", "redis_store", "waiting", "files", "middleware", "live"]),
    ('5', "01234pc", &["service"]),
    ('6', "012345pc", &["bin"]),
];

/// Names that only the clock and the floors 4 to 6 may use: clocks, the browser and the rest of the outside world.
const OUTSIDE: [&str; 12] = [
    "Instant::now",
    "SystemTime::now",
    "Date::now",
    "Date::new_0",
    "performance",
    "web_sys",
    "js_sys",
    "wasm_bindgen",
    "std::env",
    "std::fs",
    "std::net",
    "std::thread",
];

/// Where JavaScript reads and prints the numbers of its modules.
const OUTSIDE_BUT: &str = "src/text/number.rs";

/// Calls that may panic, which are allowed in tests only.
const PANICS: [&str; 7] =
    [".unwrap()", ".unwrap_err()", ".expect(", "panic!", "todo!", "unimplemented!", "unreachable!"];

/// Functions whose last bit depends on the platform in std; `libm` has them with the same bits
/// everywhere. (`sqrt`, `abs`, `floor` and such are exact.)
const INEXACT: [&str; 24] = [
    "exp", "exp2", "exp_m1", "ln", "ln_1p", "log", "log2", "log10", "powf", "powi", "cbrt",
    "hypot", "sin", "cos", "tan", "sin_cos", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "gamma",
];

/// The top level: what the design lists, and what its tools want to find there.
const TOP_LEVEL: [&str; 25] = [
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "ARCHITECTURE.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "deny.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "src",
    "tests",
    "www",
    "benches",
    "examples",
    "fuzz",
    "npm",
    "scripts",
    "rustfmt.toml",
    "webdriver.json",
    "package.json",
    "package-lock.json",
    "node_modules",
    "target",
];

const LONGEST_FILE: usize = 400;

#[test]
fn imports_run_downwards() {
    let mut wrong = Vec::new();
    for file in SOURCES.iter() {
        let Some(here) = file.room() else { continue };
        if floor(here).is_none() {
            wrong.push(format!("{}: the room {here} has no floor", file.name));
        }
        for (line, there) in file.code.imports(&file.module) {
            if !may_import(here, &there) {
                wrong.push(format!("{}:{line}: {here} may not import {there}", file.name));
            }
        }
    }
    assert_none("imports that do not run downwards", wrong);
}

/// The map in ARCHITECTURE.md has each room on its floor.
#[test]
fn the_map_has_these_floors() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let row = |line: &str| {
        let [_, floor, rooms, _, _] = line.split('|').collect::<Vec<_>>().try_into().ok()?;
        let floor = floor.trim().parse::<char>().ok()?;
        let rooms = rooms.split(',').map(|room| room.trim().trim_matches('`').to_owned());
        Some(rooms.map(move |room| (floor, room)).collect::<Vec<_>>())
    };
    let mut mapped: Vec<_> = map.lines().filter_map(row).flatten().collect();
    let rooms = FLOORS.iter().flat_map(|(floor, _, rooms)| rooms.iter().map(|r| (*floor, *r)));
    let mut floors: Vec<_> = rooms.map(|(floor, room)| (floor, room.to_owned())).collect();
    mapped.sort();
    floors.sort();
    assert_eq!(mapped, floors);
}

#[test]
fn only_the_front_ends_know_the_outside_world() {
    let inside = |file: &Source| below_floor_4(file) && file.name != OUTSIDE_BUT;
    assert_none("the outside world below floor 4", places(inside, &OUTSIDE));
}

#[test]
fn floats_have_the_same_bits_everywhere() {
    let inexact =
        |name: &&str| [format!(".{name}("), format!("f64::{name}"), format!("f32::{name}")];
    let forms: Vec<String> = INEXACT.iter().flat_map(inexact).collect();
    let forms: Vec<&str> = forms.iter().map(String::as_str).collect();
    assert_none("floats of std instead of libm", places(below_floor_4, &forms));
}

#[test]
fn nothing_panics() {
    assert_none("a panic is a bug", places(|_| true, &PANICS));
}

#[test]
fn nothing_is_unsafe() {
    assert_none("unsafe code", places(|_| true, &["unsafe"]));
    assert!(manifest().contains("\nunsafe_code = \"forbid\"\n"), "Cargo.toml forbids unsafe code");
}

#[test]
fn files_are_short() {
    let folders = [("src", "rs"), ("tests", "rs"), ("tests", "mjs"), ("www", "js")];
    let mut long = Vec::new();
    for path in folders.iter().flat_map(|(folder, end)| files(&root().join(folder), end)) {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        if lines > LONGEST_FILE {
            long.push(format!("{}: {lines} lines", path.display()));
        }
    }
    assert_none("split by idea", long);
}

#[test]
fn every_feature_says_what_it_is() {
    let manifest = manifest();
    let features = manifest.split("\n[features]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let lines: Vec<&str> = features.lines().collect();
    let bare = |pair: &&[&str]| {
        let is_feature = pair[1].contains('=') && !pair[1].starts_with([' ', '#']);
        is_feature && !pair[1].starts_with("default ") && !pair[0].starts_with("# ")
    };
    let wrong = lines.windows(2).filter(bare).map(|pair| pair[1].to_owned()).collect();
    assert_none("features without a comment", wrong);
}

#[test]
fn the_page_has_nothing_inline() {
    let mut wrong = Vec::new();
    for path in files(&root().join("www"), "html") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for tag in fs::read_to_string(&path).unwrap().split('<').skip(1) {
            let (tag, text) = tag.split_once('>').unwrap_or((tag, ""));
            let inline_script =
                tag.starts_with("script") && !(tag.contains(" src=") && text.is_empty());
            let attribute = |word: &str| {
                let event = word.starts_with("on") && word.contains('=');
                event || word.starts_with("style=") || word.contains("=\"javascript:")
            };
            if inline_script || tag.starts_with("style") || tag.split_whitespace().any(attribute) {
                wrong.push(format!("{name}: <{tag}>"));
            }
        }
    }
    assert_none("script or style in the page itself, which its policy blocks", wrong);
}

#[test]
fn the_top_level_is_what_the_design_lists() {
    let entries = fs::read_dir(root()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let new = |name: &String| !name.starts_with('.') && !TOP_LEVEL.contains(&name.as_str());
    assert_none("new at the top level", names.filter(new).collect());
}

/// These tests find what they look for, and nothing in comments, texts or tests.
#[test]
fn the_reader_of_code_reads_code() {
    let code = read(
        r##"
        // one.unwrap()  /* not nested
        /* two.unwrap() /* nested */ three.unwrap() */
        fn a<'a>(x: &'a str) -> char { "four.unwrap() \" //"; r#"five.unwrap() ""#; '"' }
        fn b() { six.unwrap(); x.unwrap_or(0); '\''; 'u' }
        use crate::time::{Span, Time};
        use crate::{rate::Rate, text::{number, ParseError}, outcome};
        fn c() -> crate::estimate::exim::Exim { other::crate_::x; super::super::limit::y() }
        use super::sibling;
        #[cfg(test)]
        mod tests { use crate::web; fn d() { seven.unwrap() } }
        fn e() { unsafe {} }
        "##,
    );
    assert_eq!(code.find(".unwrap()"), [5]);
    assert_eq!(code.find("unsafe"), [12]);
    let here = ["view".to_owned(), "scope".to_owned()];
    let rooms: Vec<String> = code.imports(&here).into_iter().map(|(_, room)| room).collect();
    assert_eq!(rooms, ["time", "rate", "text", "outcome", "estimate", "limit"]);
    assert!(may_import("rate", "time") && may_import("view", "plot") && may_import("web", "view"));
    assert!(may_import("store", "policy") && may_import("log", "event"));
    assert!(!may_import("time", "rate") && !may_import("plot", "time"));
    assert!(!may_import("event", "policy") && !may_import("limit", "policy"));
    assert!(
        !may_import("log", "traffic")
            && !may_import("web", "bin")
            && !may_import("web", "attic")
            && !may_import("middleware", "redis_store")
            && may_import("bin", "redis_store")
    );
}

/// A file of ours.
struct Source {
    /// From the top of the repository, as in `src/limit/exim.rs`.
    name: String,
    /// The path of its module, as in `limit`, `exim`; empty for the crate itself.
    module: Vec<String>,
    code: Code,
}

impl Source {
    /// Which room it is in; the crate itself is in none, and may see all.
    fn room(&self) -> Option<&str> {
        self.module.first().map(String::as_str)
    }
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|(_, _, rooms)| rooms.contains(&room))
}

fn below_floor_4(file: &Source) -> bool {
    file.room()
        .and_then(floor)
        .is_none_or(|floor| !matches!(FLOORS[floor].0, 'c' | '4' | '5' | '6'))
}

fn may_import(here: &str, there: &str) -> bool {
    let (Some(from), Some(to)) = (floor(here), floor(there)) else { return false };
    let place = |room| FLOORS[from].2.iter().position(|&r| r == room);
    let before = place(there) < place(here);
    let in_order = matches!(FLOORS[from].0, '0' | '1');
    here == there || FLOORS[from].1.contains(FLOORS[to].0) || (from == to && in_order && before)
}

/// Every place in the files that `of` picks where one of `forms` stands.
fn places(of: impl Fn(&Source) -> bool, forms: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for file in SOURCES.iter().filter(|file| of(file)) {
        for form in forms {
            let place = |line: usize| format!("{}:{line}: {form}", file.name);
            found.extend(file.code.find(form).into_iter().map(place));
        }
    }
    found
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn manifest() -> String {
    fs::read_to_string(root().join("Cargo.toml")).unwrap()
}

/// Every file of ours under `folder` with the extension; what a tool built is not ours.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("www/pkg") {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let src = root().join("src");
    let source = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let within = path.strip_prefix(&src).unwrap().with_extension("");
        let parts = within.iter().map(|part| part.to_string_lossy().into_owned());
        let module = parts.filter(|part| part != "lib").collect();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        Source { name, module, code: read(&text) }
    };
    files(&src, "rs").into_iter().map(source).collect()
});

#[track_caller]
fn assert_none(rule: &str, wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{rule}:\n{}", wrong.join("\n"));
}
