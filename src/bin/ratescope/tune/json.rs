//! The answer as one JSON object.

use super::answer::{Answer, Row};
use super::read::Tried;
use super::server::Server;
use ratescope::Time;
use ratescope::lab::tune::{Advice, Burst, ClientRow, Replay, Share};
use serde_json::{Value, json};
use std::io::{self, Write};

pub(crate) fn write(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    let summary = answer.summary;
    let clients = &summary.clients;
    let times = clients.times();
    let replays = [&answer.replay, &answer.bucket].into_iter().flatten();
    let recommended: Vec<Value> = replays.map(|replay| effect(answer, replay)).collect();
    let all = json!({
        "lines": summary.lines,
        "unread": summary.unread,
        "formats": answer.read.shapes,
        "problems": answer.read.problems,
        "requests": clients.requests(),
        "clients": clients.clients(),
        "per": summary.per.to_string(),
        "from": times.map(|(first, _)| time(first)),
        "to": times.map(|(_, last)| time(last)),
        "clock": answer.clock.zone().to_string(),
        "left_out": answer.read.filtered,
        "times": {
            "spread_out": answer.read.times.spread_out,
            "too_late_to_be_put_in_order": answer.read.times.late,
            "steps_back": answer.read.times.steps_back,
        },
        "late": clients.late(),
        "kept": { "clients": clients.len(), "share_of_requests": clients.share_kept(), "bytes": clients.bytes() },
        "limits": answer.read.tried.iter().map(tried).collect::<Vec<_>>(),
        "periods": answer.periods.iter().map(|(per, _, advice)| {
            let mut advice = self::advice(advice);
            advice["period"] = per.to_string().into();
            advice
        }).collect::<Vec<_>>(),
        "curve": {
            "measure": answer.periods.first().map(|(_, curve, _)| curve.measure.to_string()),
            "points": answer.rows.iter().map(row).collect::<Vec<_>>(),
        },
        "buckets": answer.frontier.bursts.iter().map(burst).collect::<Vec<_>>(),
        "recommended": recommended,
        "for": answer.servers.iter().map(|server| for_server(answer, server)).collect::<Vec<_>>(),
        "busiest": answer.busiest.iter().map(busy).collect::<Vec<_>>(),
        "refusals": answer.replay.as_ref().map(|replay| replay.hours().days().map(|day| day.to_vec()).to_vec()),
    });
    writeln!(out, "{all:#}")
}

/// Seconds since the epoch.
fn time(time: Time) -> f64 {
    time.as_secs()
}

fn tried(tried: &Tried) -> Value {
    json!({
        "limit": tried.text,
        "clients_touched": tried.touched,
        "requests_refused": tried.refused,
        "keys_forgotten": tried.forgotten,
    })
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

fn row(row: &Row) -> Value {
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

fn effect(answer: &Answer<'_>, replay: &Replay) -> Value {
    let clients = &answer.summary.clients;
    json!({
        "limit": replay.limiter().to_string(),
        "clients_touched": replay.touched(clients).touched,
        "requests_refused": replay.refused(),
        "says": replay.sentence(clients),
    })
}

fn for_server(answer: &Answer<'_>, server: &Server) -> Value {
    let (text, notes, problem) = match &server.configuration {
        Ok((text, notes)) => (Some(text), notes.as_slice(), None),
        Err(problem) => (None, [].as_slice(), Some(problem)),
    };
    json!({
        "server": server.target.to_string(),
        "recommended": server.replay.as_ref().map(|replay| effect(answer, replay)),
        "configuration": text,
        "notes": notes,
        "problem": problem,
    })
}

fn busy(busy: &ClientRow) -> Value {
    json!({
        "key": busy.key,
        "marked": busy.marked,
        "requests": busy.requests,
        "peak": busy.peak.map(|peak| peak.level),
        "peak_at": busy.peak.map(|peak| time(peak.at)),
        "refused": busy.refused,
        "first_refused": busy.first.map(time),
    })
}
