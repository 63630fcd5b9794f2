//! The README and the papers beside it are true.

use crate::limiters_example as limiters;
use crate::picture::golden;
use crate::picture_example as picture;
use ratescope::limit::Form;
use ratescope::limit::any::{AnyLimiter, FORMS};
use ratescope_lab::plot::palette::Theme;
use std::fs;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(paper: &str) -> String {
    fs::read_to_string(root().join(paper)).unwrap()
}

const PAPERS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "BENCHMARKS.md", "CONTRIBUTING.md", "CHANGELOG.md"];

#[test]
fn the_picture_is_what_the_page_draws() {
    for (name, theme) in [("readme-light.svg", Theme::Light), ("readme-dark.svg", Theme::Dark)] {
        let picture = picture::readme(theme).unwrap();
        // The words about the crosshair in the text beside it.
        assert!(picture.contains(">refused: rate 11.6 per 10\u{202f}s, limit 10<"));
        assert!(picture.contains(">allowed again in 2.4\u{202f}s<"));
        golden(name, &picture);
        assert!(read("README.md").contains(&format!("=\"tests/plots/{name}\"")));
    }
    // And its beginning.
    let opens = format!("data-opens=\"{}\"", picture::README.replace('&', "&amp;"));
    assert!(read("www/index.html").contains(&opens), "www/index.html should have {opens}");
}

/// Nothing in it moves for a reader who asked for less motion, and a host that allows no scripts shows it whole.
#[test]
fn the_picture_moves_by_style_alone() {
    let picture = picture::readme(Theme::Light).unwrap();
    assert!(picture.len() <= 150_000, "{} bytes", picture.len());
    let (before, rest) =
        picture.split_once("\n@media (prefers-reduced-motion: no-preference) {\n").unwrap();
    let (moves, after) = rest.split_once("\n}\n").unwrap();
    assert_eq!(moves.matches("animation:").count(), 3);
    for still in [before, after] {
        assert!(!["animation:", "<animate", "<set", "<script"].iter().any(|it| still.contains(it)));
    }
}

#[test]
fn the_table_is_what_is_measured() {
    let table = limiters::table().unwrap();
    assert!(read("BENCHMARKS.md").contains(&table), "BENCHMARKS.md should have:\n{table}");
    let docs = fs::read_to_string(root().join("crates/ratescope/src/limit/measured.md")).unwrap();
    assert_eq!(
        docs, table,
        "crates/ratescope/src/limit/measured.md is printed by `cargo run --example limiters`"
    );
}

/// The crates that a program builds are counted; the times are only compared between both papers.
#[test]
fn the_crates_are_counted() {
    let papers = read("BENCHMARKS.md");
    let (_, table) = papers.split_once("| | crates | to build, of the first |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().skip(2).map(|row| row.split('|').map(str::trim).collect()).collect();
    let ours =
        [vec!["ratescope"], vec!["ratescope", "--features", "rules"], vec!["ratescope-tower"]];
    for (row, package) in rows.iter().zip(ours) {
        let tree = std::process::Command::new(env!("CARGO"))
            .args([
                "tree",
                "--offline",
                "--locked",
                "-e",
                "normal",
                "--prefix",
                "none",
                "--no-dedupe",
            ])
            .arg("--package")
            .args(&package)
            .current_dir(root())
            .output()
            .unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        let crates: std::collections::BTreeSet<&str> = tree.lines().collect();
        assert_eq!(row[2], crates.len().to_string(), "{package:?}: {crates:?}");
    }
    let all = |rows: &[Vec<&str>]| {
        [2, 3].map(|at| {
            let each: Vec<_> = rows.iter().map(|row| row[at].trim_end_matches(".0")).collect();
            each.join("; ")
        })
    };
    let readme = read("README.md");
    for rows in [&rows[..3], &rows[3..5], &rows[5..]] {
        let [crates, ratios] = all(rows);
        assert!(readme.contains(&format!("| {crates} | {ratios} |")), "{crates} | {ratios}");
    }
}

#[test]
fn the_scenarios_are_counted() {
    let count = read("www/compare.html").matches("<li><a href=\"#").count();
    let said = format!("[{count} scenarios](SCENARIOS.md)");
    assert!(read("README.md").contains(&said), "README.md should have {said}");
}

/// A crate in a registry has no folders above it, and no other papers.
#[test]
fn crates_stand_alone_in_a_registry() {
    let mut seen = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        if manifest.contains("publish = false") {
            continue;
        }
        for key in ["description =", "readme = \"README.md\"", "keywords =", "categories ="] {
            assert!(manifest.contains(key), "{name}: {key}");
        }
        let own = read(&format!("crates/{name}/README.md"));
        let links = own.split("](").skip(1).filter(|link| !link.starts_with("https://"));
        assert_eq!(links.count(), 0, "{name}: a link that leads nowhere there");
        seen += 1;
    }
    assert_eq!(seen, 9);
}

