//! The fields of a request, by which limits can count.
//!
//! | field | what it is |
//! |---|---|
//! | `ip` | the client's address; an IPv6 address stands for its /64, as in logs |
//! | `method` | the method in upper case, such as `GET` |
//! | `path` | the path without the query, in its [normal form](ratescope::event::normal) |
//! | `host` | the host, in lower case and without the port |
//! | `route` | the pattern that the path matches, such as `/users/{id}`: see [`RateLimitLayer::routes`](super::RateLimitLayer::routes) |
//! | `user` | the user that the service's authentication found: see [`RateLimitLayer::user`](super::RateLimitLayer::user) |
//! | any other | a header, an extension, or the result of a closure |
//!
//! A client chooses the spelling of a path: `/%6cogin`, `//login` and `/x/../login` are `/login` here, but `/login/`
//! and `/LOGIN` are other paths, and a router may read any of these differently. So a rule for a handler should be
//! about the route, which the router finds by the path as it was sent.
//! [`RateLimitLayer::refuse_doubtful_paths`](super::RateLimitLayer::refuse_doubtful_paths) is for services that read paths in
//! ways of their own, and [`RateLimitLayer::keep_slashes`](super::RateLimitLayer::keep_slashes) for services that distinguish
//! `//` from `/`.
//!
//! # Missing sources
//! A request may lack a field: one without login has no `user`. A descriptor for `user` does not apply to it, and in a
//! limit `per user` all such requests share one key. But if the layer has no source for a field at all, it limits all
//! clients together instead of nobody: the field is `unknown` in every request, and all share one key. This also holds
//! for `ip` when the server does not say who is connected. Rules for a certain value of such a field never apply. The
//! layer logs a warning when it is laid around a service, and at the first request after a reload. A service that
//! should not start then calls [`RateLimitLayer::check_sources`](super::RateLimitLayer::check_sources). At the first request that
//! shares a key as it lacks a field which has a source, the layer logs a warning, too.
//!
//! # Values that nobody has
//! A rule for a route that does not exist limits nobody, and a tier that no rule is for is not limited; both may be
//! slips. Where the values of a field are known, by [`RateLimitLayer::routes`](super::RateLimitLayer::routes),
//! [`RateLimitLayer::values`](super::RateLimitLayer::values) or [`RateLimitLayer::limited_values`](super::RateLimitLayer::limited_values),
//! the layer warns of both in the same way, and `check_sources` refuses. So it does with rules for a path, a host, a
//! method or an address that is not in its normal form, as `//login` or `API.example.org`: no request has this value.
//!
//! # Secrets
//! The value of a header may be a key or a token, and so may the text that a closure finds. So the texts of keys, in
//! logs, on Redis and in Live, have only a [hash](ratescope::policy::Per) of them, unless
//! [`RateLimitLayer::shown`](super::RateLimitLayer::shown) says that the field is no secret. In clear are the fields
//! `ip`, `method`, `path`, `host` and `route`, and extensions, such as the name of a user; rules mark other secrets, as
//! in `hash(user)`.
//!
//! # Fields that must be there
//! A field that a request must have, such as the key of an API, comes from a source that may fail: see
//! [`RateLimitLayer::key`](super::RateLimitLayer::key).

use super::proxies::Proxies;
use super::report::{self, NotNormal, not_normal};
use super::unidentified::Unidentified;
use core::fmt::{self, Write};
use core::net::{IpAddr, SocketAddr};
use http::header::{HOST, HeaderName};
use http::{Extensions, HeaderMap, Method, Request, Uri};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use ratescope::address::{IPV6_PREFIX, canonical, parse};
use ratescope::event::{Fields, normal};
use ratescope::internal::Made;
use ratescope::rules::{Rule, Rules, Step, Value};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::{Arc, Once, OnceLock};

/// The value of a field that no source gives.
pub(super) const UNKNOWN: &str = "unknown";

/// The head of a request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target.
    pub uri: &'a Uri,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The values that the server and the outer layers added.
    pub extensions: &'a Extensions,
}

