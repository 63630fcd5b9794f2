//! Envoy's rate limit quota service: the assignments of each Envoy, by a clock that is set.

use super::requests::{ask, descriptor, framed, request, service};
use bytes::Bytes;
use futures_util::FutureExt;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, StreamBody};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use ratescope::clock::FakeClock;
use ratescope::rules::{BoxFuture, Decisions, Details, MemoryStore, Part, Rules, Store};
use ratescope::{Span, Time};
use ratescope_service::{
    BlanketRule, BucketAction, BucketId, BucketQuotaUsage, Code, Entry, Grpc, NoAnswer, QUOTA_NAME,
    QuotaStream, RateLimitQuotaResponse, RateLimitQuotaUsageReports, RateLimitRequest, Service,
    States,
};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use tower::Service as _;

const RULES: &str = "
domain: web
descriptors:
- key: user
  limit: sliding-log 100/1m
- key: ip
  limit: gcra 2/1m
- key: team
  limit: gcra 1000/1s
- key: once
  limit: fixed-window 300/365d
- key: path
  limit: sliding-log 100/1m
- key: export
  limit: sliding-log 100/1m
  cost: 5
- key: often
  limit: gcra 60/1m
- key: queue
  limit: nginx 600/1m burst 20
- key: mail
  limit: exim 100/1h strict
- key: import
  limit: sliding-log 100/1m
  cost: 1
";

type Shared = Arc<Service<FakeClock>>;

fn shared() -> (Shared, FakeClock) {
    let (service, clock) = service(RULES);
    (Arc::new(service), clock)
}

fn id(entries: &[(&str, &str)]) -> BucketId {
    let entry = |&(key, value): &(&str, &str)| Entry { key: key.into(), value: value.into() };
    BucketId { bucket: entries.iter().map(entry).collect() }
}

fn usage(id: BucketId, allowed: u64, denied: u64) -> BucketQuotaUsage {
    BucketQuotaUsage {
        bucket_id: Some(id),
        num_requests_allowed: allowed,
        num_requests_denied: denied,
    }
}

fn reports(usages: Vec<BucketQuotaUsage>) -> RateLimitQuotaUsageReports {
    RateLimitQuotaUsageReports { domain: "web".into(), bucket_quota_usages: usages }
}

fn try_report(
    stream: &mut QuotaStream<FakeClock>,
    reports: RateLimitQuotaUsageReports,
) -> Result<Vec<String>, NoAnswer> {
    let answer = stream.report(reports).now_or_never().expect("memory needs no waiting");
    answer.map(|answer| in_words(&answer))
}

/// Reports one bucket with one entry.
fn report(
    stream: &mut QuotaStream<FakeClock>,
    entry: (&str, &str),
    allowed: u64,
    denied: u64,
) -> Vec<String> {
    try_report(stream, reports(vec![usage(id(&[entry]), allowed, denied)])).unwrap()
}

fn renew(stream: &mut QuotaStream<FakeClock>) -> Vec<String> {
    in_words(&stream.renew().now_or_never().expect("memory needs no waiting"))
}

/// The actions, as in `ann 11`. Before a number of events, everything is refused: so the bucket begins full.
fn in_words(answer: &RateLimitQuotaResponse) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for action in &answer.bucket_action {
        let BucketAction { bucket_id, quota_assignment_action, abandon_action } = action;
        let values = bucket_id.as_ref().unwrap().bucket.iter().map(|entry| entry.value.as_str());
        let name = values.collect::<Vec<_>>().join("+");
        let Some(assigned) = quota_assignment_action else {
            assert!(abandon_action.is_some());
            words.push(format!("{name} abandoned"));
            continue;
        };
        assert_eq!(assigned.assignment_time_to_live.unwrap().seconds, 10);
        let strategy = assigned.rate_limit_strategy.as_ref().unwrap();
        let Some(tokens) = strategy.token_bucket else {
            let all = [(0, BlanketRule::AllowAll), (1, BlanketRule::DenyAll)];
            let rule = all.iter().find(|(n, _)| strategy.blanket_rule == Some(*n)).unwrap().1;
            words.push(format!("{name} {rule:?}"));
            continue;
        };
        assert_eq!(words.pop(), Some(format!("{name} DenyAll")));
        // It gets no token while it is valid.
        assert_eq!(
            (tokens.tokens_per_fill, tokens.fill_interval.unwrap().seconds),
            (Some(1), 1 << 20)
        );
        words.push(format!("{name} {}", tokens.max_tokens));
    }
    words
}

