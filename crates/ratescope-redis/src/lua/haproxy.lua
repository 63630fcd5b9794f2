-- HAProxy's rate counter: at most `most` requests in `period` milliseconds, in windows of the sender's
-- own. With `allowed` 1 it counts the requests that passed, with 0 all.
-- Source: crates/ratescope/src/limit/haproxy.rs; HAProxy, freq_ctr.
local HAPROXY = '\255\255\255\255\255\63\0\0' -- a window that began long before any time

-- The counter after `n` more requests at `at`: when its window began, its count and the one before.
local function count_haproxy(began, current, previous, at, n, period)
  if at - began < period then return began, math.min(current + n, 4294967295), previous end
  began = began + period
  if at - began < period then return began - began % 2, n, current end
  return at - at % 2, n, 0
end

-- The count of the last period at `at`, as a rule reads it.
local function rate_haproxy(began, current, previous, at, period)
  local passed = at - began
  local left
  if passed <= period then
    left = period - passed
  elseif passed <= 2 * period then
    current, previous, left = 0, current, 2 * period - passed
  else
    return 0
  end
  if current == 0 and previous <= 1 then return previous end
  return floor((previous * left + current * period) / period)
end

--- numbers: most period allowed
local began, current, previous
began, i = signed(s, i)
current, i = whole(s, i)
previous, i = whole(s, i)
local at, moved = floor(now / 1000), false
if began - at > period then
  began, moved = at + at % 2, true -- The clock was set back.
end
at = math.max(at, began)
-- A cost that can't be counted comes as NaN: it is refused, with NaN as the level.
local passes, level, extra = false, w, 0
local n = w == w and math.min(ceil(w / 1000000), 4294967295) or 0
local after_began, after_current, after_previous =
  count_haproxy(began, current, previous, at, n, period)
if n > 0 and allowed == 0 then
  level = rate_haproxy(after_began, after_current, after_previous, at, period)
  passes = level <= most
elseif w == w then
  level = rate_haproxy(began, current, previous, at, period)
  passes = n == 0 or level < most
end

--- keep
if n > 0 and (counted or allowed == 0) then
  began, current, previous, moved = after_began, after_current, after_previous, true
end
if moved and w == w then bytes = put_signed(began) .. put(current) .. put(previous) end
life = (began + 2 * period + 2) * 1000 - now
