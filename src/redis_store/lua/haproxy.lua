-- HAProxy's rate counter: at most `most` in `period` milliseconds, in windows of the sender's own.
-- With `allowed` 1 it counts those that passed, else all.
-- Source: src/limit/haproxy.rs; HAProxy, freq_ctr.
local HAPROXY = '\255\255\255\255\255\63\0\0' -- a window that began long before any time

-- The counter after `n` more at `at`.
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

local function look_haproxy(s, i, now, w, most, period, allowed)
  local began, current, previous
  began, i = signed(s, i)
  current, i = whole(s, i)
  previous, i = whole(s, i)
  local at, moved = floor(now / 1000), false
  if began - at > period then
    began, moved = at - at % 2, true -- The clock was set back.
  elseif at < began then
    at = began
  end
  if w ~= w then return i, false, w, 0 end
  local n = math.min(ceil(w / 1000000), 4294967295)
  local after = {count_haproxy(began, current, previous, at, n, period)}
  local rate, passes
  if n > 0 and allowed == 0 then
    rate = rate_haproxy(after[1], after[2], after[3], at, period)
    passes = rate <= most
  else
    rate = rate_haproxy(began, current, previous, at, period)
    passes = n == 0 or rate < most
  end
  return i, passes, rate, 0, after, n, moved and {began, current, previous}, began
end

local function keep_haproxy(now, w, counted, after, n, moved, began, _, _, period, allowed)
  if w ~= w then return nil, 0 end
  local state = moved
  if n > 0 and (counted or allowed == 0) then state = after end
  local bytes
  if state then
    began = state[1]
    bytes = put_signed(began) .. put(state[2]) .. put(state[3])
  end
  return bytes, (began + 2 * period + 2) * 1000 - now
end
