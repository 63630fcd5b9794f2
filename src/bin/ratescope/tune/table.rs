//! The answer in the terminal.

use super::answer::{Answer, Row};
use super::read::Read;
use super::server::Server;
use crate::words::{grouped, percent, visible, when};
use ratescope::lab::tune::{Doubt, Share, Times};
use ratescope::text::plural;
use std::io::{self, Write};

/// How wide the longest bar is.
const BAR: usize = 32;

pub(crate) fn write(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    head(answer, out)?;
    tried(answer, out)?;
    periods(answer, out)?;
    curve(answer, out)?;
    buckets(answer, out)?;
    busiest(answer, out)?;
    hours(answer, out)?;
    says(answer, out)?;
    answer.servers.iter().try_for_each(|server| for_server(answer, server, out))
}

fn head(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    let summary = answer.summary;
    let clients = &summary.clients;
    write!(
        out,
        "{} request{} from {} client{}",
        grouped(clients.requests()),
        plural(clients.requests()),
        grouped(clients.clients()),
        plural(clients.clients())
    )?;
    write!(out, " (per {})", summary.per)?;
    match clients.times() {
        Some(times) => {
            let [first, last] = [times.0, times.1].map(|time| when(answer.clock.shows(time)));
            writeln!(out, ", {first} to {last} {}", answer.clock.zone())?;
        }
        None => writeln!(out)?,
    }
    if !answer.read.shapes.is_empty() {
        write!(out, "{}.", answer.read.shapes.join("; "))?;
        let &Read { ref reading, filtered, times, .. } = answer.read;
        let Times { spread_out, late, steps_back } = times;
        if filtered > 0 {
            let filter = visible(&reading.options.filter.to_string());
            write!(out, " Only those with {filter}; {} others were left out.", grouped(filtered))?;
        }
        if spread_out > 0 {
            let n = grouped(spread_out);
            write!(out, " Of its times in whole seconds, {n} were spread evenly over theirs.")?;
        }
        if late > 0 {
            let (n, s) = (grouped(late), plural(late));
            write!(out, " {n} line{s} came too late to be put in order.")?;
        }
        if steps_back > 0 {
            let s = plural(steps_back);
            write!(out, " The clock was set back {steps_back} time{s}.")?;
        }
        writeln!(out)?;
    }
    if answer.clock.is_of_several() {
        writeln!(out, "The lines are of several time zones, so times are told in UTC.")?;
    }
    if summary.unread > 0 {
        let (unread, lines) = (grouped(summary.unread), grouped(summary.lines));
        writeln!(out, "{unread} of {lines} lines could not be read:")?;
        answer.read.problems.iter().try_for_each(|problem| writeln!(out, "  {problem}"))?;
    }
    if clients.late() > 0 {
        let late = grouped(clients.late());
        writeln!(out, "{late} requests came out of order, and count as with the one before.")?;
    }
    if clients.left_out() > 0 {
        writeln!(
            out,
            "There was no room for all: {} of the requests are kept, of {} clients. The busiest are \
             all there; of the others one in {} was kept, by chance, and stands for so many. Numbers \
             of clients are estimates. --memory and --clients give more room.",
            percent(clients.share_kept()),
            grouped(clients.len() as u64),
            clients.one_in(),
        )?;
    }
    Ok(())
}

fn tried(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    if answer.read.tried.is_empty() {
        return Ok(());
    }
    let all = answer.summary.clients.requests().max(1) as f64;
    let width = answer.read.tried.iter().map(|tried| tried.text.len()).max().unwrap_or(0);
    writeln!(out, "\n{:width$}  {:>12}  {:>10}", "limit", "refused", "clients")?;
    for tried in &answer.read.tried {
        let (refused, touched) = (grouped(tried.refused), grouped(tried.touched));
        let share = percent(tried.refused as f64 / all);
        writeln!(out, "{:width$}  {refused:>12}  {touched:>10}  {share}", tried.text)?;
        if tried.forgotten > 0 {
            writeln!(out, "  {} keys were forgotten: more than --clients", tried.forgotten)?;
        }
    }
    Ok(())
}

