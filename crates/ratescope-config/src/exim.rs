//! Exim: the conditions `ratelimit` of an ACL.
//!
//! Source: Exim specification, chapter "Access control lists", section "Rate limiting incoming messages", and
//! `acl_ratelimit` in its source. Exim splits the condition at `/` after expansion, and reads a part that is the name of an
//! option as that option. So a text that a sender chooses goes into the key as a digest.

mod read;
mod text;
mod write;

pub(crate) use read::read;
pub(crate) use write::{counted, write};

use crate::words::lines;
use crate::write::Names;
use text::{definition, value};

pub(crate) const NAMES: Names = Names { name: "exim", title: "Exim", file: "exim4.conf" };

pub(crate) fn is_known(text: &str) -> bool {
    let values = || lines(text, &["#"]).filter_map(|(_, line)| value(line));
    values().any(|value| value.contains('/'))
        || (values().next().is_some()
            && lines(text, &["#"]).any(|(_, line)| definition(line).is_some()))
}
