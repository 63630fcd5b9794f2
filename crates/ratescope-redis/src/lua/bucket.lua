-- The token bucket, GCRA and the leaky bucket: `a` millionths of an event drain in `b` microseconds,
-- in lowest terms; the bucket holds `size` millionths. With `queue` 1, events wait in it.
-- Source: crates/ratescope/src/limit/bucket.rs, and limit/in_f64.rs for why that is exact.
--
-- A state has the numbers by which it was counted, since it drains by these until an event is counted by others. It is
-- four doubles: the time, the content, `a` and `b`. If there is a fraction `part`/`b` of one more millionth, the content
-- is written as -1 - content, and the part follows.
local BUCKET = string.rep('\0', 32)

-- Writes a state. From 2^52 on, the content is rounded up to whole millionths.
local function put_bucket(at, content, part, a, b)
  if content >= 4503599627370496 and part > 0 then content, part = content + 1, 0 end
  if part == 0 then return pack('<dddd', at, content, a, b) end
  return pack('<ddddd', at, -1 - content, a, b, part)
end

-- The amount that drains in `apart` microseconds: whole millionths, and the rest of another one in its parts.
local function drains(apart, a, b)
  local times = floor(apart / b)
  local rest = (apart - times * b) * a
  local more = floor(rest / b)
  return times * a + more, rest - more * b
end

--- numbers: a b size queue
local at, content, part, own_a, own_b = nil, nil, 0, nil, nil
at, content, own_a, own_b, i = unpack('<dddd', s, i)
if content < 0 then
  content = -1 - content
  part, i = unpack('<d', s, i)
end
--- look
local found_at, found, found_part = at, content, part
local others = own_b > 0 and (own_a ~= a or own_b ~= b)
if others then
  -- Until now it drains by the numbers by which it was counted. A part of a millionth in other units is dropped.
  if now > at then
    local drained, rest = drains(now - at, own_a, own_b)
    at, content, part = now, content - drained, part - rest
    if part < 0 then content, part = content - 1, part + own_b end
    if content < 0 then content, part = 0, 0 end
  end
  if own_b ~= b then part = 0 end
end
local since = now - at
local drained, rest = drains(since, a, b)
-- `at` is the latest time that was seen, and `content` the content at that time. An event may be slightly
-- older; one that is older by more than a full bucket takes to drain tells that the clock was set back.
local back = -drained > size
local fill, share = content, part
if back then
  at = now
else
  fill, share = content - drained, part - rest
  if share < 0 then fill, share = fill - 1, share + b end
  if fill < 0 then fill, share = 0, 0 end
  if since >= 0 then at, content, part = now, fill, share end
end
local filled = fill + w
local passes = filled < size or filled == size and share == 0
local level, extra = (filled * b + share) / (b * 1000000), 0
if queue == 1 then
  -- The wait: how long the queue takes to drain, in microseconds, rounded up.
  local whole = floor(fill / a)
  extra = whole * b - floor(-((fill - whole * a) * b + share) / a)
end

--- keep
if counted and w > 0 or back then
  if counted and w > 0 then content = content + w end
  bytes = put_bucket(at, content, part, a, b)
elseif others then
  at, content, part = found_at, found, found_part
end
if bytes or not others then
  life = (content + 1) / a * b + at - now
else
  life = (content + 1) / own_a * own_b + at - now
end

--- undo
-- The part that has drained since the event was counted is not given back, whichever numbers it drained by.
local latest = at > now and at or now
if own_b > 0 and latest >= when then
  local drained, rest = drains(latest - when, own_a, own_b)
  if drained < w then
    content, part = content - w + drained, part + rest
    if part >= own_b then content, part = content + 1, part - own_b end
    if content < 0 then content, part = 0, 0 end
    bytes = put_bucket(at, content, part, own_a, own_b)
  end
end