impl<'a> Head<'a> {
    /// The head of `request`.
    pub fn new<B>(request: &'a Request<B>) -> Self {
        Head {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

#[derive(Clone)]
pub(super) struct Sources {
    /// The source of the peer's address; `None` for the extensions that a service may set itself.
    pub(super) peer: Option<Peer>,
    pub(super) proxies: Option<Proxies>,
    pub(super) ipv6_prefix: u8,
    /// Keeps runs of slashes apart, in place of reading them as one.
    pub(super) keep_slashes: bool,
    /// Each source with the name of its field.
    fields: Vec<(String, FieldSource)>,
    /// True if any source may fail.
    pub(super) may_fail: bool,
    /// Refuses requests that are counted by a field without a source, in place of counting them together.
    pub(super) refuse_missing: bool,
    /// The fields that are no secrets, wherever they come from.
    pub(super) shown: Vec<String>,
    /// The values that fields can have.
    pub(super) known: Vec<KnownValues>,
    /// Logs once that the peer is unknown.
    no_peer: Arc<Once>,
}

/// Finds the address of the peer. The outer `None` means that the server did not say who is connected; the inner one,
/// that the peer has no address, as on a Unix socket.
pub(super) type Peer = Arc<dyn Fn(&Extensions) -> Option<Option<IpAddr>> + Send + Sync>;

/// Finds a text in the head of a request.
pub(super) type Find = Arc<dyn for<'a> Fn(Head<'a>) -> Option<Cow<'a, str>> + Send + Sync>;

/// Finds a text that a request must have.
pub(super) type Demand =
    Arc<dyn for<'a> Fn(Head<'a>) -> Result<Option<Cow<'a, str>>, Unidentified> + Send + Sync>;

#[derive(Clone)]
pub(super) enum FieldSource {
    Header(HeaderName),
    /// The router, which maps each pattern to itself, and the patterns.
    Routes(matchit::Router<String>, KnownValues),
    Closure(Find),
    Extension(Find),
    Demand(Demand),
    /// The path, unless servers read it in different ways.
    UndoubtedPath,
    /// The closure, or else the client's address.
    OrIp(Find),
}

/// The text that a source found, if any, or the reason to refuse the request.
type Found<'a> = Result<Option<Cow<'a, str>>, Box<Unidentified>>;

impl Default for Sources {
    fn default() -> Self {
        Sources {
            peer: None,
            proxies: None,
            ipv6_prefix: IPV6_PREFIX,
            keep_slashes: false,
            fields: Vec::new(),
            may_fail: false,
            refuse_missing: false,
            shown: Vec::new(),
            known: Vec::new(),
            no_peer: Arc::new(Once::new()),
        }
    }
}

impl Sources {
    /// Adds a source, or replaces the one of the same name.
    pub(super) fn add(&mut self, field: &str, source: FieldSource) {
        self.may_fail |= source.may_fail();
        self.fields.retain(|(known, _)| known != field);
        self.fields.push((field.to_owned(), source));
    }

    /// The source of a field; `None` for those that need none, such as `path`, and for unknown ones.
    pub(super) fn source(&self, field: &str) -> Option<&FieldSource> {
        self.fields.iter().find(|(known, _)| known == field).map(|(_, source)| source)
    }

    /// True if a field may be the client's address.
    pub(super) fn may_be_ip(&self, field: &str) -> bool {
        match self.source(field) {
            Some(source) => matches!(source, FieldSource::OrIp(_)),
            None => field == "ip",
        }
    }

    /// The places of the sources for `fields` that may fail.
    pub(super) fn demanding(&self, fields: &[&str]) -> Vec<usize> {
        let demands = |(_, (name, source)): &(usize, &(String, FieldSource))| {
            source.may_fail() && fields.contains(&name.as_str())
        };
        self.fields.iter().enumerate().filter(demands).map(|(place, _)| place).collect()
    }

