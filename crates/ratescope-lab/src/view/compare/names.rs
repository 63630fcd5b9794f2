//! The names of the lanes, for a picture without the page's controls.

use super::{SECOND_ROW, Viewport, over, pitch, readings};
use crate::compare::{Comparison, Lane};
use crate::plot::{Anchor, Ink, Mark, axis};
use crate::view::label::{SIZE, SMALL, bold, plain, width};
use crate::view::timebase::{edges, is_narrow};
use ratescope::policy::Per;

/// The limiters of the lanes in their heads, and their readings at the crosshair. With `counts`, a lane without a
/// reading has the numbers of allowed and refused events in its place, if there is room.
pub fn names(comparison: &Comparison, view: &Viewport, counts: bool) -> Vec<Mark> {
    let lanes = comparison.lanes();
    let [left, right] = edges(view.size[0]);
    let pitch = pitch(lanes.len(), view.size, view.below);
    // A long name takes the whole width of a narrow canvas, so the reading takes a second row.
    let narrow = is_narrow(view.size[0]);
    let (size, left, below) = if narrow { (SMALL, 8.0, SECOND_ROW) } else { (SIZE, left, 0.0) };
    let fits = |text: &str| narrow || width(text, size) < right - left;
    let mut readings = readings(comparison, view);
    // Without a crosshair there are no readings.
    readings.resize_with(lanes.len(), || None);
    // Keys that all lanes share are left out.
    let keys_differ = lanes.windows(2).any(|pair| keys(&pair[0]) != keys(&pair[1]));
    let mut marks = Vec::with_capacity(2 * lanes.len());
    for (i, (lane, reading)) in lanes.iter().zip(readings).enumerate() {
        let y = i as f64 * pitch + 12.0;
        let name = format!("{}  {}", i + 1, lane.limiters(keys_differ));
        marks.push(bold(left, y, &name, Ink::Text, size, Anchor::Start));
        let [passed, refused] = [lane.allowed(), lane.refused()].map(axis::readout_count);
        let counted = match over(lane) {
            over if over.is_empty() => format!("{passed} passed, {refused} refused"),
            over => format!("{passed} passed, {over}"),
        };
        let (said, ink) = match reading {
            Some(reading) if reading.refused => (reading.text, Ink::Refused),
            Some(reading) => (reading.text, Ink::Muted),
            None if counts && fits(&format!("{name}  {counted}")) => (counted, Ink::Muted),
            None => continue,
        };
        marks.push(plain(right, y + below, &said, ink, size, Anchor::End));
    }
    marks
}

/// The fields by which the limits of a lane count.
fn keys(lane: &Lane) -> Vec<&Per> {
    lane.policy().limits().iter().map(|limit| &limit.per).collect()
}
