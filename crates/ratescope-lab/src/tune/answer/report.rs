//! The answer as sentences, the same for every front end.

use super::Analysis;
use super::in_words::in_words;
use crate::tune::{Aim, Clients, Doubt, Imported, RefusedClient, Summary, percent};
use ratescope::address::{is_internal, parse};
use ratescope::internal::{grouped, plural};
use ratescope_log::{Corrections, LogShape};

/// The answer as sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The numbers of requests and clients, and the first and the last time.
    pub read: String,
    /// The formats of the logs; empty if unknown.
    pub formats: String,
    /// The differences between the lines and the kept events, a sentence each.
    pub notes: Vec<String>,
    /// The number of unreadable lines, and the first of them with the reasons.
    pub unread: Option<(String, Vec<String>)>,
    /// How the clients were sampled; `None` if there was room for all.
    pub room: Option<String>,
    /// The headline: the limit in force and its refusals, or the progress of counting them.
    pub headline: String,
    /// The headline is final.
    pub done: bool,
    /// The goal of the recommended limit if it is an unusual one; otherwise empty.
    pub aim: String,
    /// The refusals of today's limit; empty until they are known.
    pub today: String,
    /// The clients that the recommended limit touches, in the part of the log that chose it and in the part that checks
    /// it.
    pub learned: String,
    /// The limit that stops the clients far above all others, beside the recommended limit; empty without such clients.
    pub plateau: String,
    /// The effect of the limit in force on the clients to be stopped, a sentence each.
    pub stops: Vec<String>,
    /// Reasons to think twice, a sentence each.
    pub doubts: Vec<String>,
}

/// The most clients to be stopped that a report names.
const STOPPED: usize = 10;

/// The effect of a limiter on the clients of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitEffect {
    /// The limiter.
    pub limit: String,
    /// The number of clients that it touches.
    pub touched: u64,
    /// The number of requests that it refuses.
    pub refused: u64,
    /// The effect as a sentence, which names the limiter by its text form.
    pub says: String,
    /// The limiter in words, and its refusals.
    pub headline: String,
}

impl Report {
    /// The sentences about the counts so far.
    pub fn new(analysis: &Analysis) -> Self {
        let log = analysis.imported();
        let clients = analysis.clients();
        let (headline, done) = headline(analysis);
        let mut report = Report {
            read: read(analysis),
            formats: log.formats().join("; "),
            notes: notes(analysis),
            unread: unread(log),
            room: room(clients),
            headline,
            aim: aim(analysis).to_owned(),
            today: today(analysis).unwrap_or_default(),
            plateau: analysis.plateau().map_or(String::new(), |plateau| plateau.sentence(analysis)),
            stops: stops(analysis, STOPPED),
            done,
            ..Report::default()
        };
        if let Some((_, advice)) = analysis.shown() {
            let named = |place: &usize| !clients.key(*place).is_empty();
            let fastest = analysis.found.fastest.filter(named).map(|place| log.summary.name(place));
            let but = |doubt: &Doubt| format!("But {}.", doubt.naming(fastest.as_deref()));
            report.doubts = advice.doubts.iter().map(but).collect();
            report.learned = learned(analysis).unwrap_or_default();
        }
        report
    }
}

impl LimitEffect {
    /// The effect of the limiter in force, once it is replayed.
    pub fn new(analysis: &Analysis) -> Option<Self> {
        let replay = analysis.replayed().filter(|replay| replay.is_done())?;
        let limiter = replay.limiter();
        let noun = one(analysis.imported().events());
        let does = replay.describe(&analysis.imported().summary, noun);
        Some(LimitEffect {
            limit: limiter.to_string(),
            touched: replay.touched(analysis.clients()).touched,
            refused: replay.refused(),
            says: format!("{limiter} {does}."),
            headline: format!(
                "{}. It {does}.",
                in_words(limiter, one(analysis.choices().reading.field_of_costs().unwrap_or(noun)))
            ),
        })
    }
}

/// The singular of the word for events, as in `request` for `requests`.
pub(super) fn one(events: &str) -> &str {
    events.strip_suffix('s').unwrap_or(events)
}

