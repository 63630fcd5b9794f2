//! What a limit may be for: the fields of a request.
//!
//! | field | what it is |
//! |---|---|
//! | `ip` | the client's address; IPv6 by its prefix, as in logs |
//! | `method` | as in `GET` |
//! | `path` | as it was sent, without the query |
//! | `route` | the pattern that the path fits, as in `/users/{id}`, where patterns are given |
//! | `user` | whatever the service's authentication says |
//! | any other | a header, an extension, or what a closure finds |

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

/// A request without its body.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// What is asked for.
    pub uri: &'a Uri,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// What the server and the layers before this one have found out.
    pub extensions: &'a Extensions,
}

impl<'a> Head<'a> {
    /// That of a request.
    pub fn of<B>(request: &'a Request<B>) -> Self {
        Head {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

/// Where fields come from.
pub(super) struct Keys {
    pub(super) peer: Peer,
    pub(super) proxies: Option<Proxies>,
    pub(super) ipv6_prefix: u8,
    /// Each with the name of its field.
    pub(super) sources: Vec<(String, Source)>,
}

/// Finds the address that a connection comes from.
pub(super) type Peer = Box<dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync>;

/// Finds a text in the head of a request.
pub(super) type Find = Box<dyn for<'a> Fn(Head<'a>) -> Option<Cow<'a, str>> + Send + Sync>;

pub(super) enum Source {
    Header(HeaderName),
    /// Each pattern leads to itself.
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
    /// Whether there is a source for a field.
    pub(super) fn know(&self, field: &str) -> bool {
        let named = || self.sources.iter().any(|(known, _)| known == field);
        matches!(field, "ip" | "method" | "path") || named()
    }

    /// The client's address, where the one that the connection comes from is known.
    fn client(&self, head: Head<'_>) -> Option<IpAddr> {
        let peer = (self.peer)(head.extensions)?.to_canonical();
        Some(self.proxies.as_ref().map_or(peer, |proxies| proxies.client(peer, head.headers)))
    }
}

impl Source {
    fn find<'a>(&'a self, head: Head<'a>) -> Option<Cow<'a, str>> {
        match self {
            // Whatever it holds is a key; what is not UTF-8 is read as far as it is.
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

/// The fields of one request, each found when it is first asked for.
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

    /// Those of these names that there are, to be kept.
    pub(super) fn keep(&self, names: &[&str]) -> Vec<(String, String)> {
        let value = |name: &&str| Some(((*name).to_owned(), self.value(name)?.to_owned()));
        names.iter().filter_map(value).collect()
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
