//! The parts of a request line, and of its path.

use core::num::NonZeroU8;
use memchr::memchr2;

/// `GET` from `GET /path HTTP/1.1`; `None` if there is no target.
pub(super) fn method(request: &str) -> Option<&str> {
    request.split_once(' ').map(|(method, _)| method)
}

/// `/path?query` from `GET /path?query HTTP/1.1`. A target may contain spaces, although it should
/// not.
pub(super) fn target(request: &str) -> Option<&str> {
    let (_, rest) = request.split_once(' ')?;
    Some(rest.rsplit_once(" HTTP/").map_or(rest, |(target, _)| target))
}

/// The path of a target, without the query, and without the scheme and the host of a request to a
/// proxy.
pub(super) fn path(target: &str) -> &str {
    let end = memchr2(b'?', b'#', target.as_bytes()).unwrap_or(target.len());
    let path = target.get(..end).unwrap_or(target);
    match path.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').and_then(|slash| rest.get(slash..)).unwrap_or("/")
        }
        _ => path,
    }
}

/// The first `depth` segments of a path: `/a/b` for `/a/b/c` and 2.
pub(super) fn segments(path: &str, depth: NonZeroU8) -> &str {
    let mut ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    ends.nth(usize::from(depth.get()) - 1).and_then(|end| path.get(..end)).unwrap_or(path)
}
