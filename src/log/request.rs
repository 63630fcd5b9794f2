//! The parts of a request line, and of its path.

use super::cut;
use core::num::NonZeroU8;
use memchr::{memchr2, memrchr};

/// `GET` from `GET /path HTTP/1.1`; `None` if there is no target.
pub(super) fn method(request: &str) -> Option<&str> {
    cut::once(request, b' ').map(|(method, _)| method)
}

/// `/path?query` from `GET /path?query HTTP/1.1`. A target may contain spaces, although that is against the
/// standard.
pub(super) fn target(request: &str) -> Option<&str> {
    const PROTOCOL: &str = " HTTP/";
    let (_, rest) = cut::once(request, b' ')?;
    let Some(last) = memrchr(b' ', rest.as_bytes()) else { return Some(rest) };
    match rest.split_at_checked(last) {
        Some((target, end)) if end.starts_with(PROTOCOL) => Some(target),
        _ => Some(rest.rsplit_once(PROTOCOL).map_or(rest, |(target, _)| target)),
    }
}

/// The path of a target, without its query, and without the scheme and the host that a request to a proxy
/// has.
pub(super) fn path(target: &str) -> &str {
    let end = memchr2(b'?', b'#', target.as_bytes()).unwrap_or(target.len());
    let path = target.get(..end).unwrap_or(target);
    if path.starts_with('/') {
        return path;
    }
    match path.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').and_then(|slash| rest.get(slash..)).unwrap_or("/")
        }
        _ => path,
    }
}

/// The first `depth` segments of a path: `/a/b` for `/a/b/c` and 2. The path itself if it has no more.
pub(super) fn segments(path: &str, depth: NonZeroU8) -> &str {
    let mut ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    ends.nth(usize::from(depth.get()) - 1).and_then(|end| path.get(..end)).unwrap_or(path)
}
