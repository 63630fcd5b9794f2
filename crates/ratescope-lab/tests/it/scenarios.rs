//! The scenarios on the page are as their sentences say.

use crate::recorded::at;
use ratescope::{Limiter, Retry, Time};
use ratescope_lab::compare::{Comparison, Lane, Link};
use std::fs;

/// A scenario in the list of a page.
pub(crate) struct Scenario {
    pub(crate) title: String,
    /// HTML.
    pub(crate) text: String,
    pub(crate) fragment: String,
    /// The instants that are marked in the picture.
    pub(crate) flags: Vec<Time>,
}

/// The scenarios of a page in `www`, in their order.
pub(crate) fn listed(page: &str) -> Vec<Scenario> {
    let page = fs::read_to_string(format!("{}/../../www/{page}", env!("CARGO_MANIFEST_DIR")));
    let page = page.unwrap();
    let items = page.split("<li><a href=\"#").skip(1);
    items
        .map(|item| {
            let (link, rest) = item.split_once('>').unwrap();
            let (title, _) = rest.split_once("</a></li>").unwrap();
            let (_, text) = page.split_once(&format!("<strong>{title}</strong> ")).unwrap();
            let (text, _) = text.split_once("</p>").unwrap();
            let (fragment, data) = link.split_once('"').unwrap();
            let flags = data.split_once("data-flags=\"").map_or("", |(_, flags)| flags);
            let flags = flags.split('"').next().unwrap_or_default().split_whitespace();
            Scenario {
                title: title.to_owned(),
                text: text.replace("&nbsp;", " "),
                fragment: fragment.replace("&amp;", "&"),
                flags: flags.map(|flag| at(flag.parse().unwrap())).collect(),
            }
        })
        .collect()
}

/// The scenario of Compare with that title as it is opened, and its sentences.
fn scenario(title: &str) -> (Comparison, String) {
    let found = listed("compare.html").into_iter().find(|listed| listed.title.contains(title));
    let found = found.unwrap_or_else(|| panic!("{title} is not on the page"));
    let link: Link = found.fragment.parse().unwrap();
    (opened(&link, link.at), found.text)
}

fn opened(link: &Link, until: Time) -> Comparison {
    let mut replay = Comparison::open(link).unwrap();
    replay.advance(until, usize::MAX);
    replay
}

/// The run of the link, from its start to another time.
fn again(replay: &Comparison, seconds: f64) -> Comparison {
    opened(&replay.link().unwrap(), at(seconds))
}

/// The number of events that each lane let through, by the name of its rule.
fn allowed(replay: &Comparison) -> Vec<(&str, u64)> {
    replay.lanes().iter().map(|lane| (lane.template().as_str(), lane.allowed())).collect()
}

fn refused(replay: &Comparison) -> Vec<u64> {
    replay.lanes().iter().map(Lane::refused).collect()
}

#[track_caller]
fn says(text: &str, numbers: &[&str]) {
    for number in numbers {
        assert!(text.contains(number), "\"{number}\" is not in: {text}");
    }
}

#[test]
fn all_are_on_the_page() {
    let all = listed("compare.html");
    assert_eq!(all.len(), 24);
    for Scenario { title, text, fragment, .. } in all {
        let link: Link = fragment.parse().unwrap();
        assert!((2..=8).contains(&link.settings.lanes.len()), "{title}");
        assert!(link.at > Time::ZERO && text.len() > 100, "{title}");
        // The whole scenario is on the screen, but perhaps for its first moments.
        assert!(
            link.at.as_secs_f64() <= link.settings.common.window.as_secs_f64() * 1.01,
            "{title}"
        );
    }
}

#[test]
fn a_bucket_gives_out_what_flows_in_and_a_window_what_is_forgotten() {
    let (replay, text) = scenario("Token bucket against");
    says(
        &text,
        &[
            "at 5 s",
            "within 10 s it lets 19",
            "until 15 s",
            "from 20 s on",
            "29 of 49",
            "window 20",
        ],
    );
    assert_eq!(replay.sent(), 49);
    assert_eq!(allowed(&replay), [("token-bucket", 29), ("sliding-window", 20)]);
    let by =
        |seconds| allowed(&again(&replay, seconds)).iter().map(|(_, n)| *n).collect::<Vec<_>>();
    assert_eq!([by(14.9), by(15.1), by(20.0), by(25.0)], [[19, 10], [20, 11], [24, 20], [29, 20]]);
}

