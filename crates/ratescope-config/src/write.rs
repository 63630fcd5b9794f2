//! A policy in the syntax of a server.

use crate::{
    caddy, cloudflare, descriptors, envoy, exim, fail2ban, haproxy, nftables, nginx, rust, traefik,
};
use core::fmt;
use core::str::FromStr;
use ratescope::internal::named;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::nginx::{Delay, Nginx};
use ratescope::policy::{Limit, Policy};
use ratescope::rate::Rate;
use ratescope::text::ParseError;
use ratescope::time::Span;

/// The server or library that a configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Exim: conditions of an ACL.
    Exim,
    /// nginx: `limit_req`.
    Nginx,
    /// HAProxy: stick tables and rules of a frontend.
    Haproxy,
    /// Envoy: the filter `local_ratelimit`.
    Envoy,
    /// Descriptors for Lyft's rate limit service, which Envoy calls.
    Descriptors,
    /// Caddy with the plugin `mholt/caddy-ratelimit`.
    Caddy,
    /// Traefik: a middleware.
    Traefik,
    /// Cloudflare: a rule with its expression, as its API takes it.
    Cloudflare,
    /// Rust code with this crate.
    Rust,
    /// nftables: meters of new connections.
    Nftables,
    /// fail2ban: a jail.
    Fail2ban,
}

/// A configuration, with warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Configuration {
    /// The text to paste; its comments say where.
    pub text: String,
    /// How the server differs from the policy or from what people expect, one sentence each.
    pub warnings: Vec<String>,
}

/// How a server should count the addresses of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The length in bits of the prefix that IPv4 addresses of one client share.
    pub ipv4_prefix: u8,
    /// The length in bits of the prefix that IPv6 addresses of one client share; with 128 each address is
    /// a client of its own.
    pub ipv6_prefix: u8,
    /// Clients come through proxies in a private network, which write X-Forwarded-For.
    pub forwarded: bool,
}

/// Each peer is a client of its own, without proxies.
impl Default for Addresses {
    fn default() -> Self {
        Addresses { ipv4_prefix: 32, ipv6_prefix: 128, forwarded: false }
    }
}

/// The networks of trusted proxies: private, loopback and link-local, which no packet from the internet has. A log is
/// read by the same rule.
pub(crate) const PROXIES: [&str; 8] = [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
    "::1",
];

/// Why a target cannot express a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotSay {
    target: Target,
    limit: Option<String>,
    problem: String,
}

/// A match on a target, in which `$server` is the module of the target. Unlike a table of functions, it lets the page's
/// build drop the modules that it does not call.
macro_rules! by_module {
    ($target:expr, $server:ident => $call:expr) => {
        by_module!(
            $target, $server => $call;
            Exim exim,
            Nginx nginx,
            Haproxy haproxy,
            Envoy envoy,
            Descriptors descriptors,
            Caddy caddy,
            Traefik traefik,
            Cloudflare cloudflare,
            Rust rust,
            Nftables nftables,
            Fail2ban fail2ban
        )
    };
    ($target:expr, $server:ident => $call:expr; $($variant:ident $module:ident),*) => {
        match $target {
            $($crate::Target::$variant => {
                use $crate::$module as $server;
                $call
            })*
        }
    };
}
pub(crate) use by_module;

impl Target {
    /// Every target.
    pub const ALL: [Target; 11] = [
        Target::Exim,
        Target::Nginx,
        Target::Haproxy,
        Target::Envoy,
        Target::Descriptors,
        Target::Caddy,
        Target::Traefik,
        Target::Cloudflare,
        Target::Rust,
        Target::Nftables,
        Target::Fail2ban,
    ];

    /// Writes `policy` in the syntax of the target, where each address is a client and each event costs 1.
    ///
    /// # Errors
    /// When the target cannot express it.
    pub fn configure(self, policy: &Policy) -> Result<Configuration, CannotSay> {
        self.configure_for(policy, Addresses::default(), None)
    }

