//! `ratescope keys`: the keys of a running service.

use crate::terminal::{Visible, pair, until_closed};
use crate::{bounded, operator, rules};
use ratescope::Span;
use ratescope::clock::{Clock, SystemClock};
use ratescope::policy::{Defaults, Per};
use serde_json::Value;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

/// See which clients a running service refuses, look at one of them, reset it, or give it another limit for a while
///
/// The service is `ratescope run`, which tells this on its admin port, as JSON. The lists are of this one process.
///
///     ratescope keys refused
///     ratescope keys look user=ann
///     ratescope keys reset --rule web:user user=ann
///     ratescope keys except 500/1m --for 1d user=ann
///     ratescope keys except usual user=ann
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    admin: operator::AdminArgs,

    /// Print the answer of the service as it is
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum What {
    /// The keys with the most events
    Busiest(List),
    /// The keys with the most refused events
    Refused(List),
    /// The keys that are nearest to their limit, or farthest above it
    Fullest(List),
    /// How full a key is in each limit, and when it is free
    Look(Key),
    /// Let a key start over
    Reset(Key),
    /// The keys that have another limit for a while
    Exceptions,
    /// Give a key another limit for a while, or the usual one again
    Except(Except),
    /// Say what the value of a key on Redis means, from standard input:
    /// redis-cli GET limit:{user=ann} | ratescope keys decode 'gcra 10/1m burst 5 per user'
    Decode(Decode),
}

#[derive(clap::Args)]
struct Except {
    /// A limiter of the kind that the rule has, as in 'gcra 500/1m burst 50'; a rate, which replaces that of the rule; or
    /// usual
    limit: String,

    /// For how long
    #[arg(long = "for", value_name = "SPAN")]
    span: Option<String>,

    #[command(flatten)]
    key: Key,
}

#[derive(clap::Args)]
struct Decode {
    /// The limits whose states are at the key
    #[arg(value_name = "LIMITS")]
    limits: String,
}

#[derive(clap::Args)]
struct List {
    /// The most keys
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u16).range(1..=512))]
    most: u16,
}

#[derive(clap::Args)]
struct Key {
    /// The domain, if there are several
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,

    /// The full name of the rule, if several count by these fields, as in web:user
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,

    /// The fields of the key, as in user=ann
    #[arg(value_name = "FIELD=VALUE", value_parser = field)]
    fields: Vec<(String, String)>,
}

fn field(text: &str) -> Result<(String, String), String> {
    let help = "write a field and its value, as in user=ann";
    pair(text, help).map(|(name, value)| (name, value.to_owned()))
}

/// The longest value that is decoded, in bytes: the states of eight limits are far shorter.
const LONGEST_VALUE: usize = 1 << 16;

/// Prints the meaning of a value on standard input for each of its limits.
fn decode(limits: &str) -> Result<(), Box<dyn Error>> {
    let defaults = Defaults { rate: None, per: Per::ALL, fields: None, cost: 0.0 };
    let policy = rules::policy(limits, &defaults)?;
    let value = bounded::beginning(Path::new("-"), LONGEST_VALUE)?;
    let now = SystemClock.now();
    // redis-cli ends the value with a new line.
    let value = match ratescope_redis::decode(&policy, &value, now) {
        Err(_) if value.ends_with(b"\n") => {
            ratescope_redis::decode(&policy, &value[..value.len() - 1], now)?
        }
        decoded => decoded?,
    };
    let mut out = Visible(io::stdout());
    for one in value {
        let would = if one.outcome.is_allowed() { "would pass" } else { "would be refused" };
        let line = writeln!(
            out,
            "{}: with one more event, level {} of {}, and it {would}; all free after {}",
            one.limit, one.outcome.level, one.outcome.limit, one.free_after
        );
        until_closed(line)?;
    }
    Ok(())
}

pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    if let What::Decode(Decode { limits }) = &args.what {
        return decode(limits);
    }
    let of_list = |by: &str, list: &List| ("GET", format!("/keys?by={by}&most={}", list.most));
    let of_key = |method: &'static str, key: &Key| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let named = [("domain", &key.domain), ("rule", &key.rule)];
        for (name, value) in
            named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
        {
            query.append_pair(name, value);
        }
        query.extend_pairs(&key.fields);
        (method, format!("/key?{}", query.finish()))
    };
    let (method, path) = match &args.what {
        What::Busiest(list) => of_list("busiest", list),
        What::Refused(list) => of_list("refused", list),
        What::Fullest(list) => of_list("fullest", list),
        What::Look(key) => of_key("GET", key),
        What::Reset(key) => of_key("DELETE", key),
        What::Exceptions => ("GET", "/keys?by=exceptions".to_owned()),
        What::Except(except) => {
            let (_, path) = of_key("PUT", &except.key);
            let mut query = form_urlencoded::Serializer::new(path);
            query.append_pair("limit", &except.limit);
            if let Some(span) = &except.span {
                query.append_pair("for", span);
            }
            ("PUT", query.finish())
        }
        What::Decode(_) => return Ok(()),
    };
    let (status, body) = args.admin.ask(method, &path)?;
    if status != 200 {
        let json: Option<Value> = serde_json::from_str(&body).ok();
        let why = json.as_ref().and_then(|json| json["error"].as_str()).unwrap_or(body.trim());
        return Err(format!("{}: {why}", args.admin.at()).into());
    }
    let mut out = Visible(io::stdout());
    if args.json {
        return until_closed(write!(out, "{body}"));
    }
    let answer: Value =
        serde_json::from_str(&body).map_err(|error| format!("{}: {error}", args.admin.at()))?;
    until_closed(print(&mut out, &args.what, &answer))
}

fn print(out: &mut impl Write, what: &What, answer: &Value) -> io::Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| {
        let rounded = value.as_f64().map(|n| (n * 1e4).round() / 1e4);
        rounded.map_or_else(|| "-".to_owned(), |n| n.to_string())
    };
    match what {
        What::Exceptions => {
            for one in answer["exceptions"].as_array().into_iter().flatten() {
                write_exception(out, one)?;
            }
        }
        What::Except(_) => {
            for one in answer.get("exception").into_iter() {
                write_exception(out, one)?;
            }
            for one in answer["ended"].as_array().into_iter().flatten() {
                let [key, rule] = ["key", "rule"].map(|name| text(&one[name]));
                writeln!(out, "{key} by {rule} has its usual limit again")?;
            }
        }
        What::Busiest(_) | What::Refused(_) | What::Fullest(_) => {
            let lists = answer.as_object().into_iter().flat_map(|lists| lists.values());
            writeln!(out, "{:>10} {:>10} {:>10}  rule, key", "events", "level", "limit")?;
            for key in lists.filter_map(Value::as_array).flatten() {
                let [events, level, limit] =
                    ["events", "level", "limit"].map(|name| number(&key[name]));
                let (rule, subject) = (text(&key["rule"]), text(&key["key"]));
                writeln!(out, "{events:>10} {level:>10} {limit:>10}  {rule}, {subject}")?;
            }
        }
        What::Look(_) => {
            for limit in answer["limits"].as_array().into_iter().flatten() {
                let [level, bound] = ["level", "bound"].map(|name| number(&limit[name]));
                let would = match (limit["allowed"].as_bool(), limit["shadow"].as_bool()) {
                    (Some(false), Some(true)) => "would be refused if it were no shadow",
                    (Some(false), _) => "would be refused",
                    _ => "would pass",
                };
                let free = limit["free_after"].as_f64();
                let free = free.map_or_else(String::new, |s| format!(", all free after {s:.1} s"));
                writeln!(
                    out,
                    "{} by {}: {}: level {level}, limit {bound}; one more {would}{free}",
                    text(&limit["key"]),
                    text(&limit["rule"]),
                    text(&limit["limit"]),
                )?;
            }
        }
        What::Reset(_) => {
            for key in answer["reset"].as_array().into_iter().flatten() {
                writeln!(out, "{} by {} starts over", text(&key["key"]), text(&key["rule"]))?;
            }
        }
        What::Decode(_) => {}
    }
    Ok(())
}

/// As in `user=ann by web:user: gcra 500/1m burst 500 for 23h59m, as robot asked`.
fn write_exception(out: &mut impl Write, one: &Value) -> io::Result<()> {
    let [key, rule, limit, by] =
        ["key", "rule", "limit", "by"].map(|name| one[name].as_str().unwrap_or_default());
    let now = SystemClock.now().as_micros() as f64 / 1e6;
    let rest = one["until"].as_f64().map_or(0.0, |until| (until - now).max(0.0));
    let rest = Span::try_from_secs_f64(rest.round()).unwrap_or(Span::ZERO);
    let asked = if by.is_empty() { String::new() } else { format!(", as {by} asked") };
    writeln!(out, "{key} by {rule}: {limit} for {rest}{asked}")
}
