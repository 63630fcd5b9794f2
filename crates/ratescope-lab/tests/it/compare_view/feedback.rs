//! A click on the lanes: its dots, and its words where motion is unwanted.

use super::{run, tops, view};
use ratescope_lab::plot::{Ink, Mark};
use ratescope_lab::view::compare::{Below, draw, fates, head, pitch};
use ratescope_lab::view::{Click, Viewport};

#[test]
fn the_words_at_a_click_lie_neither_under_controls_nor_under_the_pointer() {
    let mut comparison = run("auto=off&at=20&lanes=gcra;fixed-window;earrrl");
    comparison.click();
    let tops = tops(&comparison, comparison.now());
    for width in [320.0, 1200.0] {
        let view = view(&comparison, width, &tops);
        let fates = fates(&comparison).unwrap();
        assert_eq!(fates.words, "allowed now by all");
        let heights = (0..view.size[1] as u32).step_by(3).map(|y| Some([200.0, f64::from(y)]));
        for from in heights.chain([None]) {
            let clicks = [Click { at: comparison.now(), from, wall: 0.0, fates: fates.clone() }];
            let marks = draw(&comparison, &Viewport { clicks: &clicks, still: true, ..view });
            let rect = marks.iter().rev().find_map(|mark| match mark {
                Mark::Rounded { rect, fill, .. } if fill.ink == Ink::Panel => Some(rect),
                _ => None,
            });
            let rect = rect.unwrap();
            for i in 0..3 {
                let top = f64::from(i) * pitch(3, view.size, Below::Totals);
                let to = top + head(width);
                assert!(
                    rect.bottom() <= top || rect.y >= to,
                    "{width}, {from:?}: under the controls of lane {i}"
                );
            }
            match from {
                Some([_, y]) => assert!(rect.bottom() < y || rect.y > y, "{width}: over {y}"),
                None => assert!(rect.right() < width - 80.0, "before the new marks"),
            }
        }
    }
}

/// Each lane has its own dot, which lands where the lane's line is.
#[test]
fn a_click_lands_in_every_lane() {
    let mut comparison = run("auto=off&at=20&limit=1/10s&lanes=gcra;fixed-window;earrrl 1/1s");
    comparison.click();
    comparison.click();
    let tops = tops(&comparison, comparison.now());
    let view = view(&comparison, 1000.0, &tops);
    let fates = fates(&comparison).unwrap();
    assert_eq!(fates.words, "allowed now by 1 of 3");
    let allowed: Vec<bool> = fates.each.iter().map(|fate| fate.allowed).collect();
    assert_eq!(allowed, [false, false, true]);
    let from = Some([300.0, 50.0]);
    let clicks = [Click { at: comparison.now(), from, wall: 0.0, fates }];
    let count = |wall: f64, is: fn(&Mark) -> bool| {
        let marks = draw(&comparison, &Viewport { clicks: &clicks, wall, ..view });
        marks.iter().filter(|mark| is(mark)).count()
    };
    let is_dot = |mark: &Mark| matches!(mark, Mark::Rounded { rect, fill, .. } if fill.ink == Ink::Text && rect.width == 9.0);
    let is_cross = |mark: &Mark| matches!(mark, Mark::Segments { stroke, .. } if stroke.ink == Ink::Refused && stroke.width == 2.5);
    assert_eq!([count(80.0, is_dot), count(80.0, is_cross)], [3, 0]);
    assert_eq!([count(250.0, is_dot), count(250.0, is_cross)], [0, 2]);
}