    /// The fields of `rules` that no source gives. Without [`peer`](super::RateLimitLayer::peer), only a request shows
    /// whether `ip` has a source.
    pub(super) fn missing<'r>(&self, rules: &'r Rules) -> impl Iterator<Item = &'r str> {
        let known = |field: &str| {
            matches!(field, "ip" | "method" | "path" | "host") || self.source(field).is_some()
        };
        rules.fields().into_iter().filter(move |field| !known(field))
    }

    /// The values of rules that no request has, since the layer sees fields in their normal form.
    pub(super) fn not_normal<'r>(&self, rules: &'r Rules) -> impl Iterator<Item = NotNormal<'r>> {
        not_normal(rules, |field, value: &'r str| match (field, self.source(field)) {
            ("path", None | Some(FieldSource::UndoubtedPath)) => {
                normal::path(value.as_bytes(), self.keep_slashes)
            }
            ("host", None) => normal::host(value),
            ("method", None) => normal::method(value),
            ("ip", None) => match parse(value) {
                Some(ip) => Cow::Owned(Made::of(ip, self.ipv6_prefix).as_str().to_owned()),
                None => Cow::Borrowed(value),
            },
            _ => Cow::Borrowed(value),
        })
    }

    /// The rules for values that their field never has, and the known values without a rule.
    pub(super) fn unmatched(&self, rules: &Rules) -> Vec<String> {
        let routes = self.fields.iter().filter_map(|(_, source)| match source {
            FieldSource::Routes(_, known) => Some(known),
            _ => None,
        });
        routes.chain(&self.known).flat_map(|known| known.unmatched(rules)).collect()
    }

    /// The client's address; the outer `None` if the server does not say who is connected.
    fn client(&self, head: &Head<'_>) -> Option<Option<IpAddr>> {
        let extensions = head.extensions;
        let peer = match &self.peer {
            Some(peer) => peer(extensions)?,
            None => {
                let socket = extensions.get::<SocketAddr>().map(SocketAddr::ip);
                Some(socket.or_else(|| extensions.get::<IpAddr>().copied())?)
            }
        };
        let of = |peer| match &self.proxies {
            Some(proxies) => proxies.client(peer, head.headers),
            None => canonical(peer),
        };
        Some(peer.map(of))
    }

    /// Writes the client's address; nothing if there is none.
    fn write_ip(&self, head: &Head<'_>, ip: &mut Made) {
        match self.client(head) {
            Some(Some(address)) => ip.write_address(address, self.ipv6_prefix),
            Some(None) => {}
            None => {
                self.no_peer.call_once(report::no_peer);
                // It fits.
                let _ = ip.write_str(UNKNOWN);
            }
        }
    }
}

/// The values that a field can have.
#[derive(Clone)]
pub(super) struct KnownValues {
    pub(super) field: String,
    pub(super) values: Vec<String>,
    /// True if each of them should have a rule.
    pub(super) all_limited: bool,
}

impl KnownValues {
    fn unmatched(&self, rules: &Rules) -> Vec<String> {
        let KnownValues { field, values, all_limited } = self;
        let of_field = |step: &&Step| step.key == *field;
        let steps = || rules.rules().iter().flat_map(Rule::path).filter(of_field);
        let never = |step: &Step| {
            let is_text = matches!(step.value, Value::Is(_) | Value::Like(_));
            is_text && !values.iter().any(|value| step.value.matches(value))
        };
        let of_rules = rules.rules().iter().filter_map(|rule| {
            let step = rule.path().iter().filter(of_field).find(|step| never(step))?;
            Some(format!(
                "the rule {} never applies, as {step} is none of the {field}s",
                rule.name()
            ))
        });
        let is_free = |value: &&String| !steps().any(|step| step.value.matches(value));
        let free = values.iter().filter(|value| *all_limited && is_free(value));
        let of_values = free.map(|value| format!("no rule is for the {field} {value}"));
        of_rules.chain(of_values).collect()
    }
}

/// Fields and values of rules that the sources of a layer do not give: see
/// [`RateLimitLayer::check_sources`](super::RateLimitLayer::check_sources).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingSources {
    /// The names of the fields that rules are about and no source gives, in the order of the rules.
    pub fields: Vec<String>,
    /// Rules for a value that its field never has, and values without a rule, each in words: see
    /// [`RateLimitLayer::values`](super::RateLimitLayer::values).
    pub values: Vec<String>,
}

impl fmt::Display for MissingSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields.join(", ");
        let fields = (!fields.is_empty()).then(|| {
            format!(
                "the layer has no source for {fields}, which rules are about; RateLimitLayer::peer gives ip, \
                 RateLimitLayer::user gives user, and RateLimitLayer::field gives any other field"
            )
        });
        let all: Vec<String> = fields.into_iter().chain(self.values.iter().cloned()).collect();
        f.write_str(&all.join("\n"))
    }
}

