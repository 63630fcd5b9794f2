//! Marks: what to draw, as plain data in CSS pixels, with x to the right and y down.
//!
//! A mark names the role of its ink, not the colour, so that one picture serves the light and the dark theme, the
//! canvas of the page and an SVG file. Many similar parts (the points of a polyline, all ticks of an axis) are one mark
//! with one stroke, which a canvas draws fast.
//!
//! [`view`](crate::view) makes marks; [`svg::write`] and the page's canvas draw them.

pub mod axis;
pub mod palette;
pub mod scale;
pub mod svg;

/// A point in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Pixels to the right of the origin.
    pub x: f64,
    /// Pixels below the origin.
    pub y: f64,
}

impl Point {
    /// The point at `x`, `y`.
    pub const fn new(x: f64, y: f64) -> Self {
        Point { x, y }
    }
}

/// A rectangle in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// The left edge.
    pub x: f64,
    /// The upper edge.
    pub y: f64,
    /// The extent to the right.
    pub width: f64,
    /// The extent down.
    pub height: f64,
}

impl Rect {
    /// The right edge.
    pub fn right(self) -> f64 {
        self.x + self.width
    }

    /// The lower edge.
    pub fn bottom(self) -> f64 {
        self.y + self.height
    }

    /// The ends of the vertical line at `x` from the upper to the lower edge.
    pub fn upright(self, x: f64) -> (Point, Point) {
        (Point::new(x, self.y), Point::new(x, self.bottom()))
    }

    /// The ends of the horizontal line at `y` from the left to the right edge.
    pub fn across(self, y: f64) -> (Point, Point) {
        (Point::new(self.x, y), Point::new(self.right(), y))
    }
}

/// The role of a mark; [`palette`] has the colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The background, and text on a filled tag.
    Panel,
    /// Grid lines.
    Grid,
    /// Frames and axes.
    Axis,
    /// Text to read.
    Text,
    /// Text of less weight.
    Muted,
    /// The red line: Exim's rate.
    Rate,
    /// The blue line: the smoothed rate.
    Smoothed,
    /// The exact count, a faint reference.
    Exact,
    /// A thin line: the level of a leaky bucket.
    Bucket,
    /// A thin line: the mean of the last events.
    Mean,
    /// A thin line: N of the recent average.
    Recent,
    /// The limit.
    Limit,
    /// Allowed events.
    Allowed,
    /// Refused events.
    Refused,
    /// The crosshair.
    Crosshair,
    /// The shade over a stretch of time that the page did not show, and the background of cells in a table of
    /// hours.
    Gap,
    /// The lane of this number, from 1. There are eight colours; the ninth lane has the first again.
    Lane(u8),
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// The role.
    pub ink: Ink,
    /// The width in CSS pixels.
    pub width: f64,
    /// It has dashes of 6 pixels and gaps of 4.
    pub dashed: bool,
}

impl Stroke {
    /// A solid line.
    pub const fn solid(ink: Ink, width: f64) -> Self {
        Stroke { ink, width, dashed: false }
    }

    /// A dashed line.
    pub const fn dashed(ink: Ink, width: f64) -> Self {
        Stroke { ink, width, dashed: true }
    }
}

/// How an area is filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// The role.
    pub ink: Ink,
    /// From 0, invisible, to 1, opaque.
    pub opacity: f64,
}

impl Fill {
    /// A fill of the given opacity, from 0 to 1.
    pub const fn new(ink: Ink, opacity: f64) -> Self {
        Fill { ink, opacity }
    }
}

/// The part of a text at its point, horizontally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// A text on one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The place: the middle of its height, and horizontally the part that `anchor` names.
    pub at: Point,
    /// The characters.
    pub text: String,
    /// The role.
    pub ink: Ink,
    /// The size of the type in CSS pixels.
    pub size: f64,
    /// It is bold.
    pub bold: bool,
    /// The part of the text at the point, horizontally.
    pub anchor: Anchor,
}

/// One thing to draw.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A straight line.
    Line {
        /// One end.
        from: Point,
        /// The other end.
        to: Point,
        /// How it is drawn.
        stroke: Stroke,
    },
    /// A line through points.
    Polyline {
        /// The points, in order.
        points: Vec<Point>,
        /// How it is drawn.
        stroke: Stroke,
    },
    /// Separate straight lines with one stroke.
    Segments {
        /// The ends of each.
        pairs: Vec<(Point, Point)>,
        /// How they are drawn.
        stroke: Stroke,
    },
    /// A polygon, closed by itself.
    Area {
        /// The corners, in order.
        points: Vec<Point>,
        /// How it is filled.
        fill: Fill,
    },
    /// Rectangles with one fill.
    Rects {
        /// The rectangles.
        rects: Vec<Rect>,
        /// How they are filled.
        fill: Fill,
    },
    /// A rectangle with rounded corners; a square is a disc if the radius is half its side.
    Rounded {
        /// The rectangle.
        rect: Rect,
        /// The radius of its corners in CSS pixels.
        radius: f64,
        /// How it is filled.
        fill: Fill,
    },
    /// A text on one line.
    Text(Text),
    /// Until `Unclip`, marks are visible only within this rectangle.
    Clip(Rect),
    /// The end of the clip.
    Unclip,
}