/// How many events the limits leave to others.
fn left(service: &Shared, entry: (&str, &str)) -> u32 {
    let mut look = descriptor(&[entry]);
    look.hits_addend = Some(0);
    ask(service, &request(vec![look])).unwrap().statuses[0].limit_remaining
}

#[test]
fn what_is_assigned_is_counted_and_what_was_not_used_is_given_back() {
    let (service, clock) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    let ann = ("user", "ann");
    // One event has passed before there was an assignment. One a second, and a tenth of the limit.
    assert_eq!(report(&mut envoy, ann, 1, 0), ["ann 11"]);
    assert_eq!(left(&service, ann), 88);
    clock.advance(Span::from_secs(5));
    // The rest of the first assignment can be used until the second one arrives.
    assert_eq!(report(&mut envoy, ann, 3, 0), ["ann 11"]);
    assert_eq!(left(&service, ann), 77);
    clock.advance(Span::from_secs(5));
    // Two more were used. The first assignment has ended, and 6 of it were surely not used.
    assert_eq!(report(&mut envoy, ann, 2, 0), ["ann 11"]);
    assert_eq!(left(&service, ann), 77 + 6 - 11);
    // The stream breaks. The Envoy's assignment stays counted, until the limit forgets it.
    drop(envoy);
    assert_eq!(left(&service, ann), 72);
    clock.advance(Span::from_mins(1));
    assert_eq!(left(&service, ann), 100);
}

/// A bucket gives back all that was not used, and not only what can't have drained meanwhile: the next assignment is
/// out at the same time, and the bucket drains once.
#[test]
fn a_bucket_gives_back_all() {
    let (service, clock) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    let often = ("often", "ann");
    assert_eq!(report(&mut envoy, often, 0, 30), ["ann 36"]);
    let others = RateLimitRequest { hits_addend: 20, ..request(vec![descriptor(&[often])]) };
    assert_eq!(ask(&service, &others).unwrap().overall_code(), Code::Ok);
    // 5 drain in 5 s.
    for left_then in [4 + 5 - 6, 3 + 5 + 36 - 6, 38 + 5 + 6 - 6] {
        clock.advance(Span::from_secs(5));
        assert_eq!(report(&mut envoy, often, 0, 0), ["ann 6"]);
        assert_eq!(left(&service, often), left_then);
    }
}

/// The next assignment may arrive a second later, and the one before it is used until then.
#[test]
fn what_may_be_used_until_the_next_assignment_arrives_is_not_given_back() {
    let (service, clock) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    let all = ("once", "all");
    assert_eq!(report(&mut envoy, all, 0, 31), ["all 61"]);
    clock.advance(Span::from_secs(1));
    assert_eq!(renew(&mut envoy), ["all 61"]);
    clock.advance(Span::from_micros(999_999));
    assert_eq!(report(&mut envoy, all, 0, 0), ["all 30"]);
    assert_eq!(left(&service, all), 300 - 61 - 61 - 30);
    clock.advance(Span::from_secs(1));
    assert_eq!(report(&mut envoy, all, 0, 0), ["all 30"]);
    assert_eq!(left(&service, all), 300 - 30 - 30);
}

/// A store that needs a second for each question.
struct Slow(MemoryStore, FakeClock);

impl Store for Slow {
    fn rules(&self) -> Arc<Rules> {
        self.0.rules()
    }

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        self.1.advance(Span::from_secs(1));
        self.0.decide(parts, details)
    }
}

/// All assignments of an answer are used from when all of them were made.
#[test]
fn what_may_be_used_while_others_are_asked_about_is_not_given_back() {
    let clock = FakeClock::default();
    let of_store = clock.clone();
    let store = move |rules| Slow(MemoryStore::new(rules, 100), of_store.clone());
    let states = States::new(move |rules| Ok(Arc::new(store(rules))));
    let service = Arc::new(Service::new(states, clock.clone()));
    service.add("rules.yaml", RULES).unwrap();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    let of_both =
        |denied| reports(["a", "b"].map(|name| usage(id(&[("once", name)]), 0, denied)).into());
    assert_eq!(try_report(&mut envoy, of_both(31)).unwrap(), ["a 61", "b 61"]);
    clock.advance(Span::from_secs(1));
    assert_eq!(renew(&mut envoy), ["a 61", "b 61"]);
    // The renewal has just been sent, and this report came before.
    assert_eq!(try_report(&mut envoy, of_both(0)).unwrap(), ["a 30", "b 30"]);
    assert_eq!(["a", "b"].map(|name| left(&service, ("once", name))), [300 - 61 - 61 - 30; 2]);
}

