//! The events that are kept, with room for them and without.

use super::*;
use ratescope_lab::tune::Codes;

#[test]
fn events_come_back_as_they_were() {
    let mut runner = proptest::test_runner::TestRunner::default();
    let kept = |traffic: Traffic| {
        let clients = clients(&traffic);
        for (key, moments) in &traffic {
            let place = clients.find(key).unwrap();
            assert_eq!(
                (clients.key(place), &clients.moments(place).collect::<Vec<_>>()),
                (&**key, moments)
            );
            assert_eq!(clients.requests_of(place), moments.len() as u64);
        }
        assert_eq!((clients.late(), clients.left_out(), clients.share_kept()), (0, 0, 1.0));
        Ok(())
    };
    runner.run(&traffic(), kept).unwrap();
}

#[test]
fn late_and_unusable_events() {
    let mut clients = Clients::new(Room::default());
    for (secs, cost) in [(5.0, 1.0), (3.0, 1.0), (6.0, -1.0), (6.0, f64::NAN), (6.0, 2e12)] {
        clients.add("a", Time::try_from_secs_f64(secs).unwrap(), cost);
    }
    clients.add("a", Time::LAST, 1.0);
    clients.add("b", Time::try_from_secs_f64(1.0).unwrap(), 1.0);
    assert_eq!((clients.requests(), clients.late(), clients.unusable()), (7, 1, 4));
    let times: Vec<f64> = clients.moments(0).map(|m| m.time.as_secs_f64()).collect();
    assert_eq!(times, [5.0, 5.0]);
    assert_eq!((clients.find("b"), clients.find("c"), clients.key(2)), (Some(1), None, ""));
}

/// A ticket is good until the second thinning after it, also if that was to add up another reading.
#[test]
fn a_ticket_leads_to_its_client() {
    let mut clients = Clients::new(Room { clients: 64, bytes: 1 << 20 });
    let key = |i: u64| format!("client {i}");
    (0..65).for_each(|i| clients.add(&key(i), Time::ZERO, 1.0));
    let kept: Vec<u64> = (0..65).filter(|i| clients.find(&key(*i)).is_some()).collect();
    assert!((16..64).contains(&kept.len()), "it was thinned, once: {}", kept.len());
    let tickets: Vec<_> = kept.iter().map(|i| (*i, clients.ticket(&key(*i)))).collect();
    // A reading that was thinned once more than this one.
    let mut other = Clients::new(Room { clients: 64, bytes: 1 << 20 });
    (0..)
        .take_while(|i| {
            other.add(&format!("other {i}"), Time::ZERO, 1.0);
            other.one_in() < 4
        })
        .count();
    clients.absorb(&other);
    assert_eq!(clients.one_in(), 4);
    let left_out = clients.left_out();
    for (i, ticket) in &tickets {
        clients.add_event(*ticket, Time::ZERO, *i as f64 + 2.0, Codes::default());
    }
    let stayed: Vec<u64> = kept.into_iter().filter(|i| clients.find(&key(*i)).is_some()).collect();
    assert!(!stayed.is_empty() && stayed.len() < tickets.len());
    for i in &stayed {
        let costs = clients.moments(clients.find(&key(*i)).unwrap()).map(|moment| moment.cost);
        assert_eq!(costs.collect::<Vec<_>>(), [1.0, *i as f64 + 2.0], "client {i}");
    }
    assert_eq!(clients.left_out() - left_out, (tickets.len() - stayed.len()) as u64);
}

/// A hundred thousand clients in room for a thousand: few bytes, and the busiest are there.
#[test]
fn beyond_the_room_there_are_estimates() {
    let room = Room { clients: 1000, bytes: 1 << 20 };
    let mut clients = Clients::new(room);
    let second = |s: i64| Time::from_micros(s * 1_000_000);
    for i in 0..200_000i64 {
        // Of three requests two are of one client, and the one between of another.
        let key = format!("quiet {}", i / 3 * 2 + i % 3 % 2);
        clients.add(&key, second(i), 1.0);
        if i % 4 == 0 {
            clients.add(&format!("busy {}", i / 4 % 20), second(i), 1.0);
        }
    }
    assert!(clients.len() <= room.clients && clients.bytes() <= room.bytes);
    assert!((0..20).all(|i| clients.find(&format!("busy {i}")).is_some()));
    let near = |what: u64, is: f64| (what as f64 / is - 1.0).abs() < 0.15;
    let curve = Curve::of(&clients, Measure::SlidingLog(Span::from_mins(1)), None);
    let all = clients.clients();
    assert!(near(all, 133_354.0), "{all}");
    assert!(near(curve.touched(1.0), 66_667.0), "{}", curve.touched(1.0));
    assert!(clients.share_kept() < 0.3 && clients.one_in() >= 64, "{}", clients.share_kept());
    // And it does not depend on the seed of the table.
    assert_eq!(
        clients.requests() - clients.left_out(),
        (0..clients.len()).map(|i| clients.requests_of(i)).sum::<u64>()
    );
}

/// A client with more events than there is room for is there, with the first of them, and so are all others.
#[test]
fn one_client_may_be_larger_than_the_room() {
    let mut clients = Clients::new(Room { clients: 64, bytes: 1 << 16 });
    for i in 0..1_000_000 {
        clients.add("busy", Time::from_micros(i * 1000), 1.0);
        if i % 100_000 == 0 {
            clients.add(&format!("quiet {i}"), Time::from_micros(i * 1000), 1.0);
        }
    }
    assert!(clients.find("busy").is_some_and(|busy| clients.requests_of(busy) > 10_000));
    assert_eq!((clients.len(), clients.one_in(), clients.requests()), (11, 1, 1_000_010));
    assert_eq!(clients.requests_of(0) + 10 + clients.left_out(), clients.requests());
    assert!(clients.bytes() <= 1 << 16);
}

/// At most 80 bytes a client, with its share of the map but without its key and its events.
#[test]
fn few_bytes_a_client() {
    let of = |n: i64| {
        let measured = allocation_counter::measure(|| {
            let mut clients = Clients::new(Room::default());
            (0..n).for_each(|i| clients.add(&format!("{i:08}"), Time::from_micros(i), 1.0));
            std::mem::forget(clients);
        });
        measured.bytes_current as i64
    };
    // A map that is just full: 18 bytes of an entry are events.
    let beyond = of(7 << 14) / (7 << 14) - 8 - 18;
    assert!(beyond <= 80, "{beyond}");
}
