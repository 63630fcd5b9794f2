//! The README says what is so.
#![cfg(all(feature = "lab", not(target_arch = "wasm32")))]
#![allow(clippy::unwrap_used)]

#[path = "common/picture.rs"]
mod common;
#[allow(dead_code)]
#[path = "../examples/limiters.rs"]
mod limiters;
#[allow(dead_code)]
#[path = "../examples/picture.rs"]
mod picture;

use common::golden;
use ratescope::plot::palette::Theme;
use std::fs;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

#[test]
fn the_picture_is_what_the_page_draws() {
    for (name, theme) in [("readme-light.svg", Theme::Light), ("readme-dark.svg", Theme::Dark)] {
        let picture = picture::picture(picture::README, Some(picture::CROSSHAIR), theme).unwrap();
        // What the text beside it says of the crosshair.
        assert!(picture.contains(">refused: rate 11.6 per 10s, limit 10<"));
        assert!(picture.contains(">allowed again in 2.4\u{202f}s<"));
        golden(name, &picture);
        assert!(readme().contains(&format!("=\"tests/plots/{name}\"")));
    }
}

#[test]
fn the_table_is_what_is_measured() {
    let table = limiters::table().unwrap();
    assert!(readme().contains(&table), "the README should have this table:\n{table}");
    let docs = fs::read_to_string(root().join("src/limit/measured.md")).unwrap();
    assert_eq!(docs, table, "src/limit/measured.md is printed by `cargo run --example limiters`");
}

/// There they are compiled.
#[test]
fn the_ten_lines_are_those_of_the_documentation() {
    let lines = fs::read_to_string(root().join("src/middleware/ten_lines.md")).unwrap();
    let lines = lines.replace("rust,no_run", "rust,ignore");
    assert!(readme().contains(&lines), "the README should have these lines:\n{lines}");
}

#[test]
fn the_stores_are_those_of_the_documentation() {
    let table = fs::read_to_string(root().join("src/redis_store/stores.md")).unwrap();
    assert!(readme().contains(&table), "the README should have this table:\n{table}");
}

#[test]
fn the_map_has_every_room() {
    let (readme, entries) = (readme(), fs::read_dir(root().join("src")).unwrap());
    let map = readme.split("\n## The source\n").nth(1).unwrap();
    let map = map.split("\n## ").next().unwrap();
    let rooms = entries.map(|entry| entry.unwrap().path().with_extension(""));
    let rooms = rooms.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    let missing = rooms.filter(|room| room != "lib" && !map.contains(&format!("`{room}`")));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn links_lead_to_files() {
    let readme = readme();
    let links = readme.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
    for link in links.filter(|link| !link.starts_with("https:")) {
        assert!(root().join(link).is_file(), "{link}");
    }
}

/// What follows `$` in a console is run, and prints what stands below it.
#[cfg(all(feature = "cli", unix))]
#[test]
fn commands_print_what_is_shown() {
    use std::process::Command;

    let readme = readme();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_ratescope")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let consoles = readme.split("\n```console\n$ ").skip(1);
    let consoles = consoles.map(|rest| rest.split("\n```").next().unwrap().split_once('\n'));
    let mut seen = 0;
    for (command, shown) in consoles.map(|console| console.unwrap_or_default()) {
        let line = format!("({command}) 2>&1");
        let output = Command::new("sh").args(["-c", &line]).env("PATH", &path).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), shown, "{command}");
        seen += 1;
    }
    assert!(seen > 0);
}
