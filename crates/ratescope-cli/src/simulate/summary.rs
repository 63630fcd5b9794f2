//! The summary of the log at the end of a simulation.

use ratescope::internal::plural;
use ratescope::policy::Per;
use ratescope_log::{Corrections, Format, Log, Order};
use std::io::{self, Read, Write};

/// Prints the counts of lines and events (for CSV only if something was filtered out), the unreadable lines, the
/// corrections of the order, and hints about the key. With `only_keyed`, events without a field of the key are left
/// out.
pub(crate) fn of_log<T>(
    log: &Log<impl Read>,
    order: Option<&Order<T>>,
    per: &Per,
    only_keyed: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let counts = log.counts();
    if log.shape().format() != Format::CSV || counts.filtered > 0 {
        let lines = counts.lines;
        let events = counts.events;
        let s = plural(lines);
        let those = plural(events);
        write!(out, "{}: {lines} line{s}, {events} event{those}", log.shape())?;
        let others = if counts.others == 1 { "that is no event" } else { "that are no events" };
        for (count, what) in [
            (counts.filtered, "filtered out"),
            (counts.others, others),
            (counts.unread, "could not be read"),
        ] {
            if count > 0 {
                write!(out, ", {count} {what}")?;
            }
        }
        writeln!(out)?;
    }
    for unread in &counts.problems {
        writeln!(out, "  {unread}")?;
    }
    let more = counts.unread - counts.problems.len() as u64;
    if more > 0 {
        writeln!(out, "  and {more} more")?;
    }
    if let Some(order) = order {
        of_order(order.corrections(), out)?;
    }
    match (counts.events, counts.keyless) {
        (_, 0) => Ok(()),
        (_, few) if only_keyed => writeln!(out, "{few} without {per} left out"),
        (all, few) if all == few => {
            writeln!(
                out,
                "no event has the field {per}, so they are counted together; choose one with --key"
            )
        }
        (all, few) => {
            writeln!(out, "{few} of {all} have no {per} and count as one client; see --only-keyed")
        }
    }
}

fn of_order(corrections: Corrections, out: &mut impl Write) -> io::Result<()> {
    let Corrections { spread_out, late, dropped, steps_back } = corrections;
    for (count, what, option) in [
        (spread_out, "spread over their seconds", "; --no-spread leaves them"),
        (late, "too late to be put in order", "; see --slack"),
        (dropped, "left out, far ahead of the lines around them", ""),
    ] {
        if count > 0 {
            writeln!(out, "{what}: {count} event{}{option}", plural(count))?;
        }
    }
    if steps_back.count > 0 {
        writeln!(out, "{steps_back}")?;
    }
    Ok(())
}