    /// Writes `policy` in the syntax of the target, for clients whose addresses are counted as `addresses` says, and
    /// for events that cost the value of the field `cost`, if there is one. Only Exim counts costs; for other targets
    /// each event costs 1.
    ///
    /// # Errors
    /// When the target cannot express it.
    pub fn configure_for(
        self,
        policy: &Policy,
        addresses: Addresses,
        cost: Option<&str>,
    ) -> Result<Configuration, CannotSay> {
        let limits = policy.limits();
        let cannot = |(limit, problem)| CannotSay { target: self, limit, problem };
        let admits_nothing = |limit: &&Limit| match &limit.limiter {
            AnyLimiter::TokenBucket(one) => one.burst() == 0.0,
            AnyLimiter::Gcra(one) => one.burst() == 0.0,
            AnyLimiter::LeakyBucket(one) => one.queue() == 0.0,
            _ => false,
        };
        // To some servers a rate of 0 means no limit.
        if let Some(limit) = limits.iter().find(admits_nothing)
            && self != Target::Rust
        {
            let problem = "it admits nothing, which is no limit on a rate there".to_owned();
            return Err(cannot((Some(limit.to_string()), problem)));
        }
        let addresses = addresses.of(limits);
        let mut notes = Notes::default();
        let text = match self {
            Target::Exim => exim::write(limits, addresses, cost, &mut notes),
            Target::Nginx => nginx::write(limits, addresses, &mut notes),
            Target::Haproxy => haproxy::write(limits, addresses, &mut notes),
            Target::Envoy => envoy::write(limits, addresses, &mut notes),
            Target::Descriptors => descriptors::write(limits, addresses, &mut notes),
            Target::Caddy => caddy::write(limits, addresses, &mut notes),
            Target::Traefik => traefik::write(limits, addresses, &mut notes),
            Target::Cloudflare => cloudflare::write(limits, &mut notes),
            Target::Rust => Ok(rust::write(policy)),
            Target::Nftables => nftables::write(limits, addresses, &mut notes),
            Target::Fail2ban => fail2ban::write(limits, addresses, &mut notes),
        };
        text.map(|text| Configuration { text, warnings: notes.0 }).map_err(cannot)
    }

    /// Tells whether each machine counts by itself, not all machines together.
    pub const fn counts_alone(self) -> bool {
        !matches!(self, Target::Descriptors | Target::Cloudflare | Target::Rust)
    }

    /// Tells whether it counts the values of a field as costs.
    pub fn counts(self, cost: &str) -> bool {
        self == Target::Exim && exim::counted(Some(cost)).is_some()
    }

    /// Tells whether the target has a bucket of this rate and burst. nginx has few rates. Traefik drops silent senders
    /// soon, so it has large bursts only at high rates. nftables has whole rates and bursts up to 65,535. For other
    /// targets this is not checked, and `true`.
    pub fn has_bucket(self, rate: Rate, burst: f64) -> bool {
        match self {
            Target::Nginx => Nginx::new(rate, 0, Delay::Never).is_ok(),
            Target::Traefik => traefik::check_bucket(rate, burst).is_ok(),
            Target::Nftables => nftables::rate_text(rate, burst).is_ok(),
            _ => true,
        }
    }

    /// The name for people.
    pub const fn title(self) -> &'static str {
        self.names().title
    }

    /// Where its configuration goes.
    pub const fn file(self) -> &'static str {
        self.names().file
    }

    const fn names(self) -> Names {
        by_module!(self, server => server::NAMES)
    }
}

/// The names of a target.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    /// Its text form.
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) title: &'static str,
    /// Where its configuration goes.
    pub(crate) file: &'static str,
}

/// The text; or the reason why it cannot be written, with the limit that is the reason, if any.
pub(crate) type Written = Result<String, (Option<String>, String)>;

/// The warnings so far, each once.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<String>);

impl Notes {
    pub(crate) fn add(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    /// Warns that a limiter is written as the server's `own`, with the `difference`.
    pub(crate) fn instead(&mut self, limit: &Limit, own: &impl fmt::Display, difference: &str) {
        self.add(format!("{} is written as \"{own}\", {difference}", limit.limiter));
    }
}

/// The rate and the burst of a token bucket; `None` for another limiter.
pub(crate) fn token_bucket(limiter: &AnyLimiter) -> Option<(Rate, f64)> {
    match limiter {
        AnyLimiter::TokenBucket(bucket) => Some((bucket.rate(), bucket.burst())),
        AnyLimiter::Gcra(bucket) => Some((bucket.rate(), bucket.burst())),
        _ => None,
    }
}

pub(crate) fn is_whole(number: f64) -> bool {
    number >= 1.0 && number == libm::floor(number)
}

/// The events of a rate in a span, if they are, up to rounding errors, a whole number from 1.
pub(crate) fn whole_count(rate: Rate, span: Span) -> Option<f64> {
    let count = rate.count() * (span.as_secs_f64() / rate.per().as_secs_f64());
    let whole = libm::round(count);
    (whole >= 1.0 && (count - whole).abs() < count * 1e-12).then_some(whole)
}

/// Joins the texts that `write` makes of each limit and its number, from 1.
pub(crate) fn each(
    limits: &[Limit],
    mut write: impl FnMut(usize, &Limit) -> Result<String, String>,
) -> Written {
    let numbered = (1..).zip(limits);
    let written = numbered
        .map(|(n, limit)| write(n, limit).map_err(|problem| (Some(limit.to_string()), problem)));
    written.collect()
}

/// As in `nginx`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().name)
    }
}

impl FromStr for Target {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let names = Target::ALL.map(|target| (target, target.names().name));
        named(&names, text, "not a target; write one of {}")
    }
}

impl CannotSay {
    /// The target that cannot express it.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// The feature that the target lacks, and the remedy.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for CannotSay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot say ", self.target.title())?;
        match &self.limit {
            Some(limit) => write!(f, "\"{limit}\": {}", self.problem),
            None => write!(f, "these limits together: {}", self.problem),
        }
    }
}

impl core::error::Error for CannotSay {}
