//! Calls of other services, which wait until their limits allow them.

use crate::middleware::parts::{Hand, Inner, finished};
use core::future::poll_fn;
use http::header::{DATE, RETRY_AFTER};
use http::{Request, Response};
use ratescope::Span;
use ratescope::waiting::{NotAllowed, Waiting};
use ratescope_tower::outgoing::{CallError, Pace, Paced};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio_test::task::{Spawn, spawn};
use tokio_test::{assert_pending, assert_ready, assert_ready_err, assert_ready_ok};
use tower::limit::ConcurrencyLimit;
use tower_layer::Layer;
use tower_service::Service;

type Called =
    Pin<Box<dyn Future<Output = Result<Response<String>, CallError<String>>> + Send + 'static>>;

/// Begins a call once the client is ready.
fn call<I>(client: &mut Paced<I, Hand>, uri: &str) -> Spawn<Called>
where
    Paced<I, Hand>: Service<Request<String>, Error = CallError<String>, Future = Called>,
{
    finished(poll_fn(|cx| client.poll_ready(cx))).unwrap();
    spawn(client.call(Request::get(uri).body(String::new()).unwrap()))
}

fn pace(policy: &str, clock: &Hand) -> Pace<Hand> {
    Pace::new(policy).unwrap_or_else(|error| panic!("{error}")).clock(clock.clone())
}

/// A client whose answers have these headers.
fn answering<const N: usize>(headers: [(http::HeaderName, &str); N]) -> Inner {
    let headers = headers.map(|(name, value)| (name, value.parse().unwrap()));
    Inner { headers: headers.into_iter().collect(), ..Inner::default() }
}

#[test]
fn a_call_waits_until_its_host_may_be_called() {
    let clock = Hand::default();
    let mut client = pace("gcra 2/1s burst 1", &clock).layer(Inner::default());
    let seen = Arc::clone(&client.get_ref().seen);
    assert_ready_ok!(call(&mut client, "http://a/1").poll());
    // Names of hosts have no case, and a password is no part of them.
    let mut second = call(&mut client, "http://me:secret@A/2");
    let mut third = call(&mut client, "http://a/3");
    assert_pending!(second.poll());
    // Another host, and another port, are limited apart.
    assert_ready_ok!(call(&mut client, "http://b/4").poll());
    assert_ready_ok!(call(&mut client, "http://a:81/5").poll());
    clock.set(0.499_999);
    assert_pending!(second.poll());
    clock.set(0.5);
    assert_eq!(assert_ready_ok!(second.poll()).body(), "/2");
    assert_pending!(third.poll());
    clock.set(1.0);
    assert_eq!(assert_ready_ok!(third.poll()).body(), "/3");
    assert_eq!(*seen.paths.lock().unwrap(), ["/1", "/4", "/5", "/2", "/3"]);
}

/// Without an authority in the target, the header says which host is meant.
#[test]
fn limits_are_for_what_the_call_says() {
    let clock = Hand::default();
    let mut client = pace("gcra 1/1s burst 1 per method+path", &clock).layer(Inner::default());
    assert_ready_ok!(call(&mut client, "http://a/x?1").poll());
    assert_ready_ok!(call(&mut client, "http://a/y").poll());
    assert_pending!(call(&mut client, "http://b/x?2").poll());

    let mut client = pace("gcra 1/1s burst 1", &clock).layer(Inner::default());
    let mut to = |host| {
        finished(poll_fn(|cx| Service::<Request<String>>::poll_ready(&mut client, cx))).unwrap();
        let request = Request::get("/x").header("host", host).body(String::new());
        spawn(client.call(request.unwrap())).poll().is_ready()
    };
    assert_eq!(["a", "b", "a"].map(&mut to), [true, true, false]);

    let error = Pace::new("gcra 1/1s per user").unwrap_err();
    let expected = "user is not a field here; write per host, per method, per path, per all";
    assert_eq!(error.problem(), expected);
}

