//! Questions: the answer is that of one pass, in whatever steps it comes.

use crate::tune_view::{OFFICE, answer, imported, log};
use ratescope::Time;
use ratescope_lab::traffic::sample::Style;
use ratescope_lab::tune::{
    Aim, Analysis, Choices, ClientRow, Clients, Curve, Frontier, LogClock, MarkedKeys, Measure,
    Part, PictureData, Replay, Report, Room, Summary, advise, scale,
};

const LINKS: [&str; 4] =
    ["", "for=exim", "by=sliding-log&limit=12", "for=envoy&rate=1/1s&period=1h"];

/// The curve with marks, in one pass.
fn curve(clients: &Clients, measure: Measure, marks: &MarkedKeys) -> Curve {
    let cut = clients.usual_cut();
    let mut curve = Curve::of(clients, measure, cut);
    curve.mark(clients, cut, &marks.places(clients).0);
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
            let clients = analysis.clients();
            let (shown, advice) = analysis.shown().unwrap();
            assert_eq!(*shown, curve(clients, shown.measure, &marks), "{link}");
            assert_eq!(*advice, advise(shown, &Aim::default()), "{link}");
            let limiter = analysis.limiter().unwrap();
            let (got, want) =
                (analysis.replayed().unwrap(), Replay::run(clients, limiter, &LogClock::default()));
            assert_eq!(
                (got.refused(), got.hours(), got.refused_clients()),
                (want.refused(), want.hours(), want.refused_clients())
            );
            let backlogs: Vec<Curve> =
                Frontier::measures().into_iter().map(|m| curve(clients, m, &marks)).collect();
            let frontier = Frontier::new(&backlogs, &Aim::default(), Part::Learned);
            assert_eq!(analysis.frontier(), Some(&frontier), "{link}");
            for row in analysis.rows() {
                let limiter = analysis.choices().limiter(shown.measure, row.limit).unwrap();
                let replay = Replay::run(clients, limiter, &LogClock::default());
                assert_eq!(row.refused, Some(replay.refused()), "{link}: {row:?}");
            }
        }
    }
}

#[test]
fn the_steps_in_which_it_is_counted_do_not_matter() {
    let whole = answer("by=sliding-log", "");
    let log = imported(&log(Style::Combined), 1 << 16);
    for budget in [1000, 300_000] {
        let mut analysis = Analysis::new(log.clone(), "by=sliding-log".parse().unwrap());
        let mut calls = 0;
        while !analysis.step(budget) {
            calls += 1;
            assert!(calls < 100_000, "it does not end");
        }
        assert_eq!(analysis.shown(), whole.shown());
        assert_eq!(analysis.rows(), whole.rows());
        assert_eq!(analysis.periods(), whole.periods());
        assert_eq!(analysis.replayed().map(Replay::refused), whole.replayed().map(Replay::refused));
    }
}

/// Other questions came before, and were answered in part or as a whole.
#[test]
fn another_question_is_answered_as_if_it_were_the_first() {
    let log = imported(&log(Style::Combined), 1 << 16);
    let mut analysis = Analysis::new(log, "".parse().unwrap());
    for (link, i) in LINKS.iter().cycle().zip(0..9) {
        analysis.ask(link.parse().unwrap());
        for _ in 0..i {
            analysis.step(5_000);
        }
    }
    for link in LINKS {
        analysis.ask(link.parse().unwrap());
        while !analysis.step(1 << 20) {}
        let fresh = answer(link, "");
        assert_eq!(analysis.shown(), fresh.shown(), "{link}");
        assert_eq!(analysis.frontier(), fresh.frontier(), "{link}");
        assert_eq!(analysis.limiter(), fresh.limiter(), "{link}");
        assert_eq!(analysis.replayed().map(Replay::refused), fresh.replayed().map(Replay::refused));
        assert!(analysis.step(1), "nothing is left to do");
    }
}

#[test]
fn the_busiest_or_the_most_refused_come_first() {
    let mut analysis = answer("for=exim&limit=4&order=requests", OFFICE);
    let busiest = analysis.table("", 10).0;
    assert!(busiest.is_sorted_by(|a, b| a.requests >= b.requests) && busiest.len() == 10);
    assert_eq!((busiest[0].key.as_str(), busiest[0].marked), (OFFICE, true));
    analysis.ask("for=exim&limit=4".parse().unwrap());
    let refused = analysis.table("", 10).0;
    assert!(refused.is_sorted_by(|a, b| a.refused >= b.refused) && refused[9].refused > 0);
    let all = analysis.table("", usize::MAX).0;
    assert_eq!(all.len(), analysis.clients().len());
    let sum: u64 = all.iter().map(|client| client.refused).sum();
    assert_eq!(Some(sum), analysis.replayed().map(Replay::refused));
    for client in all {
        // A client is refused something exactly if it had a level at the limit.
        assert_eq!(client.refused > 0, client.peak.unwrap().level >= 4.0, "{}", client.key);
    }
}

