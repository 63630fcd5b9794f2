//! A policy as tables and rules.

use crate::Addresses;
use crate::field::{Field, fields, joined, no_user};
use crate::write::{Notes, PROXIES, Written, each};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::haproxy::{Counts, Haproxy};
use ratescope::policy::{Limit, Per};

/// The number of keys of a request that HAProxy tracks by default.
const COUNTERS: usize = 3;

/// The longest `expire` of a table, in milliseconds.
const LONGEST_EXPIRE: f64 = i32::MAX as f64;

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    if limits.len() > COUNTERS {
        let problem = "it follows three keys of a request at most, unless it is told otherwise";
        return Err((None, problem.to_owned()));
    }
    let mut tracks = String::new();
    let mut denies = String::new();
    let mut counts = String::new();
    let tables = each(limits, |n, limit| {
        let AnyLimiter::Haproxy(own) = &limit.limiter else {
            let problem = "it counts in windows of its own; write a limit such as haproxy 20/10s";
            return Err(problem.to_owned());
        };
        let key = Key::new(&limit.per, n, addresses, notes)?;
        let sc = n - 1;
        let most = own.limit().count();
        let rule = |text: &str| format!("  http-request {text}\n");
        if let Some(set) = &key.set {
            tracks += &rule(set);
        }
        tracks += &rule(&format!("track-sc{sc} {} table limit{n}", key.track));
        let condition = match own.counts() {
            Counts::All => format!("sc_http_req_rate({sc}) gt {most}"),
            Counts::Allowed => format!("sc_gpc0_rate({sc}) ge {most}"),
        };
        denies += &rule(&format!("deny deny_status 429 if {{ {condition} }}"));
        if own.counts() == Counts::Allowed {
            counts += &rule(&format!("sc-inc-gpc0({sc})"));
        }
        warn(own, notes);
        table(n, own, key.kind)
    })?;
    let client = if addresses.forwarded { real_address(notes) } else { String::new() };
    Ok(format!("{tables}# In the frontend:\n{client}{tracks}{denies}{counts}"))
}

/// The rule that takes the client's address from a proxy's header.
fn real_address(notes: &mut Notes) -> String {
    notes.add(
        "HAProxy takes the last address of X-Forwarded-For; behind two proxies write -2 instead of -1",
    );
    let proxies = PROXIES.join(" ");
    format!(
        "  # The client as its proxy names it. Proxies must be in these networks, and nobody else:\n  \
         http-request set-src req.hdr_ip(x-forwarded-for,-1) if {{ src {proxies} }}\n"
    )
}

/// The address of a client, or its network.
pub(super) fn src(addresses: Addresses) -> String {
    let Addresses { ipv4_prefix, ipv6_prefix, .. } = addresses;
    if addresses.has_networks() {
        format!("src,ipmask({ipv4_prefix},{ipv6_prefix})")
    } else {
        "src".to_owned()
    }
}

pub(super) fn table(n: usize, own: &Haproxy, kind: &str) -> Result<String, String> {
    let millis = libm::round(own.limit().per().as_secs_f64() * 1e3);
    if 2.0 * millis + 1000.0 > LONGEST_EXPIRE {
        return Err(
            "it keeps an entry for 24.8 days at most, and two periods are longer".to_owned()
        );
    }
    // A count may still be read a millisecond after two periods.
    let period = millis;
    let expire = 2.0 * millis + 1000.0;
    let store = match own.counts() {
        Counts::All => format!("http_req_rate({period}ms)"),
        Counts::Allowed => format!("gpc0,gpc0_rate({period}ms)"),
    };
    Ok(format!(
        "backend limit{n}\n  stick-table type {kind} size 100k expire {expire}ms store {store}\n\n"
    ))
}

fn warn(own: &Haproxy, notes: &mut Notes) {
    let limit = own.limit();
    if own.counts() == Counts::Allowed && limit.count() == 1.0 {
        let secs = limit.per().as_secs_f64();
        notes.add(format!(
            "HAProxy does not let a count of 1 fade: 1 in {secs}s lets one through each {}s",
            2.0 * secs
        ));
    }
}

/// The key of a table: its type, the expression to track, and a rule to run before.
struct Key {
    pub(super) kind: &'static str,
    track: String,
    set: Option<String>,
}

impl Key {
    pub(super) fn new(
        per: &Per,
        n: usize,
        addresses: Addresses,
        notes: &mut Notes,
    ) -> Result<Self, String> {
        let fields = fields(per)?;
        joined(&fields).into_iter().for_each(|note| notes.add(note));
        if fields == [Field::Ip] {
            return Ok(Key { kind: "ipv6", track: src(addresses), set: None });
        }
        if fields.is_empty() {
            return Ok(Key { kind: "integer", track: "int(0)".to_owned(), set: None });
        }
        let names =
            fields.iter().map(|field| name(field, addresses)).collect::<Result<Vec<_>, _>>()?;
        // The key is a digest: a table truncates a longer text, and does not count a request without a text.
        Ok(Key {
            kind: "binary len 20",
            track: format!("var(txn.limit{n}),sha1"),
            set: Some(format!("set-var-fmt(txn.limit{n}) \"{}\"", names.join(" "))),
        })
    }
}

pub(super) fn name(field: &Field, addresses: Addresses) -> Result<String, String> {
    Ok(match field {
        Field::Ip => format!("%[{}]", src(addresses)),
        Field::Host => "%[req.fhdr(host)]".to_owned(),
        Field::Path => "%[path]".to_owned(),
        Field::Method => "%[method]".to_owned(),
        Field::User => return Err(no_user()),
        Field::Header(header) => format!("%[req.fhdr({header})]"),
    })
}