#[test]
fn a_call_that_would_wait_too_long_is_not_made_and_not_counted() {
    let clock = Hand::default();
    let pace = pace("gcra 1/1s burst 1", &clock);
    let at_most = |seconds| Waiting::DEFAULT.at_most(Span::from_secs(seconds));
    let mut patient = pace.clone().waiting(at_most(1)).layer(Inner::default());
    let mut hasty = pace.waiting(at_most(0)).layer(Inner::default());
    assert_ready_ok!(call(&mut hasty, "http://a/1").poll());
    let error = assert_ready_err!(call(&mut hasty, "http://a/2").poll());
    assert_eq!(error, CallError::GaveUp(NotAllowed::Refused { after: Duration::from_secs(1) }));
    assert_eq!(error.to_string(), "the call was not made: the event would have to wait for 1s");
    // The layers are clones, so they are limited together; a call that was given up is not counted.
    let mut waits = call(&mut patient, "http://a/3");
    assert_pending!(waits.poll());
    clock.set(1.0);
    assert_eq!(assert_ready_ok!(waits.poll()).body(), "/3");
    // An error of the client is its own.
    clock.set(2.0);
    let error = assert_ready_err!(call(&mut hasty, "http://a/broken").poll());
    assert_eq!(error, CallError::Call("broken".to_owned()));
}

/// Nor in limits that count refused calls: a call is refused only when it would be counted.
#[test]
fn a_call_that_gives_up_is_not_counted_where_refusals_are() {
    for policy in ["exim 2/1m strict", "earrrl 2/1m half-life 1m", "haproxy 2/1m"] {
        let clock = Hand::default();
        let hasty = Waiting::DEFAULT.at_most(Span::ZERO);
        let mut client = pace(policy, &clock).waiting(hasty).layer(Inner::default());
        while matches!(call(&mut client, "http://a/1").poll(), Poll::Ready(Ok(_))) {}
        let mut gave_up = || assert_ready_err!(call(&mut client, "http://a/2").poll()).to_string();
        let first = gave_up();
        assert_eq!([gave_up(), gave_up(), gave_up()], [(); 3].map(|()| first.clone()), "{policy}");
    }
}

#[test]
fn a_dropped_call_leaves_nothing_behind() {
    let clock = Hand::default();
    let mut client = pace("gcra 1/1s burst 1", &clock).layer(Inner::default());
    assert_ready_ok!(call(&mut client, "http://a/1").poll());
    for _ in 0..10 {
        let mut dropped = call(&mut client, "http://a/dropped");
        assert_pending!(dropped.poll());
    }
    clock.set(1.0);
    assert_ready_ok!(call(&mut client, "http://a/2").poll());
    assert_eq!(client.get_ref().seen.calls(), 2);
}

/// One call at a time may run. One that waits is none of them.
#[test]
fn a_call_that_waits_holds_nothing_of_the_client() {
    let clock = Hand::default();
    let inner = ConcurrencyLimit::new(Inner::default(), 1);
    let mut client = pace("gcra 1/1s burst 1", &clock).layer(inner);
    assert_ready_ok!(call(&mut client, "http://a/1").poll());
    let mut waits = call(&mut client, "http://a/waits");
    assert_pending!(waits.poll());
    assert_eq!(assert_ready_ok!(call(&mut client, "http://b/2").poll()).body(), "/2");
    drop(client);
    clock.set(1.0);
    assert_eq!(assert_ready_ok!(waits.poll()).body(), "/waits");
}

#[test]
fn a_host_that_asks_for_a_pause_gets_it() {
    for status in ["429", "503"] {
        let clock = Hand::default();
        let mut client = pace("gcra 9/1s", &clock).layer(answering([(RETRY_AFTER, "5")]));
        let refused =
            assert_ready_ok!(call(&mut client, &format!("http://a/status/{status}")).poll());
        assert_eq!(refused.status().as_str(), status);
        let mut later: Vec<_> = (0..9).map(|_| call(&mut client, "http://a/later")).collect();
        for seconds in [0.0, 4.999_999] {
            clock.set(seconds);
            later.iter_mut().for_each(|call| assert_pending!(call.poll()));
        }
        // None of them was counted before, so all pass at once.
        clock.set(5.0);
        later.iter_mut().for_each(|call| drop(assert_ready_ok!(call.poll())));
        assert_ready_ok!(call(&mut client, "http://b/other").poll());
    }
}

