//! The keys of clients on the admin port, as JSON: the lists, one key, its reset, and exceptions for it.

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use ratescope::clock::Clock;
use ratescope::event::{Event, Fields};
use ratescope::policy::KeySecret;
use ratescope::rules::{Exception, TopKey};
use ratescope::{Retry, Span, Time};
use ratescope_service::{KeyOf, KeyOrder, KeyState, NoKey, Service};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::net::SocketAddr;

/// The keys of each list, unless `most` says how many.
const USUAL: usize = 20;

/// The most keys of a list.
const MOST: usize = 512;

/// The most fields of a key.
const FIELDS: usize = 64;

/// Who asks.
pub(super) struct By<'a> {
    /// The name of the token; `None` where none is needed.
    pub(super) token: Option<&'a str>,
    pub(super) peer: Option<SocketAddr>,
}

/// The answer to a request about keys: the status, and JSON.
pub(super) type Answer = (StatusCode, Bytes);

/// Answers `GET /keys?by=refused&most=20`; without `by`, with all lists. `hides` shows hashes in place of keys.
pub(super) fn lists(service: &Service, query: &str, hides: Option<&KeySecret>) -> Answer {
    let (mut orders, mut most, mut exceptions) = (ORDERS.to_vec(), USUAL, true);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "by" => {
                orders.retain(|(known, _)| *known == value);
                exceptions &= value == "exceptions";
            }
            "most" => match value.parse() {
                Ok(n) if (1..=MOST).contains(&n) => most = n,
                _ => return wrong(&format!("most must be a number from 1 to {MOST}")),
            },
            _ => return wrong("there are by and most"),
        }
    }
    if orders.is_empty() && !exceptions {
        return wrong("by must be busiest, refused, fullest or exceptions");
    }
    let hidden =
        |subject: &str| hides.map_or_else(|| subject.to_owned(), |secret| secret.hashed(subject));
    let row = |key: &TopKey| {
        let subject = hidden(&key.key.subject);
        json!({
            "rule": key.key.rule, "key": subject, "events": key.events, "error": key.error,
            "level": key.outcome.level, "limit": key.outcome.limit, "at": key.time.as_micros() as f64 / 1e6,
        })
    };
    let list = |order| Value::from_iter(service.keys(order, most).iter().map(row));
    let lists = orders.into_iter().map(|(name, order)| (name.to_owned(), list(order)));
    let mut lists: serde_json::Map<String, Value> = lists.collect();
    if exceptions {
        let all = service.exceptions();
        let each = all.iter().map(|(_, one)| excepted(one, hidden(&one.subject)));
        lists.insert("exceptions".to_owned(), each.collect());
    }
    (StatusCode::OK, text(&Value::Object(lists)))
}

const ORDERS: [(&str, KeyOrder); 3] = [
    ("busiest", KeyOrder::Busiest),
    ("refused", KeyOrder::Refused),
    ("fullest", KeyOrder::Fullest),
];

fn excepted(one: &Exception, key: String) -> Value {
    let Exception { limit, limiter, until, by, .. } = one;
    let until = until.as_micros() as f64 / 1e6;
    json!({"rule": limit, "key": key, "limit": limiter.to_string(), "until": until, "by": by})
}

/// The longest time of an exception: a year.
const LONGEST: Span = Span::from_hours(24 * 366);

