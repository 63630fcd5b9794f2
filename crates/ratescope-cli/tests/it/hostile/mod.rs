//! Input that somebody made to do harm: every parser takes time and memory in proportion to it.

mod columns;
mod logs;
mod packed;
mod requests;
mod texts;

use crate::growth;

fn text(data: &[u8]) -> &str {
    std::str::from_utf8(data).unwrap()
}
