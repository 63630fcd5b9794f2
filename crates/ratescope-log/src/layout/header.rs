//! Layouts that a log names itself, by headers `#Fields`.

use super::{COLUMNS, Layout};
use crate::lines::{LONGEST, bare, text_of};
use memchr::{memchr, memmem, memrchr};
use std::sync::Arc;

/// The layout of a header `#Fields: date time c-ip ...` (W3C Extended Log File Format, as IIS and CloudFront write it),
/// with the text `between` the columns; `None` for any other line. Only the first [`COLUMNS`] names count.
pub(crate) fn of_header(line: &str, between: &'static str) -> Option<Arc<Layout>> {
    let names = line.strip_prefix("#Fields:")?.split_whitespace().take(COLUMNS);
    let mut columns: Vec<(String, String)> = Vec::new();
    for name in names {
        let before = if columns.is_empty() { "" } else { between };
        // The date and the time are one column with a space or a tab in it.
        match columns.last_mut() {
            Some((_, last)) if last == "date" && name == "time" => "time".clone_into(last),
            _ => columns.push((before.to_owned(), name.to_owned())),
        }
    }
    let layout = Layout::new(&format!("{line}{between}"), columns, String::new());
    let layout = layout.called("columns named by #Fields");
    Some(Arc::new(Layout { between: Some(between), is_exact: between == " ", ..layout }))
}

/// The layout of the last header in these whole lines.
pub(crate) fn last_header(mut lines: &[u8], between: &'static str) -> Option<Arc<Layout>> {
    let mut shown = String::new();
    while let Some(at) = memmem::rfind(lines, b"#Fields:") {
        let (before, rest) = lines.split_at(at);
        let begin = memrchr(b'\n', before).map_or(0, |end| end + 1);
        let end = memchr(b'\n', rest).map_or(lines.len(), |end| at + end);
        let line = lines.get(begin..end).filter(|line| line.len() <= LONGEST).unwrap_or_default();
        if let Some(layout) = of_header(bare(text_of(line, &mut shown)), between) {
            return Some(layout);
        }
        lines = lines.get(..begin).unwrap_or_default();
    }
    None
}
