//! The answer in the terminal.

use super::files::Tried;
use super::{Above, ROWS, Server, Tuned};
use crate::terminal::{column, cut, visible};
use ratescope::internal::{grouped, plural};
use ratescope_lab::tune::{Aim, ClientRow, LabelRow, LimitRow, Report, Share, percent};
use std::io::{self, Write};

/// The width of the longest bar.
const BAR: usize = 32;

/// The most characters of a path or an agent.
const WIDEST: usize = 72;

pub(crate) fn write(answer: &Tuned<'_>, out: &mut impl Write) -> io::Result<()> {
    let report = Report::new(answer.analysis);
    head(answer, &report, out)?;
    if let Some(today) = answer.today {
        today.says(answer).iter().try_for_each(|says| writeln!(out, "{}", visible(says)))?;
    }
    tried(answer, out)?;
    periods(answer, out)?;
    curve(answer, out)?;
    buckets(answer, out)?;
    clients(answer, out)?;
    labels(answer, out)?;
    hours(answer, out)?;
    says(answer, &report, out)?;
    answer.servers.iter().try_for_each(|server| for_server(server, out))
}

fn head(answer: &Tuned<'_>, report: &Report, out: &mut impl Write) -> io::Result<()> {
    let log = answer.analysis.imported();
    let is_part = (1..log.counts.events).contains(&log.counts.keyless);
    let keyless = (is_part && !log.options.options.only_keyed)
        .then(|| format!("--only-keyed leaves out those without {}.", log.summary.per));
    writeln!(out, "{}", visible(&report.read))?;
    let formats = (!report.formats.is_empty()).then(|| format!("{}.", report.formats));
    let notes = formats.iter().chain(&report.notes).chain(&keyless);
    let notes: Vec<&str> = notes.map(String::as_str).collect();
    if !notes.is_empty() {
        writeln!(out, "{}", visible(&notes.join(" ")))?;
    }
    if let Some((said, problems)) = &report.unread {
        writeln!(out, "{said}:")?;
        problems.iter().try_for_each(|problem| writeln!(out, "  {problem}"))?;
    }
    match &report.room {
        Some(room) => writeln!(out, "{room} --memory and --clients give more room."),
        None => Ok(()),
    }
}

fn tried(answer: &Tuned<'_>, out: &mut impl Write) -> io::Result<()> {
    if answer.tried.is_empty() {
        return Ok(());
    }
    let all = answer.analysis.clients().requests().max(1) as f64;
    // The refused events, their share, and the clients that a limit touches.
    let effect = |refused: u64, touched: u64| {
        let share = percent(refused as f64 / all);
        format!("{:>12}  {share:>11}  {:>10}", grouped(refused), grouped(touched))
    };
    let recommended = answer.today.and_then(|today| {
        let effect = today.recommended(answer)?;
        let per = &answer.analysis.imported().summary.per;
        Some((format!("recommended: {} per {per}", effect.limit), effect))
    });
    let names = answer.tried.iter().map(|tried| tried.text.as_str());
    let width = column(names.chain(recommended.iter().map(|(name, _)| name.as_str())));
    writeln!(
        out,
        "\n{:width$}  {:>12}  {:>11}  {:>10}",
        "limit",
        "refused",
        format!("of {}", answer.analysis.imported().events()),
        "clients"
    )?;
    for Tried { text, problem, touched, has_more, refused, evicted, keyless, .. } in answer.tried {
        if let Some(problem) = problem {
            writeln!(out, "{text:width$}  not tried: {problem}")?;
            continue;
        }
        writeln!(out, "{text:width$}  {}", effect(*refused, *touched))?;
        if *has_more {
            let touched = grouped(*touched);
            writeln!(out, "  at least {touched} clients: more than --clients")?;
        }
        if *evicted > 0 {
            writeln!(out, "  {evicted} keys were evicted: more than --clients")?;
        }
        if *keyless > 0 {
            let n = grouped(*keyless);
            let events = answer.analysis.imported().events();
            writeln!(
                out,
                "  {n} of the {events} have no key for a limit, which counts them as one client"
            )?;
        }
    }
    if let Some((name, of)) = &recommended {
        writeln!(out, "{name:width$}  {}", effect(of.refused, of.touched))?;
    }
    // A limit that was not tried refuses nobody.
    for Tried { text, most_refused, .. } in answer.tried {
        let rows = answer.analysis.rows_of(most_refused);
        if !rows.is_empty() {
            writeln!(out, "\nThe clients that {text} refuses most:")?;
            table(answer, &rows, out)?;
        }
    }
    Ok(())
}