#[test]
fn one_a_minute_is_too_fast_for_some_servers() {
    let (replay, text) = scenario("One a minute");
    says(&text, &["all 11", "0.96 a minute", "at 60 s", "4 pass", "every 3 minutes"]);
    assert_eq!(replay.sent(), 11);
    let expected = [
        ("nginx", 6),
        ("haproxy", 1),
        ("haproxy allowed", 4),
        ("envoy burst 1", 11),
        ("gcra burst 1", 11),
    ];
    assert_eq!(allowed(&replay), expected);
    for (seconds, by_then) in
        [(60.5, [1, 1, 1, 0, 0]), (120.5, [1, 2, 2, 0, 0]), (180.5, [2, 3, 2, 0, 0])]
    {
        assert_eq!(refused(&again(&replay, seconds)), by_then);
    }
}

#[test]
fn a_burst_at_the_edge_is_twice_the_limit() {
    let (replay, text) = scenario("A burst at the window");
    says(
        &text,
        &["4.5 s", "5.5 s", "all 20 pass", "1 s", "log lets 10 through", "bucket lets 12 through"],
    );
    assert_eq!(replay.sent(), 20);
    let lanes = [("fixed-window", 20), ("sliding-log", 10), ("token-bucket", 12)];
    assert_eq!(allowed(&replay), lanes);
    assert_eq!(again(&replay, 4.5).sent(), 0);
    assert_eq!(again(&replay, 5.500001).sent(), 20);
}

#[test]
fn at_random_all_eight_differ() {
    let (replay, text) = scenario("All eight");
    says(&text, &["63 requests", "refuse 1", "between 9 and 17", "refuses 21", "Exim 28"]);
    assert_eq!(replay.lanes().len(), 8);
    assert_eq!((replay.sent(), refused(&replay)), (63, vec![9, 17, 15, 17, 1, 1, 28, 21]));
}

#[test]
fn the_relentless_abuser_gets_a_minutes_worth_or_nothing() {
    let (replay, text) = scenario("The relentless abuser");
    says(&text, &["between 60 and 69 of 299", "after 17", "after 11"]);
    assert_eq!(replay.sent(), 299);
    let expected = [
        ("fixed-window", 60),
        ("token-bucket", 69),
        ("sliding-log", 60),
        ("exim leaky", 68),
        ("earrrl", 17),
        ("exim strict", 11),
    ];
    assert_eq!(allowed(&replay), expected);
    let later: Vec<u64> = again(&replay, 600.0).lanes().iter().map(Lane::allowed).collect();
    assert_eq!(later[4..], [17, 11]);
    assert!(later[..4].iter().all(|allowed| *allowed >= 600), "{later:?}");
}

/// The figure of the article on EARRRL: the numbers of tests/limiters/article.rs.
#[test]
fn the_repentant_abuser_is_forgiven_late() {
    let (replay, text) = scenario("The repentant abuser");
    says(&text, &["150 s", "27 s", "45 requests", "255 s", "90 have passed", "20 in each window"]);
    let earrrl = |seconds| {
        let run = again(&replay, seconds);
        (run.lanes()[0].allowed(), run.lanes()[0].refused())
    };
    assert_eq!(earrrl(27.0), (45, 0));
    assert_eq!(earrrl(27.000001), (45, 1));
    let (passed, before) = earrrl(255.0);
    assert_eq!(passed, 45);
    assert_eq!(earrrl(255.000001), (45, before + 1));
    assert_eq!(earrrl(300.000001), (90, before + 1));
    assert_eq!(replay.lanes()[0].refused(), before + 1);
    let mut last = 0;
    for window in 1..=15 {
        let passed = again(&replay, 20.0 * f64::from(window)).lanes()[1].allowed();
        assert_eq!(passed - last, 20, "window {window}");
        last = passed;
    }
}

