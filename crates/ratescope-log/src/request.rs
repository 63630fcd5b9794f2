//! The parts of a request line, and of its path.

use super::search;
use core::num::NonZeroU8;
use memchr::{memchr2, memchr3, memrchr};

/// The beginning of the protocol, which follows the target.
const PROTOCOL: &str = " HTTP/";

/// `GET` from `GET /path HTTP/1.1`; `None` if there is no target.
pub(super) fn method(request: &str) -> Option<&str> {
    search::split_once(request, b' ').map(|(method, _)| method)
}

/// `/path?query` from `GET /path?query HTTP/1.1`. A target may contain spaces, against the standard.
pub(super) fn target(request: &str) -> Option<&str> {
    let (_, rest) = search::split_once(request, b' ')?;
    let Some(last) = memrchr(b' ', rest.as_bytes()) else { return Some(rest) };
    match rest.split_at_checked(last) {
        Some((target, end)) if end.starts_with(PROTOCOL) => Some(target),
        _ => Some(rest.rsplit_once(PROTOCOL).map_or(rest, |(target, _)| target)),
    }
}

/// The path of a target, without its query, and without the scheme and the host of a request to a proxy.
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

/// The path of the target of a request, in one pass, if the target begins with a slash and has no space before
/// its query. `None` for any other request.
pub(super) fn plain_path(request: &str) -> Option<&str> {
    let method = search::find(b' ', request.as_bytes())?;
    let rest = request.get(method + 1..).filter(|rest| rest.starts_with('/'))?;
    let (path, after) = rest.split_at_checked(memchr3(b' ', b'?', b'#', rest.as_bytes())?)?;
    let is_end = match after.strip_prefix(PROTOCOL) {
        Some(version) => version.bytes().all(|b| b != b' '),
        None => !after.starts_with(' '),
    };
    is_end.then_some(path)
}

/// The first `depth` segments of a path: `/a/b` for `/a/b/c` and 2. The path itself if it has no more.
pub(super) fn segments(path: &str, depth: NonZeroU8) -> &str {
    let mut ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    ends.nth(usize::from(depth.get()) - 1).and_then(|end| path.get(..end)).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::{path, plain_path, target};

    /// `plain_path` agrees with the two functions, or returns `None`, for all requests of up to six of these pieces.
    #[test]
    fn a_plain_path_is_the_path_of_the_target() {
        let mut requests = vec![String::new()];
        let mut count = 0;
        for _ in 0..6 {
            let more = |request| {
                ["a", " ", "/", "?", "#", " HTTP/"].map(|piece| format!("{request}{piece}"))
            };
            requests = requests.iter().flat_map(more).collect();
            for request in &requests {
                let Some(found) = plain_path(request) else { continue };
                assert_eq!(target(request).map(path), Some(found), "{request:?}");
                count += 1;
            }
        }
        assert!(count > 1000, "{count}");
    }

    #[test]
    fn usual_requests_are_plain() {
        for (request, path) in [
            ("GET /a/b HTTP/1.1", "/a/b"),
            ("POST /a?b=c d HTTP/2.0", "/a"),
            ("GET /#top HTTP/1.1", "/"),
        ] {
            assert_eq!(plain_path(request), Some(path), "{request}");
        }
        for request in [
            "GET /a b HTTP/1.1",
            "GET /a",
            "GET http://a/b HTTP/1.1",
            "GET /a HTTP/1.1 HTTP/1.1",
            "-",
        ] {
            assert_eq!(plain_path(request), None, "{request}");
        }
    }
}