/// Answers `GET /key?domain=web&rule=web:user&user=ann`, and the same as a DELETE, which resets the key. A PUT with
/// `limit=500/1m&for=1d` gives the key another limit for a while, and `limit=usual` ends that.
pub(super) async fn one(service: &Service, method: &Method, query: &str, by: &By<'_>) -> Answer {
    let (mut domain, mut rule, mut fields) = (None, None, Vec::new());
    let (mut limit, mut span) = (None, None);
    let is_put = method == Method::PUT;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "domain" => domain = Some(value),
            "rule" => rule = Some(value),
            "limit" if is_put => limit = Some(value),
            "for" if is_put => span = Some(value),
            _ => fields.push((name, value)),
        }
        if fields.len() > FIELDS {
            return wrong("there are more than 64 fields");
        }
    }
    let key = KeyOf { domain: domain.as_deref(), rule: rule.as_deref(), fields };
    let By { token, peer } = by;
    let peer = peer.map(|peer| peer.to_string());
    let answer = if is_put {
        let who = token.map(str::to_owned).or_else(|| peer.clone()).unwrap_or_default();
        match (limit.as_deref(), span.as_deref().map(str::parse::<Span>)) {
            (Some("usual"), None) => service.end_exceptions(&key).await.map(|ended| {
                for one in &ended {
                    let (rule, key) = (&one.limit, &one.subject);
                    tracing::info!(target: "ratescope", rule, key, token, peer, "an operator ended an exception");
                }
                let each = ended.iter().map(|one| excepted(one, one.subject.clone()));
                json!({"ended": Value::from_iter(each)})
            }),
            (Some(limit), Some(Ok(span))) if span > Span::ZERO && span <= LONGEST => {
                let until = service.clock().now().after(span);
                service.except_key(&key, limit, until, &who).await.map(|one| {
                    let (rule, key, limit) = (&one.limit, &one.subject, one.limiter.to_string());
                    let span = span.to_string();
                    tracing::info!(
                        target: "ratescope", rule, key, limit, span, token, peer, "an operator made an exception"
                    );
                    json!({"exception": excepted(&one, one.subject.clone())})
                })
            }
            _ => {
                return wrong(
                    "write the limit and for how long, up to 366 days, as in limit=500/1m&for=1d, or limit=usual",
                );
            }
        }
    } else if method == Method::DELETE {
        service.reset_key(&key).await.map(|reset| {
            let each = reset.iter().map(|one| json!({"rule": one.rule, "key": one.key}));
            for one in &reset {
                let (rule, key) = (&one.rule, &one.key);
                tracing::info!(target: "ratescope", rule, key, token, peer, "an operator reset a key");
            }
            json!({"reset": Value::from_iter(each)})
        })
    } else {
        let fields: &[(Cow<'_, str>, Cow<'_, str>)] = &key.fields;
        service.look_at_key(&key).await.map(|state| looked(&state, &fields))
    };
    match answer {
        Ok(answer) => (StatusCode::OK, text(&answer)),
        Err(why) => {
            let status = match why {
                NoKey::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
                NoKey::Several(_) | NoKey::Limiter(_) => StatusCode::BAD_REQUEST,
                _ => StatusCode::NOT_FOUND,
            };
            (status, text(&json!({"error": why.to_string()})))
        }
    }
}

/// Each limit of a key: how full it is, whether one more event would pass, and when all of it is free.
fn looked(state: &KeyState, fields: &dyn Fields) -> Value {
    let KeyState { now, next } = state;
    let event = Event { time: Time::ZERO, cost: 1.0, fields };
    let limits = next.outcomes().map(|one| {
        let quota = one.quota();
        let level = now.outcomes().find(|now| now.at == one.at);
        let level = level.map(|now| now.outcome.level);
        json!({
            "rule": one.rule.name(), "limit": one.limit.to_string(), "key": one.limit.per.key(&event),
            "allowed": one.outcome.is_allowed(), "shadow": one.rule.is_shadow(),
            "level": level, "bound": one.outcome.limit,
            "remaining": quota.map(|quota| quota.remaining), "free_after": quota.map(|quota| quota.reset.as_secs_f64()),
        })
    });
    let retry = next.retry_after().and_then(Retry::wait);
    json!({
        "allowed": next.is_allowed(), "retry_after": retry.map(Span::as_secs_f64),
        "fault": next.fault.as_ref().map(ToString::to_string), "limits": Value::from_iter(limits),
    })
}

fn text(json: &Value) -> Bytes {
    format!("{json:#}\n").into()
}

fn wrong(why: &str) -> Answer {
    (StatusCode::BAD_REQUEST, text(&json!({"error": why})))
}
