//! Pictures of runs, as marks. There is no browser here, and no formula.
//!
//! [`scope`](mod@scope) draws one limiter in detail, [`compare`](mod@compare) many limiters in lanes,
//! [`tune`](mod@tune) the effect of every limit on the clients of a log, and [`live`](mod@live) the rules of a running
//! service. Besides the run, a picture depends only on a [`Viewport`]: its size, the time at the right edge, the place
//! of the crosshair. The page draws the marks on a canvas; here they become a file.
//!
//! ```
//! use ratescope_lab::plot::{palette::Theme, svg};
//! use ratescope_lab::compare::{Link, Comparison};
//! use ratescope_lab::view::Viewport;
//! use ratescope_lab::view::compare::{Below, draw, height, total};
//!
//! // Twelve at once against ten in ten seconds, in two lanes; five seconds later.
//! let link: Link = "lanes=gcra;sliding-log&auto=off&do=1:events*12&at=6".parse()?;
//! let mut run = Comparison::open(&link)?;
//! run.advance(link.at, usize::MAX);
//! let (right, window) = (run.now(), run.settings().common.window);
//! let view = Viewport {
//!     size: [800.0, height(run.lanes().len(), [800.0, 900.0], Below::Totals)],
//!     right,
//!     live: true,
//!     window,
//!     top: total(&run, right, window),
//!     ..Viewport::default()
//! };
//! let picture = svg::write(&draw(&run, &view), view.size[0], view.size[1], Theme::Light);
//! assert!(picture.starts_with("<svg"));
//! # Ok::<(), ratescope::ParseError>(())
//! ```

mod click;
pub mod compare;
mod label;
pub mod live;
pub mod memory;
pub mod scope;
mod strip;
mod timebase;
pub mod tune;

pub use click::{Click, Fate, Fates, SEEN};
pub use label::spaced;
pub use timebase::{edges, seconds_per_pixel};

use crate::run::pace::Gap;
use ratescope::time::{Span, Time};

/// The settings of a picture. The picture of Tune has no time: it uses the size, the pointer and `on_limit` only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Viewport<'a> {
    /// Width and height in CSS pixels.
    pub size: [f64; 2],
    /// The instant at the right edge.
    pub right: Time,
    /// The right edge is the present.
    pub live: bool,
    /// The time between the edges.
    pub window: Span,
    /// The upper edge of the scope's plot, in events per second, or of a comparison's cumulative picture, in events;
    /// above zero.
    pub top: f64,
    /// The level at the upper edge of each lane's plot, above zero; for lanes beyond this list, [`top`](compare::top)
    /// chooses it.
    pub tops: &'a [f64],
    /// The place of the crosshair, or of the pointer in a picture in which clicks make no events, in CSS pixels. For a
    /// crosshair moved by keys, it is at the upper edge.
    pub pointer: Option<[f64; 2]>,
    /// The last clicks that made events, the latest last.
    pub clicks: &'a [Click],
    /// The viewer's time, in milliseconds.
    pub wall: f64,
    /// The viewer asked for less motion.
    pub still: bool,
    /// The pointer holds the line of the limit, to drag it.
    pub holds_limit: bool,
    /// The pointer holds the line of the limit, or is over it.
    pub on_limit: bool,
    /// Stretches of time to mark, in which the run was not watched.
    pub gaps: &'a [Gap],
    /// A stretch of time in which the limiters do not know all earlier events yet.
    pub warming: Option<[Time; 2]>,
    /// The time axis counts from the start of the run, in place of back from the right edge.
    pub own_time: bool,
    /// Time passes: at the right edge it is written in whole seconds.
    pub runs: bool,
    /// The Scope leaves out the blue line.
    pub hides_blue: bool,
    /// Instants to mark, ascending.
    pub flags: &'a [Time],
    /// On the Scope, the term of the red line's formula that the viewer points to.
    pub term: Option<scope::Term>,
    /// The picture below the lanes of a comparison.
    pub below: compare::Below,
}

impl Viewport<'_> {
    /// The place of the crosshair, in CSS pixels from the left; `None` while the limit is dragged, as the crosshair
    /// would lie over its line.
    pub fn crosshair(&self) -> Option<f64> {
        self.pointer.filter(|_| !self.holds_limit).map(|[x, _]| x)
    }
}

/// The target at a point of a picture, for clicks and the cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hit {
    /// Nothing to press.
    #[default]
    None,
    /// The graph: a press is an event, a drag looks back.
    Graph,
    /// The limit, a line across: a drag moves it up and down.
    Limit,
    /// The limit, a line upright: a drag moves it to the sides.
    Upright,
}

impl Hit {
    /// Tells whether the limit was hit, in either picture.
    pub fn is_limit(self) -> bool {
        matches!(self, Hit::Limit | Hit::Upright)
    }

    /// The CSS cursor over the target.
    pub fn cursor(self) -> &'static str {
        match self {
            Hit::None => "default",
            Hit::Graph => "crosshair",
            Hit::Limit => "ns-resize",
            Hit::Upright => "ew-resize",
        }
    }
}
