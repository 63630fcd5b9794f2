//! The answer, as texts and numbers for the page.

use super::Tuner;
use crate::texts::Texts;
use js_sys::{Float64Array, Map};
use ratescope::internal::grouped;
use ratescope_lab::csv::{Cell, row};
use ratescope_lab::tune::{Analysis, ClientRow, LabelRow, PictureData, Report};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
impl Tuner {
    /// The texts beside the pictures, three entries for each: the id of its element, the text, and its number, or an
    /// empty text.
    pub fn said(&self) -> Vec<String> {
        let mut texts = Texts::default();
        if let Some(analysis) = &self.analysis {
            write_texts(analysis, &mut texts);
        }
        texts.drain()
    }

    /// The data of the pictures: the numbers of each part by its name.
    pub fn picture(&self) -> Map {
        let data = self.analysis.as_ref().map(PictureData::new).unwrap_or_default();
        let parts = Map::new();
        for name in PictureData::PARTS {
            parts.set(&name.into(), &Float64Array::from(&data.part(name)[..]).into());
        }
        parts
    }

    /// The configuration as texts: the configuration, an empty text, and notes on it; or the reason why there is none,
    /// and `no`. Empty without a log.
    pub fn configuration(&self) -> Vec<String> {
        match self.analysis.as_ref().and_then(Analysis::configuration) {
            Some(Ok((text, notes))) => [text, String::new()].into_iter().chain(notes).collect(),
            Some(Err(problem)) => vec![problem, "no".to_owned()],
            None => Vec::new(),
        }
    }

    /// The recommendations for other periods, four texts each: the period, the limit, and the clients that it touches
    /// in the part of the log that chose it and in the part that checks it.
    pub fn periods(&self) -> Vec<String> {
        let periods = self.analysis.as_ref().map_or(&[][..], Analysis::periods);
        let texts = periods.iter().map(|(period, advice)| {
            let limiter = advice.limiter.as_ref().map(ToString::to_string);
            let checked = advice.checked.map(|share| share.to_string());
            [
                period.to_string(),
                limiter.unwrap_or_else(|| "none".to_owned()),
                advice.learned.to_string(),
                checked.unwrap_or_default(),
            ]
        });
        texts.flatten().collect()
    }

    /// The first clients of the table whose key contains `search`, at most `most`, eight texts each: the key, and
    /// [`Analysis::cells`]. Before them comes the number of all such clients. Empty without a log.
    pub fn table(&self, search: &str, most: usize) -> Vec<String> {
        let Some(analysis) = &self.analysis else { return Vec::new() };
        let (clients, all) = analysis.table(search, most);
        let cells = clients
            .iter()
            .flat_map(|client| [client.key.clone()].into_iter().chain(analysis.cells(client)));
        [grouped(all as u64)].into_iter().chain(cells).collect()
    }

    /// The keys of the clients far above all others.
    pub fn outliers(&self) -> Vec<String> {
        let Some(analysis) = &self.analysis else { return Vec::new() };
        let places = analysis.plateau().map_or(&[][..], |plateau| &plateau.outliers);
        places.iter().map(|place| analysis.clients().key(*place).to_owned()).collect()
    }

    /// The paths (`field` 0) or the agents (`field` 1) whose requests are refused most, at most `most`, three texts
    /// each: see [`LabelRow::cells`]. Before them comes the number of all. Empty if none is known.
    pub fn labels(&self, field: usize, most: usize) -> Vec<String> {
        let tables = self.analysis.as_ref().map(|analysis| LabelRow::tables(analysis, most));
        let table = tables.and_then(|tables| tables.into_iter().nth(field));
        let Some((rows, all)) = table.filter(|(_, all)| *all > 0) else { return Vec::new() };
        let cells = rows.into_iter().flat_map(LabelRow::cells);
        [grouped(all as u64)].into_iter().chain(cells).collect()
    }

    /// All clients as comma-separated values, with a header.
    pub fn csv(&self) -> String {
        let Some(analysis) = &self.analysis else { return String::new() };
        let clock = analysis.clock();
        let mut text = String::from("client,marked,requests,peak,peak_at,refused,first_refused\n");
        for client in analysis.table("", usize::MAX).0 {
            let marked = client.mark();
            let ClientRow { key, requests, peak, refused, first, .. } = client;
            let level = peak.map_or(String::new(), |peak| peak.level.to_string());
            let [at, first] = [peak.map(|peak| peak.at), first]
                .map(|time| time.map_or(String::new(), |time| clock.rfc3339(time)));
            let [requests, refused] = [requests, refused].map(|count| count.to_string());
            let rest = [marked, &requests, &level, &at, &refused, &first].map(Cell::Plain);
            row(&mut text, [Cell::Text(&key)].into_iter().chain(rest));
        }
        text
    }

    /// The summary of the logs that were read, as the command writes it.
    pub fn summary(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(analysis) = &self.analysis {
            // Writing to a Vec does not fail.
            _ = analysis.imported().summary.write(&mut bytes);
        }
        bytes
    }

    /// The lanes for a client's events, as two texts: the limit of lanes without their own, and the lanes. Empty while
    /// there is no limit.
    pub fn lanes(&self) -> Vec<String> {
        let lanes = self.analysis.as_ref().and_then(|analysis| {
            let ((curve, _), limit) = analysis.shown().zip(analysis.limit())?;
            analysis.choices().lanes(curve.measure, limit)
        });
        lanes.map_or(Vec::new(), |(limit, lanes)| vec![limit.to_string(), lanes])
    }

    /// The events of a client, two numbers each: microseconds since 1970, and the cost.
    pub fn events(&self, key: &str) -> Vec<f64> {
        let Some(clients) = self.analysis.as_ref().map(Analysis::clients) else {
            return Vec::new();
        };
        let Some(place) = clients.find(key) else { return Vec::new() };
        let numbers =
            clients.moments(place).map(|moment| [moment.time.as_micros() as f64, moment.cost]);
        numbers.flatten().collect()
    }
}

fn write_texts(analysis: &Analysis, texts: &mut Texts) {
    let report = Report::new(analysis);
    let log = &analysis.imported().summary;
    for id in ["t-peak-zone", "t-first-zone"] {
        texts.set(id, analysis.clock().zone.to_string());
    }
    texts.set("t-events", analysis.imported().events());
    texts.set_with_number("t-read", report.read, log.clients.requests() as f64);
    texts.set("t-format", report.formats);
    texts.set("t-notes", report.notes.join(" "));
    let unread = report.unread.map(|(said, problems)| format!("{said}:\n{}", problems.join("\n")));
    texts.set_with_number("t-unread", unread.unwrap_or_default(), log.unread as f64);
    let room = report.room.map(|said| said + " The command line has more room.");
    texts.set("t-room", room.unwrap_or_default());
    texts.set_with_number("t-sentence", report.headline, f64::from(u8::from(report.done)));
    texts.set("t-today", report.today);
    texts.set("configuration-title", analysis.choices().target.file());
    texts.set("t-aim", report.aim);
    texts.set("t-learned", report.learned);
    texts.set("t-plateau", report.plateau);
    texts.set("t-stops", report.stops.join("\n"));
    texts.set("t-doubts", report.doubts.join("\n"));
}