#[test]
fn only_the_sliding_counter_refuses_the_steady_sender() {
    let (replay, text) = scenario("Steady, just under");
    says(&text, &["0.95 a second", "9.5 per 10 s", "seven lanes", "5 of 113", "10.05"]);
    assert_eq!(replay.sent(), 113);
    assert_eq!(replay.lanes().len(), 8);
    for lane in replay.lanes() {
        let refused = if lane.template().as_str() == "sliding-counter" { 5 } else { 0 };
        assert_eq!(lane.refused(), refused, "{}", lane.template());
    }
    // With the second request of a window, each time.
    let counter = replay.lanes().iter().find(|lane| lane.refused() > 0).unwrap();
    let columns = counter.history().columns(Time::ZERO, replay.now(), 0.0);
    for column in columns.iter().filter(|column| column.refused > 0) {
        let (at, judged) = column.judged.unwrap();
        assert_eq!((judged.level * 100.0).round() / 100.0, 10.05);
        assert_eq!((at.as_secs_f64() % 20.0 * 100.0).round() / 100.0, 1.05);
    }
}

#[test]
fn small_bursts_pass_or_wait_or_are_refused() {
    let (replay, text) = scenario("Many small bursts");
    says(&text, &["150 requests in five minutes", "17.1 s", "refuses 10,", "strict Exim 17"]);
    assert_eq!(replay.sent(), 150);
    assert_eq!(refused(&replay), [0, 0, 0, 10, 17]);
    let columns = replay.lanes()[1].history().columns(Time::ZERO, replay.now(), 0.0);
    let waits = columns.iter().filter_map(|c| c.judged?.1.wait);
    let longest = waits.map(|wait| wait.as_secs_f64()).fold(0.0, f64::max);
    assert_eq!((longest * 10.0).round() / 10.0, 17.1);
}

#[test]
fn the_adaptive_limit_tells_the_night_from_the_day() {
    let (replay, text) = scenario("Slow start");
    says(&text, &["480 s to 540 s", "all 285", "16 of the 299", "from 244 s on"]);
    let day = again(&replay, 540.0);
    assert_eq!(day.sent(), 285);
    assert_eq!(again(&replay, 480.1).sent(), 285);
    assert_eq!(replay.sent() - 285, 299);
    assert_eq!(refused(&day)[..2], [0, 0]);
    let night: Vec<u64> =
        replay.lanes().iter().zip(day.lanes()).map(|(l, d)| l.allowed() - d.allowed()).collect();
    assert_eq!(night[..2], [16, 299]);
    // The low one: everything passes up to there, and nothing after it.
    let [before, after] = [243.5, 244.0].map(|seconds| again(&replay, seconds));
    assert_eq!((before.lanes()[2].refused(), after.lanes()[2].refused()), (0, 1));
    assert_eq!(day.lanes()[2].allowed(), after.lanes()[2].allowed());
}

#[test]
fn what_knows_the_hour_tells_spam_at_night_from_a_busy_day() {
    let (replay, text) = scenario("Ten days");
    says(&text, &["refuses 4 of the 1,713", "42 of 98", "refuses 129 before", "30 per 2 s"]);
    let before = again(&replay, 582.0);
    assert_eq!((before.sent(), replay.sent() - before.sent()), (1713, 98));
    assert_eq!(refused(&before), [4, 129, 0]);
    assert_eq!(refused(&replay), [4 + 42, 129, 0]);
    // The limit by hour, within a day: high at its noon, at the floor in its night.
    let limit = |seconds: f64| again(&replay, seconds).lanes()[0].level(at(seconds)).1;
    assert!(limit(555.0) > 25.0 && limit(585.0) < 12.0 && limit(615.0) > 25.0);
}

#[test]
fn what_is_expensive_is_refused_before_or_paid_for_after() {
    let (replay, text) = scenario("Expensive requests");
    says(&text, &["20 at 20.5 s and 8 at 40.5 s", "refuses 9 cheap"]);
    assert_eq!(replay.sent(), 31);
    // The fate of the two, and how many of the cheap ones were refused.
    let verdicts = |lane: usize| {
        let passed = |seconds: f64| {
            let [before, after] = [seconds, seconds + 1e-6].map(|s| again(&replay, s));
            after.lanes()[lane].allowed() > before.lanes()[lane].allowed()
        };
        let two = (passed(20.5), passed(40.5));
        let cheap = replay.lanes()[lane].refused() - u64::from(!two.0) - u64::from(!two.1);
        (two.0, two.1, cheap)
    };
    assert_eq!(replay.lanes().len(), 4);
    assert_eq!(verdicts(0), (false, true, 0));
    assert_eq!(verdicts(1), (false, false, 0));
    assert_eq!(verdicts(2), (true, true, 9));
    assert_eq!(verdicts(3), (false, false, 9));
    let bucket = &replay.lanes()[0].policy().limits()[0].limiter;
    assert_eq!(bucket.retry_after(&bucket.initial(), Time::ZERO, 20.0), Retry::Never);
}

