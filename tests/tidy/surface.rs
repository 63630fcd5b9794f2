//! The public surface, as files that a review sees change: one for each feature that brings some of it, with
//! what is public in each module and what its types implement. It is read from the sources, as rustfmt leaves
//! them; the lint `unreachable_pub` sees to it that whatever says `pub` can be reached.

use super::committed::committed;
use super::{files, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The rooms of the application, of which semver promises nothing.
const OUTSIDE: [&str; 8] = ["bin", "civil", "lab", "log", "plot", "traffic", "view", "web"];

/// To change what is public: look at what changes here, and delete the file to accept it.
#[test]
fn the_public_surface_is_what_was_accepted() {
    let mut changed = Vec::new();
    for (feature, surface) in surfaces() {
        let accepted = committed(&format!("tidy/surface/{feature}.txt"), &surface);
        let [old, new] = [&accepted, &surface].map(|text| text.lines().collect::<BTreeSet<_>>());
        changed.extend(old.difference(&new).map(|line| format!("{feature}: - {line}")));
        changed.extend(new.difference(&old).map(|line| format!("{feature}: + {line}")));
        if changed.is_empty() && accepted != surface {
            changed.push(format!("{feature}: in another order"));
        }
    }
    let help = "to accept it, delete the files in tests/tidy/surface and run this again";
    assert!(changed.is_empty(), "the public surface has changed; {help}:\n{}", changed.join("\n"));
}

/// The public items of each feature.
fn surfaces() -> BTreeMap<String, String> {
    let src = root().join("src");
    let paths = files(&src, "rs");
    let texts: Vec<String> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let types: BTreeSet<String> = texts.iter().flat_map(|text| public_types(text)).collect();
    let mut surfaces: BTreeMap<String, String> = BTreeMap::new();
    for (path, text) in paths.iter().zip(&texts) {
        let module = path.strip_prefix(&src).unwrap().with_extension("");
        let parts: Vec<&str> = module.iter().map(|part| part.to_str().unwrap()).collect();
        let items = items(text, &types);
        if !OUTSIDE.contains(&parts[0]) && !items.is_empty() {
            let surface = surfaces.entry(feature(&src, &parts)).or_default();
            *surface += &format!("{}\n{}\n", parts.join("::"), items.join("\n"));
        }
    }
    surfaces
}

/// The feature on which a module depends: the innermost that is named where it or one around it is declared.
fn feature(src: &Path, module: &[&str]) -> String {
    let (mut feature, mut folder) = ("core".to_owned(), src.join("lib.rs"));
    for (i, part) in module.iter().enumerate() {
        let text = fs::read_to_string(&folder).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let declared = |line: &&str| line.ends_with(&format!("mod {part};"));
        let at = lines.iter().position(declared).unwrap_or(0);
        let cfg = lines.get(at.wrapping_sub(1)).filter(|line| line.starts_with("#[cfg("));
        if let Some(name) = cfg.and_then(|cfg| cfg.split("feature = \"").nth(1)) {
            feature = name.split('"').next().unwrap().to_owned();
        }
        folder = src.join(module[..=i].join("/")).with_extension("rs");
    }
    feature
}

fn public_types(text: &str) -> Vec<String> {
    let begins = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
    let lines = text.lines().map(str::trim_start);
    let named = lines.filter_map(|line| begins.iter().find_map(|begin| line.strip_prefix(begin)));
    named
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned())
        .collect()
}

