//! The answers, as texts and numbers.

use super::Tuner;
use crate::civil::Civil;
use crate::lab::tune::{Advice, Analysis, ClientRow, Clients, Import, Share};
use crate::plot::axis::{readout, readout_count};
use crate::text::plural;
use crate::time::Time;
use crate::web::texts::Texts;
use wasm_bindgen::prelude::*;

/// How many clients the table has.
const ROWS: usize = 50;

#[wasm_bindgen]
impl Tuner {
    /// What is said beside the pictures, three texts for each: the id of its element, the text, and
    /// the number it was made of, or nothing.
    pub fn said(&self) -> Vec<String> {
        let Some(analysis) = &self.analysis else { return Vec::new() };
        let mut texts = self.about.clone();
        answer(analysis, &mut texts);
        texts.take()
    }

    /// The curve that is shown, as [`Staircase::to_numbers`](crate::lab::tune::Staircase::to_numbers);
    /// nothing while it is counted.
    pub fn steps(&self) -> Vec<f64> {
        let shown = self.analysis.as_ref().and_then(Analysis::shown);
        shown.map_or(Vec::new(), |(curve, _)| curve.steps().to_numbers())
    }

    /// The limit that is recommended and the knee; what there is none of is no number.
    pub fn advice(&self) -> Vec<f64> {
        let shown = self.analysis.as_ref().and_then(Analysis::shown);
        let numbers = |(_, advice): &(_, Advice)| [advice.limit, advice.knee];
        shown.map_or([None, None], numbers).map(|n| n.unwrap_or(f64::NAN)).into()
    }

    /// The buckets that would do, as four numbers each: burst, the count and the seconds of the
    /// rate, and how many clients it touches.
    pub fn bursts(&self) -> Vec<f64> {
        let frontier = self.analysis.as_ref().and_then(Analysis::frontier);
        let bursts = frontier.map_or(&[][..], |frontier| &frontier.bursts);
        let numbers = |at: &crate::lab::tune::Burst| {
            [at.burst, at.rate.count(), at.rate.per().secs(), at.touched as f64]
        };
        bursts.iter().flat_map(numbers).collect()
    }

    /// Limits along the curve and how many requests they refuse, where each takes a replay: two
    /// numbers each. Before them, how many requests there are.
    pub fn counted(&self) -> Vec<f64> {
        let Some(analysis) = &self.analysis else { return Vec::new() };
        let requests = analysis.study().clients().requests() as f64;
        [requests].into_iter().chain(analysis.counted().iter().flatten().copied()).collect()
    }

    /// What the limiter refuses by day of the week and hour, from Monday, midnight; and before it,
    /// whether that is all (1) or still being counted (0), how many requests and clients, and the
    /// [`Zone`](crate::lab::tune::Zone) in minutes, which are no numbers where none is known.
    pub fn hours(&self) -> Vec<f64> {
        let Some(analysis) = &self.analysis else { return Vec::new() };
        let Some(replay) = analysis.replayed() else { return Vec::new() };
        let touched = replay.touched(analysis.study().clients()).touched;
        let done = if replay.is_done() { 1.0 } else { 0.0 };
        let zone = replay.clock().zone().0.map_or([f64::NAN; 2], |range| range.map(f64::from));
        let mut numbers = vec![done, replay.refused() as f64, touched as f64, zone[0], zone[1]];
        numbers.extend(replay.hours().days().iter().flatten().map(|n| *n as f64));
        numbers
    }

    /// The configuration: its text or why there is none, whether it is that (`no`), and what is to be
    /// known about it.
    pub fn configuration(&self) -> Vec<String> {
        match self.analysis.as_ref().and_then(Analysis::configuration) {
            Some(Ok((text, notes))) => [text, String::new()].into_iter().chain(notes).collect(),
            Some(Err(problem)) => vec![problem, "no".to_owned()],
            None => Vec::new(),
        }
    }

