//! The script that lends, held against [`Lent`]: the same asks at the same times, with the clock of Redis replaced.

use super::server::Server;
use ratescope::share::{Borrower, Lent};
use ratescope::{Span, Time};
use ratescope_redis::redis::{self, Client};

/// The definitions that the scripts rely on.
const BEFORE: &str = "
local unpack, pack, sub, ceil = struct.unpack, struct.pack, string.sub, math.ceil
local call = function(name, ...)
  if name == 'TIME' then return { tonumber(ARGV[1]), tonumber(ARGV[2]) } end
  return redis.call(name, ...)
end
";

#[tokio::test]
async fn the_script_lends_as_the_model_does() {
    let Some(server) = Server::start(&[]) else { return };
    let client = Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let lend = include_str!("../../../src/lua/lend.lua");
    let lend = [BEFORE, lend, "note_leases_(true)\nreturn '\\1' .. holders_"].concat();
    let back = include_str!("../../../src/lua/take_back.lua");
    let back = [BEFORE, back, "return '1'"].concat();
    let mut seed = 7u64;
    let mut below = |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    let mut said = [0; 3];
    for round in 0..20 {
        let key = format!("lent{round}");
        let length = [10_000, 100_000, 2_000_000][round % 3];
        let mut model = Lent::default();
        let (mut now, mut serial) = (1_700_000_000_000_000, 0);
        for step in 0..60 {
            now += below(length / 3);
            let (process, other) = (below(4) + 1, below(serial + 1));
            let time = [now / 1_000_000, now % 1_000_000];
            let mut call = redis::cmd("EVAL");
            if below(5) == 0 {
                let words = [process, other].map(u64::to_be_bytes).concat();
                call.arg(&back).arg(1).arg(&key).arg(&time).arg(words);
                let known: Vec<u8> = call.query_async(&mut connection).await.unwrap();
                assert_eq!(model.take_back(process, other), !known.is_empty(), "{round}, {step}");
                said[2] += usize::from(!known.is_empty());
                continue;
            }
            serial += 1;
            let by = Borrower { process, serial, used_up: other };
            let (amount, most) = (below(9) as f64 + 1.0, 12.0);
            let at = Time::from_micros(i64::try_from(now).unwrap());
            let want = model.lend(by, at, Span::from_micros(length), amount, most);
            let words = [process, serial, other].map(u64::to_be_bytes).concat();
            let numbers = [length as f64, amount, most].map(f64::to_le_bytes).concat();
            call.arg(&lend).arg(1).arg(&key).arg(&time).arg([words, numbers].concat());
            let answer: Vec<u8> = call.query_async(&mut connection).await.unwrap();
            let holders = u32::from(u16::from_le_bytes([answer[1], answer[2]]));
            assert_eq!((answer[0] == 1, holders), want, "{round}, {step}");
            said[usize::from(want.0)] += 1;
        }
    }
    assert!(said.iter().all(|n| *n > 20), "{said:?}");
}
