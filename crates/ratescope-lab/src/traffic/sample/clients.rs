//! The clients: their addresses, users and programs.

use super::Random;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A person or a program that sends requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Client {
    pub(super) ip: IpAddr,
    pub(super) user: Option<u32>,
    pub(super) agent: &'static str,
}

const BROWSERS: [&str; 5] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15",
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
];

const CRAWLERS: [&str; 3] = [
    "Mozilla/5.0 (compatible; ExampleSearch/2.1; +https://search.example/bot)",
    "Mozilla/5.0 (compatible; OtherSearch/1.0; +https://other.example/crawler)",
    "FeedFetcher/3.2 (+https://feeds.example; 214 subscribers)",
];

/// The client that checks at regular intervals whether the site is up.
pub(super) const MONITOR: Client =
    Client { ip: v4(203, 0, 113, 200), user: None, agent: "UptimeCheck/1.4" };

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// A person by number. A person with IPv6 has an own /64, and a new address in it at each visit.
pub(super) fn person(number: u32, random: &mut Random) -> Client {
    let traits = mix(number);
    // Eight people in a hundred are logged in, and fifteen have IPv6.
    let user = (traits % 100 < 8).then_some(number);
    let ip = if traits / 128 % 100 < 15 {
        let network = 0x2001_0db8_0000_0000 | u64::from(mix(number ^ 0xbeef));
        let interface = (random.uniform() * 1e18) as u64;
        IpAddr::V6(Ipv6Addr::from_bits(u128::from(network) << 64 | u128::from(interface)))
    } else {
        // Each address of 100.64.0.0/10 comes once before any repeats, since the factor is odd.
        let place = number.wrapping_mul(0x9e37_79b1) & 0x3f_ffff;
        IpAddr::V4(Ipv4Addr::from_bits(0x6440_0000 | place))
    };
    let agent = BROWSERS[traits as usize / 16_384 % BROWSERS.len()];
    Client { ip, user, agent }
}

/// One of forty people behind the same address, all of them logged in.
pub(super) fn colleague(number: u32) -> Client {
    let agent = BROWSERS[number as usize % 3];
    Client { ip: v4(203, 0, 113, 10), user: Some(4_000_000 + number), agent }
}

pub(super) fn crawler(number: u8) -> Client {
    let agent = CRAWLERS[usize::from(number) % CRAWLERS.len()];
    Client { ip: v4(192, 0, 2, 10 + number), user: None, agent }
}

/// An address that tries passwords; each night has its own.
pub(super) fn attacker(number: u32, night: u32) -> Client {
    let place = (number.wrapping_mul(0x9e37_79b1) ^ mix(night)) & 0x1_ffff;
    let ip = IpAddr::V4(Ipv4Addr::from_bits(0xc612_0000 | place));
    Client { ip, user: None, agent: "python-requests/2.31.0" }
}

/// Scrambles a number, so that neighbours look unrelated. Each step is invertible, so results are unique.
fn mix(number: u32) -> u32 {
    let number = (number ^ number >> 16).wrapping_mul(0x7feb_352d);
    let number = (number ^ number >> 15).wrapping_mul(0x846c_a68b);
    number ^ number >> 16
}