/// The public items of a file, one in a line, with their fields, variants and methods.
fn items(text: &str, types: &BTreeSet<String>) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut about, mut of) = (Vec::new(), String::new(), None);
    let mut i = 0;
    while i < lines.len() {
        let line = lines[i].trim_start();
        let pad = &lines[i][..lines[i].len() - line.len()];
        let is_tests = line == "#[cfg(test)]" && lines.get(i + 1).is_some_and(|l| l.ends_with('{'));
        if is_tests {
            break;
        }
        if line.starts_with("#[") {
            let end = (i..lines.len()).find(|at| lines[*at].ends_with(']')).unwrap_or(i);
            let attribute = joined(&lines[i..=end]);
            if ["#[cfg(", "#[derive(", "#[non_exhaustive"].iter().any(|a| attribute.starts_with(a))
            {
                about += &format!("{attribute} ");
            }
            i = end + 1;
            continue;
        }
        if line.starts_with("///") {
            i += 1;
            continue;
        }
        let is_impl = pad.is_empty() && (line.starts_with("impl ") || line.starts_with("impl<"));
        // A line of a text ends with a backslash.
        if is_impl || line.starts_with("pub ") && !line.ends_with('\\') {
            let (item, end) = item(&lines, i);
            match item.split_once(" for ") {
                Some((_, whom)) if is_impl => {
                    let head = whom.split(|c: char| !c.is_alphanumeric()).next().unwrap();
                    let is_generic = head.len() == 1;
                    let is_public = is_generic || types.contains(head);
                    found.extend(is_public.then(|| format!("  {about}{item}")));
                    of = None;
                }
                _ if is_impl => of = Some(item),
                _ => {
                    found.extend(of.take_if(|_| !pad.is_empty()).map(|of| format!("  {of}")));
                    found.push(format!("  {pad}{about}{item}"));
                    if item.starts_with("pub enum ") || item.starts_with("pub trait ") {
                        found.extend(body(&lines, end, pad));
                    }
                }
            }
            i = end;
        }
        about.clear();
        i += 1;
    }
    found
}

/// The item that begins in a line, without its body or value, and the line in which that begins or it ends.
fn item(lines: &[&str], start: usize) -> (String, usize) {
    let first = lines[start].trim_start();
    let is_field = first.strip_prefix("pub ").is_some_and(|rest| {
        rest.split_once(':')
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
    });
    let ends = |line: &str| match () {
        () if first.starts_with("pub use ") => line.ends_with(';'),
        () if is_field => line.ends_with(','),
        () => line.ends_with(['{', ';', '}']) || line.contains(" ="),
    };
    let end = (start..lines.len()).find(|at| ends(lines[*at])).unwrap_or(start);
    let all = joined(&lines[start..=end]);
    let is_value = ["pub const ", "pub static "].iter().any(|begin| first.starts_with(begin));
    let item = match all.split_once(" =") {
        Some((before, _)) if is_value => before,
        _ => all.trim_end_matches(['{', ',', ';']).trim_end(),
    };
    // A body in the same line.
    let item =
        item.split_once(" { ").filter(|_| item.ends_with('}')).map_or(item, |(item, _)| item);
    // The fields of a type are left out, unless they are pub.
    let is_private = item.starts_with("pub struct ") && !item.contains("(pub ");
    let item = item.split_once('(').filter(|_| is_private).map_or(item, |(item, _)| item);
    (item.trim_end_matches(" {}").to_owned(), end)
}

/// The variants of an enum, or what a trait asks for and gives.
fn body(lines: &[&str], start: usize, pad: &str) -> Vec<String> {
    let end = (start..lines.len()).find(|at| lines[*at] == format!("{pad}}}")).unwrap_or(start);
    let within = format!("{pad}    ");
    let mut found = Vec::new();
    let mut at = start + 1;
    while at < end {
        let rest =
            lines[at].strip_prefix(&within).filter(|rest| !rest.starts_with([' ', '/', '#', '}']));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            let is_variant = rest.starts_with(char::is_uppercase);
            let ends = |at: &usize| {
                lines[*at].ends_with(['{', ';']) || is_variant && lines[*at].ends_with(',')
            };
            let last = (at..end).find(ends).unwrap_or(at);
            let is_open = is_variant && lines[last].ends_with('{');
            let closes = |at: &usize| lines[*at].strip_prefix(&within) == Some("},");
            let last = if is_open { (last..end).find(closes).unwrap_or(last) } else { last };
            let comment = |line: &&&str| !line.trim_start().starts_with("//");
            let own: Vec<&str> = lines[at..=last].iter().filter(comment).copied().collect();
            let text = joined(&own);
            found.push(format!("  {within}{}", text.trim_end_matches(['{', ',', ';']).trim_end()));
            at = last;
        }
        at += 1;
    }
    found
}

/// Lines as one.
fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}