/// A pause may begin while a call waits in a queue; the wait as a whole stays bounded.
#[test]
fn a_pause_holds_for_calls_in_a_queue() {
    let clock = Hand::default();
    let waiting = Waiting::DEFAULT.at_most(Span::from_secs(10));
    let pace = pace("leaky-bucket 1/2s queue 5", &clock).waiting(waiting);
    let mut client = pace.layer(answering([(RETRY_AFTER, "7")]));
    let mut refused = call(&mut client, "http://a/status/429");
    let mut queued = [call(&mut client, "http://a/1"), call(&mut client, "http://a/2")];
    queued.iter_mut().for_each(|call| assert_pending!(call.poll()));
    clock.set(1.0);
    assert_ready_ok!(refused.poll());
    clock.set(4.0);
    queued.iter_mut().for_each(|call| assert_pending!(call.poll()));
    clock.set(7.999_999);
    queued.iter_mut().for_each(|call| assert_pending!(call.poll()));
    clock.set(8.0);
    queued.iter_mut().for_each(|call| drop(assert_ready_ok!(call.poll())));
}

/// When the clock is set back, the pause goes back with it.
#[test]
fn a_clock_that_is_set_back_does_not_prolong_a_pause() {
    let clock = Hand::default();
    clock.set(86_400.0);
    let mut client = pace("gcra 9/1s", &clock).layer(answering([(RETRY_AFTER, "5")]));
    assert_ready_ok!(call(&mut client, "http://a/status/429").poll());
    clock.set(0.0);
    let mut later = call(&mut client, "http://a/later");
    assert_pending!(later.poll());
    clock.set(4.999_999);
    assert_pending!(later.poll());
    clock.set(5.0);
    assert_ready_ok!(later.poll());
    // By less than the pause, it ends when it would have.
    assert_ready_ok!(call(&mut client, "http://a/status/429").poll());
    clock.set(2.0);
    let mut later = call(&mut client, "http://a/later");
    clock.set(9.999_999);
    assert_pending!(later.poll());
    clock.set(10.0);
    assert_ready_ok!(later.poll());
}

/// A call that gives up in a queue is given back to the other limits.
#[test]
fn a_call_that_a_pause_ends_is_not_counted() {
    let clock = Hand::default();
    let waiting = Waiting::DEFAULT.at_most(Span::from_secs(5));
    let pace = pace("leaky-bucket 1/1s queue 10 & sliding-log 2/1h", &clock).waiting(waiting);
    let mut client = pace.layer(answering([(RETRY_AFTER, "60")]));
    let mut refused = call(&mut client, "http://a/status/429");
    let mut queued = call(&mut client, "http://a/queued");
    assert_pending!(queued.poll());
    assert_ready_ok!(refused.poll());
    clock.set(1.0);
    let error = assert_ready_err!(queued.poll());
    assert_eq!(error, CallError::GaveUp(NotAllowed::Refused { after: Duration::from_secs(59) }));
    clock.set(60.0);
    assert_ready_ok!(call(&mut client, "http://a/next").poll());
}

