//! Comma-separated values for spreadsheets and terminals.
//!
//! Logs are full of texts that strangers chose. A spreadsheet takes some for formulas, so these begin with a `'`. A
//! terminal obeys control characters, and a line feed would look like a new row, so these are escaped as in JSON
//! (`\u001b`).
//!
//! Source: RFC 4180; OWASP, "CSV Injection".

use core::fmt::Write;
use ratescope::internal::visible;

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// A number, a time, a word of the program, or nothing: written as it is.
    Plain(&'a str),
    /// A text that others may have chosen.
    Text(&'a str),
}

/// Appends a row with its line feed.
///
/// ```
/// use ratescope_lab::csv::{Cell, row};
///
/// let mut rows = String::new();
/// row(&mut rows, [Cell::Plain("-1.5"), Cell::Text("-1.5"), Cell::Text("a, \"b\""), Cell::Text("=1+1\u{1b}")]);
/// assert_eq!(rows, "-1.5,'-1.5,\"a, \"\"b\"\"\",'=1+1\\u001b\n");
/// ```
pub fn row<'a>(out: &mut String, cells: impl IntoIterator<Item = Cell<'a>>) {
    for (i, cell) in cells.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        match cell {
            Cell::Plain(cell) => out.push_str(cell),
            Cell::Text(cell) => text(out, cell),
        }
    }
    out.push('\n');
}

fn text(out: &mut String, cell: &str) {
    let is_quoted = cell.contains([',', '"']);
    if is_quoted {
        out.push('"');
    }
    if is_formula(cell) {
        out.push('\'');
    }
    for c in cell.chars() {
        match c {
            '"' => out.push_str("\"\""),
            // Writing to a String does not fail.
            c if visible(c) != c => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    if is_quoted {
        out.push('"');
    }
}

/// Spreadsheets take these for formulas, the wide characters in some languages, and may skip spaces before them.
fn is_formula(cell: &str) -> bool {
    cell.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}
