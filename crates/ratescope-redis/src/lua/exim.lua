-- Exim's rate, in events per `period` seconds, compared with `limit`; a limit of 0 only measures. `mode`
-- is 0 for strict, 1 for leaky, 2 for readonly. Two events of one instant count as `least` periods apart.
-- Source: crates/ratescope/src/estimate/exim.rs and limit/exim.rs; the specification of Exim, "ratelimit".
local EXIM = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

--- numbers: period limit mode least
local rate, at
rate, at, i = unpack('<di8', s, i)
local gap = (now - at) / 1000000
local left, mean = decay(gap > 0 and gap / period or least)
local cost = mode == 2 and 0 or w
local measured = cost * mean + rate * left
if not (measured > cost) then measured = cost end
if not (measured < 1.7976931348623157e308) then measured = 1.7976931348623157e308 end
local passes = w == w and (measured < limit or limit == 0)
local level, extra = measured, 0

--- keep
if mode == 0 or mode == 1 and counted then
  if w == w then
    bytes, rate = pack('<di8', measured, now), measured
  end
elseif mode == 1 and (at - now) / 1000000 > period then
  -- The clock was set back.
  bytes = pack('<di8', rate, now)
end
-- After `life` microseconds less than 1e-12 of an event is left. In strict mode the key does not expire, so that
-- offences are not forgiven by its age: Redis evicts it when it is no longer used.
life = mode == 0 and 1 / 0 or (log(rate > 1 and rate or 1) + 28) * period * 1000000
