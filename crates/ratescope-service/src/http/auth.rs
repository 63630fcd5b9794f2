//! The layer of `/auth`, which finds the fields of a request in the headers that a proxy writes.

use super::HttpSettings;
use crate::DomainStore;
use crate::pass::Pass;
use core::net::IpAddr;
use http::HeaderMap;
use ratescope::clock::Clock;
use ratescope::rules::AsyncStore;
use ratescope_tower::internal::text;
use ratescope_tower::{Head, Problem, Proxies, RateLimit, RateLimited};
use std::borrow::Cow;
use std::sync::Arc;
use tower_layer::Layer;

pub(super) type Auth<C> = RateLimited<Pass, DomainStore, Problem, C>;

const METHOD: [&str; 2] = ["x-forwarded-method", "x-original-method"];
const PATH: [&str; 2] = ["x-forwarded-uri", "x-original-uri"];
const HOST: [&str; 2] = ["x-forwarded-host", "host"];

/// Checks that the headers of a trusted `peer` agree. A proxy that writes one of two passes on the other one as the
/// client sent it. It is not known which is which, and so a client could name a path that is not limited.
pub(super) fn agree(
    settings: &HttpSettings,
    peer: IpAddr,
    headers: &HeaderMap,
) -> Result<(), String> {
    let differ = |[one, other]: &[&str; 2]| match (headers.get(*one), headers.get(*other)) {
        (Some(said), Some(too)) => said != too,
        _ => false,
    };
    match [METHOD, PATH].into_iter().find(differ) {
        Some([one, other]) if settings.trusted.contains(peer) => Err(format!(
            "{one} and {other} differ; the proxy must overwrite the one that it writes, and remove the other"
        )),
        _ => Ok(()),
    }
}

/// The layer of a domain.
pub(super) fn layer<C: Clock + Clone>(
    domain: &DomainStore,
    settings: &HttpSettings,
    clock: &C,
) -> Auth<C> {
    let HttpSettings { trusted, client, fields } = settings;
    let of = |names: [&'static str; 2]| {
        let trusted = trusted.clone();
        move |head: Head<'_>| {
            let peer = head.extensions.get::<IpAddr>();
            let is_trusted = peer.is_some_and(|peer| trusted.contains(*peer));
            let mut known = names.iter().filter_map(|name| head.headers.get(*name));
            known.next().filter(|_| is_trusted).map(|value| text(value.as_bytes()).into_owned())
        }
    };
    let (method, path, host) = (of(METHOD), of(PATH), of(HOST));
    let name = domain.rules().domain().to_owned();
    let outages = Arc::clone(domain.witness.teller.outages());
    let mut limit = RateLimit::new(domain.clone())
        .name(&name)
        .outages(outages)
        .clock(clock.clone())
        .behind(Proxies::header(client.clone(), trusted.clone()))
        .field("method", move |head| {
            Some(Cow::Owned(method(head).unwrap_or_else(|| head.method.to_string())))
        })
        .field("path", move |head| {
            let path = path(head).unwrap_or_else(|| head.uri.path().to_owned());
            Some(Cow::Owned(path.split('?').next().unwrap_or_default().to_owned()))
        })
        .field("host", move |head| host(head).map(Cow::Owned));
    for (field, header) in fields {
        limit = limit.header(field, header.clone());
    }
    limit.layer().layer(Pass)
}
