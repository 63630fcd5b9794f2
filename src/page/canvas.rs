//! Paints marks on a canvas. This is the only place that knows how a canvas draws.

use js_sys::Array;
use ratescope_lab::plot::palette::Theme;
use ratescope_lab::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke, Text};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/// A canvas of the page, and a cache of the font of its context, since setting a font takes time.
pub(crate) struct Canvas {
    element: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    theme: Theme,
    size: [f64; 2],
    /// Pixels of the bitmap in a CSS pixel, across and down.
    ratio: [f64; 2],
    font: Option<(bool, f64)>,
    dash: [Array; 2],
}

impl Canvas {
    pub(crate) fn new(element: HtmlCanvasElement) -> Result<Self, JsValue> {
        let context = element.get_context("2d")?.ok_or("the browser has no 2d canvas")?;
        let context = context.dyn_into::<CanvasRenderingContext2d>()?;
        let dashed = Array::of2(&JsValue::from(6.0), &JsValue::from(4.0));
        let dash = [Array::new(), dashed];
        let theme = Theme::Light;
        let size = [0.0; 2];
        let ratio = [1.0; 2];
        Ok(Canvas { element, context, theme, size, ratio, font: None, dash })
    }

    pub(crate) fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    pub(crate) fn theme(&self) -> Theme {
        self.theme
    }

    /// The pixels of the bitmap in a CSS pixel, from left to right.
    pub(crate) fn pixels_across(&self) -> f64 {
        self.ratio[0]
    }

    /// Makes the bitmap as large as the element in pixels of the screen. This is `device`, if the browser provides it:
    /// the ratio alone does not say on which pixel an edge falls, and a bitmap that is off by one pixel is blurred. A
    /// browser that imitates another screen provides wrong numbers, so a `device` more than one pixel off the rounded
    /// size is not used. Returns whether anything changed.
    pub(crate) fn resize(&mut self, size: [f64; 2], ratio: f64, device: Option<&[f64]>) -> bool {
        let rounded = size.map(|side| libm::round(side * ratio));
        let bitmap = match device {
            Some(&[width, height])
                if (width - rounded[0]).abs() <= 1.0 && (height - rounded[1]).abs() <= 1.0 =>
            {
                [width, height]
            }
            _ => rounded,
        };
        let is_other_size = core::mem::replace(&mut self.size, size) != size;
        self.ratio = [0, 1].map(|i| if size[i] > 0.0 { bitmap[i] / size[i] } else { ratio });
        let [width, height] = bitmap.map(|side| side as u32);
        let is_other_bitmap = (self.element.width(), self.element.height()) != (width, height);
        if is_other_bitmap {
            self.element.set_width(width);
            self.element.set_height(height);
        }
        is_other_size || is_other_bitmap
    }

    /// Draws a picture in place of the last one.
    pub(crate) fn paint(&mut self, marks: &[Mark]) -> Result<(), JsValue> {
        let context = &self.context;
        context.set_transform(self.ratio[0], 0.0, 0.0, self.ratio[1], 0.0, 0.0)?;
        context.clear_rect(0.0, 0.0, self.size[0], self.size[1]);
        // Without a graphics card, round joins cost most of a frame, and at these widths they are invisible.
        context.set_line_join("bevel");
        // A resize resets the context, including its font.
        self.font = None;
        for mark in marks {
            self.draw(mark)?;
        }
        Ok(())
    }

    fn draw(&mut self, mark: &Mark) -> Result<(), JsValue> {
        let context = self.context.clone();
        match mark {
            Mark::Line { from, to, stroke } => {
                context.begin_path();
                self.segment(*from, *to, stroke);
                self.stroke(stroke);
            }
            Mark::Polyline { points, stroke } => {
                context.begin_path();
                through(&context, points);
                self.stroke(stroke);
            }
            Mark::Segments { pairs, stroke } => {
                context.begin_path();
                for &(from, to) in pairs {
                    self.segment(from, to, stroke);
                }
                self.stroke(stroke);
            }
            Mark::Area { points, fill } => {
                context.begin_path();
                through(&context, points);
                self.fill(*fill);
            }
            Mark::Rects { rects, fill } => {
                context.begin_path();
                for r in rects {
                    context.rect(r.x, r.y, r.width, r.height);
                }
                self.fill(*fill);
            }
            Mark::Rounded { rect: r, radius, fill } => {
                context.begin_path();
                context.round_rect_with_f64(r.x, r.y, r.width, r.height, *radius)?;
                self.fill(*fill);
            }
            Mark::Text(text) => self.text(text)?,
            Mark::Clip(Rect { x, y, width, height }) => {
                context.save();
                context.begin_path();
                context.rect(*x, *y, *width, *height);
                context.clip();
            }
            Mark::Unclip => context.restore(),
        }
        Ok(())
    }

    /// Adds a segment to the path. A horizontal one does not move with time, so it is put on whole pixels.
    fn segment(&self, from: Point, to: Point, stroke: &Stroke) {
        let snap = |y: f64| {
            let half = stroke.width * self.ratio[1] / 2.0;
            (libm::round(y * self.ratio[1] - half) + half) / self.ratio[1]
        };
        let [above, below] = if from.y == to.y { [snap(from.y); 2] } else { [from.y, to.y] };
        self.context.move_to(from.x, above);
        self.context.line_to(to.x, below);
    }

    fn stroke(&self, stroke: &Stroke) {
        self.context.set_stroke_style_str(self.colour(stroke.ink));
        self.context.set_line_width(stroke.width);
        // Only a dashed stroke changes the dash of the context, and then restores it.
        if stroke.dashed {
            let _ = self.context.set_line_dash(&self.dash[1]);
        }
        self.context.stroke();
        if stroke.dashed {
            let _ = self.context.set_line_dash(&self.dash[0]);
        }
    }

    fn fill(&self, fill: Fill) {
        self.context.set_fill_style_str(self.colour(fill.ink));
        if fill.opacity < 1.0 {
            self.context.set_global_alpha(fill.opacity);
        }
        self.context.fill();
        if fill.opacity < 1.0 {
            self.context.set_global_alpha(1.0);
        }
    }

    fn text(&mut self, text: &Text) -> Result<(), JsValue> {
        if self.font != Some((text.bold, text.size)) {
            let weight = if text.bold { "600" } else { "400" };
            self.context.set_font(&format!("{weight} {}px {FONT}", text.size as u32));
            self.font = Some((text.bold, text.size));
        }
        self.context.set_fill_style_str(self.colour(text.ink));
        self.context.set_text_align(match text.anchor {
            Anchor::Start => "left",
            Anchor::Middle => "center",
            Anchor::End => "right",
        });
        self.context.set_text_baseline("middle");
        self.context.fill_text(&text.text, text.at.x, text.at.y)
    }

    fn colour(&self, ink: Ink) -> &'static str {
        self.theme.colour(ink)
    }
}

fn through(context: &CanvasRenderingContext2d, points: &[Point]) {
    // The path is empty, so the first call only moves to its point.
    for point in points {
        context.line_to(point.x, point.y);
    }
}
