-- The adaptive limiter: Exim's rate over `p` seconds, compared with `factor` times its smoothed
-- average over `q` seconds, or with `least` if that is more. `mode` is as in exim.lua.
-- Source: crates/ratescope/src/limit/adaptive.rs.
local ADAPTIVE = string.rep('\0', 24)

--- numbers: factor p q least mode
local rate, smoothed, at
rate, smoothed, at, i = unpack('<ddi8', s, i)
local gap = (now - at) / 1000000
-- The average follows the rate as of the last event, but at most up to the limit at that time.
local lesson = math.min(rate, math.max(least, factor * smoothed))
local habit = smoothed_after(smoothed, lesson, gap, p, q)
local limit = math.max(least, factor * habit)
local gap_at_once = 1e-9 / p
if not (gap_at_once > 1e-15) then gap_at_once = 1e-15 end
local left, mean = decay(gap > 0 and gap / p or gap_at_once)
local cost = mode == 2 and 0 or w
local measured = cost * mean + rate * left
if not (measured > cost) then measured = cost end
if not (measured < 1.7976931348623157e308) then measured = 1.7976931348623157e308 end
local passes = w == w and measured < limit
local level, extra = measured, limit

--- keep
if mode == 0 or mode == 1 and counted then
  if w == w then
    bytes, rate, smoothed = pack('<ddi8', measured, habit, now), measured, habit
  end
elseif mode == 1 and (at - now) / 1000000 > p then
  bytes = pack('<ddi8', rate, smoothed, now)
end
-- After `life` microseconds the average is less than 1e-12 of one that would raise the limit.
life = (log(1 + (rate + smoothed) * factor / least) + log(1 + rate) + 28) * q * 1000000