fn periods(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nThe smallest limits that leave enough clients alone:")?;
    let name = |limiter: Option<String>| limiter.unwrap_or_else(|| "none".to_owned());
    for (period, _, advice) in &answer.periods {
        let limiter = name(advice.limiter.as_ref().map(ToString::to_string));
        write!(out, "{:>6}  {limiter:34}  touches {}", period.to_string(), share(advice.learned))?;
        match advice.checked {
            Some(checked) => writeln!(out, "; in the rest {}", share(checked))?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

fn share(share: Share) -> String {
    format!("{} of {}", grouped(share.touched), grouped(share.clients))
}

fn curve(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    let Some((_, curve, advice)) = answer.periods.first() else { return Ok(()) };
    let clients = &answer.summary.clients;
    writeln!(out, "\n{}, over the whole log:", curve.measure)?;
    let marked = answer.rows.iter().any(|row| row.marked > 0);
    write!(out, "{:>9}  {:>12} {:>9}  {:>12} {:>9}", "N", "clients", "", "requests", "")?;
    writeln!(out, "{}", if marked { "    marked" } else { "" })?;
    for Row { limit, touched, refused, marked: legitimate } in &answer.rows {
        let of = |n: u64, all: u64| n as f64 / all.max(1) as f64;
        let (clients_share, requests_share) =
            (of(*touched, clients.clients()), of(*refused, clients.requests()));
        write!(out, "{limit:>9}  {:>12} {:>9}", grouped(*touched), percent(clients_share))?;
        write!(out, "  {:>12} {:>9}", grouped(*refused), percent(requests_share))?;
        if marked {
            write!(out, "  {:>8}", grouped(*legitimate))?;
        }
        let bar = "#".repeat((clients_share * BAR as f64).ceil() as usize);
        let here = if Some(*limit) == advice.limit { "  <- recommended" } else { "" };
        writeln!(out, "  {}{here}", bar)?;
    }
    Ok(())
}

fn buckets(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nToken bucket, GCRA, leaky bucket: the burst that a rate needs:")?;
    writeln!(out, "{:>9}  {:>10}  {:>8}", "burst", "rate", "touches")?;
    for at in &answer.frontier.bursts {
        let here = if Some(*at) == answer.tightest { "  <- recommended" } else { "" };
        let (rate, touched) = (at.rate.to_string(), grouped(at.touched));
        writeln!(out, "{:>9}  {rate:>10}  {touched:>8}{here}", at.burst)?;
    }
    Ok(())
}

fn busiest(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    let width =
        answer.busiest.iter().map(|busy| busy.key.chars().count()).max().unwrap_or(0).clamp(6, 40);
    let clock = &answer.clock;
    writeln!(out, "\nThe busiest, and what the recommended limit makes of them:")?;
    writeln!(
        out,
        "{:width$}  {:>10}  {:>10}  {:19}  {:>10}  first refused",
        "client", "requests", "peak", "at", "refused"
    )?;
    for busy in &answer.busiest {
        let (peak, at) = match busy.peak {
            Some(peak) => (format!("{:.1}", peak.level), when(clock.shows(peak.at))),
            None => Default::default(),
        };
        let first = busy.first.map(|first| when(clock.shows(first))).unwrap_or_default();
        let key: String = visible(&busy.key).chars().take(width).collect();
        let marked = if busy.marked { "  marked" } else { "" };
        let line = format!(
            "{key:width$}  {:>10}  {peak:>10}  {at:19}  {:>10}  {first}{marked}",
            grouped(busy.requests),
            grouped(busy.refused),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn hours(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    let Some(replay) = answer.replay.as_ref().filter(|replay| replay.refused() > 0) else {
        return Ok(());
    };
    let days = replay.hours().days();
    let most = days.iter().flatten().copied().max().unwrap_or(0).max(1);
    let zone = answer.clock.zone();
    writeln!(
        out,
        "\nWhen it would have refused ({zone}; a digit is ninths of {}):",
        grouped(most)
    )?;
    writeln!(out, "     0     3     6     9     12    15    18    21")?;
    for (name, hours) in ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].iter().zip(days) {
        let cell = |n: &u64| match n {
            0 => " .".to_owned(),
            n => format!(" {}", (*n as f64 / most as f64 * 9.0).ceil()),
        };
        writeln!(out, "{name} {}", hours.iter().map(cell).collect::<String>())?;
    }
    Ok(())
}

fn says(answer: &Answer<'_>, out: &mut impl Write) -> io::Result<()> {
    let clients = &answer.summary.clients;
    writeln!(out)?;
    for replay in [&answer.replay, &answer.bucket].into_iter().flatten() {
        writeln!(out, "{}", visible(&replay.sentence(clients)))?;
    }
    let Some((_, _, advice)) = answer.periods.first() else { return Ok(()) };
    let but = |doubt: &Doubt| format!("But: {doubt}.");
    advice.doubts.iter().try_for_each(|doubt| writeln!(out, "{}", but(doubt)))
}

fn for_server(answer: &Answer<'_>, server: &Server, out: &mut impl Write) -> io::Result<()> {
    let target = server.target;
    match &server.replay {
        Some(replay) => {
            let says = visible(&replay.sentence(&answer.summary.clients));
            writeln!(out, "\nFor {target}: {says}")?;
        }
        None => writeln!(out, "\nFor {target}:")?,
    }
    match &server.configuration {
        Ok((text, notes)) => {
            writeln!(out, "\n{}", text.trim_end())?;
            let lead = if notes.is_empty() { "" } else { "\n" };
            write!(out, "{lead}")?;
            notes.iter().try_for_each(|note| writeln!(out, "Note: {note}."))
        }
        Err(why) => writeln!(out, "{target} can't have it: {why}."),
    }
}