#[test]
fn bob_pays_for_ann_unless_each_has_a_limit() {
    let (replay, text) = scenario("Two users behind one address");
    says(
        &text,
        &["All 19 of his", "ten per 10 s to herself", "6 for a user and 10 for the address"],
    );
    // His requests come when none of hers do.
    let his: Vec<f64> = (1..20).map(|i| 0.5 + 3.0 * f64::from(i)).collect();
    let refused = |lane: usize| {
        let one = |seconds: &&f64| {
            let [before, after] = [**seconds, **seconds + 1e-6].map(|s| again(&replay, s));
            assert_eq!(after.sent(), before.sent() + 1, "at {seconds}");
            after.lanes()[lane].refused() > before.lanes()[lane].refused()
        };
        his.iter().filter(one).count()
    };
    assert_eq!([0, 1, 2].map(refused), [19, 0, 0]);
    // Ann alone: the requests that passed without his 19. And the address, in every 10 s.
    let passed: Vec<u64> = replay.lanes().iter().map(Lane::allowed).collect();
    assert_eq!(passed[1..], [60 + 19, 36 + 19]);
    for lane in [0, 2] {
        let at_tens: Vec<u64> =
            (0..=6).map(|i| again(&replay, 10.0 * f64::from(i)).lanes()[lane].allowed()).collect();
        assert!(at_tens.windows(2).all(|pair| pair[1] - pair[0] <= 10), "{at_tens:?}");
    }
}

/// The first figure of the article on EARRRL.
#[test]
fn three_users_have_a_curve_each() {
    let (replay, text) = scenario("Three users");
    says(
        &text,
        &[
            "10, 1 and 0.1 a second",
            "from 50 s to 200 s",
            "half of each rate",
            "Nothing is refused",
        ],
    );
    assert_eq!(refused(&replay), [0, 0]);
    let level = |lane: usize, user: &str, seconds: f64| {
        let run = again(&replay, seconds);
        let lane = &run.lanes()[lane];
        let number = lane.curves().iter().position(|curve| curve.user == user).unwrap();
        lane.level_of(number, at(seconds)).0
    };
    // Within an event of the slowest, whose single events are seen.
    for (user, rate) in [("red", 10.0), ("green", 1.0)] {
        let half = level(0, user, 60.0);
        assert!((half / rate - 0.5).abs() < 0.06, "{user}: {half}");
        let whole = level(0, user, 199.9);
        assert!((whole / rate - 1.0).abs() < 0.06, "{user}: {whole}");
        assert!((level(0, user, 209.9) / whole - 0.5).abs() < 0.01, "{user}");
    }
    assert_eq!(["red", "green"].map(|user| level(1, user, 51.95)), [10.0, 1.0]);
    let users = |lane: &Lane| lane.curves().iter().map(|c| c.user.clone()).collect::<Vec<_>>();
    assert_eq!(users(&replay.lanes()[0]), ["red", "green", "blue"]);
    // A curve is the history of its user.
    let soon = again(&replay, 60.05);
    let slow = &soon.lanes()[0].curves()[2];
    let before = slow.history.column_at(at(59.99)).unwrap();
    let after = slow.history.column_at(at(60.01)).unwrap();
    assert_eq!((before.end, after.allowed), (0.0, 1));
    assert!(after.end > 0.06 && after.end < 0.07, "{}", after.end);
}

#[test]
fn elephants_stampede_at_an_edge_that_all_share() {
    let (replay, text) = scenario("Stampeding");
    says(
        &text,
        &[
            "68 requests pass within 0.2 s",
            "it is 32",
            "bucket of 20 for all beside the windows it is 20",
        ],
    );
    let within = |lane: usize| {
        let [before, after] = [9.89, 10.11].map(|s| again(&replay, s).lanes()[lane].allowed());
        after - before
    };
    assert_eq!([0, 1, 2].map(within), [68, 32, 20]);
    assert_eq!(replay.lanes()[0].curves().len(), 4);
}

