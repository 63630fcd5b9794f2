//! Marks as a standalone SVG file, for export and for pictures that tests compare.
//!
//! The same marks give the same text: coordinates have at most two decimals, and nothing depends on the font. Points
//! that are not finite are left out, as on a canvas.

use super::palette::Theme;
use super::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke, Text};
use core::fmt::{self, Write};

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/// The marks on a panel of `width` by `height` CSS pixels, as an SVG file with a line of text for each mark.
pub fn write(marks: &[Mark], width: f64, height: f64, theme: Theme) -> String {
    let w = Short(width);
    let h = Short(height);
    let panel = theme.colour(Ink::Panel);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" font-family="{FONT}" stroke-linejoin="round">
<rect width="{w}" height="{h}" fill="{panel}"/>
{}</svg>
"#,
        part(marks, theme)
    )
}

/// The marks alone, with a line of text for each, as a part of an SVG file.
pub fn part(marks: &[Mark], theme: Theme) -> String {
    let mut part = Part { text: String::new(), theme, clips: 0 };
    // Writing to a String cannot fail.
    let _ = marks.iter().try_for_each(|mark| part.mark(mark));
    // Closes unclosed clips.
    part.text.push_str(&"</svg>\n".repeat(part.clips));
    part.text
}

struct Part {
    text: String,
    theme: Theme,
    clips: usize,
}

impl Part {
    fn mark(&mut self, mark: &Mark) -> fmt::Result {
        match mark {
            Mark::Line { from, to, stroke } => self.stroke(&segments(&[(*from, *to)]), *stroke),
            Mark::Polyline { points, stroke } => self.stroke(&through(points), *stroke),
            Mark::Segments { pairs, stroke } => self.stroke(&segments(pairs), *stroke),
            Mark::Area { points, fill } => self.fill(&through(points), *fill),
            Mark::Rects { rects, fill } => self.fill(&boxes(rects), *fill),
            Mark::Rounded { rect, radius, fill } => self.rounded(*rect, *radius, *fill),
            Mark::Text(text) => self.text(text),
            Mark::Clip(rect) => self.clip(*rect),
            Mark::Unclip => self.unclip(),
        }
    }

    fn stroke(&mut self, path: &str, stroke: Stroke) -> fmt::Result {
        if path.is_empty() {
            return Ok(());
        }
        let colour = self.theme.colour(stroke.ink);
        let width = Short(stroke.width);
        let dash = if stroke.dashed { r#" stroke-dasharray="6 4""# } else { "" };
        write!(self.text, r#"<path fill="none" stroke="{colour}" stroke-width="{width}"{dash} "#)?;
        writeln!(self.text, r#"d="{path}"/>"#)
    }

    fn fill(&mut self, path: &str, fill: Fill) -> fmt::Result {
        if path.is_empty() {
            return Ok(());
        }
        let filled = self.filled(fill);
        writeln!(self.text, r#"<path {filled} d="{path}"/>"#)
    }

    fn rounded(&mut self, rect: Rect, radius: f64, fill: Fill) -> fmt::Result {
        if !is_finite(rect) || !radius.is_finite() {
            return Ok(());
        }
        let filled = self.filled(fill);
        let place = Place(rect);
        writeln!(self.text, r#"<rect {filled} {place} rx="{}"/>"#, Short(radius))
    }

    fn filled(&self, fill: Fill) -> String {
        let colour = self.theme.colour(fill.ink);
        if fill.opacity < 1.0 {
            format!(r#"fill="{colour}" fill-opacity="{}""#, Short(fill.opacity))
        } else {
            format!(r#"fill="{colour}""#)
        }
    }

    fn text(&mut self, text: &Text) -> fmt::Result {
        if !is_drawn(text.at) {
            return Ok(());
        }
        // The distance from the middle of a text down to its baseline, in units of the type size, since programs differ
        // about SVG's own baselines.
        let down = 0.35;
        let anchor = match text.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if text.bold { r#" font-weight="600""# } else { "" };
        let x = Short(text.at.x);
        let y = Short(text.at.y + down * text.size);
        let colour = self.theme.colour(text.ink);
        let size = Short(text.size);
        write!(self.text, r#"<text fill="{colour}" x="{x}" y="{y}" font-size="{size}"{weight} "#)?;
        writeln!(self.text, r#"text-anchor="{anchor}">{}</text>"#, escaped(&text.text))
    }

    /// Opens an inner picture with the coordinates of the outer one, which shows only its own rectangle.
    /// Unlike a clip path it needs no id, which another element could already have.
    fn clip(&mut self, rect: Rect) -> fmt::Result {
        self.clips += 1;
        let Rect { x, y, width, height } = rect;
        // A rectangle turned inside out shows nothing, as on a canvas.
        let width = width.max(0.0);
        let height = height.max(0.0);
        let place = Place(Rect { x, y, width, height });
        let [x, y, width, height] = [x, y, width, height].map(Short);
        writeln!(self.text, r#"<svg {place} viewBox="{x} {y} {width} {height}">"#)
    }

    fn unclip(&mut self) -> fmt::Result {
        if self.clips > 0 {
            self.clips -= 1;
            self.text.push_str("</svg>\n");
        }
        Ok(())
    }
}

/// A path through points, each relative to the previous point, which is shorter.
fn through(points: &[Point]) -> String {
    let mut path = String::new();
    // In hundredths of a pixel. The points are rounded, not the distances, so errors do not add up.
    let mut before: Option<[f64; 2]> = None;
    for point in points.iter().copied().filter(|point| is_drawn(*point)) {
        let [x, y] = [point.x, point.y].map(|place| libm::round(place * 100.0));
        let way = before.map(|[from_x, from_y]| [x - from_x, y - from_y]);
        let [to_x, to_y] = way.unwrap_or([x, y]).map(|hundredths| Short(hundredths / 100.0));
        let _ = match way {
            None => write!(path, "M{to_x},{to_y}"),
            Some([_, 0.0]) => write!(path, "h{to_x}"),
            Some([0.0, _]) => write!(path, "v{to_y}"),
            Some(_) => write!(path, "l{to_x},{to_y}"),
        };
        before = Some([x, y]);
    }
    path
}

fn segments(pairs: &[(Point, Point)]) -> String {
    pairs.iter().map(|(from, to)| through(&[*from, *to])).collect()
}

fn boxes(rects: &[Rect]) -> String {
    let mut path = String::new();
    for rect in rects.iter().copied().filter(|rect| is_finite(*rect)) {
        let [x, y, width, height, back] =
            [rect.x, rect.y, rect.width, rect.height, -rect.width].map(Short);
        let _ = write!(path, "M{x},{y}h{width}v{height}h{back}z");
    }
    path
}

fn is_drawn(point: Point) -> bool {
    point.x.is_finite() && point.y.is_finite()
}

fn is_finite(rect: Rect) -> bool {
    [rect.x, rect.y, rect.width, rect.height].into_iter().all(f64::is_finite)
}

/// Text with XML's special characters escaped, and characters that XML does not allow replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// A number with at most two decimals; zero for infinities and NaN.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_finite() {
            return f.write_str("0");
        }
        let text = format!("{:.2}", self.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.write_str(if text == "-0" { "0" } else { text })
    }
}

/// A rectangle as the attributes of an SVG element.
struct Place(Rect);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, width, height] = [self.0.x, self.0.y, self.0.width, self.0.height].map(Short);
        write!(f, r#"x="{x}" y="{y}" width="{width}" height="{height}""#)
    }
}