/// The table is searched by a part of a key in either case, and sorted by each column.
#[test]
fn the_table_is_searched_and_sorted() {
    let mut analysis = answer("for=exim&limit=4", OFFICE);
    let keys = |rows: &[ClientRow]| rows.iter().map(|row| row.key.clone()).collect::<Vec<_>>();
    let all = keys(&analysis.table("", usize::MAX).0);
    let with: Vec<String> = all.iter().filter(|key| key.contains("1.1")).cloned().collect();
    assert!(with.len() > 3 && with.len() < all.len());
    let (found, count) = analysis.table(" 1.1 ", 3);
    assert_eq!((keys(&found), count), (with[..3].to_vec(), with.len()));
    assert_eq!(analysis.table("nobody", 3).1, 0);
    let mut by = |order: &str| {
        analysis.ask(format!("for=exim&limit=4&order={order}").parse().unwrap());
        while !analysis.step(u64::MAX) {}
        analysis.table("", 40).0
    };
    let level = |client: &ClientRow| client.peak.unwrap().level;
    assert!(by("client").is_sorted_by_key(|client| client.key.clone()));
    assert!(by("peak").is_sorted_by(|a, b| level(a) >= level(b)));
    assert!(by("peak-at").is_sorted_by_key(|client| client.peak.unwrap().at));
    let first = by("first");
    assert!(first[0].first.is_some() && first.is_sorted_by_key(|c| (c.first.is_none(), c.first)));
}

/// A client without a peak or a refusal has no time to sort by, and comes last.
#[test]
fn who_has_no_time_comes_last() {
    let mut summary = Summary::new("ip".parse().unwrap(), Room::default());
    let second = Time::from_micros(1_000_000);
    // No limiter counts an event at the end of all time.
    for (key, time) in [("nowhere", Time::LAST), ("early", Time::ZERO), ("late", second)] {
        (0..3).for_each(|_| summary.clients.add(key, time, 9.0));
    }
    for order in ["peak-at", "first"] {
        let choices = format!("for=exim&limit=4&order={order}").parse().unwrap();
        let mut analysis = Analysis::new(summary.clone().into(), choices);
        while !analysis.step(u64::MAX) {}
        let rows = analysis.table("", 9).0;
        let keys: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
        assert_eq!(keys, ["early", "late", "nowhere"], "{order}");
    }
}

/// The limit of today is told beside the one that is recommended, by the same measure.
#[test]
fn the_limit_of_today_is_told() {
    let analysis = answer("for=nginx&today=10/1s burst 3", "");
    let today = Report::new(&analysis).today;
    let replay = Replay::run(
        analysis.clients(),
        "nginx 10/1s burst 2 nodelay".parse().unwrap(),
        analysis.clock(),
    );
    let says = replay.describe(&analysis.imported().summary, "request");
    assert_eq!(today, format!("Today, nginx 10/1s burst 2 nodelay {says}."));
    let sorted = Report::new(&answer("for=caddy&today=7/10s", "")).today;
    assert!(sorted.starts_with("Today, sliding-log 7/10s would have refused "), "{sorted}");
    // A limiter, as a configuration has it, is measured as it is.
    let link = "for=exim&today=nginx 10/1s burst 2 nodelay";
    assert_eq!(Report::new(&answer(link, "")).today, today);
    let choices: Choices = link.parse().unwrap();
    assert_eq!(choices.to_string().parse::<Choices>(), Ok(choices));
    assert!("today=nginx 10".parse::<Choices>().is_err());
    assert_eq!(Report::new(&answer("", "")).today, "");
    assert!("today=fast".parse::<Choices>().is_err());
}

/// A person may type any number of periods: the curves kept for later questions are bounded.
#[test]
fn old_questions_are_forgotten() {
    let text = "time,key\n0,a\n1,a\n2,b\n9,a\n";
    let mut analysis = Analysis::new(imported(text, 100), Choices::default());
    let mut ask = |periods: core::ops::Range<u32>| {
        let asked = allocation_counter::measure(|| {
            for second in periods {
                analysis.ask(format!("for=exim&period={second}s").parse().unwrap());
                while !analysis.step(1 << 20) {}
            }
        });
        // A question that was asked first and then forgotten is answered, too.
        assert!(analysis.is_decided());
        asked.bytes_current
    };
    let (first, more) = (ask(1..65), ask(65..129));
    assert!(first > 20_000 && more < first / 4, "{first} bytes, and then {more} more");
    ask(1..2);
}

#[test]
fn the_staircase_is_the_curve() {
    for link in LINKS {
        let analysis = answer(link, OFFICE);
        let (curve, _) = analysis.shown().unwrap();
        let steps = curve.staircase();
        for limit in scale::nice() {
            let step = steps.at(limit);
            let parts = [Part::Whole, Part::Learned, Part::Checked];
            assert_eq!(step.touched, parts.map(|part| curve.all.touched(part, limit)), "{limit}");
            assert_eq!(step.marked, curve.marked.touched(Part::Whole, limit));
            assert_eq!(step.refused, curve.all.refused(Part::Whole, limit));
        }
        let [first, last] = steps.ends().unwrap();
        assert!(
            curve.touched(first.next_down()) == curve.touched(0.001) && curve.touched(last) == 0
        );
    }
}

/// The Worker hands its results to the page as numbers, a list for each part.
#[test]
fn what_was_found_passes_as_numbers() {
    let mut passed = PictureData::default();
    for link in LINKS {
        let found = PictureData::new(&answer(link, OFFICE));
        assert!(found.refusals.is_some() && !found.frontier.bursts.is_empty());
        // Each part replaces that of the answer before.
        PictureData::PARTS.iter().for_each(|name| passed.set(name, &found.part(name)));
        assert_eq!(passed, found, "{link}");
        // Half a part is something else, and never a panic.
        for name in PictureData::PARTS {
            let part = found.part(name);
            (0..part.len().min(50)).for_each(|n| PictureData::default().set(name, &part[..n]));
        }
    }
    let none = PictureData::default();
    PictureData::PARTS.iter().for_each(|name| passed.set(name, &none.part(name)));
    assert_eq!(passed, none);
    passed.set("colour", &[1.0]);
    assert_eq!((passed, none.part("colour")), (none.clone(), vec![]));
}
