//! The picture of Live: the rates of a service's rules, as the reports of the service give them.

use crate::picture;
use picture::in_both_themes;
use ratescope::{Event, KeyedPolicy, Span, Time};
use ratescope_lab::live::Live;
use ratescope_lab::view::{Viewport, live};

/// A rule, the seconds between two events of a usual sender, and those of one who comes from minute 5 to 7.
const RULES: [(&str, &str, f64, f64); 3] = [
    ("web:ip", "gcra 2/1s burst 10 per ip", 4.0, 0.1),
    ("web:path=/login,ip", "sliding-counter 5/1m per ip", 30.0, 0.25),
    ("web:user, a shadow", "exim 60/1m strict per user", 3.0, 0.4),
];

/// The reports of the first `seconds` of a service, four a second. Thirty senders come evenly, each a little later
/// than the one before; the rate of all swells and falls once.
fn reported(seconds: u32) -> Live {
    let mut events: Vec<(f64, usize, usize)> = Vec::new();
    for (rule, (_, _, usual, sudden)) in RULES.iter().enumerate() {
        for sender in 0..30 {
            let mut at = usual * sender as f64 / 30.0;
            while at < f64::from(seconds) {
                events.push((at, rule, sender));
                at += usual * (1.0 - 0.4 * (at / 95.0).sin());
            }
        }
        let sudden_events = (0..).map(|n| 300.0 + f64::from(n) * sudden);
        events.extend(sudden_events.take_while(|at| *at < 420.0).map(|at| (at, rule, 30)));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));

    let mut page = Live { window: Span::minutes(10), ..Live::default() };
    page.name(RULES.iter().map(|(name, limits, ..)| (*name, *limits)));
    let stores = RULES.map(|(_, limits, ..)| KeyedPolicy::new(limits.parse().unwrap(), 100));
    let mut sums = [0.0; 9];
    let mut events = events.into_iter().peekable();
    // A column is 2^18 microseconds.
    for column in 1..(i64::from(seconds) * 1_000_000) >> 18 {
        let now = Time::from_micros(column << 18);
        while let Some((at, rule, sender)) = events.next_if(|(at, ..)| *at < now.as_secs()) {
            let sender = sender.to_string();
            let fields = &[("ip", sender.as_str()), ("user", sender.as_str())];
            let event = Event { time: Time::from_secs(at).unwrap(), cost: 1.0, fields };
            let refused = !stores[rule].check(&event).is_allowed();
            let is_shadow = rule == 2;
            sums[3 * rule] += f64::from(u8::from(!refused || is_shadow));
            sums[3 * rule + 1] += f64::from(u8::from(refused && !is_shadow));
            sums[3 * rule + 2] += f64::from(u8::from(refused && is_shadow));
        }
        page.add_column(now, &sums);
    }
    page
}

/// The view of a page, with the edges at which it comes to rest.
fn view<'a>(page: &Live, width: f64, tops: &'a mut Vec<f64>) -> Viewport<'a> {
    let [_, right] = page.heard.unwrap();
    let view = Viewport {
        size: [width, live::height(page)],
        right,
        live: true,
        window: page.window,
        ..Viewport::default()
    };
    tops.extend(page.rules.iter().map(|rule| live::top(rule, &view)));
    Viewport { tops, ..view }
}

#[test]
fn what_a_service_does() {
    let (page, mut tops) = (reported(600), Vec::new());
    let view = view(&page, 1200.0, &mut tops);
    in_both_themes("live", &live::draw(&page, &view), view.size);
}

#[test]
fn the_words_are_those_of_the_sums() {
    let (page, mut tops) = (reported(600), Vec::new());
    let view = view(&page, 1200.0, &mut tops);
    let [left, right] = ratescope_lab::view::edges(1200.0);
    let pointer = Some([left + (right - left) * 0.6, 0.0]); // minute 6, within the two busy ones
    let words = live::words(&page, &Viewport { pointer, ..view });
    // A sender of ten a second, of which two pass; one of four, of which five a minute pass. A column has 1.05 s.
    let each = [
        "4\u{202f}m before, events a second",
        "web:ip: 8.58 allowed, 7.63 refused",
        "web:path=/login,ip: 0.954 allowed, 3.81 refused",
        "web:user, a shadow: 11.4 allowed, 0 refused, 2.86 would be",
    ];
    assert_eq!(words, each);
    // Of the 1200 events of its busy sender, a bucket of 10 that refills by 2 a second lets 249 pass in 119.9 s.
    assert_eq!(page.rules[0].sums.0[1], 1200.0 - (10.0 + 239.0));
}
