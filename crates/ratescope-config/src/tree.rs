//! YAML and JSON, of one document or several.

use crate::read::Remark;
use ratescope::internal::yaml::{self, Kind, Node};

/// The documents of a text, each with its root.
///
/// # Errors
/// The first mistake.
pub(crate) fn documents(text: &str) -> Result<Vec<Node>, Remark> {
    // YAML allows no tabs between words, and JSON none within texts.
    let json = text.trim_start().starts_with(['{', '[']);
    let text = if json { text.replace('\t', " ") } else { text.to_owned() };
    let mut documents = vec![(1, String::new())];
    // Pasted documents may follow each other without a mark: a list after the values of a map is a new document.
    let mut after_value = false;
    for (line, written) in (1..).zip(text.lines()) {
        let is_item = written.starts_with("- ");
        let is_part = is_item && after_value;
        if !is_item && !written.starts_with([' ', '#']) && !written.trim().is_empty() {
            after_value = !json && !written.trim_end().ends_with([':', '-']);
        }
        if is_part {
            after_value = false;
            documents.push((line, written.to_owned()));
        } else if written.trim_end() == "---" {
            documents.push((line, String::new()));
        } else if let Some((_, document)) = documents.last_mut() {
            *document += written;
        }
        if let Some((_, document)) = documents.last_mut() {
            document.push('\n');
        }
    }
    let said = |text: &str| {
        text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'))
    };
    let mut roots = Vec::new();
    for (first, document) in documents.iter().filter(|(_, document)| said(document)) {
        let mut root = yaml::read(document).map_err(|mistake| {
            let line = mistake.line() + first - 1;
            Remark::new(line, format!("it can't be read as YAML: {}", mistake.problem()))
        })?;
        shift(&mut root, first - 1);
        roots.push(root);
    }
    Ok(roots)
}

/// Shifts the places by the lines before the document.
fn shift(node: &mut Node, lines: usize) {
    node.at.line += lines;
    match &mut node.kind {
        Kind::Text { .. } => {}
        Kind::List(items) => items.iter_mut().for_each(|item| shift(item, lines)),
        Kind::Map(pairs) => pairs.iter_mut().for_each(|(key, value)| {
            shift(key, lines);
            shift(value, lines);
        }),
    }
}

/// Visits all nodes below a node, each with the keys that lead to it.
pub(crate) fn walk<'a>(
    node: &'a Node,
    path: &mut Vec<&'a str>,
    see: &mut impl FnMut(&'a Node, &[&'a str]),
) {
    see(node, path);
    match &node.kind {
        Kind::Text { .. } => {}
        Kind::List(items) => items.iter().for_each(|item| walk(item, path, see)),
        Kind::Map(pairs) => pairs.iter().for_each(|(key, value)| {
            path.push(key.word());
            walk(value, path, see);
            path.pop();
        }),
    }
}

/// Tells whether a node or one below it `is` something.
pub(crate) fn any(node: &Node, is: &dyn Fn(&Node) -> bool) -> bool {
    is(node) || any_below(node, is)
}

/// Tells whether a node below this one `is` something.
pub(crate) fn any_below(node: &Node, is: &dyn Fn(&Node) -> bool) -> bool {
    match &node.kind {
        Kind::Text { .. } => false,
        Kind::List(items) => items.iter().any(|item| any(item, is)),
        Kind::Map(pairs) => pairs.iter().any(|(_, value)| any(value, is)),
    }
}
