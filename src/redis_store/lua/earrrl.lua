-- EARRRL, the recent average: at most `limit` events in `period` seconds, by an impulse that
-- decays by `lambda` a second. The refused are counted, too.
-- Source: src/estimate/recent_average.rs and src/limit/earrrl.rs; John Berryman, "EARRRL".
local EARRRL = string.rep('\0', 16)

local function look_earrrl(s, i, now, w, lambda, period, limit)
  local size, at
  size, at, i = unpack('<di8', s, i)
  local gap = (now - at) / 1000000
  if not (gap > 0) then gap = 0 end
  local x = lambda * gap
  if x < 0.0078125 then
    size = size * decay(x)
  else
    size = size * exp(-x)
  end
  local level = lambda * size * period
  return i, w == w and level <= limit, level, 0, size
end

local function keep_earrrl(now, w, _, size, _, _, _, _, lambda)
  if w ~= w then return nil, 0 end
  size = w + size
  if not (size < MOST) then size = MOST end
  -- Then less than 1e-12 of an event is left.
  return pack('<di8', size, now), (log(size > 1 and size or 1) + 28) / lambda * 1000000
end
