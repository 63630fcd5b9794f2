//! Cloudflare: rate limiting rules, as its API has them.

use super::field::{header, ip, unknown};
use super::tree::{documents, walk};
use super::words::{has, lines, whole};
use super::{Config, Found, Remark, limit, said};
use crate::Addresses;
use ratescope::internal::yaml::Node;

pub(super) fn is_known(text: &str) -> bool {
    has(text, &["//", "#"], "requests_per_period")
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    if lines(text, &["//", "#"]).any(|(_, line)| line.starts_with("resource ")) {
        return Err(Remark {
            line: 0,
            text:
                "it is of Terraform; what is understood is JSON, as terraform show -json prints it"
                    .to_owned(),
        });
    }
    for root in documents(text)? {
        walk(&root, &mut Vec::new(), &mut |node, _| {
            // Terraform writes a list of one.
            let Some(rate) = node.get("ratelimit") else { return };
            let rate = rate.items().first().unwrap_or(rate);
            let is = |name: &str, word: &str| node.get(name).is_some_and(|it| it.word() == word);
            if is("enabled", "false") || is("action", "log") {
                return config.remark(
                    node.at.line,
                    "the rule is not enabled, or only logs, and refuses nothing",
                );
            }
            config.add(rate.at.line, rule(node, rate));
            if rate.get("requests_to_origin").is_some_and(|only| only.word() == "true") {
                config.remark(
                    rate.at.line,
                    "it counts what no cache answers; what is tried counts every event of the log",
                );
            }
            if node.get("action").is_some_and(|action| action.word().contains("challenge")) {
                config.remark(
                    rate.at.line,
                    "who passes its challenge is not refused; what is tried refuses",
                );
            }
            if let Some(time) = rate.get("mitigation_timeout").filter(|time| time.word() != "0") {
                let remark = format!(
                    "after its limit Cloudflare refuses everything for {} s; what is tried here refuses only what is above",
                    said(time.word())
                );
                config.remark(time.at.line, remark);
            }
        });
    }
    Ok(())
}

fn rule(node: &Node, rate: &Node) -> Result<Found, String> {
    let word = |name: &str| {
        rate.get(name).map(Node::word).ok_or_else(|| format!("the rule has no {name}"))
    };
    if rate.get("counting_expression").is_some_and(|text| !text.word().is_empty()) {
        return Err("it counts by a counting_expression, which is not understood".to_owned());
    }
    let count = whole(word("requests_per_period")?, "requests_per_period")?;
    let secs = whole(word("period")?, "period")?;
    let keys = rate.get("characteristics").map_or(&[][..], Node::items);
    let fields = keys.iter().map(Node::word).filter(|key| *key != "cf.colo.id").map(field);
    let fields = fields.collect::<Result<Vec<String>, String>>()?;
    let text = |name: &str| node.get(name).map_or("", Node::word);
    let scope = Some(text("expression")).filter(|all| !["", "true"].contains(all));
    Ok(Found {
        name: text("description").to_owned(),
        line: rate.at.line,
        limit: limit(&format!("sliding-counter {count}/{secs}s"), &fields)?,
        addresses: Addresses::default(),
        scope: super::scope(scope, ""),
    })
}

fn field(key: &str) -> Result<String, String> {
    Ok(match key {
        "ip.src" => ip(),
        "http.host" => "host".to_owned(),
        "http.request.uri.path" => "path".to_owned(),
        key => {
            let name = key.strip_prefix("http.request.headers[\"");
            let name = name.and_then(|name| name.strip_suffix("\"]"));
            header(name.ok_or_else(|| unknown(key))?)
        }
    })
}
