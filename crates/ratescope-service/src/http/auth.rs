//! The layer of `/auth`, which finds the fields of a request in the headers that a proxy writes.

use super::HttpSettings;
use crate::domain::{Domain, DomainStore};
use crate::pass::Pass;
use crate::{Form, Forms};
use core::net::IpAddr;
use http::HeaderMap;
use ratescope::clock::Clock;
use ratescope::policy::is_credential;
use ratescope::rules::{Observed, Store};
use ratescope_tower::internal::text;
use ratescope_tower::{Head, Problem, RateLimit, RateLimitLayer, Unidentified};
use std::borrow::Cow;
use std::sync::Arc;
use tower_layer::Layer;

pub(super) type Auth<C> = RateLimit<Pass, Observed<DomainStore>, Problem, C>;

const METHOD: [&str; 2] = ["x-forwarded-method", "x-original-method"];
const PATH: [&str; 2] = ["x-forwarded-uri", "x-original-uri"];
const HOST: [&str; 2] = ["x-forwarded-host", "host"];

/// Checks that the headers of a trusted `peer` agree. A proxy that writes one header of a pair passes on the other as
/// the client sent it. Which one the proxy writes is unknown, so a client could name a path that is not limited.
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
        Some([one, other]) if settings.proxies.trusts(peer) => Err(format!(
            "{one} and {other} differ; the proxy must overwrite the one that it writes, and remove the other"
        )),
        _ => Ok(()),
    }
}

pub(super) fn layer<C: Clock + Clone>(
    domain: &Domain,
    settings: &HttpSettings,
    forms: &Arc<Forms>,
    clock: &C,
) -> Auth<C> {
    let HttpSettings { proxies, fields, .. } = settings;
    // The value from a trusted proxy, or else from the request itself.
    let of = |names: [&'static str; 2]| {
        let proxies = proxies.clone();
        move |head: Head<'_>| {
            let peer = head.extensions.get::<IpAddr>();
            let is_trusted = peer.is_some_and(|peer| proxies.trusts(*peer));
            let mut known = names.iter().filter_map(|name| head.headers.get(*name));
            known.next().filter(|_| is_trusted).map(|value| text(value.as_bytes()).into_owned())
        }
    };
    let method = of(METHOD);
    let path = of(PATH);
    let host = of(HOST);
    let [of_method, of_path, of_host] = [(); 3].map(|()| Arc::clone(forms));
    let name = domain.store.rules().domain().to_owned();
    let outages = Arc::clone(domain.front.outages());
    let mut limit = RateLimitLayer::new(domain.store.clone())
        .name(&name)
        .outages(outages)
        .clock(clock.clone())
        .behind(proxies.clone())
        .refuse_missing_sources()
        // Envoy's names of the client's address.
        .field_or_ip("remote_address", |_| None)
        .field_or_ip("masked_remote_address", |_| None)
        .field("method", move |head| {
            let method = method(head).unwrap_or_else(|| head.method.to_string());
            Some(Cow::Owned(of_method.read("method", &method).into_owned()))
        })
        .key("path", move |head| {
            let path = path(head).unwrap_or_else(|| head.uri.path().to_owned());
            match of_path.in_doubt("path", &path) {
                Some(what) => Err(Unidentified::doubtful(what)),
                None => Ok(Some(Cow::Owned(of_path.read("path", &path).into_owned()))),
            }
        })
        .field("host", move |head| {
            Some(Cow::Owned(of_host.read("host", &host(head)?).into_owned()))
        });
    for field in ["method", "path", "host"] {
        limit = limit.shown(field);
    }
    for (field, header) in fields {
        let forms = Arc::clone(forms);
        let name = field.clone();
        let header = header.clone();
        // The operator named the header, and the rules mark other secrets.
        if !is_credential(header.as_str()) {
            limit = limit.shown(field);
        }
        if forms.of(field) == Form::Text {
            limit = limit.header(field, header);
            continue;
        }
        limit = limit.field(field, move |head| {
            let value = text(head.headers.get(&header)?.as_bytes());
            Some(Cow::Owned(forms.read(&name, &value).into_owned()))
        });
    }
    limit.layer(Pass)
}