    /// What is recommended for other periods: period, limit, and whom it touches where it was
    /// learned and where it was checked; four texts each.
    pub fn periods(&self) -> Vec<String> {
        let periods = self.analysis.as_ref().map_or(&[][..], Analysis::periods);
        let texts = |(period, advice): &(crate::time::Span, Advice)| {
            let none = || "none".to_owned();
            [
                period.to_string(),
                advice.limiter.as_ref().map_or_else(none, ToString::to_string),
                share(advice.learned),
                advice.checked.map_or(String::new(), share),
            ]
        };
        periods.iter().flat_map(texts).collect()
    }

    /// The table: for each client its key, whether it is marked, its requests, its peak, when that
    /// was, what was refused of it, and when first; seven texts each.
    pub fn table(&self) -> Vec<String> {
        let Some(analysis) = &self.analysis else { return Vec::new() };
        let clock = analysis.study().clock();
        let busiest = busiest(analysis, ROWS).into_iter();
        let when = |time| when(clock.shows(time));
        busiest.flat_map(|busy| row(busy, &when, readout_count)).collect()
    }

    /// The table as a file of comma-separated values, with its header.
    pub fn csv(&self) -> String {
        let Some(analysis) = &self.analysis else { return String::new() };
        let mut text = String::from("client,marked,requests,peak,peak_at,refused,first_refused\n");
        for busy in busiest(analysis, usize::MAX) {
            let peak = busy.peak.map(|peak| peak.level.to_string());
            let clock = analysis.study().clock();
            let mut cells = row(busy, &|time| clock.written(time), |n| n.to_string());
            if let (Some(cell), Some(peak)) = (cells.get_mut(3), peak) {
                *cell = peak;
            }
            let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
            text += &cells.join(",");
            text.push('\n');
        }
        text
    }

    /// What a client's events are compared by: the limit of lanes that have none of their own, and the
    /// lanes; nothing as long as there is no limit.
    pub fn lanes(&self) -> Vec<String> {
        let Some(analysis) = &self.analysis else { return Vec::new() };
        let shown = analysis.shown().zip(analysis.limit());
        let lanes =
            shown.and_then(|((curve, _), limit)| analysis.choices().lanes(curve.measure, limit));
        lanes.map_or(Vec::new(), |(limit, lanes)| vec![limit.to_string(), lanes])
    }

    /// The events of a client, two numbers each: microseconds since 1970, and what it counted for.
    pub fn events(&self, key: &str) -> Vec<f64> {
        let Some(clients) = self.analysis.as_ref().map(|analysis| analysis.study().clients())
        else {
            return Vec::new();
        };
        let Some(place) = clients.find(key) else { return Vec::new() };
        let numbers =
            clients.moments(place).map(|moment| [moment.time.as_micros() as f64, moment.cost]);
        numbers.flatten().collect()
    }
}

impl Tuner {
    /// What is to be said of how logs were read.
    pub(super) fn about_reading(&self, import: &Import) -> Texts {
        let mut texts = Texts::default();
        let (counts, times) = (import.counts(), import.times());
        texts.say("t-format", import.shapes().join("; "));
        let mut notes = Vec::new();
        if counts.filtered > 0 {
            let (filter, n) = (&import.reading().options.filter, readout_count(counts.filtered));
            notes.push(format!("Only those with {filter}; {n} others were left out."));
        }
        if times.spread_out > 0 {
            let n = readout_count(times.spread_out);
            notes.push(format!(
                "The log has whole seconds: {n} events were spread evenly over theirs, or each second would \
                 be one burst."
            ));
        }
        if times.late > 0 {
            let n = readout_count(times.late);
            let s = plural(times.late);
            notes.push(format!("{n} line{s} came too late to be put in order."));
        }
        if times.steps_back > 0 {
            let (n, s) = (times.steps_back, plural(times.steps_back));
            notes.push(format!("The clock was set back {n} time{s}."));
        }
        texts.say("t-notes", notes.join(" "));
        let unread = match counts.unread {
            0 => String::new(),
            n => {
                let lines = readout_count(counts.lines);
                let problems: Vec<String> =
                    counts.problems.iter().map(ToString::to_string).collect();
                format!(
                    "{} of {lines} lines could not be read:\n{}",
                    readout_count(n),
                    problems.join("\n")
                )
            }
        };
        texts.show("t-unread", unread, counts.unread as f64);
        texts
    }
}