fn read(analysis: &Analysis) -> String {
    let clients = analysis.clients();
    let clock = analysis.clock();
    let log = analysis.imported();
    let Summary { per, lines, .. } = &log.summary;
    let [requests, senders] = [clients.requests(), clients.clients()];
    let others = !["requests", "events"].contains(&log.events());
    let among = if others && *lines > requests {
        format!(" among {} line{},", grouped(*lines), plural(*lines))
    } else {
        String::new()
    };
    let mut text = format!(
        "{} {}{}{among} from {} client{} (per {per})",
        grouped(requests),
        one(log.events()),
        plural(requests),
        grouped(senders),
        plural(senders),
    );
    if let Some((first, last)) = clients.times() {
        let [first, last] = [first, last].map(|time| clock.date_and_time(time));
        text += &format!(", {first} to {last} {}", clock.zone);
    }
    text
}

fn notes(analysis: &Analysis) -> Vec<String> {
    let Imported { options, counts, times, summary, shape, .. } = analysis.imported();
    let Corrections { spread_out, late, dropped, steps_back } = *times;
    let mut notes = Vec::new();
    let mut note = |n: u64, say: &dyn Fn(&str, &str) -> String| {
        if n > 0 {
            notes.push(say(&grouped(n), plural(n)));
        }
    };
    note(counts.filtered, &|n, _| {
        format!("Only those with {}; {n} others are left out.", options.options.filter)
    });
    note(counts.keyless, &|n, s| {
        let per = &summary.per;
        let all = grouped(counts.events);
        match (options.options.only_keyed, s) {
            (true, _) => format!("{n} without {per} left out."),
            _ if counts.keyless == counts.events => {
                format!("None of {all} has {per}, so all count as one client: choose another key.")
            }
            (false, "") => format!("{n} of {all} has no {per}, and counts as a client."),
            (false, _) => format!("{n} of {all} have no {per}, and count as one client."),
        }
    });
    note(spread_out, &|n, s| {
        let (are, seconds) =
            if s.is_empty() { ("is", "its second") } else { ("are", "their seconds") };
        format!(
            "The log has whole seconds: {n} event{s} {are} spread evenly over {seconds}, or they would look like bursts."
        )
    });
    note(late, &|n, s| format!("{n} event{s} came too late to be sorted."));
    note(dropped, &|n, s| format!("{n} event{s} left out, far ahead of the lines around."));
    note(steps_back.count, &|_, _| steps_back.to_string());
    note(analysis.clients().late(), &|n, s| {
        format!("{n} request{s} came out of order, and count at the time of the one before.")
    });
    let unknown = &analysis.unknown_marks;
    if let Some((first, rest)) = unknown.split_first() {
        let more = if rest.is_empty() { "" } else { " and others" };
        let n = unknown.len() as u64;
        let marks = format!("{} mark{} of no client: {first}{more}", grouped(n), plural(n));
        notes.push(format!("There {} {marks}.", if n == 1 { "is" } else { "are" }));
    }
    let has_address = shape
        .as_ref()
        .and_then(LogShape::fields)
        .is_some_and(|fields| fields.iter().any(|field| field == "ip"));
    if options.options.key.is_none() && summary.per.fields().is_empty() && has_address {
        let said = "Without a column key, all events of CSV count together: the key ip tells clients apart.";
        notes.push(said.to_owned());
    }
    notes.extend(proxy(analysis));
    if analysis.clock().is_of_several {
        let said = "The lines are of several time zones, so times are told in UTC.";
        notes.push(said.to_owned());
    }
    notes
}

/// The most internal addresses that may be proxies.
const PROXIES: usize = 64;

/// A warning that nearly all events come from proxies, if the log also has the clients behind them.
fn proxy(analysis: &Analysis) -> Option<String> {
    let log = analysis.imported();
    let clients = analysis.clients();
    if !log.has_forwarded {
        return None;
    }
    let busiest = clients.busiest();
    let inside =
        busiest.iter().filter(|place| parse(clients.key(**place)).is_some_and(is_internal));
    let inside: Vec<usize> = inside.take(PROXIES + 1).copied().collect();
    let first = clients.key(*inside.first()?);
    let forwarded: u64 = inside.iter().map(|place| clients.requests_of(*place)).sum();
    let share = forwarded as f64 / clients.requests().max(1) as f64;
    if inside.len() > PROXIES || share < 0.9 {
        return None;
    }
    let all = if forwarded == clients.requests() { "All" } else { "Nearly all" };
    let (from, question) = match inside.len() {
        1 => (first.to_owned(), "is it a proxy? Its"),
        n => (format!("{n} internal addresses, such as {first}"), "are they proxies? Their"),
    };
    Some(format!(
        "{all} events are from {from}: {question} clients are limited with the key forwarded."
    ))
}

