//! Draws a run of the scope as an SVG file, without a browser: the part of a link of the page after its `#` goes in,
//! and the picture of the page at that time comes out.
//!
//! `cargo run -p ratescope-lab --example picture -- 'limit=10&auto=off&do=1:events*12&at=30' > scope.svg`
//!
//! With `--dark` in the dark theme; without a link, the picture of the README, which moves.

use ratescope::time::Span;
use ratescope_lab::plot::{Fill, Ink, Mark, Rect, palette::Theme, svg};
use ratescope_lab::scope::{Link, Scope};
use ratescope_lab::view::scope::{draw, top};
use ratescope_lab::view::{Viewport, edges};
use std::env;
use std::error::Error;

/// A quiet sender, a burst that fits, a flood that does not, silence, and the quiet sender again.
pub(crate) const README: &str = "decay=10s&increase=25s&limit=10&mode=strict&window=1m&auto=on&\
    pattern=poisson&auto-rate=0.4&seed=3&at=71&do=18:events*7,42:pattern=steady,42:auto-rate=1.8,\
    54.5:auto=off,61:pattern=poisson,61:auto-rate=0.5,61:auto=on";

/// Where the crosshair of that picture is: on an event that was refused.
const CROSSHAIR: f64 = 563.0;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 440.0;

/// The time of the run between two pictures of the tags.
const STEP: Span = Span::from_micros(500_000);

fn main() -> Result<(), Box<dyn Error>> {
    let mut link = None;
    let mut theme = Theme::Light;
    for arg in env::args().skip(1) {
        match arg.as_str() {
            "--dark" => theme = Theme::Dark,
            _ => link = Some(arg),
        }
    }
    let drawn = link.map_or_else(|| readme(theme), |link| picture(&link, theme))?;
    print!("{drawn}");
    Ok(())
}

/// The picture of the page at the time of `link`.
fn picture(link: &str, theme: Theme) -> Result<String, Box<dyn Error>> {
    let link: Link = link.parse()?;
    let mut scope = Scope::open(&link)?;
    scope.advance(link.at, usize::MAX);
    Ok(svg::write(&draw(&scope, &at_its_end(&scope)), WIDTH, HEIGHT, theme))
}

/// How a page looks at a run that has come to its end.
fn at_its_end(scope: &Scope) -> Viewport<'static> {
    let right = scope.now();
    let window = scope.settings().common.window;
    Viewport {
        size: [WIDTH, HEIGHT],
        right,
        live: true,
        window,
        top: top(scope, right, window),
        ..Viewport::default()
    }
}

/// The picture of the README, which moves by itself: the run is drawn from left to right, four times as fast as it
/// was, and the tags at the right edge give the values of the lines. Then the whole picture rests with its
/// crosshair, as it always does where the reader asked for less motion, or where nothing moves in an SVG file.
pub(crate) fn readme(theme: Theme) -> Result<String, Box<dyn Error>> {
    let link: Link = README.parse()?;
    let mut scope = Scope::open(&link)?;
    scope.advance(link.at, usize::MAX);
    let view = Viewport { own_time: true, ..at_its_end(&scope) };
    let [left, right] = edges(WIDTH);
    let whole = draw(&scope, &view);
    let resting = draw(&scope, &Viewport { pointer: Some([CROSSHAIR, 0.0]), ..view });

    // The run once more, with the scale and the time axis of its end, for the tags of each half second.
    let mut scope = Scope::open(&link)?;
    let mut at = view.right.before(view.window);
    let mut before = Vec::new();
    let mut tags = String::new();
    let mut pictures = 0;
    while at <= view.right {
        scope.advance(at, usize::MAX);
        let (tag, other): (Vec<_>, Vec<_>) =
            draw(&scope, &view).into_iter().partition(|mark| is_tag(mark, right));
        let below = f64::from(pictures) * HEIGHT;
        tags +=
            &format!("<g transform=\"translate(0,{below})\">\n{}</g>\n", svg::part(&tag, theme));
        if pictures == 0 {
            before = other;
        }
        pictures += 1;
        at = at.after(STEP);
    }

    let panel = Rect { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
    let panel = Mark::Rects { rects: vec![panel], fill: Fill::new(Ink::Panel, 1.0) };
    let [before, whole, resting] = [before, whole, resting]
        .map(|marks| svg::part(&[vec![panel.clone()], marks].concat(), theme));
    let drawn = right + 1.0;
    let margin = WIDTH - right;
    let run = right - left;
    let film = f64::from(pictures - 1) * HEIGHT;
    let moving = format!(
        r#"<style>
@media (prefers-reduced-motion: no-preference) {{
.drawn {{ animation: drawn 20s linear infinite }}
.tags {{ animation: tags 20s steps({pictures}, jump-none) infinite }}
.resting {{ animation: resting 20s linear infinite }}
}}
@keyframes drawn {{ 0% {{ transform: translateX(-{run}px) }} 75%, 100% {{ transform: none }} }}
@keyframes tags {{ 0% {{ transform: none }} 75%, 100% {{ transform: translateY(-{film}px) }} }}
@keyframes resting {{ 0%, 75% {{ opacity: 0 }} 77%, 100% {{ opacity: 1 }} }}
</style>
<clipPath id="drawn"><rect class="drawn" width="{drawn}" height="{HEIGHT}"/></clipPath>
{before}<svg x="{right}" width="{margin}" height="{HEIGHT}" viewBox="{right} 0 {margin} {HEIGHT}">
<g class="tags">
{tags}</g>
</svg>
<g clip-path="url(#drawn)">
{whole}</g>
<g class="resting">
{resting}</g>
</svg>
"#
    );
    Ok(svg::write(&[], WIDTH, HEIGHT, theme).replace("</svg>\n", &moving))
}

/// Tags of lines are right of the plot, which ends at `right`.
fn is_tag(mark: &Mark, right: f64) -> bool {
    match mark {
        Mark::Rounded { rect, .. } => rect.x > right,
        Mark::Text(text) => text.at.x > right && text.bold,
        _ => false,
    }
}
