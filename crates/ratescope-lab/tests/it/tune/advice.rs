//! The limit that is recommended, and the sentences about it.

use super::*;
use ratescope_lab::tune::{Aim, Doubt, Frontier, LogClock, MarkedKeys, Share, Summary, advise};

/// A thousand visitors who load a page of ten parts each ten minutes, for two days, and a script
/// that sends one a second on the second night.
fn site() -> Clients {
    let mut clients = Clients::new(Room::default());
    let mut lines = Vec::new();
    for visitor in 0..1000i64 {
        for visit in 0..(48 * 6 - 1) {
            if (visitor + visit) % 50 == 0 {
                let begin = visit * 600 + visitor % 600;
                lines.extend((0..10).map(|part| {
                    (begin * 1_000_000 + part * 100_000, format!("visitor {visitor}"))
                }));
            }
        }
    }
    lines.extend((0..3600).map(|i| ((26 * 3600 + i) * 1_000_000, "script".to_owned())));
    lines.sort();
    lines.iter().for_each(|(micros, key)| clients.add(key, Time::from_micros(*micros), 1.0));
    clients
}

#[test]
fn a_limit_learned_and_checked() {
    let clients = site();
    let minute = Span::from_mins(1);
    let cut = Time::from_micros(24 * 3600 * 1_000_000);
    let curve = Curve::of(&clients, Measure::SlidingLog(minute), Some(cut));
    let advice = advise(&curve, &Aim::default());
    assert_eq!(advice.limiter.unwrap().to_string(), "sliding-log 10/1m");
    assert_eq!(advice.learned, Share { touched: 0, clients: 1000 });
    assert_eq!(advice.checked, Some(Share { touched: 1, clients: 1001 }));
    assert_eq!((advice.knee, advice.doubts), (Some(10.0), vec![]));
    // Exim refuses at the limit, so it has to be above.
    let exim = advise(&Curve::of(&clients, Measure::Exim(minute), Some(cut)), &Aim::default());
    assert_eq!(exim.limiter.unwrap().to_string(), "exim 10/1m strict");
    assert_eq!(exim.checked, Some(Share { touched: 1, clients: 1001 }));
}

#[test]
fn a_sentence() {
    let mut summary = Summary::new("ip".parse().unwrap(), Room::default());
    summary.clients = site();
    let replay =
        |limit: &str| Replay::run(&summary.clients, limit.parse().unwrap(), &LogClock::default());
    let some = replay("sliding-log 10/1m");
    let says = "would have refused 3,000 of 61,000 requests, all from 1 of 1,001 clients: script, first \
                on 2 January at 02:00";
    assert_eq!(some.describe(&summary, "request"), says);
    let days = &some.hours().0;
    assert!(days.iter().all(|hours| hours.iter().sum::<u64>() == hours[2]));
    let says = "would have refused no request of 1,001 clients";
    assert_eq!(replay("sliding-log 1000/1m").describe(&summary, "request"), says);
}

#[test]
fn a_marked_client_is_never_touched() {
    let clients = site();
    let marks: MarkedKeys = "# ours\n\nscript # the backup\nnobody\n".parse().unwrap();
    assert_eq!(marks.to_string(), "nobody\nscript\n");
    let (marked, unknown) = marks.places(&clients);
    assert_eq!(unknown, ["nobody"]);
    let mut curve = Curve::of(&clients, Measure::SlidingLog(Span::from_mins(1)), None);
    curve.mark(&clients, None, &marked);
    let advice = advise(&curve, &Aim::default());
    assert_eq!(advice.limit, Some(60.0));
    assert_eq!((curve.touched(10.0), curve.marked.touched(Part::Whole, 10.0)), (1, 1));
}

/// The smallest burst falls as the rate rises, and is that of a page at any rate of people.
#[test]
fn rate_against_burst() {
    let clients = site();
    let mut curves: Vec<Curve> = Frontier::measures().into_iter().map(Curve::new).collect();
    Curve::add_clients(&mut curves, &clients, None, 0..clients.len());
    let frontier = Frontier::new(&curves, &Aim::default(), Part::Whole);
    let bursts: Vec<f64> = frontier.bursts.iter().map(|b| b.burst).collect();
    assert!(bursts.windows(2).all(|pair| pair[0] >= pair[1]), "{bursts:?}");
    assert_eq!(bursts[0], 10.0);
    let told = |per: Span| {
        let at = frontier.tightest(per).unwrap();
        (at.burst, at.rate.to_string(), at.touched)
    };
    // In a minute a burst and the part that comes back: 10.1 at six an hour, and 10.5 at thirty.
    assert_eq!(told(Span::from_mins(1)), (10.0, "6/1h".to_owned(), 1));
}

#[test]
fn too_little_to_say() {
    let mut clients = Clients::new(Room::default());
    let measure = Measure::FixedWindow(Span::from_mins(1));
    let advice = |clients: &Clients| advise(&Curve::of(clients, measure, None), &Aim::default());
    assert_eq!(advice(&clients).doubts, [Doubt::NoEvents]);
    assert_eq!(advice(&clients).limit, None);
    for i in 0..20 {
        clients.add(&i.to_string(), Time::from_micros(i * 1_000_000), 1.0);
    }
    let advice = advice(&clients);
    assert_eq!(advice.limit, Some(1.0));
    assert_eq!(advice.doubts, [Doubt::ShortLog(Span::from_secs(19)), Doubt::AllAlike]);
}

/// That all clients count is no doubt as long as the fastest is not much faster than the next.
#[test]
fn the_fastest_of_few_clients() {
    let minute = Span::from_mins(1);
    for (counts, doubts) in [
        (&[7, 3, 1][..], vec![Doubt::Fastest { untouched: 0.999, clients: 3, without: 3.0 }]),
        (&[7, 4, 1], vec![]),
        (&[7, 7, 1], vec![]),
        (&[7], vec![Doubt::OneClient]),
    ] {
        let mut clients = Clients::new(Room::default());
        for (key, count) in counts.iter().enumerate() {
            (0..*count).for_each(|_| clients.add(&key.to_string(), Time::ZERO, 1.0));
            clients.add(&key.to_string(), Time::from_micros(3_600_000_000), 1.0);
        }
        let curve = Curve::of(&clients, Measure::SlidingLog(minute), None);
        assert_eq!(advise(&curve, &Aim::default()).doubts, doubts, "{counts:?}");
    }
}

/// Where each event is a failed login, the limit lets a person mistype three times, whichever other clients are in the
/// log.
#[test]
fn failed_logins() {
    let mut clients = Clients::new(Room::default());
    for attacker in 0..50 {
        (0..20).for_each(|i| {
            clients.add(&attacker.to_string(), Time::from_micros(i * 1_000_000), 1.0)
        });
    }
    let ten = Span::from_mins(10);
    for (measure, limit, touched) in [
        (Measure::Fail2ban(ten, ten), 4.0, 50),
        (Measure::SlidingLog(ten), 3.0, 50),
        (Measure::Exim(ten), 3.0, 50),
        (Measure::Bucket("1/1m".parse().unwrap()), 3.0, 50),
        (Measure::Bucket("1/1s".parse().unwrap()), 3.0, 0),
    ] {
        let advice = advise(&Curve::of(&clients, measure, None), &Aim::Mistakes);
        assert_eq!((advice.limit, advice.learned.touched), (Some(limit), touched), "{measure}");
    }
}