fn unread(log: &Imported) -> Option<(String, Vec<String>)> {
    let [unread, lines] = [log.summary.unread, log.summary.lines];
    let said = format!("{} of {} lines could not be read", grouped(unread), grouped(lines));
    let problems = log.counts.problems.iter().map(ToString::to_string);
    (unread > 0).then(|| (said, problems.collect()))
}

fn room(clients: &Clients) -> Option<String> {
    if clients.left_out() == 0 {
        return None;
    }
    let share = percent(clients.share_kept());
    let count = grouped(clients.len() as u64);
    let mut said =
        format!("There was no room for all: {share} of the requests are kept, of {count} clients.");
    if clients.has_full() {
        said += " A client that fills a quarter of the room keeps only its first requests.";
    }
    if clients.one_in() > 1 {
        said += &format!(
            " Clients that were busiest whenever room was made are all kept. Of the others, and of those \
             that came later, one in {} was kept, by chance, and represents that many. Numbers of clients \
             are estimates.",
            clients.one_in(),
        );
    }
    Some(said)
}

/// The headline, and whether it is final.
fn headline(analysis: &Analysis) -> (String, bool) {
    match LimitEffect::new(analysis) {
        Some(effect) => {
            (format!("For {}: {}", analysis.choices().target.title(), effect.headline), true)
        }
        None if analysis.shown().is_some() && analysis.limiter().is_none() => {
            ("No limit leaves so many clients alone.".to_owned(), true)
        }
        None => match analysis.measured() {
            1.0 => ("Still counting …".to_owned(), false),
            part => (format!("Still counting: {} % …", libm::floor(part * 100.0)), false),
        },
    }
}

fn today(analysis: &Analysis) -> Option<String> {
    let replay = analysis.replayed_today()?;
    let noun = one(analysis.imported().events());
    let limiter = replay.limiter();
    let does = replay.describe(&analysis.imported().summary, noun);
    let warning = analysis.replayed().filter(|chosen| chosen.is_done()).and_then(|chosen| {
        is_looser(chosen.refused(), replay.refused(), analysis.imported().events())
    });
    Some(format!("Today, {limiter} {does}.{}", warning.unwrap_or_default()))
}

/// A warning that a limit refuses fewer events of the log than today's limit.
pub fn is_looser(refused: u64, refused_today: u64, events: &str) -> Option<String> {
    let more = refused_today.checked_sub(refused).filter(|more| *more > 0)?;
    let (n, s) = (grouped(more), plural(more));
    Some(format!(" The new limit is looser: {n} more {}{s} would pass.", one(events)))
}

fn aim(analysis: &Analysis) -> &'static str {
    match analysis.aim() {
        Aim::Mistakes => {
            "Each line is a failed login, so the limit is not the one that leaves most clients alone, but the smallest \
             that people who mistype stay below: three in a row pass."
        }
        Aim::Untouched(_) => "",
    }
}

fn learned(analysis: &Analysis) -> Option<String> {
    let (_, advice) = analysis.shown()?;
    let limit = advice.limit?;
    let recommended = if analysis.limit() == Some(limit) {
        "Recommended".to_owned()
    } else {
        format!("Recommended would be {limit}")
    };
    let learned = format!("{recommended}: it touches {}", advice.learned);
    Some(match advice.checked {
        None => learned + ".",
        Some(checked) => format!(
            "{learned} in the first two thirds of the log; in the rest, on which it is checked, \
             {checked}."
        ),
    })
}

/// The effect of the limit in force on each client to be stopped, a sentence each, at most `most`; empty until it is
/// counted.
pub fn stops(analysis: &Analysis, most: usize) -> Vec<String> {
    let Some(replay) = analysis.replayed().filter(|replay| replay.is_done()) else {
        return Vec::new();
    };
    let noun = one(analysis.imported().events());
    let says = |place: &usize| {
        let name = analysis.imported().summary.name(*place);
        let all = analysis.clients().requests_of(*place);
        let found = replay.refused_clients().iter().find(|client| client.place == *place);
        match found {
            Some(RefusedClient { refused, first, .. }) => format!(
                "{name} is stopped: {} of its {} {noun}{} are refused, the first on {}.",
                grouped(*refused),
                grouped(all),
                plural(all),
                analysis.clock().in_words(*first),
            ),
            None => format!(
                "{name} is not stopped: it came no faster than those who are left alone. A longer period shows who \
                 is slow but steady."
            ),
        }
    };
    analysis.to_stop.iter().take(most).map(says).collect()
}
