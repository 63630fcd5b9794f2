//! The words at a click on the lanes.

use super::{run, tops, view};
use ratescope_lab::plot::Mark;
use ratescope_lab::view::compare::{Below, feedback, head, pitch};

#[test]
fn the_words_at_a_click_lie_neither_under_controls_nor_under_the_pointer() {
    let mut comparison = run("auto=off&at=20&lanes=gcra;fixed-window;earrrl");
    comparison.click();
    let tops = tops(&comparison, comparison.now());
    for width in [320.0, 1200.0] {
        let view = view(&comparison, width, &tops);
        let feedback = feedback(&comparison, &view).unwrap();
        assert_eq!(feedback.words, "allowed now by all");
        let heights = (0..view.size[1] as u32).map(|y| Some([200.0, f64::from(y)]));
        for cursor in heights.chain([None]) {
            let mut marks = Vec::new();
            feedback.draw(&mut marks, width - 120.0, cursor, 0.0, width);
            // The rings of three lanes come first.
            let Mark::Rounded { rect, .. } = &marks[3] else { panic!("{marks:?}") };
            for i in 0..3 {
                let from = f64::from(i) * pitch(3, view.size, Below::Totals);
                let to = from + head(width);
                assert!(
                    rect.bottom() <= from || rect.y >= to,
                    "{width}, {cursor:?}: under the controls of lane {i}"
                );
            }
            match cursor {
                Some([_, y]) => assert!(rect.bottom() < y || rect.y > y, "{width}: over {y}"),
                None => assert!(rect.right() < width - 120.0, "before the new marks"),
            }
        }
    }
}