#[test]
fn envoys_share_what_is_left_and_others_see_it() {
    let (service, clock) = shared();
    let [mut one, mut other] = [(); 2].map(|()| QuotaStream::new(Arc::clone(&service)));
    let ann = ("user", "ann");
    assert_eq!(report(&mut one, ann, 0, 1), ["ann 11"]);
    assert_eq!(report(&mut other, ann, 0, 1), ["ann 6"]);
    clock.advance(Span::from_secs(5));
    // A thousand requests a second: each gets its part of the rest.
    assert_eq!(report(&mut one, ann, 11, 4989), ["ann 41"]);
    assert_eq!(report(&mut other, ann, 6, 4994), ["ann 21"]);
    for expected in [["ann 10"], ["ann 5"], ["ann 3"], ["ann 1"], ["ann 1"], ["ann 1"]] {
        clock.advance(Span::from_secs(1));
        assert_eq!(renew(&mut one), expected);
    }
    // All 100 are assigned, to the first one up to here.
    assert_eq!(left(&service, ann), 0);
    // They keep their assignments, which may not be used up yet.
    assert_eq!([renew(&mut one), renew(&mut other)], [const { Vec::<String>::new() }; 2]);
    assert_eq!(report(&mut other, ann, 0, 9), ["ann DenyAll"]);
    let check = request(vec![descriptor(&[ann])]);
    assert_eq!(ask(&service, &check).unwrap().overall_code(), Code::OverLimit);
    // The other one ends; from then on the rest is for the first one.
    drop(other);
    clock.advance(Span::from_mins(1));
    assert_eq!(report(&mut one, ann, 0, 60_000), ["ann 100"]);
}

#[test]
fn a_bucket_is_assigned_more_before_it_has_used_all_until_its_envoy_is_silent() {
    let (service, clock) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    let (red, ann) = (("team", "red"), ("user", "ann"));
    assert_eq!(report(&mut envoy, red, 0, 500), ["red 600"]);
    assert_eq!(report(&mut envoy, ann, 0, 1), ["ann 11"]);
    for second in 1..20 {
        clock.advance(Span::from_secs(1));
        // 500 in a second, and one in a second.
        let expected: &[&str] = match second {
            11 => &["red 600", "ann 11"],
            1..15 => &["red 600"],
            _ => &[],
        };
        assert_eq!(renew(&mut envoy), expected, "{second}");
    }
    // It used nothing since.
    assert_eq!(report(&mut envoy, red, 0, 0), ["red 100"]);
    clock.advance(Span::from_secs(10));
    assert_eq!(renew(&mut envoy), [""; 0]);
}

/// The events that a bucket has when it is abandoned stay counted, so an idle one gets few.
#[test]
fn an_idle_bucket_takes_little_with_it() {
    let (service, clock) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    let all = ("once", "all");
    let mut told = report(&mut envoy, all, 0, 1);
    while told != ["all abandoned"] {
        clock.advance(Span::from_secs(5));
        told = report(&mut envoy, all, 0, 0);
    }
    assert_eq!(left(&service, all), 299);
}

#[test]
fn an_idle_bucket_is_abandoned_and_makes_room() {
    let (service, clock) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    // Each takes 83 of 65,536 bytes.
    let users = |range: core::ops::Range<u32>| {
        let one = |n| usage(id(&[("user", &format!("user-{n:04}"))]), 1, 0);
        reports(range.map(one).collect())
    };
    let answer = try_report(&mut envoy, users(0..1000)).unwrap();
    assert_eq!(answer.len(), 1000);
    assert_eq!(
        (answer[788].as_str(), answer[789].as_str()),
        ("user-0788 11", "user-0789 abandoned")
    );
    // An event of a bucket without room counts nevertheless.
    assert_eq!(left(&service, ("user", "user-0999")), 99);
    clock.advance(Span::from_secs(59));
    let idle = vec![usage(id(&[("user", "user-0000")]), 0, 0)];
    assert_eq!(try_report(&mut envoy, reports(idle.clone())).unwrap(), ["user-0000 1"]);
    clock.advance(Span::from_secs(1));
    assert_eq!(try_report(&mut envoy, reports(idle)).unwrap(), ["user-0000 abandoned"]);
    let answer = try_report(&mut envoy, users(998..1000)).unwrap();
    assert_eq!(answer, ["user-0998 11", "user-0999 abandoned"]);
    // An id that is too long for any stream.
    let long = vec![usage(id(&[("user", &"a".repeat(1 << 16))]), 0, 1)];
    assert!(try_report(&mut envoy, reports(long)).unwrap()[0].ends_with("abandoned"));
}

