-- The token bucket, GCRA and the leaky bucket: `a` millionths of an event drain in `b` microseconds,
-- in lowest terms; the bucket holds `size` millionths. With `queue` 1, events wait in it.
-- Source: tests/f64/bucket.rs, and ratescope::limit::in_f64 for why that is exact.
local BUCKET = string.rep('\0', 10)

-- How long that takes to drain, in microseconds, rounded up.
local function drains(content, part, a, b)
  local times = floor(content / a)
  local rest = (content - times * a) * b + part
  return times * b - floor(-rest / a)
end

--- numbers: a b size queue
local at = unpack('<i8', s, i)
local content, part
content, i = amount(s, i + 8)
part, i = whole(s, i)
if part > 0 then
  local of
  of, i = whole(s, i)
  -- Another rule may have left a fraction in other units, and more than fits here.
  if of ~= b then part = 0 end
end
if content >= 2 * size then content, part = 2 * size, 0 end
local since = now - at
local times = floor(since / b)
local rest = (since - times * b) * a
local more = floor(rest / b)
content = content - (times * a + more)
part = part - (rest - more * b)
if part < 0 then content, part = content - 1, part + b end
local back = content > 2 * size or content == 2 * size and part > 0
if back then
  content, part = size, 0
elseif content < 0 then
  content, part = 0, 0
end
local filled = content + w
local passes = filled < size or filled == size and part == 0
local level, extra = (filled * b + part) / (b * 1000000), 0
if queue == 1 then extra = drains(content, part, a, b) end

--- keep
if counted and w > 0 or back then
  if counted and w > 0 then content = content + w end
  if content >= 2 * size then content, part = 2 * size, 0 end
  bytes = pack('<i8', now) .. put_amount(content) .. put(part)
  if part > 0 then bytes = bytes .. put(b) end
end
life = (content + 1) / a * b