fn answer(analysis: &Analysis, texts: &mut Texts) {
    let clients = analysis.study().clients();
    let per = &analysis.study().summary().per;
    let clock = analysis.study().clock();
    let mut read = format!(
        "{} request{} from {} client{} (per {per})",
        readout_count(clients.requests()),
        plural(clients.requests()),
        readout_count(clients.clients()),
        plural(clients.clients())
    );
    if let Some((first, last)) = clients.times() {
        let [first, last] = [first, last].map(|time| when(clock.shows(time)));
        read += &format!(", {first} to {last} {}", clock.zone());
    }
    if clock.is_of_several() {
        read += ". The lines are of several time zones, so times are told in UTC";
    }
    for id in ["t-peak-zone", "t-first-zone"] {
        texts.say(id, clock.zone().to_string());
    }
    texts.show("t-read", read, clients.requests() as f64);
    texts.say("t-room", room(clients));
    let (sentence, done) = match analysis.replayed() {
        Some(replay) if replay.is_done() => (replay.sentence(clients), true),
        _ if analysis.shown().is_some() && analysis.limiter().is_none() => {
            ("No limit leaves so many clients alone.".to_owned(), true)
        }
        _ => (counting(analysis), false),
    };
    texts.show("t-sentence", sentence, f64::from(u8::from(done)));
    let Some((_, advice)) = analysis.shown() else { return };
    let learned = match (advice.limit, advice.checked) {
        (None, _) => String::new(),
        (Some(limit), checked) => {
            let recommended = match analysis.limit() == Some(limit) {
                true => "Recommended".to_owned(),
                false => format!("Recommended would be {limit}"),
            };
            let checked = checked.map_or(String::new(), |checked| {
                format!("; in the rest, on which it is checked, {}", share(checked))
            });
            let learned = share(advice.learned);
            let of = if checked.is_empty() { "" } else { " in the first two thirds of the log" };
            format!("{recommended}: it touches {learned}{of}{checked}.")
        }
    };
    texts.say("t-learned", learned);
    let doubts: Vec<String> = advice.doubts.iter().map(|doubt| format!("But: {doubt}.")).collect();
    texts.say("t-doubts", doubts.join("\n"));
}

fn counting(analysis: &Analysis) -> String {
    match analysis.study().measured() {
        1.0 => "Still counting …".to_owned(),
        part => format!("Still counting: {} % …", readout(libm::floor(part * 100.0))),
    }
}

fn room(clients: &Clients) -> String {
    if clients.left_out() == 0 {
        return String::new();
    }
    format!(
        "There was no room for all: {} % of the requests are kept, of {} clients. The busiest are all \
         there; of the others one in {} was kept, by chance, and stands for so many. Numbers of clients \
         are estimates. The command line has more room.",
        readout(100.0 * clients.share_kept()),
        readout_count(clients.len() as u64),
        clients.one_in(),
    )
}

fn share(share: Share) -> String {
    let [touched, clients] = [share.touched, share.clients].map(readout_count);
    format!("{touched} of {clients} client{}", plural(share.clients))
}

fn busiest(analysis: &Analysis, most: usize) -> Vec<ClientRow> {
    let measure = analysis.shown().map(|(curve, _)| curve.measure);
    analysis.study().busiest(measure, most, analysis.choices().by_refused)
}

fn row(busy: ClientRow, when: &dyn Fn(Time) -> String, count: fn(u64) -> String) -> [String; 7] {
    let (peak, at) = match busy.peak {
        Some(peak) => (readout(peak.level), when(peak.at)),
        None => Default::default(),
    };
    let marked = if busy.marked { "marked" } else { "" }.to_owned();
    let first = busy.first.map(when).unwrap_or_default();
    [busy.key, marked, count(busy.requests), peak, at, count(busy.refused), first]
}

/// The date and the time of day, as a clock of UTC shows it, in whole seconds.
fn when(time: Time) -> String {
    let seconds = time.as_micros().div_euclid(1_000_000);
    Civil(Time::from_micros(seconds * 1_000_000)).to_string()
}

/// A cell of CSV. What a spreadsheet would take for a formula, it is to take for text.
fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}
