//! Draws a run of the scope as an SVG file, without a browser: what follows the `#` in a link of
//! the page goes in, and what the page shows at that time comes out.
//!
//! `cargo run --example picture -- 'limit=10&auto=off&do=1:events*12&at=30' > scope.svg`
//!
//! With `--dark` in the dark theme; without a link, the picture of the README.

use ratescope_lab::plot::{palette::Theme, svg};
use ratescope_lab::scope::{Link, Scope};
use ratescope_lab::view::Viewport;
use ratescope_lab::view::scope::{draw, top};
use std::env;
use std::error::Error;

/// A quiet sender, a burst that fits, a flood that does not, silence, and the quiet sender again.
pub(crate) const README: &str = "decay=10s&increase=25s&limit=10&mode=strict&window=1m&auto=on&\
    pattern=poisson&auto-rate=0.4&seed=3&at=71&do=18:events*7,42:pattern=steady,42:auto-rate=1.8,\
    54.5:auto=off,61:pattern=poisson,61:auto-rate=0.5,61:auto=on";

/// Where the crosshair of that picture is: on an event that was refused.
pub(crate) const CROSSHAIR: f64 = 563.0;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 440.0;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut link, mut crosshair, mut theme) = (README.to_owned(), Some(CROSSHAIR), Theme::Light);
    for arg in env::args().skip(1) {
        match arg.as_str() {
            "--dark" => theme = Theme::Dark,
            _ => (link, crosshair) = (arg, None),
        }
    }
    print!("{}", picture(&link, crosshair, theme)?);
    Ok(())
}

/// The picture of the page at the time of `link`, with a crosshair so many CSS pixels from the left.
pub(crate) fn picture(
    link: &str,
    crosshair: Option<f64>,
    theme: Theme,
) -> Result<String, Box<dyn Error>> {
    let link: Link = link.parse()?;
    let mut scope = Scope::open(&link)?;
    scope.advance(link.at, usize::MAX);
    let (right, settings) = (scope.now(), scope.settings());
    let view = Viewport {
        size: [WIDTH, HEIGHT],
        right,
        live: true,
        window: settings.common.window,
        top: top(&scope, right, settings.common.window),
        pointer: crosshair.map(|x| [x, 0.0]),
        ..Viewport::default()
    };
    Ok(svg::write(&draw(&scope, &view), WIDTH, HEIGHT, theme))
}
