//! The thin lines: other measurements of the same events, and the sentences about them.

use super::layout::Layout;
use super::lines::{self, Stretch};
use super::outlook::plain;
use crate::plot::axis;
use crate::plot::{Ink, Mark, Stroke};
use crate::scope::models::{Model, ModelColumn};
use crate::scope::{Models, Scope, Settings};
use ratescope::estimate::recent_average::settled;
use ratescope::time::Time;

/// The width of the lines, in CSS pixels.
const WIDTH: f64 = 1.25;

/// The drawn models.
fn shown(settings: &Settings) -> impl Iterator<Item = Model> {
    let Settings { bucket, mean, recent, former, .. } = *settings;
    let bucket = bucket && settings.leaky_bucket().is_some();
    let on = [bucket, mean, recent, former];
    Model::ALL.into_iter().zip(on).filter(|(_, on)| *on).map(|(model, _)| model)
}

pub(super) fn ink(model: Model) -> Ink {
    match model {
        Model::Bucket => Ink::Bucket,
        Model::Mean => Ink::Mean,
        Model::Recent => Ink::Recent,
        Model::Former => Ink::Rate,
    }
}

/// The name at the end of a line.
pub(super) fn name(model: Model) -> &'static str {
    match model {
        Model::Bucket => "bucket",
        Model::Mean => "mean",
        Model::Recent => "N",
        Model::Former => "2009",
    }
}

/// The drawn thin lines, each with its value at an instant, in events per second.
pub fn at(scope: &Scope, at: Time) -> Vec<(Model, f64)> {
    let Some(models) = scope.instrument().models() else { return Vec::new() };
    let column = models.trace.column_at(at);
    let value = |model| column.map_or(0.0, |column| column.end.value_at(model, at));
    shown(scope.settings()).map(|model| (model, value(model))).collect()
}

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, scope: &Scope, now: Time) {
    let Some(models) = scope.instrument().models() else { return };
    let pixel = 1.0 / layout.time.pace;
    let columns = models.trace.columns(layout.time.from, layout.time.to, pixel);
    for model in shown(scope.settings()) {
        let of = |c: &ModelColumn| Stretch {
            first: c.first,
            last: c.end.at,
            end: c.end.value(model),
            range: c.range(model),
        };
        let at = |c: &ModelColumn, at| c.end.value_at(model, at);
        let points = lines::path(layout, &columns, now, models.whole, &of, &at);
        // It has the ink of the line of which it is an older form.
        let dashed = model == Model::Former;
        marks.push(Mark::Polyline {
            points,
            stroke: Stroke { ink: ink(model), width: WIDTH, dashed },
        });
    }
}

/// The highest value of the level and of N between two instants, in events per second. The mean is left out: it is
/// unbounded, and may leave the picture.
pub(super) fn top(models: &Models, settings: &Settings, [from, to]: [Time; 2], step: f64) -> f64 {
    let bounded = || shown(settings).filter(|model| *model != Model::Mean);
    let highest = |column: &&ModelColumn| {
        let seen = |model| {
            if column.end.at < from {
                column.end.value_at(model, from)
            } else {
                column.range(model).high
            }
        };
        bounded().map(seen).fold(0.0, f64::max)
    };
    models.trace.columns(from, to, step).iter().map(highest).fold(0.0, f64::max)
}

/// A sentence for each line, in the order of [`Model::ALL`]: its value for even events at the rate of the automatic
/// events.
pub fn models(settings: &Settings) -> [String; 4] {
    let per_second = settings.common.auto_rate;
    let period = settings.decay.as_secs_f64();
    let steady = per_second * period;
    let rate = plain(per_second);
    let at = |said: String| format!("At an even {rate} a second: {said}.");
    let bucket = match settings.leaky_bucket().map(|bucket| bucket.passing(steady)) {
        None => "There is none without a limit.".to_owned(),
        Some(0.0) => "It holds not even one event.".to_owned(),
        Some(f64::INFINITY) => at("each event finds it empty".to_owned()),
        Some(1.0) => at("full after 1 event".to_owned()),
        Some(events) => at(format!("full after {} events", plain(events))),
    };
    let mean = format!(
        "{} from event {} on",
        axis::readout(steady),
        plain(f64::from(settings.last) + 1.0)
    );
    let n = settled(steady);
    let above = settled(steady) - steady;
    let recent = format!("{}, which is {} above the rate", axis::readout(n), axis::readout(above));
    // The formula without its lower bound converges to any steady rate.
    let former =
        format!("{}, where red reads {}", axis::readout(steady), axis::readout(steady.max(1.0)));
    [bucket, at(mean), at(recent), at(former)]
}