/// The budget of a stream is for its buckets, however long the name of its domain is.
#[test]
fn the_memory_of_a_stream_is_bounded() {
    let (service, _) = shared();
    let mut envoy = QuotaStream::new(service);
    let all = |domain: String| RateLimitQuotaUsageReports {
        domain,
        bucket_quota_usages: (0..1000).map(|n| usage(id(&[("u", &n.to_string())]), 0, 1)).collect(),
    };
    let used = allocation_counter::measure(|| {
        try_report(&mut envoy, all("a".repeat(100_000))).unwrap();
        for _ in 0..100 {
            try_report(&mut envoy, all(String::new())).unwrap();
        }
    });
    assert!(used.bytes_current < 1 << 20, "{used:?}");
}

/// The answers to reports by gRPC.
async fn answers(
    service: Shared,
    reports: impl Iterator<Item = RateLimitQuotaUsageReports> + Send + 'static,
) -> impl Body<Data = Bytes, Error: Debug> {
    let frame = |reports: RateLimitQuotaUsageReports| {
        Ok::<_, Infallible>(Frame::data(framed(&reports.encode_to_vec())))
    };
    let body = StreamBody::new(futures_util::stream::iter(reports.map(frame)));
    let path = format!("/{QUOTA_NAME}/StreamRateLimitQuotas");
    let request = http::Request::post(path).header("content-type", "application/grpc");
    Grpc::new(service).call(request.body(body).unwrap()).await.unwrap().into_body()
}

/// However often an Envoy reports, its stream ends with the service.
#[tokio::test]
async fn a_stream_ends_while_there_is_always_a_report() {
    let (service, _) = shared();
    let one = reports(vec![usage(id(&[("user", "ann")]), 0, 1)]);
    let mut answers = pin!(answers(Arc::clone(&service), std::iter::repeat(one)).await);
    assert!(answers.frame().await.unwrap().unwrap().is_data());
    service.end_streams();
    let end = answers.frame().await.unwrap().unwrap().into_trailers().unwrap();
    // UNAVAILABLE.
    assert_eq!(end["grpc-status"], "14");
}

/// While there was no service, an Envoy has learnt of many users. It reports them in one message.
#[tokio::test]
async fn an_envoy_that_was_alone_is_answered() {
    let (service, _) = shared();
    let one = |n| usage(id(&[("user", &format!("user-{n:016}"))]), 0, 1);
    let all = reports((0..20_000).map(one).collect());
    assert!(all.encoded_len() > 700_000);
    let answers = pin!(answers(service, std::iter::once(all)).await);
    let answer = answers.collect().await.unwrap();
    assert_eq!(answer.trailers().unwrap()["grpc-status"], "0");
    let answer = RateLimitQuotaResponse::decode(&answer.to_bytes()[5..]).unwrap();
    let words = in_words(&answer);
    assert_eq!(words.len(), 20_000);
    assert_eq!(words[0], "user-0000000000000000 11");
    assert_eq!(words[19_999], "user-0000000000019999 abandoned");
}

