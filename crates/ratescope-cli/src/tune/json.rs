//! The answer as one JSON object.

use super::today::Today;
use super::{Above, ROWS, Server, Tuned};
use crate::terminal::harmless_json;
use ratescope_lab::tune::{
    Advice, Burst, ClientRow, LabelRow, LimitEffect, LimitRow, Share, stops,
};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the answer as one line if `is_line`, otherwise indented over several.
pub(crate) fn write(answer: &Tuned<'_>, is_line: bool, out: &mut impl Write) -> io::Result<()> {
    let Tuned { analysis, tried, effect, bucket, servers, today, most_refused, above } = answer;
    let log = analysis.imported();
    let summary = &log.summary;
    let clients = analysis.clients();
    let times = clients.times();
    let tried = tried.iter().map(|tried| {
        if let Some(problem) = &tried.problem {
            return json!({ "limit": tried.text, "not_tried": problem });
        }
        json!({
            "limit": tried.text,
            "clients_touched": tried.touched,
            "requests_refused": tried.refused,
            "more_clients_touched": tried.has_more,
            "keys_evicted": tried.evicted,
            "requests_without_key": tried.keyless,
            "most_refused": list(analysis.rows_of(&tried.most_refused).iter().map(client)),
        })
    });
    let periods = analysis.periods().iter().map(|(period, advice)| {
        let mut advice = self::advice(advice);
        advice["period"] = period.to_string().into();
        advice
    });
    let recommended = [effect, bucket].into_iter().flatten().map(self::effect);
    let bursts = analysis.frontier().map_or(&[][..], |frontier| &frontier.bursts);
    let [(paths, _), (agents, _)] = LabelRow::tables(analysis, ROWS);
    let all = json!({
        "lines": summary.lines,
        "unread": summary.unread,
        "formats": log.formats(),
        "problems": log.counts.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "requests": clients.requests(),
        "clients": clients.clients(),
        "per": summary.per.to_string(),
        "from": times.map(|(first, _)| first.as_secs_f64()),
        "to": times.map(|(_, last)| last.as_secs_f64()),
        "clock": analysis.clock().zone.to_string(),
        "left_out": log.counts.filtered,
        "times": {
            "spread_out": log.times.spread_out,
            "too_late_to_be_put_in_order": log.times.late,
            "dropped_far_ahead": log.times.dropped,
            "steps_back": log.times.steps_back.count,
        },
        "late": clients.late(),
        "kept": { "clients": clients.len(), "share_of_requests": clients.share_kept(), "bytes": clients.bytes() },
        "limits": list(tried),
        "today": today.map(|today| self::today(today, answer)),
        "periods": list(periods),
        "curve": {
            "measure": analysis.shown().map(|(curve, _)| curve.measure.to_string()),
            "points": list(analysis.rows().iter().map(row)),
        },
        "buckets": list(bursts.iter().map(burst)),
        "recommended": list(recommended),
        "far_above": above.as_ref().map(self::above),
        "stops": stops(analysis, ROWS),
        "for": list(servers.iter().map(server)),
        "most_refused": list(most_refused.iter().map(client)),
        "paths": list(paths.iter().map(labels)),
        "agents": list(agents.iter().map(labels)),
        "refusals": analysis.replayed().map(|replay| replay.hours().0.map(|day| day.to_vec()).to_vec()),
    });
    let text = if is_line { all.to_string() } else { format!("{all:#}") };
    writeln!(out, "{}", harmless_json(text))
}

/// The limits in force, and the recommendation in their place.
fn today(today: &Today, answer: &Tuned<'_>) -> Value {
    let limits = today.tried(answer).map(|(found, tried)| {
        let did = tried.problem.is_none();
        json!({
            "name": found.name,
            "line": found.line,
            "limit": tried.text,
            "scope": found.scope,
            "clients_touched": did.then_some(tried.touched),
            "requests": did.then_some(tried.events),
            "requests_refused": did.then_some(tried.refused),
            "not_tried": tried.problem,
        })
    });
    json!({
        "server": today.target().to_string(),
        "limits": list(limits),
        "recommended": today.recommended(answer).map(effect),
        "says": today.says(answer),
        "notes": today.config.remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    values.collect::<Vec<_>>().into()
}

fn share(share: &Share) -> Value {
    json!({ "clients_touched": share.touched, "clients": share.clients })
}

fn advice(advice: &Advice) -> Value {
    json!({
        "limit": advice.limiter.as_ref().map(ToString::to_string),
        "learned": share(&advice.learned),
        "checked": advice.checked.as_ref().map(share),
        "knee": advice.knee,
        "doubts": advice.doubts.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn row(row: &LimitRow) -> Value {
    json!({
        "limit": row.limit,
        "clients_touched": row.touched,
        "marked_touched": row.marked,
        "requests_refused": row.refused,
    })
}

fn burst(at: &Burst) -> Value {
    json!({ "burst": at.burst, "rate": at.rate.to_string(), "clients_touched": at.touched })
}

fn effect(effect: &LimitEffect) -> Value {
    json!({
        "limit": effect.limit,
        "clients_touched": effect.touched,
        "requests_refused": effect.refused,
        "says": effect.says,
    })
}

fn above(above: &Above) -> Value {
    json!({
        "keys": above.keys,
        "limit_with_them": above.limit,
        "clients_touched": above.touched,
        "says": above.says,
    })
}

fn server(server: &Server) -> Value {
    let (text, notes, problem) = match &server.configuration {
        Ok((text, notes)) => (Some(text), notes.as_slice(), None),
        Err(problem) => (None, [].as_slice(), Some(problem)),
    };
    json!({
        "server": server.target.to_string(),
        "recommended": server.effect.as_ref().map(effect),
        "far_above": server.above.as_ref().map(above),
        "stops": server.stops,
        "configuration": text,
        "notes": notes,
        "problem": problem,
    })
}

fn client(client: &ClientRow) -> Value {
    json!({
        "key": client.key,
        "marked": client.marked,
        "stop": client.stop,
        "requests": client.requests,
        "peak": client.peak.map(|peak| peak.level),
        "peak_at": client.peak.map(|peak| peak.at.as_secs_f64()),
        "refused": client.refused,
        "first_refused": client.first.map(|first| first.as_secs_f64()),
    })
}

fn labels(row: &LabelRow) -> Value {
    json!({ "text": row.text, "refused": row.refused, "requests": row.requests })
}
