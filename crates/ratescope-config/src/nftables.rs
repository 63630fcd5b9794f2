//! nftables: a bucket of new connections for each address, in the Linux kernel.
//!
//! `limit rate over 6/hour burst 5 packets` is a token bucket that starts full. A packet costs the time of one packet
//! at the rate, in whole nanoseconds, and the bucket holds the cost of a burst. A packet that finds less than its cost
//! is over the rate, and takes nothing.
//!
//! Source: Linux, `net/netfilter/nft_limit.c`; `man nft`.

mod chain;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::{rate_text, write};

use crate::words::has;
use crate::write::Names;

pub(crate) const NAMES: Names =
    Names { name: "nftables", title: "nftables", file: "nftables.conf" };

pub(crate) fn is_known(text: &str) -> bool {
    has(text, &["#"], "limit rate ") || has(text, &["#"], "limit name ")
}