#[test]
fn what_a_bucket_id_may_be() {
    let (service, _) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    let mut one = |id: BucketId| try_report(&mut envoy, reports(vec![usage(id, 0, 1)]));
    // The order of a map says nothing, and of equal keys the last one counts.
    assert_eq!(one(id(&[("user", "ann"), ("env", "test")])).unwrap(), ["test+ann 11"]);
    assert_eq!(one(id(&[("env", "test"), ("user", "ann")])).unwrap(), ["test+ann 11"]);
    assert_eq!(one(id(&[("user", "bob"), ("user", "eve")])).unwrap(), ["eve 11"]);
    assert_eq!(left(&service, ("user", "bob")), 100);
    // No rule is for these.
    assert_eq!(one(id(&[("region", "north")])).unwrap(), ["north AllowAll"]);
    assert_eq!(one(id(&[("user", "")])).unwrap(), [" AllowAll"]);
    // A path is read in its normal form, and refused if servers read it in different ways.
    assert_eq!(one(id(&[("path", "/a//b?c")])).unwrap(), ["/a//b?c 11"]);
    assert_eq!(left(&service, ("path", "/a/b")), 89);
    assert_eq!(one(id(&[("path", "/a%2fb")])).unwrap(), ["/a%2fb DenyAll"]);
    // A rule with a cost of its own counts it once for each assignment.
    assert_eq!(one(id(&[("export", "all")])).unwrap(), ["all 1"]);
    assert_eq!(left(&service, ("export", "all")), 95);
    assert_eq!(one(id(&[("import", "all")])).unwrap(), ["all 1"]);
    let why = |answer: Result<_, NoAnswer>| answer.unwrap_err().to_string();
    assert_eq!(why(one(id(&[]))), "a bucket id has no entries");
    assert_eq!(why(one(BucketId::default())), "a bucket id has no entries");
    let of = |domain: &str| RateLimitQuotaUsageReports {
        domain: domain.into(),
        bucket_quota_usages: vec![usage(id(&[("user", "ann")]), 0, 1)],
    };
    assert_eq!(why(try_report(&mut envoy, of("other"))), "a stream is for one domain");
    // It may be missing after the first report.
    assert_eq!(try_report(&mut envoy, of("")).unwrap(), ["ann 11"]);
    let [mut other, mut none] = [(); 2].map(|()| QuotaStream::new(Arc::clone(&service)));
    assert_eq!(try_report(&mut other, of("other")).unwrap(), ["ann AllowAll"]);
    assert_eq!(why(try_report(&mut none, of(""))), "the domain is missing");
}

/// Some limits refuse at once what they admit one after the other, and may count that against the client.
#[test]
fn what_is_refused_at_once_is_assigned_one_by_one() {
    let (service, _) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    assert_eq!(report(&mut envoy, ("queue", "all"), 0, 100), ["all 1"]);
    assert_eq!(report(&mut envoy, ("mail", "ann"), 0, 2000), ["ann 1"]);
    assert_eq!(left(&service, ("mail", "ann")), 99);
}

#[test]
fn a_clock_that_is_set_back_delays_nothing() {
    let (service, clock) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    let all = ("once", "all");
    assert_eq!(report(&mut envoy, all, 0, 0), ["all 30"]);
    clock.advance(Span::from_secs(5));
    assert_eq!(report(&mut envoy, all, 0, 0), ["all 30"]);
    let now = ratescope::clock::Clock::now(&clock).as_micros();
    clock.set(Time::from_micros(now - 3_600_000_000));
    for left_then in [300 - 90, 300 - 60, 300 - 60] {
        assert_eq!(report(&mut envoy, all, 0, 0), ["all 30"]);
        assert_eq!(left(&service, all), left_then);
        clock.advance(Span::from_secs(5));
    }
}

#[test]
fn absurd_numbers_spoil_a_key_for_two_periods_at_most() {
    let (service, clock) = shared();
    let mut envoy = QuotaStream::new(Arc::clone(&service));
    let ip = || id(&[("ip", "192.0.2.7")]);
    let twice = vec![usage(ip(), u64::MAX, u64::MAX), usage(ip(), u64::MAX, 1)];
    assert_eq!(try_report(&mut envoy, reports(twice)).unwrap(), ["192.0.2.7 DenyAll"]);
    clock.advance(Span::from_mins(2));
    assert_eq!(left(&service, ("ip", "192.0.2.7")), 2);
    // The pace of this report has ended.
    assert_eq!(renew(&mut envoy), [""; 0]);
    assert_eq!(report(&mut envoy, ("ip", "192.0.2.7"), 0, u64::MAX), ["192.0.2.7 2"]);
    assert_eq!(renew(&mut envoy), [""; 0]);
}

/// An Envoy with one bucket, whose requests are refused without an assignment.
struct Envoy {
    stream: QuotaStream<FakeClock>,
    entry: (&'static str, &'static str),
    tokens: u64,
    ends: Time,
    used: [u64; 2],
    is_known: bool,
    /// The answers on their way, and when they arrive.
    coming: VecDeque<(Time, u64)>,
}