impl core::error::Error for MissingSources {}

impl FieldSource {
    pub(super) fn of_extension<T: Send + Sync + 'static>(
        text: impl for<'a> Fn(&'a T) -> &'a str + Send + Sync + 'static,
    ) -> Self {
        FieldSource::Extension(Arc::new(move |head| Some(text(head.extensions.get::<T>()?).into())))
    }

    /// True if a request may be refused because it lacks the field.
    fn may_fail(&self) -> bool {
        matches!(self, FieldSource::Demand(_) | FieldSource::UndoubtedPath)
    }

    fn find<'a>(&'a self, head: Head<'a>, keep_slashes: bool) -> Found<'a> {
        Ok(match self {
            FieldSource::Header(name) => head.headers.get(name).map(|value| text(value.as_bytes())),
            FieldSource::Routes(routes, _) => {
                let found = routes.at(head.uri.path()).ok();
                found.map(|found| Cow::Borrowed(found.value.as_str()))
            }
            FieldSource::Closure(find) | FieldSource::Extension(find) => find(head),
            FieldSource::Demand(find) => find(head)?,
            FieldSource::UndoubtedPath => {
                match normal::doubt(head.uri.path().as_bytes(), keep_slashes) {
                    Some(what) => return Err(Box::new(Unidentified::doubtful(what))),
                    None => Some(path(head.uri, keep_slashes)),
                }
            }
            FieldSource::OrIp(find) => find(head).filter(|key| !key.is_empty()).map(apart_from_ip),
        })
    }
}

/// Marks a key that reads as an address, a group of addresses or [`UNKNOWN`], so that it never equals one.
fn apart_from_ip(key: Cow<'_, str>) -> Cow<'_, str> {
    let address = key.split_once('/').map_or(&*key, |(address, _)| address);
    if parse(address).is_some() || key == UNKNOWN { key + NO_TEXT } else { key }
}

fn path<'a>(uri: &'a Uri, keep_slashes: bool) -> Cow<'a, str> {
    normal::path(uri.path().as_bytes(), keep_slashes)
}

/// The host that a request is for.
fn host<'a>(head: Head<'a>) -> Option<Cow<'a, str>> {
    if let Some(authority) = head.uri.authority() {
        return Some(normal::host(authority.host()));
    }
    let given = head.headers.get(HOST).map(|host| text(host.as_bytes()))?;
    Some(match given {
        Cow::Borrowed(given) => normal::host(given),
        Cow::Owned(given) => Cow::Owned(normal::host(&given).into_owned()),
    })
}

/// The text of a header. Bytes that are not UTF-8 are escaped, and the text ends with the character U+007F, which no
/// header can have: so different headers stay different keys, and patterns still match the beginning.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(percent_encode(bytes, ESCAPED).to_string() + NO_TEXT),
    }
}

/// The bytes of which [`text`] made a text.
pub fn bytes(text: &str) -> Cow<'_, [u8]> {
    match text.strip_suffix(NO_TEXT) {
        Some(escaped) => percent_encoding::percent_decode_str(escaped).into(),
        None => Cow::Borrowed(text.as_bytes()),
    }
}

/// Ends the text of a header that is not UTF-8.
const NO_TEXT: &str = "\u{7f}";

/// The fields of one request. Each is found when it is first needed.
pub(super) struct RequestFields<'a> {
    sources: &'a Sources,
    head: &'a Head<'a>,
    /// The address, if it was known that rules are about it.
    ip: Made,
    by_ip: bool,
    later_ip: OnceLock<Box<Made>>,
    /// The normal forms of the method, the path and the host, where one differs from the text that came.
    made: OnceLock<Box<[OnceLock<Box<str>>; 3]>>,
    found: SmallVec<[OnceLock<Found<'a>>; 2]>,
}

impl<'a> RequestFields<'a> {
    /// The fields of a request, before it is [read](Self::read); `by_ip` says whether rules are about its address.
    #[inline(always)]
    pub(super) fn new(sources: &'a Sources, head: &'a Head<'a>, by_ip: bool) -> Self {
        RequestFields {
            sources,
            head,
            ip: Made::EMPTY,
            by_ip,
            later_ip: OnceLock::new(),
            made: OnceLock::new(),
            found: SmallVec::new(),
        }
    }