/// The documentation has the grammar of each limiter, as it is read.
#[test]
fn the_grammar_has_every_form() {
    let mut table = "| form | example | an event passes if |\n|---|---|---|\n".to_owned();
    for Form { name, words, example, about } in FORMS {
        let form = format!("{name} {words}").replace('|', "\\|");
        table += &format!("| `{form}` | `{example}` | {about} |\n");
        assert!(example.parse::<AnyLimiter>().is_ok(), "{example}");
    }
    assert!(
        read("crates/ratescope/src/limit/forms.md") == table,
        "crates/ratescope/src/limit/forms.md should be:\n{table}"
    );
}

/// The table of the page has the figures that are measured.
#[test]
fn the_page_has_the_figures_of_the_table() {
    let page = read("www/compare.html");
    let table = fs::read_to_string(root().join("crates/ratescope/src/limit/measured.md")).unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    let mut found = 0;
    for [_, name, bytes, _, _, most, hammered] in rows.iter().flat_map(|row| row.first_chunk::<7>())
    {
        let name = name.trim_matches('`');
        if let Some((_, row)) = page.split_once(&format!("<code>{name}</code></th>")) {
            let figures = format!("<td>{bytes}</td><td>{most}</td><td>{hammered}</td>");
            assert!(row.starts_with(&figures), "{name}: {figures}");
            found += 1;
        }
    }
    assert_eq!(found, page.matches("</code></th>").count());
}

/// The lines of the layer are compiled as a part of the documentation.
#[test]
fn the_ten_lines_are_those_of_the_documentation() {
    let lines =
        read("crates/ratescope-tower/src/ten_lines.md").replace("rust,no_run", "rust,ignore");
    let end = lines.find("```\n").unwrap() + 4;
    assert!(
        read("README.md").contains(&lines[..end]),
        "the README should have these lines:\n{lines}"
    );
}

/// Of the papers, the links to files and the paths between backticks.
#[test]
fn links_and_paths_lead_somewhere() {
    let places = ["src/", "crates/", "tests/", "scripts/", "www/", "fuzz/"];
    let mut missing = Vec::new();
    for paper in PAPERS {
        let text = read(paper);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let links = links.filter(|link| !link.starts_with("https:"));
        let links = links.filter_map(|link| link.split('#').next());
        let named = text.split('`').skip(1).step_by(2).map(|name| name.trim_start_matches("./"));
        let named = named.filter(|name| places.iter().any(|place| name.starts_with(place)));
        let named = named.filter_map(|name| name.split([' ', '#', '*', '<']).next());
        missing.extend(
            links
                .chain(named)
                .filter(|path| !path.is_empty() && !root().join(path).exists())
                .map(|path| format!("{paper}: {path}")),
        );
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_page_has_nothing_inline() {
    let mut wrong = Vec::new();
    let pages = fs::read_dir(root().join("www")).unwrap().map(|entry| entry.unwrap().path());
    for path in pages.filter(|path| path.extension().is_some_and(|end| end == "html")) {
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
    assert_eq!(wrong, [""; 0], "script or style in the page itself, which its policy blocks");
}

/// Runs the command after `$` in each console of the README; it prints the lines below it.
#[cfg(unix)]
#[test]
fn commands_print_what_is_shown() {
    use std::process::Command;

    let readme = read("README.md");
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_ratescope")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let consoles = readme.split("\n```console\n$ ").skip(1);
    let consoles = consoles.map(|rest| rest.split("\n```").next().unwrap().split_once('\n'));
    let mut seen = 0;
    for (command, shown) in consoles.map(|console| console.unwrap_or_default()) {
        let line = format!("({command}) 2>&1");
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(root())
            .env("PATH", &path)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), shown, "{command}");
        seen += 1;
    }
    assert!(seen > 0);
}
