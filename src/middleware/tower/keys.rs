//! The fields of a request, which limits can be for.
//!
//! | field | what it is |
//! |---|---|
//! | `ip` | the client's address; an IPv6 address stands for its /64, as in logs |
//! | `method` | the method, such as `GET` |
//! | `path` | the path as it was sent, without the query |
//! | `route` | the pattern that the path matches, such as `/users/{id}`: see [`RateLimit::routes`](super::RateLimit::routes) |
//! | `user` | the user that the service's authentication found: see [`RateLimit::user`](super::RateLimit::user) |
//! | any other | a header, an extension, or the result of a closure |
//!
//! A client chooses its path: `/login`, `/login/` and `/%6cogin` are different. A rule for what a
//! service does with a path should be about the route.

use super::proxies::Proxies;
use super::report;
use crate::address::{IPV6_PREFIX, Made};
use crate::event::Fields;
use core::cell::OnceCell;
use core::net::{IpAddr, SocketAddr};
use http::header::HeaderName;
use http::{Extensions, HeaderMap, Method, Request, Uri};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target.
    pub uri: &'a Uri,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// What the server and the outer layers found out.
    pub extensions: &'a Extensions,
}

impl<'a> Head<'a> {
    /// The head of `request`.
    pub fn of<B>(request: &'a Request<B>) -> Self {
        Head {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

/// The sources of fields.
pub(super) struct Keys {
    pub(super) peer: Peer,
    pub(super) proxies: Option<Proxies>,
    pub(super) ipv6_prefix: u8,
    /// Each source with the name of its field.
    pub(super) sources: Vec<(String, Source)>,
}

/// Finds the address of the peer.
pub(super) type Peer = Box<dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync>;

/// Finds a text in the head of a request.
pub(super) type Find = Box<dyn for<'a> Fn(Head<'a>) -> Option<Cow<'a, str>> + Send + Sync>;

pub(super) enum Source {
    Header(HeaderName),
    /// Maps each pattern to itself.
    Routes(matchit::Router<String>),
    Closure(Find),
}

impl Default for Keys {
    fn default() -> Self {
        let peer = |extensions: &Extensions| {
            let socket = extensions.get::<SocketAddr>().map(SocketAddr::ip);
            socket.or_else(|| extensions.get::<IpAddr>().copied())
        };
        let (sources, ipv6_prefix) = (Vec::new(), IPV6_PREFIX);
        Keys { peer: Box::new(peer), proxies: None, ipv6_prefix, sources }
    }
}

impl Keys {
    /// Whether a field has a source.
    pub(super) fn know(&self, field: &str) -> bool {
        let named = || self.sources.iter().any(|(known, _)| known == field);
        matches!(field, "ip" | "method" | "path") || named()
    }

    /// The client's address; `None` if the peer is not known.
    fn client(&self, head: Head<'_>) -> Option<IpAddr> {
        let peer = (self.peer)(head.extensions)?.to_canonical();
        Some(self.proxies.as_ref().map_or(peer, |proxies| proxies.client(peer, head.headers)))
    }
}

impl Source {
    fn find<'a>(&'a self, head: Head<'a>) -> Option<Cow<'a, str>> {
        match self {
            // Any content is a key, also one that is not UTF-8.
            Source::Header(name) => {
                head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()))
            }
            Source::Routes(routes) => {
                let found = routes.at(head.uri.path()).ok()?;
                Some(Cow::Borrowed(found.value.as_str()))
            }
            Source::Closure(find) => find(head),
        }
    }
}

/// The fields of one request. Each is found when it is first needed.
pub(super) struct RequestFields<'a> {
    keys: &'a Keys,
    head: Head<'a>,
    ip: OnceCell<Option<Made>>,
    found: SmallVec<[OnceCell<Option<Cow<'a, str>>>; 4]>,
}

impl<'a> RequestFields<'a> {
    pub(super) fn new(keys: &'a Keys, head: Head<'a>) -> Self {
        let found = keys.sources.iter().map(|_| OnceCell::new()).collect();
        RequestFields { keys, head, ip: OnceCell::new(), found }
    }
}

impl Fields for RequestFields<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let sources = self.keys.sources.iter().zip(&self.found);
        for ((known, source), found) in sources {
            if known == name {
                return found.get_or_init(|| source.find(self.head)).as_deref();
            }
        }
        match name {
            "ip" => {
                let made = |address| Made::of(address, self.keys.ipv6_prefix);
                let ip = self.ip.get_or_init(|| {
                    let client = self.keys.client(self.head);
                    if client.is_none() {
                        report::no_peer();
                    }
                    client.map(made)
                });
                ip.as_ref().map(Made::as_str)
            }
            "method" => Some(self.head.method.as_str()),
            "path" => Some(self.head.uri.path()),
            _ => None,
        }
    }
}
