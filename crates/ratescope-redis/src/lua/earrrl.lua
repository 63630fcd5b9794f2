-- EARRRL, the recent average: at most `limit` events in `period` seconds, by an impulse that decays
-- with the time constant 1/`lambda` in seconds. Refused events are counted, too.
-- Source: crates/ratescope/src/estimate/recent_average.rs and limit/earrrl.rs; John Berryman, "EARRRL".
local EARRRL = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

--- numbers: lambda period limit
local size, at
size, at, i = unpack('<di8', s, i)
local gap = (now - at) / 1000000
if not (gap > 0) then gap = 0 end
size = size * decay(lambda * gap, true)
local level, extra = lambda * size * period, 0
local passes = w == w and level <= limit

--- keep
if w == w then
  size = w + size
  if not (size < 1.7976931348623157e308) then size = 1.7976931348623157e308 end
  bytes = pack('<di8', size, now)
end
-- The key does not expire, so that offences are not forgiven by its age: Redis evicts it when it is no
-- longer used.
life = 1 / 0