fn periods(answer: &Tuned<'_>, out: &mut impl Write) -> io::Result<()> {
    let which = match answer.analysis.aim() {
        Aim::Mistakes => "lets three failed logins in a row pass",
        Aim::Untouched(_) => "leaves enough clients alone in two thirds of the log",
    };
    writeln!(out, "\nThe smallest limit of each period that {which}:")?;
    let share =
        |Share { touched, clients }| format!("{} of {}", grouped(touched), grouped(clients));
    for (period, advice) in answer.analysis.periods() {
        let limiter = advice.limiter.as_ref().map_or("none".to_owned(), ToString::to_string);
        write!(out, "{:>6}  {limiter:34}  touches {}", period.to_string(), share(advice.learned))?;
        match advice.checked {
            Some(checked) => writeln!(out, "; in the rest {}", share(checked))?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

fn curve(answer: &Tuned<'_>, out: &mut impl Write) -> io::Result<()> {
    let analysis = answer.analysis;
    let Some((curve, advice)) = analysis.shown() else { return Ok(()) };
    let of = |n: u64, all: u64| n as f64 / all.max(1) as f64;
    let clients = analysis.clients().clients();
    let requests = analysis.clients().requests();
    let events = analysis.imported().events();
    writeln!(
        out,
        "\n{}: the clients and {events} that N would have refused, over the whole log:",
        curve.measure
    )?;
    let is_marked = analysis.rows().iter().any(|row| row.marked > 0);
    write!(out, "{:>9}  {:>12} {:>9}  {:>12} {:>9}", "N", "clients", "", events, "")?;
    writeln!(out, "{}", if is_marked { "    marked" } else { "" })?;
    for &LimitRow { limit, touched, marked, refused } in analysis.rows() {
        let share = of(touched, clients);
        let refused = refused.unwrap_or(0);
        write!(out, "{limit:>9}  {:>12} {:>9}", grouped(touched), percent(share))?;
        write!(out, "  {:>12} {:>9}", grouped(refused), percent(of(refused, requests)))?;
        if is_marked {
            write!(out, "  {:>8}", grouped(marked))?;
        }
        let bar = "#".repeat((share * BAR as f64).ceil() as usize);
        let here = if Some(limit) == advice.limit { "  <- recommended" } else { "" };
        writeln!(out, "  {bar}{here}")?;
    }
    Ok(())
}

fn buckets(answer: &Tuned<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nToken bucket, GCRA, leaky bucket: the burst that a rate needs:")?;
    writeln!(out, "{:>9}  {:>10}  {:>8}", "burst", "rate", "touches")?;
    let Some(frontier) = answer.analysis.frontier() else { return Ok(()) };
    let tightest = frontier.tightest(answer.analysis.choices().period);
    for at in &frontier.bursts {
        let here = if Some(*at) == tightest { "  <- recommended" } else { "" };
        let rate = at.rate.to_string();
        let touched = grouped(at.touched);
        writeln!(out, "{:>9}  {rate:>10}  {touched:>8}{here}", at.burst)?;
    }
    Ok(())
}

fn clients(answer: &Tuned<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nThe clients that the recommended limit refuses most, and then the busiest:")?;
    table(answer, &answer.most_refused, out)
}

/// A table of clients.
fn table(answer: &Tuned<'_>, rows: &[ClientRow], out: &mut impl Write) -> io::Result<()> {
    let keys = rows.iter();
    let width = keys.map(|client| client.key.chars().count()).max().unwrap_or(0).clamp(6, 40);
    let events = answer.analysis.imported().events();
    let wide = events.len().max(10);
    writeln!(
        out,
        "{:width$}  {events:>wide$}  {:>10}  {:19}  {:>10}  first refused",
        "client", "peak", "at", "refused"
    )?;
    for client in rows {
        let [key, marked, requests, peak, at, refused, first] = answer.analysis.cells(client);
        let key = cut(&key, width);
        let line = format!(
            "{key:width$}  {requests:>wide$}  {peak:>10}  {at:19}  {refused:>10}  {first}  {marked}"
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn labels(answer: &Tuned<'_>, out: &mut impl Write) -> io::Result<()> {
    for (name, (rows, all)) in
        ["path", "agent"].into_iter().zip(LabelRow::tables(answer.analysis, ROWS))
    {
        let rows: Vec<[String; 3]> = rows.into_iter().map(LabelRow::cells).collect();
        let Some(width) = rows.iter().map(|[text, ..]| text.chars().count()).max() else {
            continue;
        };
        let width = width.clamp(6, WIDEST);
        let of = grouped(all as u64);
        let s = plural(all as u64);
        writeln!(out, "\nThe limit refuses requests of {of} {name}{s}:")?;
        writeln!(out, "{name:width$}  {:>10}  {:>10}", "refused", "requests")?;
        for [text, refused, requests] in rows {
            let text = cut(&text, width);
            writeln!(out, "{text:width$}  {refused:>10}  {requests:>10}")?;
        }
    }
    Ok(())
}

fn hours(answer: &Tuned<'_>, out: &mut impl Write) -> io::Result<()> {
    let replay = answer.analysis.replayed().filter(|replay| replay.refused() > 0);
    let Some(replay) = replay else { return Ok(()) };
    let days = &replay.hours().0;
    let most = days.iter().flatten().copied().max().unwrap_or(0).max(1);
    let zone = answer.analysis.clock().zone;
    let nine = grouped(most);
    writeln!(
        out,
        "\nWhen it would have refused ({zone}; 9 stands for {nine} in an hour of the week, 1 for a ninth of it, . for none):"
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

fn says(answer: &Tuned<'_>, report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    if !report.aim.is_empty() {
        writeln!(out, "{}", report.aim)?;
    }
    for effect in [&answer.effect, &answer.bucket].into_iter().flatten() {
        writeln!(out, "{}", visible(&effect.says))?;
    }
    // Servers have limits of their own.
    if answer.servers.is_empty() {
        above(answer.above.as_ref(), &report.stops, out)?;
    }
    report.doubts.iter().try_for_each(|doubt| writeln!(out, "{doubt}"))
}

/// The clients far above all others, how to let them pass, and the effect on the clients to be stopped.
fn above(above: Option<&Above>, stops: &[String], out: &mut impl Write) -> io::Result<()> {
    if let Some(Above { says, keys, .. }) = above {
        let them = if keys.len() == 1 { "it is one" } else { "they are some" };
        writeln!(
            out,
            "{} If {them} of yours, put the key{} into the file of --marks.",
            visible(says),
            plural(keys.len() as u64)
        )?;
    }
    stops.iter().try_for_each(|stop| writeln!(out, "{}", visible(stop)))
}

fn for_server(server: &Server, out: &mut impl Write) -> io::Result<()> {
    let target = server.target;
    match &server.effect {
        Some(effect) => writeln!(out, "\nFor {}: {}", target.title(), visible(&effect.headline))?,
        None => writeln!(out, "\nFor {}:", target.title())?,
    }
    above(server.above.as_ref(), &server.stops, out)?;
    match &server.configuration {
        Ok((text, notes)) => {
            // `Visible` would turn a tab into a dot.
            writeln!(out, "\n{}", text.trim_end().replace('\t', "    "))?;
            let lead = if notes.is_empty() { "" } else { "\n" };
            write!(out, "{lead}")?;
            notes.iter().try_for_each(|note| writeln!(out, "Note: {note}."))
        }
        Err(why) => writeln!(out, "There is no configuration: {why}."),
    }
}
