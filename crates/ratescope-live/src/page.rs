//! The files of the page, built into the program as `./scripts/build` left them, and the headers and checks that every
//! server of them needs.

use super::body::Body;
use bytes::Bytes;
use core::net::IpAddr;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HOST, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH,
};
use http::{Method, Response, StatusCode};
use rust_embed::{EmbeddedFile, RustEmbed};
use std::borrow::Cow;

#[derive(RustEmbed)]
#[folder = "www"]
struct Page;

/// The WebAssembly module without which the page can't work.
pub const MODULE: &str = "pkg/ratescope_page_bg.wasm";

/// The one file that other sites may show in a frame.
const EMBED: &str = "/embed.html";

/// The end of the policy of all other files.
const NO_FRAMES: &str = "; frame-ancestors 'none'";

/// The files with which it reports an error in a frame with a sandbox, which has an origin of its own.
const EMBEDS: [&str; 4] = [EMBED, "/watch.js", "/style.css", "/embed.css"];

/// Lets a site that is cross-origin isolated, or a sandbox, load the file.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The headers of every response, also of errors.
const HEADERS: [(&str, &str); 7] = [
    // The page loads only its own files, runs only its own scripts, and can't be shown in a frame.
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'; worker-src 'self'; \
         manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    // Cross-origin isolation: without it browsers round performance.now() to 0.1 ms.
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("x-content-type-options", "nosniff"),
    // Browsers revalidate a file each time, so that a reload shows a rebuilt page.
    ("cache-control", "no-cache"),
    ("referrer-policy", "no-referrer"),
    // Files such as the modules are also sent compressed, to browsers that accept Brotli.
    ("vary", "accept-encoding"),
];

/// True if the page was built into this program, with its module.
pub fn is_built() -> bool {
    Page::get(MODULE).is_some()
}

/// The response with the file at `path`; `None` if there is no such file, or if the method is neither GET nor
/// HEAD.
pub fn file(method: &Method, path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    if method != Method::GET && method != Method::HEAD {
        return None;
    }
    let name = match path.strip_prefix('/')? {
        "" => "index.html",
        name => name,
    };
    let file = Page::get(name)?;
    let kind = file.metadata.mimetype().to_owned();
    let packed = takes_brotli(headers).then(|| Page::get(&format!("{name}.br"))).flatten();
    let is_packed = packed.is_some();
    let file = packed.unwrap_or(file);
    let tag = tag(&file);
    let mut response = Response::new(Body::from(Bytes::new()));
    if is_known(&tag, headers) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_str(&kind).ok()?);
        if is_packed {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("br"));
        }
        response.headers_mut().insert(CONTENT_LENGTH, file.data.len().into());
        if method == Method::GET {
            let data = match file.data {
                Cow::Borrowed(data) => Bytes::from_static(data),
                Cow::Owned(data) => data.into(),
            };
            *response.body_mut() = data.into();
        }
    }
    response.headers_mut().insert(ETAG, HeaderValue::from_str(&tag).ok()?);
    Some(response)
}

/// True if a browser accepts Brotli (RFC 9110, section 12.5.3), with any weight above 0, since it halves the modules.
fn takes_brotli(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|q| q.trim().parse().ok());
        name.trim().eq_ignore_ascii_case("br") && weight.is_some_and(|q: f64| q > 0.0)
    })
}

/// The entity tag of a file, from its hash, by which browsers revalidate it.
fn tag(file: &EmbeddedFile) -> String {
    let hash: String =
        file.metadata.sha256_hash()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hash}\"")
}

/// True if a browser has the file with this tag. A proxy that compresses files makes their tags weak (RFC 9110, section
/// 13.1.2).
fn is_known(tag: &str, headers: &HeaderMap) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    let mut known = lists.flat_map(|list| list.split(',')).map(str::trim);
    known.any(|known| known.strip_prefix("W/").unwrap_or(known) == tag)
}

/// Adds the headers that every response of a site with the page must have; `path` is that of the file.
pub fn guard(path: &str, headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        let may_be_framed = path == EMBED && name == CONTENT_SECURITY_POLICY;
        let framed = value.strip_suffix(NO_FRAMES).filter(|_| may_be_framed);
        headers.insert(name, HeaderValue::from_static(framed.unwrap_or(value)));
    }
    if EMBEDS.contains(&path) {
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    }
}

/// True if the request was sent to `localhost` or a loopback address, and to the port `own`; with `None`, to any port,
/// since a tunnel may lead here. Any other name that resolves to this machine (DNS rebinding) would let another site
/// read the answers.
pub fn is_local(headers: &HeaderMap, own: Option<u16>) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
        _ => (host, Some(80)),
    };
    let is_port = port.is_some() && own.is_none_or(|own| port == Some(own));
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_loopback = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    is_port && (is_loopback || name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_by_any_name() {
        let is_known = |list: &'static str| {
            let list = HeaderValue::from_static(list);
            is_known("\"ab\"", &HeaderMap::from_iter([(IF_NONE_MATCH, list)]))
        };
        for list in ["\"ab\"", "W/\"ab\"", "\"cd\", W/\"ab\"", "\"cd\",\"ab\""] {
            assert!(is_known(list), "{list}");
        }
        for list in ["", "ab", "\"a\"", "\"AB\"", "W/\"abc\"", "W/W/\"ab\""] {
            assert!(!is_known(list), "{list}");
        }
    }

    #[test]
    fn brotli_is_for_those_who_take_it() {
        let takes = |list: &'static str| {
            let list = HeaderValue::from_static(list);
            takes_brotli(&HeaderMap::from_iter([(ACCEPT_ENCODING, list)]))
        };
        for list in ["br", "gzip, deflate, br, zstd", "gzip;q=1, BR ; q=0.001", "br;q=1.0"] {
            assert!(takes(list), "{list}");
        }
        for list in ["", "gzip, deflate", "br;q=0", "gzip, br; q=0.000", "brotli", "br;q=x", "*"] {
            assert!(!takes(list), "{list}");
        }
        assert!(!takes_brotli(&HeaderMap::new()));
    }
}
