//! The page within this program, as ./scripts/build left it before the program was built.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use hyper::{Method, Response, StatusCode};
use rust_embed::{EmbeddedFile, RustEmbed};
use std::borrow::Cow;

#[derive(RustEmbed)]
#[folder = "www"]
struct Page;

/// Whether the page has this file.
pub(super) fn has(path: &str) -> bool {
    Page::get(path).is_some()
}

/// Answers with the file at a path; `None` if there is none, or if it is asked to change.
pub(super) fn answer(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<Response<Full<Bytes>>> {
    if method != Method::GET && method != Method::HEAD {
        return None;
    }
    let path = path.strip_prefix('/')?;
    let file = Page::get(if path.is_empty() { "index.html" } else { path })?;
    let tag = tag(&file);
    let mut response = Response::new(Full::default());
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        let kind = file.metadata.mimetype();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_str(kind).ok()?);
        response.headers_mut().insert(CONTENT_LENGTH, file.data.len().into());
        if method == Method::GET {
            *response.body_mut() = Full::new(match file.data {
                Cow::Borrowed(data) => Bytes::from_static(data),
                Cow::Owned(data) => data.into(),
            });
        }
    }
    response.headers_mut().insert(ETAG, HeaderValue::from_str(&tag).ok()?);
    Some(response)
}

/// The name of a file's content, by which browsers ask whether it changed.
fn tag(file: &EmbeddedFile) -> String {
    let hash: String =
        file.metadata.sha256_hash()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hash}\"")
}