    /// Reads the fields that are always needed. Not a part of `new`: moving the fields right after the address was
    /// written would stall on that write. An address made when it is first needed costs a tenth of a request without
    /// headers.
    #[inline(always)]
    pub(super) fn read(&mut self) -> &Self {
        for _ in &self.sources.fields {
            self.found.push(OnceLock::new());
        }
        if self.by_ip {
            self.sources.write_ip(self.head, &mut self.ip);
        }
        self
    }

    fn ip(&self) -> Option<Text<'_>> {
        // The rules may have been replaced since.
        let later = || {
            let mut ip = Box::new(Made::EMPTY);
            self.sources.write_ip(self.head, &mut ip);
            ip
        };
        let ip = if self.by_ip { &self.ip } else { self.later_ip.get_or_init(later) };
        if ip.as_bytes().is_empty() { None } else { Some(Text::Ip(ip)) }
    }

    fn find(&self, name: &str) -> Option<Text<'_>> {
        let sources = self.sources.fields.iter().zip(&self.found);
        for ((known, source), found) in sources {
            if known == name {
                let found = found
                    .get_or_init(|| source.find(*self.head, self.sources.keep_slashes))
                    .as_ref()
                    .ok()?;
                return match (found, source) {
                    (None, FieldSource::OrIp(_)) => self.ip(),
                    (found, _) => found.as_deref().map(Text::Is),
                };
            }
        }
        match name {
            "ip" => self.ip(),
            "method" => Some(self.kept(0, normal::method(self.head.method.as_str()))),
            "path" => Some(self.kept(1, path(self.head.uri, self.sources.keep_slashes))),
            "host" => host(*self.head).map(|host| self.kept(2, host)),
            _ => Some(Text::Is(UNKNOWN)),
        }
    }

    /// Keeps a text that was made for this request. Most texts came in their normal form, and take no memory.
    fn kept(&self, place: usize, text: Cow<'a, str>) -> Text<'_> {
        Text::Is(match text {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => match self.made.get_or_init(Box::default).get(place) {
                Some(made) => made.get_or_init(|| text.into_boxed_str()),
                None => "",
            },
        })
    }
}

impl RequestFields<'_> {
    /// True if the server did not say who is connected.
    #[inline(always)]
    pub(super) fn is_peerless(&self) -> bool {
        self.by_ip && self.ip.as_bytes() == UNKNOWN.as_bytes()
    }

    /// The first failure among the sources at these indices that were asked, with its field.
    pub(super) fn failure(&self, places: &[usize]) -> Option<(&str, &Unidentified)> {
        places.iter().find_map(|&place| {
            let failure = self.found.get(place)?.get()?.as_ref().err()?;
            Some((self.sources.fields.get(place)?.0.as_str(), &**failure))
        })
    }
}

impl RequestFields<'_> {
    /// True if the field of the source at this place may come from a header, and nobody said that it is no secret.
    fn is_secret_at(&self, place: usize) -> bool {
        let Some((name, source)) = self.sources.fields.get(place) else { return false };
        let may_be_secret = match source {
            FieldSource::Header(_) | FieldSource::Closure(_) | FieldSource::Demand(_) => true,
            // The client's address in its place is none.
            FieldSource::OrIp(_) => {
                self.find(name);
                let found = self.found.get(place).and_then(OnceLock::get);
                !matches!(found, Some(Ok(None)))
            }
            FieldSource::Extension(_) | FieldSource::Routes(..) | FieldSource::UndoubtedPath => {
                false
            }
        };
        may_be_secret && !self.sources.shown.contains(name)
    }
}

/// The text of a field.
enum Text<'a> {
    Is(&'a str),
    Ip(&'a Made),
}

impl Fields for RequestFields<'_> {
    fn is_secret(&self, name: &str) -> bool {
        let known = self.sources.fields.iter().position(|(known, _)| known == name);
        known.is_some_and(|place| self.is_secret_at(place))
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.find(name).map(|text| match text {
            Text::Is(text) => text,
            Text::Ip(ip) => ip.as_str(),
        })
    }

    fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.find(name).map(|text| match text {
            Text::Is(text) => text.as_bytes(),
            Text::Ip(ip) => ip.as_bytes(),
        })
    }
}
