-- The sliding counter: at most `most` millionths in `period` microseconds.
-- Source: crates/ratescope/src/limit/sliding_counter.rs.
local COUNTER = string.rep('\0', 10)

--- numbers: most period
local at = unpack('<i8', s, i)
local previous, current
previous, i = amount(s, i + 8)
current, i = amount(s, i)
--- look
local before, any = at, previous > 0 or current > 0
if at - now > period then
  -- The clock was set back, and the level moves with it.
  local left = period - (at - floor(at / period) * period)
  current = current + divided_up(previous, left, period)
  at, previous = now, 0
else
  if now > at then at = now end
  local windows = floor(at / period) - floor(before / period)
  if windows == 1 then
    previous, current = current, 0
  elseif windows > 1 then
    previous, current = 0, 0
  end
end
local left = period - (at - floor(at / period) * period)
local room = most - current - w
local passes = room >= 0 and not less(room, period, previous, left)
local level, extra = (previous * left + (current + w) * period) / (period * 1000000), 0
local moved = any and at ~= before

--- keep
local counts = counted and w > 0
if counts then current = current + w end
if previous > 0 or current > 0 then
  -- The latest time is written even without a new count, as time may run backwards.
  if counts or moved then
    bytes = pack('<i8', at) .. put_amount(previous) .. put_amount(current)
  end
elseif moved then
  bytes = COUNTER
end
life = (floor(at / period) + 2) * period - now

--- undo
-- The window in which the event was counted gives back, while it still counts.
local apart = floor(at / period) - floor(when / period)
if apart == 0 then
  current = w < current and current - w or 0
elseif apart == 1 then
  previous = w < previous and previous - w or 0
end
if w > 0 and (apart == 0 or apart == 1) then
  bytes = COUNTER
  if previous > 0 or current > 0 then
    bytes = pack('<i8', at) .. put_amount(previous) .. put_amount(current)
  end
end
