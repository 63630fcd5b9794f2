-- The token bucket, GCRA and the leaky bucket: `a` millionths of an event drain in `b` microseconds,
-- in lowest terms; the bucket holds `size` millionths. With `queue` 1, events wait in it.
-- Source: crates/ratescope/src/limit/bucket.rs, and limit/in_f64.rs for why that is exact.
--
-- A state is the time and the content as two doubles, which is faster than short numbers. If there is a
-- fraction `part`/`of` of one more millionth, both numbers follow, and a sign says how they are written:
--   two bytes each, with a content of -1 - content
--   four bytes each, with a content of -2^52 - 1 - content
--   doubles, with a content of -1 - content and a time of -1 - time
local BUCKET = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

-- Writes a state. From 2^52 on, what is owed is rounded up to whole millionths.
local function put_bucket(at, content, part, b)
  if content >= 4503599627370496 and part > 0 then content, part = content + 1, 0 end
  if part == 0 then return pack('<dd', at, content) end
  if b < 65536 then return pack('<ddI2I2', at, -1 - content, part, b) end
  if b < 4294967296 then return pack('<ddI4I4', at, -4503599627370497 - content, part, b) end
  return pack('<dddd', -1 - at, -1 - content, part, b)
end

--- numbers: a b size queue
local at, content, part
at, content, i = unpack('<dd', s, i)
part = 0
if content < 0 then
  local of
  content = -1 - content
  if at < 0 then
    at = -1 - at
    part, of, i = unpack('<dd', s, i)
  elseif content < 4503599627370496 then
    part, of, i = unpack('<I2I2', s, i)
  else
    content = content - 4503599627370496
    part, of, i = unpack('<I4I4', s, i)
  end
  -- Another rule may have left a fraction in other units, which is dropped.
  if of ~= b then part = 0 end
end
--- look
local since = now - at
local times = floor(since / b)
local rest = (since - times * b) * a
local more = floor(rest / b)
local drained = times * a + more
-- `at` is the latest time that was seen, and `content` what was there then. An event may be slightly
-- older; one that is older by more than a full bucket takes to drain tells that the clock was set back.
local back = -drained > size
local fill, share = content, part
if back then
  at = now
else
  fill, share = content - drained, part - (rest - more * b)
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
  bytes = put_bucket(at, content, part, b)
end
life = (content + 1) / a * b + at - now

--- undo
-- `now` is the time of the event to give back. What drained from then to the latest event is not given back.
local ahead = at > now and at - now or 0
local times = floor(ahead / b)
local rest = (ahead - times * b) * a
local more = floor(rest / b)
local drained = times * a + more
if drained < w then
  content, part = content - w + drained, part + rest - more * b
  if part >= b then content, part = content + 1, part - b end
  if content < 0 then content, part = 0, 0 end
  bytes = put_bucket(at, content, part, b)
end
