//! Questions: the answer is that of one pass, in whatever steps it comes.

use crate::{OFFICE, answer, log, summary};
use ratescope::lab::tune::{
    Aim, Analysis, Clients, Curve, Cut, Frontier, LogClock, MarkedKeys, Measure, Part, Replay,
    Staircase, advise, scale,
};
use ratescope::traffic::sample::Style;

const LINKS: [&str; 4] =
    ["", "for=exim", "by=sliding-log&limit=12", "for=envoy&rate=1/1s&period=1h"];

/// The curve with marks, in one pass.
fn curve(clients: &Clients, measure: Measure, marks: &MarkedKeys) -> Curve {
    let mut curves = [Curve::new(measure)];
    clients.measure(&mut curves, &Cut::usual(clients, marks.places(clients)), 0..clients.len());
    let [curve] = curves;
    curve
}

/// Another way to read is another log: what was read is not counted again for it, and what is said
/// about it stays right.
#[test]
fn how_it_was_read_stays() {
    let mut analysis = answer("for=haproxy", "");
    let before = analysis.configuration().unwrap().unwrap();
    analysis.ask("for=haproxy&path=/api&key=path".parse().unwrap());
    assert!(analysis.shown().is_some());
    assert_eq!(analysis.configuration().unwrap().unwrap(), before);
}

#[test]
fn the_answer_is_that_of_one_pass() {
    for marks in ["", OFFICE] {
        let marks: MarkedKeys = marks.parse().unwrap();
        for link in LINKS {
            let analysis = answer(link, &marks.to_string());
            let clients = analysis.study().clients();
            let (shown, advice) = analysis.shown().unwrap();
            assert_eq!(*shown, curve(clients, shown.measure, &marks), "{link}");
            assert_eq!(*advice, advise(shown, &Aim::default()), "{link}");
            let limiter = analysis.limiter().unwrap();
            let (got, want) =
                (analysis.replayed().unwrap(), Replay::run(clients, limiter, &LogClock::default()));
            assert_eq!(
                (got.refused(), got.hours(), got.struck()),
                (want.refused(), want.hours(), want.struck())
            );
            let backlogs: Vec<Curve> =
                Frontier::measures().into_iter().map(|m| curve(clients, m, &marks)).collect();
            let frontier = Frontier::new(&backlogs, &Aim::default(), Part::Learned);
            assert_eq!(analysis.frontier(), Some(&frontier), "{link}");
            for [limit, refused] in analysis.counted() {
                let limiter = analysis.choices().limiter(shown.measure, *limit).unwrap();
                assert_eq!(
                    Replay::run(clients, limiter, &LogClock::default()).refused() as f64,
                    *refused
                );
            }
            assert_eq!(analysis.counted().is_empty(), shown.measure.counts_all(), "{link}");
        }
    }
}

#[test]
fn the_steps_in_which_it_is_counted_do_not_matter() {
    let whole = answer("by=sliding-log", "");
    let summary = summary(&log(Style::Combined), 1 << 16);
    for budget in [1000, 300_000] {
        let mut analysis = Analysis::new(summary.clone(), "by=sliding-log".parse().unwrap());
        let mut calls = 0;
        while !analysis.advance(budget) {
            calls += 1;
            assert!(calls < 100_000, "it does not end");
        }
        assert_eq!(analysis.shown(), whole.shown());
        assert_eq!(analysis.counted(), whole.counted());
        assert_eq!(analysis.periods(), whole.periods());
        assert_eq!(analysis.replayed().map(Replay::refused), whole.replayed().map(Replay::refused));
    }
}

/// Whatever was asked before, and however far that was.
#[test]
fn another_question_is_answered_as_if_it_were_the_first() {
    let summary = summary(&log(Style::Combined), 1 << 16);
    let mut analysis = Analysis::new(summary, "".parse().unwrap());
    for (link, i) in LINKS.iter().cycle().zip(0..9) {
        analysis.ask(link.parse().unwrap());
        for _ in 0..i {
            analysis.advance(5_000);
        }
    }
    for link in LINKS {
        analysis.ask(link.parse().unwrap());
        while !analysis.advance(1 << 20) {}
        let fresh = answer(link, "");
        assert_eq!(analysis.shown(), fresh.shown(), "{link}");
        assert_eq!(analysis.frontier(), fresh.frontier(), "{link}");
        assert_eq!(analysis.limiter(), fresh.limiter(), "{link}");
        assert_eq!(analysis.replayed().map(Replay::refused), fresh.replayed().map(Replay::refused));
        assert!(analysis.advance(1), "nothing is left to do");
    }
}

#[test]
fn the_busiest_or_the_most_refused_come_first() {
    let analysis = answer("for=exim&limit=4", OFFICE);
    let measure = analysis.shown().map(|(curve, _)| curve.measure);
    let busiest = analysis.study().busiest(measure, 10, false);
    assert!(busiest.is_sorted_by(|a, b| a.requests >= b.requests) && busiest.len() == 10);
    assert_eq!((busiest[0].key.as_str(), busiest[0].marked), (OFFICE, true));
    let refused = analysis.study().busiest(measure, 10, true);
    assert!(refused.is_sorted_by(|a, b| a.refused >= b.refused) && refused[9].refused > 0);
    let all = analysis.study().busiest(measure, usize::MAX, true);
    assert_eq!(all.len(), analysis.study().clients().len());
    let sum: u64 = all.iter().map(|busy| busy.refused).sum();
    assert_eq!(Some(sum), analysis.replayed().map(Replay::refused));
    for busy in all {
        // Refused is who had a level at the limit.
        assert_eq!(busy.refused > 0, busy.peak.unwrap().level >= 4.0, "{}", busy.key);
    }
}

#[test]
fn steps_are_the_curve() {
    for link in LINKS {
        let analysis = answer(link, OFFICE);
        let (curve, _) = analysis.shown().unwrap();
        let steps = curve.steps();
        for limit in scale::nice() {
            let step = steps.at(limit);
            let parts = [Part::Whole, Part::Learned, Part::Checked];
            assert_eq!(step.touched, parts.map(|part| curve.all.touched(part, limit)), "{limit}");
            assert_eq!(step.marked, curve.marked.touched(Part::Whole, limit));
            assert_eq!(step.refused, curve.all.refused(Part::Whole, limit));
            assert_eq!(step.marked_refused, curve.marked.refused(Part::Whole, limit));
        }
        let [first, last] = steps.ends().unwrap();
        assert!(
            curve.touched(first.next_down()) == curve.touched(0.001) && curve.touched(last) == 0
        );
        assert_eq!(Staircase::of_numbers(&steps.to_numbers()), steps);
    }
    assert_eq!(Staircase::of_numbers(&[]), Staircase::default());
    assert_eq!(Staircase::of_numbers(&[1.0, 2.0]), Staircase::default());
}
