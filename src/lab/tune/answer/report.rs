//! The answer as sentences, the same for every front end.

use super::Analysis;
use crate::lab::tune::{Clients, Imported, Times, percent};
use crate::text::plural;

/// The answer as sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The numbers of requests and clients, and the first and the last time.
    pub read: String,
    /// The formats of the logs; empty if they are not known.
    pub formats: String,
    /// The differences between the lines and the events kept, a sentence each.
    pub notes: Vec<String>,
    /// The number of lines that could not be read, and the first of them with the reasons.
    pub unread: Option<(String, Vec<String>)>,
    /// The way the clients were sampled, if there was no room for all.
    pub room: Option<String>,
    /// The refusals of the limit in force, or the progress of counting them.
    pub sentence: String,
    /// Whether that sentence is final.
    pub done: bool,
    /// The clients that the recommended limit touches, where it was learned and where it was checked.
    pub learned: String,
    /// Reasons to think twice, a sentence each.
    pub doubts: Vec<String>,
}

/// The effect of a limiter on the clients of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The limiter.
    pub limit: String,
    /// The number of clients that it touches.
    pub touched: u64,
    /// The number of requests that it refuses.
    pub refused: u64,
    /// The same as a sentence.
    pub says: String,
}

/// The functions with which a front end writes numbers.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// A number of requests, clients or lines.
    pub count: fn(u64) -> String,
    /// A level.
    pub level: fn(f64) -> String,
}

impl Report {
    /// The sentences about what is known by now.
    pub fn new(analysis: &Analysis, Numbers { count, .. }: Numbers) -> Self {
        let (log, clients) = (analysis.imported(), analysis.clients());
        let (sentence, done) = sentence(analysis);
        let mut report = Report {
            read: read(analysis, count),
            formats: log.formats.join("; "),
            notes: notes(analysis, count),
            unread: unread(log, count),
            room: room(clients, count),
            sentence,
            done,
            ..Report::default()
        };
        if let Some((_, advice)) = analysis.shown() {
            let but = |doubt: &_| format!("But: {doubt}.");
            report.doubts = advice.doubts.iter().map(but).collect();
            report.learned = learned(analysis).unwrap_or_default();
        }
        report
    }
}

impl Analysis {
    /// The effect of the limiter in force, once it has been replayed.
    pub fn effect(&self) -> Option<Effect> {
        let replay = self.replayed().filter(|replay| replay.is_done())?;
        Some(Effect {
            limit: replay.limiter().to_string(),
            touched: replay.touched(self.clients()).touched,
            refused: replay.refused(),
            says: replay.sentence(self.clients()),
        })
    }
}

fn read(analysis: &Analysis, count: fn(u64) -> String) -> String {
    let (clients, clock) = (analysis.clients(), analysis.clock());
    let [requests, senders] = [clients.requests(), clients.clients()];
    let mut text = format!(
        "{} request{} from {} client{} (per {})",
        count(requests),
        plural(requests),
        count(senders),
        plural(senders),
        analysis.imported().summary.per
    );
    if let Some((first, last)) = clients.times() {
        let [first, last] = [first, last].map(|time| clock.shown(time));
        text += &format!(", {first} to {last} {}", clock.zone());
    }
    text
}

fn notes(analysis: &Analysis, count: fn(u64) -> String) -> Vec<String> {
    let Imported { options, counts, times, .. } = analysis.imported();
    let Times { spread_out, late, dropped, steps_back } = *times;
    let mut notes = Vec::new();
    let mut note = |n: u64, say: &dyn Fn(&str, &str) -> String| {
        if n > 0 {
            notes.push(say(&count(n), plural(n)));
        }
    };
    note(counts.filtered, &|n, _| {
        format!("Only those with {}; {n} others were left out.", options.options.filter)
    });
    note(spread_out, &|n, _| {
        format!("Of its times in whole seconds, {n} were spread evenly over theirs.")
    });
    note(late, &|n, s| format!("{n} line{s} came too late to be put in order."));
    note(dropped, &|n, s| format!("{n} event{s} left out, far ahead of the lines around."));
    note(steps_back, &|n, s| format!("The clock was set back {n} time{s}."));
    note(analysis.clients().late(), &|n, s| {
        format!("{n} request{s} came out of order, and count as with the one before.")
    });
    if analysis.clock().is_of_several() {
        let said = "The lines are of several time zones, so times are told in UTC.";
        notes.push(said.to_owned());
    }
    notes
}

fn unread(log: &Imported, count: fn(u64) -> String) -> Option<(String, Vec<String>)> {
    let [unread, lines] = [log.summary.unread, log.summary.lines];
    let said = format!("{} of {} lines could not be read", count(unread), count(lines));
    let problems = log.counts.problems.iter().map(ToString::to_string);
    (unread > 0).then(|| (said, problems.collect()))
}

fn room(clients: &Clients, count: fn(u64) -> String) -> Option<String> {
    let say = || {
        format!(
            "There was no room for all: {} of the requests are kept, of {} clients. The busiest are all \
             there; of the others one in {} was kept, by chance, and stands for so many. Numbers of \
             clients are estimates.",
            percent(clients.share_kept()),
            count(clients.len() as u64),
            clients.one_in(),
        )
    };
    (clients.left_out() > 0).then(say)
}

/// The sentence about the refusals, and whether it is final.
fn sentence(analysis: &Analysis) -> (String, bool) {
    match analysis.effect() {
        Some(effect) => (effect.says, true),
        None if analysis.shown().is_some() && analysis.limiter().is_none() => {
            ("No limit leaves so many clients alone.".to_owned(), true)
        }
        None => match analysis.measured() {
            1.0 => ("Still counting …".to_owned(), false),
            part => (format!("Still counting: {} % …", libm::floor(part * 100.0)), false),
        },
    }
}

fn learned(analysis: &Analysis) -> Option<String> {
    let (_, advice) = analysis.shown()?;
    let limit = advice.limit?;
    let recommended = match analysis.limit() == Some(limit) {
        true => "Recommended".to_owned(),
        false => format!("Recommended would be {limit}"),
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