#[test]
fn the_bound_of_today_refuses_what_2009_let_through() {
    let (replay, text) = scenario("Exim of 2009");
    says(&text, &["every 30 s", "60 recipients", "7.50", "1.05", "0.333"]);
    let verdicts = |seconds| refused(&again(&replay, seconds));
    assert_eq!((verdicts(259.9), verdicts(260.1)), (vec![0, 0, 0], vec![1, 0, 1]));
    let judged = |lane: usize, seconds: f64| {
        let run = again(&replay, seconds + 0.1);
        let (time, outcome) =
            run.lanes()[lane].history().column_at(at(seconds)).unwrap().judged.unwrap();
        assert_eq!(time, at(seconds));
        (outcome.level * 1000.0).round() / 1000.0
    };
    assert_eq!([0, 1, 2].map(|lane| judged(lane, 260.0)), [60.0, 7.498, 60.0]);
    // By the closed form, from the second event on: w (1 - e^-3)/3 + r e^-3, which tends to a third.
    assert_eq!([0, 1, 2].map(|lane| judged(lane, 180.0)), [1.0, 0.333, 1.052]);
}

#[test]
fn a_burst_moves_a_long_rate_as_much_as_a_short_one_but_not_blue() {
    let (replay, text) = scenario("Why blue");
    says(
        &text,
        &[
            "from 0.04 to 20.0",
            "from 16.2 to 36.2",
            "12 times blue",
            "stays at 3.21",
            "3 of the 20",
        ],
    );
    let levels = |seconds: f64| -> Vec<(f64, f64)> {
        let run = again(&replay, seconds);
        let lanes = run.lanes().iter().map(|lane| lane.level(at(seconds)));
        lanes
            .map(|(level, limit)| {
                ((level * 100.0).round() / 100.0, (limit * 100.0).round() / 100.0)
            })
            .collect()
    };
    let [before, after] = [1203.0, 1203.000001].map(levels);
    assert_eq!(before.iter().map(|l| l.0).take(2).collect::<Vec<_>>(), [0.04, 16.24]);
    assert_eq!(after.iter().map(|l| l.0).take(2).collect::<Vec<_>>(), [20.0, 36.21]);
    assert_eq!((before[2].1, after[2].1), (3.21, 3.21));
    assert_eq!(refused(&replay), [0, 0, 17]);
}

#[test]
fn an_average_of_windows_sees_a_burst_when_its_window_has_ended() {
    let (replay, text) = scenario("An average of windows");
    says(&text, &["Until 10 s", "all 40", "until 30 s", "the 16th", "the 11th"]);
    assert_eq!(refused(&again(&replay, 9.9)), [0, 25, 30]);
    let windowed = |seconds| again(&replay, seconds).lanes()[0].refused();
    // (40 + 0)/2 at 10 s, (4 + 20)/2 at 20 s, (5 + 12)/2 at 30 s.
    let levels = [9.9, 10.0, 20.0, 30.0].map(|s| again(&replay, s).lanes()[0].level(at(s)).0);
    assert_eq!(levels, [0.0, 20.0, 12.0, 8.5]);
    assert_eq!((windowed(29.9), windowed(60.0)), (9, 9));
}

/// The numbers of a lane's clients: requests sent, passed and left, and when the last was done.
fn jobs(replay: &Comparison) -> Vec<(u64, u64, Option<f64>)> {
    let crowds = replay.lanes().iter().map(|lane| lane.crowd().unwrap());
    let tenth = |seconds: f64| (seconds * 10.0).round() / 10.0;
    crowds
        .map(|c| (c.sent(), c.left(), c.done()[1].map(|done| tenth(done.as_secs_f64()))))
        .collect()
}

#[test]
fn strict_and_at_once_never_ends() {
    let (replay, text) = scenario("Those who try again");
    says(&text, &["After 11 requests", "29 never", "all 40", "after 32 s", "2.68 times"]);
    assert_eq!(jobs(&replay), [(240, 29, None), (83, 0, Some(32.0))]);
    let later = again(&replay, 3600.0);
    assert_eq!(jobs(&later)[0].1, 29);
    let load = replay.lanes()[1].crowd().unwrap().rate(ratescope::Span::from_secs(10));
    assert_eq!((load * 100.0).round() / 100.0, 2.68);
}

