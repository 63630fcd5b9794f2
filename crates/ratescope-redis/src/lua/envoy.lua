-- Envoy's token bucket: `rate` tokens a second, of which at most `size` are kept.
-- Source: crates/ratescope/src/limit/envoy.rs; Envoy, AtomicTokenBucketImpl.
local ENVOY = pack('<i8d', 0, -1 / 0) -- a bucket that has not begun

-- The host's clock at `at`, in seconds. It stood at 100,000 when the day began.
local function clock_envoy(day, at) return (at - day + 100000000000) * 1000 / 1000000000 end

--- numbers: rate size
local day, empty
day, empty, i = unpack('<i8d', s, i)
local begins = not (empty > -1 / 0)
if begins then
  day = floor(now / 86400000000) * 86400000000
  empty = clock_envoy(day, now) - size / rate
  local earlier = 2 ^ -35
  while (clock_envoy(day, now) - empty) * rate < size do
    empty = empty - earlier
    earlier = earlier * 2
  end
end
local clock = clock_envoy(day, now)
local back = empty - clock > size / rate + 1e-6
local there = 0
if not back then
  there = (clock - empty) * rate
  if there > size then there = size end
end
local cost = ceil(w / 1000000)
local passes, level, extra = there >= cost and cost > 0, size - there + cost, 0

--- keep
if w == w then
  if counted and cost > 0 then
    there = math.max(there - cost, -size)
    empty = clock_envoy(day, now) - there / rate
    bytes = pack('<i8d', day, empty)
  elseif back then
    bytes = pack('<i8d', day, clock_envoy(day, now))
  elseif begins then
    bytes = pack('<i8d', day, empty)
  end
end
life = (size - there) / rate * 1000000