impl Envoy {
    fn new(service: &Shared, entry: (&'static str, &'static str)) -> Self {
        Envoy {
            stream: QuotaStream::new(Arc::clone(service)),
            entry,
            tokens: 0,
            ends: Time::ZERO,
            used: [0; 2],
            is_known: false,
            coming: VecDeque::new(),
        }
    }

    fn receive(&mut self, now: Time) {
        while let Some((_, events)) = self.coming.front().filter(|(at, _)| *at <= now) {
            (self.tokens, self.ends) = (*events, now.after(Span::from_secs(10)));
            self.coming.pop_front();
        }
    }

    fn request(&mut self, now: Time) -> bool {
        let passes = self.tokens > 0 && now < self.ends;
        self.tokens -= u64::from(passes);
        self.used[usize::from(!passes)] += 1;
        passes
    }

    fn take(&mut self, answer: Vec<String>, arrives: Time) {
        for action in answer {
            let number = action.split(' ').next_back().unwrap().parse().unwrap_or(0);
            self.coming.push_back((arrives, number));
        }
    }

    fn report(&mut self, arrives: Time) {
        let [allowed, denied] = core::mem::take(&mut self.used);
        self.is_known = true;
        let answer = report(&mut self.stream, self.entry, allowed, denied);
        self.take(answer, arrives);
    }
}

/// A tenth of a second: an action, which of two Envoys takes it, the number of requests, and the delay of answers.
type Step = (u8, usize, u64, u64);

/// Lets two Envoys and the callers of a service send events, and then both Envoys all the time. Answers arrive within a
/// second. Fails when more has passed than `most` of the tenths of seconds so far; returns what has passed.
fn passed(
    entry: (&'static str, &'static str),
    steps: &[Step],
    breaks: u64,
    most: impl Fn(usize) -> usize,
) -> Result<usize, TestCaseError> {
    let (service, clock) = shared();
    let mut envoys = [(); 2].map(|()| Envoy::new(&service, entry));
    let check = request(vec![descriptor(&[entry])]);
    let mut passed = 0;
    let rest = (0..3000).map(|n| (0, n % 2, 4, 0));
    for (tick, (what, which, n, delay)) in steps.iter().copied().chain(rest).enumerate() {
        let now = ratescope::clock::Clock::now(&clock);
        let arrives = now.after(Span::from_micros(delay * 100_000));
        // Answers of one stream do not overtake each other.
        let arrives = |envoy: &Envoy| envoy.coming.back().map_or(arrives, |one| one.0.max(arrives));
        for (i, envoy) in envoys.iter_mut().enumerate() {
            envoy.receive(now);
            let at = arrives(envoy);
            if envoy.is_known && tick % 50 == i * 7 {
                envoy.report(at);
            }
            if tick % 10 == 3 {
                let answer = renew(&mut envoy.stream);
                envoy.take(answer, at);
            }
        }
        let envoy = &mut envoys[which];
        match what {
            0..4 => passed += (0..n).filter(|_| envoy.request(now)).count(),
            4 if ask(&service, &check).unwrap().overall_code() == Code::Ok => passed += 1,
            5 if n <= breaks => envoy.stream = QuotaStream::new(Arc::clone(&service)),
            _ => {}
        }
        if !envoy.is_known {
            let at = arrives(envoy);
            envoy.report(at);
        }
        prop_assert!(passed <= most(tick), "{passed} in tick {tick}");
        clock.advance(Span::from_micros(100_000));
    }
    Ok(passed)
}

proptest! {
    /// Whatever happens, no more passes than the limit admits; and all of it passes in the end.
    #[test]
    fn the_sum_holds(
        steps in vec((0..8u8, 0..2usize, 1..9u64, 0..10u64), 1..600),
        breaks in 0..3u64,
    ) {
        let passed = passed(("once", "all"), &steps, breaks, |_| 300)?;
        // A stream that broke has lost the events that its Envoy held.
        prop_assert!(breaks > 0 || passed == 300, "{passed}");
    }

    /// No more passes than a bucket admits from its beginning, when nothing was assigned.
    #[test]
    fn a_bucket_holds(
        steps in vec((0..12u8, 0..2usize, 1..9u64, 0..10u64), 1..600),
        breaks in 0..3u64,
    ) {
        passed(("often", "all"), &steps, breaks, |tick| 60 + tick / 10)?;
    }
}