#[test]
fn jitter_spreads_a_herd() {
    let (replay, text) = scenario("A herd");
    says(
        &text,
        &["40 requests in the second after 10 s", "it is 23", "14", "43.7 s and 46.3 s", "40.9 s"],
    );
    let [before, after] = [9.999, 11.05].map(|s| jobs(&again(&replay, s)));
    let edge: Vec<u64> = before.iter().zip(&after).map(|(b, a)| a.0 - b.0).collect();
    assert_eq!(edge, [40, 23, 14]);
    assert_eq!(
        jobs(&replay).iter().map(|job| job.2.unwrap()).collect::<Vec<_>>(),
        [40.9, 43.7, 46.3]
    );
}

#[test]
fn who_is_told_when_sends_least() {
    let (replay, text) = scenario("What Retry-After");
    says(&text, &["2,010 in 40.2 s", "230 in 40.6 s", "94", "77.0 s", "need 70, and 41.4 s"]);
    let told =
        [(2010, 0, Some(40.2)), (230, 0, Some(40.6)), (94, 0, Some(77.0)), (70, 0, Some(41.4))];
    assert_eq!(jobs(&replay), told);
}

#[test]
fn backoff_sleeps_while_there_is_room() {
    let (replay, text) = scenario("Backoff that");
    says(
        &text,
        &[
            "nobody comes in the first second",
            "167 s",
            "97.4 s",
            "237 requests",
            "of 121",
            "90.7 s and 70",
        ],
    );
    assert_eq!(jobs(&replay), [(121, 0, Some(167.5)), (237, 0, Some(97.4)), (70, 0, Some(90.7))]);
    let [before, after] = [30.0, 31.0].map(|s| jobs(&again(&replay, s))[0].0);
    assert_eq!(after, before);
}

#[test]
fn one_client_without_manners_pays_alone_if_each_has_a_limit() {
    let (replay, text) = scenario("One client without");
    says(
        &text,
        &["after 49.1 s", "after 103.8 s", "85 of the 95", "the nine are done within a second"],
    );
    let left: Vec<u64> = jobs(&replay).iter().map(|job| job.1).collect();
    assert_eq!(left, [0, 85, 40, 0]);
    let done = |lane: usize| {
        replay.lanes()[lane].crowd().unwrap().done().map(|d| d.map(|d| d.as_secs_f64()))
    };
    let [first, last] = done(0).map(Option::unwrap);
    assert_eq!(((first * 10.0).round() / 10.0, (last * 10.0).round() / 10.0), (49.1, 103.8));
    assert_eq!(jobs(&again(&replay, 3600.0))[1].1, 85);
    // All but the rude client's own are through after a second.
    let after = again(&replay, 1.0);
    let left = |lane: usize| after.lanes()[lane].crowd().unwrap().left();
    let rude =
        |lane: usize| after.lanes()[lane].crowd().unwrap().clients_left().last().copied().unwrap();
    for lane in [2, 3] {
        assert_eq!(left(lane), u64::from(rude(lane)), "lane {lane}");
    }
}

/// The events that passed, the most over the limit, and the calls to Redis, of each lane.
fn told(replay: &Comparison) -> Vec<(u64, f64, u64)> {
    let each = replay.lanes().iter().map(|lane| {
        let shared = lane.shared().unwrap();
        (lane.allowed(), shared.over(), shared.calls())
    });
    each.collect()
}

#[test]
fn two_data_centres_share_a_limit() {
    let (replay, text) = scenario("Two data centres");
    says(
        &text,
        &[
            "80 ms",
            "15 requests a second",
            "300 of 449",
            "449 calls",
            "223 calls",
            "2 are over",
            "46 calls",
            "up to 9",
            "by 50",
        ],
    );
    assert_eq!(told(&replay), [(300, 0.0, 449), (300, 2.0, 223), (327, 9.0, 46), (449, 50.0, 0)]);
}

#[test]
fn a_flood_comes_to_forty_processes() {
    let (replay, text) = scenario("A flood at forty");
    says(
        &text,
        &[
            "for 9 s",
            "9,178 calls",
            "559 pass",
            "969 calls",
            "same 559 pass with 969",
            "1,057 pass over",
            "all 9,178 pass",
        ],
    );
    assert_eq!(
        told(&replay),
        [(559, 0.0, 9178), (559, 0.0, 969), (1596, 1057.0, 137), (9178, 8619.0, 0)]
    );
}