/// The pause in seconds after such an answer at the Unix time 1,000,000,000, which is 9 September 2001.
fn pause<const N: usize>(status: u16, headers: [(http::HeaderName, &str); N]) -> f64 {
    let clock = Hand::default();
    clock.set(1e9);
    let pace = pace("gcra 9/1s", &clock);
    let mut client = pace.clone().layer(answering(headers));
    assert_ready_ok!(call(&mut client, &format!("http://a/status/{status}")).poll());
    let mut hasty = pace.waiting(Waiting::DEFAULT.at_most(Span::ZERO)).layer(Inner::default());
    match assert_ready!(call(&mut hasty, "http://a/next").poll()) {
        Ok(_) => 0.0,
        Err(CallError::GaveUp(NotAllowed::Refused { after: wait })) => wait.as_secs_f64(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_pause_is_as_long_as_the_service_says() {
    assert_eq!(pause(429, [(RETRY_AFTER, "120")]), 120.0);
    assert_eq!(pause(429, [(RETRY_AFTER, " 0 ")]), 0.0);
    assert_eq!(pause(429, []), 0.0);
    // Other answers have no say.
    assert_eq!(pause(200, [(RETRY_AFTER, "120")]), 0.0);
    assert_eq!(pause(404, [(RETRY_AFTER, "120")]), 0.0);
    // A date, by this clock; or by the clock of the service, which is an hour ahead.
    let date = "Sun, 09 Sep 2001 01:47:40 GMT";
    assert_eq!(pause(503, [(RETRY_AFTER, date)]), 60.0);
    let ahead =
        [(RETRY_AFTER, "Sun, 09 Sep 2001 02:47:00 GMT"), (DATE, "Sun, 09 Sep 2001 02:46:40 GMT")];
    assert_eq!(pause(503, ahead), 20.0);
    assert_eq!(pause(503, [(RETRY_AFTER, "Sun, 09 Sep 2001 01:46:39 GMT")]), 0.0);
    // An hour at most, however long the number.
    let long = "9".repeat(400);
    for text in ["3601", "99999999999999999999", &long, "Fri, 31 Dec 9999 23:59:59 GMT"] {
        assert_eq!(pause(429, [(RETRY_AFTER, text)]), 3600.0, "{text}");
    }
    // Not as the standard says, but as it comes: rounded up, and the longest of several.
    assert_eq!(pause(429, [(RETRY_AFTER, "5"), (RETRY_AFTER, "20")]), 20.0);
    assert_eq!(pause(429, [(RETRY_AFTER, "20"), (RETRY_AFTER, "5")]), 20.0);
    assert_eq!(pause(429, [(RETRY_AFTER, "soon"), (RETRY_AFTER, "5")]), 5.0);
    assert_eq!(pause(503, [(RETRY_AFTER, "7"), (RETRY_AFTER, date)]), 60.0);
    for (text, seconds) in [
        ("1.5", 2.0),
        ("0.01", 1.0),
        ("2.0", 2.0),
        ("120, 60", 120.0),
        ("60,120", 120.0),
        ("5, soon, 1.5", 5.0),
        (", 9", 9.0),
    ] {
        assert_eq!(pause(429, [(RETRY_AFTER, text)]), seconds, "{text}");
    }
    for text in [".5", "5.", "1.5.2", "", "-5", "5 s", "1e3", "0x10", "soon"] {
        assert_eq!(pause(429, [(RETRY_AFTER, text)]), 0.0, "{text}");
    }
}

/// A second, shorter pause does not end the first one.
#[test]
fn a_longer_pause_stays() {
    let clock = Hand::default();
    let pace = pace("gcra 9/1s", &clock);
    let mut calls = ["8", "2"].map(|seconds| {
        let mut client = pace.clone().layer(answering([(RETRY_AFTER, seconds)]));
        // Both calls begin before either is answered.
        call(&mut client, "http://a/status/429")
    });
    calls.iter_mut().for_each(|call| drop(assert_ready_ok!(call.poll())));
    let mut next = call(&mut pace.layer(Inner::default()), "http://a/next");
    clock.set(7.999_999);
    assert_pending!(next.poll());
    clock.set(8.0);
    assert_ready_ok!(next.poll());
}

#[test]
fn without_a_longest_pause_there_is_none() {
    let clock = Hand::default();
    let pace = pace("gcra 9/1s", &clock).longest_pause(Span::ZERO);
    let mut client = pace.layer(answering([(RETRY_AFTER, "120")]));
    assert_ready_ok!(call(&mut client, "http://a/status/429").poll());
    assert_ready_ok!(call(&mut client, "http://a/next").poll());
}
