//! Refuses requests that browsers send for the pages of other sites, so that no page spends the limits of others.
//!
//! A browser names the site in headers that pages can't set: `Sec-Fetch-Site` in each request to this machine or by
//! TLS, and `Origin` in each that is not a plain GET. For the browser, a page whose name resolves to this machine (DNS
//! rebinding) is of the same site: so a browser's request must also name this machine as its host. Other programs send
//! neither header.

use super::Body;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, HOST,
    HeaderMap, HeaderValue, ORIGIN, VARY,
};
use http::{Request, Response, StatusCode};
use ratescope_live::page::is_local;

/// The origin of the page for which a browser sends a request, if `origins` has it; `None` for other requests that may
/// pass.
///
/// # Errors
/// Why the request is refused.
pub(super) fn origin<'a, Q>(
    request: &Request<Q>,
    origins: &'a [HeaderValue],
) -> Result<Option<&'a HeaderValue>, &'static str> {
    let headers = request.headers();
    let origin = headers.get(ORIGIN);
    let site = headers.get("sec-fetch-site");
    if origin.is_none() && site.is_none() {
        return Ok(None);
    }
    if let Some(known) = origins.iter().find(|known| Some(*known) == origin) {
        return Ok(Some(known));
    }
    let is_own = match (site.map(HeaderValue::as_bytes), origin) {
        (Some(site), _) => site == b"same-origin" || site == b"none",
        (None, Some(origin)) => names(origin, headers),
        (None, None) => true,
    };
    if !is_own {
        return Err("a page of another site may not ask; --allow-origin allows one");
    }
    if !is_local(headers, None) {
        return Err("a browser must name this machine, as localhost or a loopback address");
    }
    Ok(None)
}

/// True if an origin is the host of the request.
fn names(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = origin.as_bytes().strip_prefix(b"http://");
    host.is_some() && host == headers.get(HOST).map(HeaderValue::as_bytes)
}

/// The answer to a browser that asks whether it may send a request.
pub(super) fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("content-type"));
    response
}

/// Lets the page of an origin read an answer.
pub(super) fn allow(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("origin"));
}
