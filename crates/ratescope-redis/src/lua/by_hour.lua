-- The adaptive limiter by hour: as in adaptive.lua, but with a habit for each of the 24 hours of a day, which changes in
-- its hour only. An hour has `hour` microseconds, and the clock of the day is `ahead` microseconds ahead.
-- Source: crates/ratescope/src/limit/by_hour.rs.
-- A state has the rate, the habit of the current hour, the time, the number of that hour, and the habits of all hours as
-- f32, with 0 for the current one.
local BY_HOUR = string.rep('\0', 121)
local SINGLES = string.rep('f', 24)

-- The hour that contains an instant, from 1 to 24, and its end.
local function hour_around(at, hour, ahead)
  local number = floor((at + ahead) / hour)
  return number % 24 + 1, (number + 1) * hour - ahead
end

-- The largest f32 that is not above `x`.
local function single(x)
  local bits = pack('<f', math.min(x, 3.4028234663852886e38))
  if unpack('<f', bits) > x then bits = pack('<I4', unpack('<I4', bits) - 1) end
  return (unpack('<f', bits))
end

-- Makes `to` the current hour instead of `from`.
local function turn(habits, from, to)
  if from ~= to then
    habits[from], habits.current, habits[to] = single(habits.current), habits[to], 0
  end
end

-- Moves the habits forward to `now`, hour by hour.
local function follow(habits, now, factor, p, q, least, hour, ahead)
  while habits.at < now do
    local index, ends = hour_around(habits.at, hour, ahead)
    local to = math.min(now, ends)
    local elapsed = (to - habits.at) / 1000000
    local lesson = math.min(habits.rate, math.max(least, factor * habits.current))
    habits.current = smoothed_after(habits.current, lesson, elapsed, p, q)
    habits.rate, habits.at = habits.rate * decay(elapsed / p), to
    turn(habits, index, (hour_around(to, hour, ahead)))
  end
end

-- Moves the habits to `now`. When a day has passed, the rate is forgotten, and whole days cost one exponential.
local function go_to(habits, now, factor, p, q, least, hour, ahead)
  local day = 24 * hour
  if now <= habits.at then
    turn(habits, (hour_around(habits.at, hour, ahead)), (hour_around(now, hour, ahead)))
    habits.at = now
    return
  end
  local _, faded = hour_around(habits.at + day, hour, ahead)
  follow(habits, math.min(now, faded), factor, p, q, least, hour, ahead)
  if now > faded then
    local days = floor((now - faded) / day)
    local left = decay(days * (hour / 1000000) / q, true)
    if left < 1 then
      habits.current = habits.current * left
      for n = 1, 24 do habits[n] = single(habits[n] * left) end
    end
    habits.rate, habits.at = 0, faded + days * day
    follow(habits, now, factor, p, q, least, hour, ahead)
  end
end

--- numbers: factor p q least mode hour ahead
local habits, rate, at, number = {unpack('<' .. SINGLES, s, i + 25)}
habits.rate, habits.current, habits.at, number = unpack('<ddi8B', s, i)
rate, at, i = habits.rate, habits.at, i + 121
-- The clock of the day may be another one now.
turn(habits, number + 1, (hour_around(at, hour, ahead)))
go_to(habits, now, factor, p, q, least, hour, ahead)
local index = hour_around(now, hour, ahead)
local neighbours = math.max(habits[(index + 22) % 24 + 1], habits[index % 24 + 1])
local limit = math.max(least, factor * math.max(habits.current, neighbours))
local gap = (now - at) / 1000000
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
local highest, singles = habits.current, {}
for n = 1, 24 do
  highest, singles[n] = math.max(highest, habits[n]), pack('<f', habits[n])
end
local counts = mode == 0 or mode == 1 and counted
if w == w and (counts or mode == 1 and (at - now) / 1000000 > p) then
  if counts then habits.rate = measured end
  bytes = pack('<ddi8B', habits.rate, habits.current, now, index - 1) .. table.concat(singles)
end
-- After `life` microseconds the habits are less than 1e-12 of those that would raise the limit.
life = (log(1 + (habits.rate + highest) * factor / least) + log(1 + habits.rate) + 28) * q * 24000000
