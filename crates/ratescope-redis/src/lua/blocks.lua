-- The sliding window and the sliding log: at most `most` millionths in `blocks` blocks of `width`
-- microseconds. At most `capacity` blocks are remembered. The blocks of a log are one microsecond wide.
-- Source: crates/ratescope/src/limit/history.rs.
--
-- A decision must not take longer because much is remembered. So the blocks are at a key of their own, in a ring of
-- `room` records of 20 bytes, in the order of time. A record has the number of a block, less `shift`, and the sum of
-- all that was ever counted up to its end. The content of any run of blocks is then the difference of two sums, and
-- searches are by halving. Before the ring is a head, which also has the first and the last record, and the sum before
-- the first. Most decisions read only the head.
--
-- A sum is whole events, modulo 2^52, and millionths. A block holds less than 2^52 events.
local BLOCKS =
  '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' ..
  '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

-- The millionths between two sums.
local function between(events, rest, later_events, later_rest)
  local apart = later_events - events
  if apart < 0 then apart = apart + 4503599627370496 end
  return apart * 1000000 + later_rest - rest
end

-- A sum with `w` millionths more.
local function plus(events, rest, w)
  local odd = math.fmod(w, 1000000)
  events, rest = events + floor((w - odd) / 1000000 + 0.5), rest + odd
  if rest >= 1000000 then events, rest = events + 1, rest - 1000000 end
  return events % 4503599627370496, rest
end

-- Finds the first block with a number above `after` that has at most `most_after` millionths in the blocks after it. The
-- first block of all is known not to be it, and the last to be it if none before is. `try` is the first guess. Returns
-- its place, number and sum, and the sum of the block before it.
local function search(key, first, held, room, sum, rest, last, total, total_rest, after, most_after, try)
  local low, high, step, before, before_rest = 1, held - 1, 1, sum, rest
  local number, to, to_rest = last, total, total_rest
  while low < high do
    local at = 72 + (first + try) % room * 20
    local n, s, r = unpack('<ddI4', call('GETRANGE', key, at, at + 19))
    -- From the first guess on, steps double, and then halve.
    if n > after and between(s, r, total, total_rest) <= most_after then
      high, number, to, to_rest = try, n, s, r
      try = math.max(high - step, floor((low + high) / 2))
    else
      low, before, before_rest = try + 1, s, r
      try = math.min(low + step - 1, floor((low + high) / 2))
    end
    step = step * 2
  end
  return high, number, to, to_rest, before, before_rest
end

--- numbers: most width blocks capacity
-- The blocks in the window: the first and the last of them with their sums, and the sum before the first.
local shift, first, held, room, base, base_rest, number, sum, sum_rest, last, total, total_rest
shift, first, held, room, base, base_rest, number, sum, sum_rest, last, total, total_rest, i =
  unpack('<dI4I4I4dI4ddI4ddI4', s, i)
local here = floor(now / width)
local current, trimmed = here, false
if held > 0 then
  -- Time runs backwards: the latest block is the current one.
  if last + shift > current then current = last + shift end
  local left = current - blocks - shift
  if last <= left then
    held, trimmed = 0, true
  elseif number <= left then
    local gone
    gone, number, sum, sum_rest, base, base_rest =
      search(key, first, held, room, sum, sum_rest, last, total, total_rest, left, 1 / 0, 1)
    first, held, trimmed = (first + gone) % room, held - gone, true
  end
end
local content = held > 0 and between(base, base_rest, total, total_rest) or 0
--- look
local back = 0
if current - here > blocks then current, back = here, current - here end
local passes, level, extra = content + w <= most, (content + w) / 1000000, 0

--- keep
local counts = counted and w > 0
local fresh = false
shift = shift - back
if shift < -4503599627370496 then
  -- The clock was set back by centuries: the numbers in the ring would soon not be exact.
  for place = 0, held - 1 do
    local at = 72 + (first + place) % room * 20
    local moved = unpack('<d', call('GETRANGE', key, at, at + 7)) + shift
    call('SETRANGE', key, at, pack('<d', moved))
  end
  number, last, shift = number + shift, last + shift, 0
end
if counts then
  -- More events than a sum can tell apart are over any limit.
  local more = math.min(w, 4.5e21 - content)
  if held == 0 then
    -- A ring that has become empty gives its room back.
    fresh, shift, first, held, room = true, 0, 0, 1, 1
    base, base_rest, total, total_rest = 0, 0, 0, 0
  elseif last ~= current - shift and held < capacity then
    if held == room then
      if first > 0 then
        local from = 72 + first * 20
        call('SETRANGE', key, 72,
          call('GETRANGE', key, from, -1) .. call('GETRANGE', key, 72, from - 1))
      end
      first, room = 0, room * 2
    end
    held = held + 1
  end
  last = current - shift
  total, total_rest = plus(total, total_rest, more)
  if held == 1 then number, sum, sum_rest = last, total, total_rest end
  content = content + more
end
if trimmed and held == 0 then
  call('UNLINK', key)
elseif counts or back ~= 0 or trimmed then
  life = (last + shift + blocks) * width - now
  bytes = pack('<dI4I4I4dI4ddI4ddI4', shift, first, held, room, base, base_rest, number, sum, sum_rest,
    last, total, total_rest)
  if fresh then
    bytes = bytes .. pack('<ddI4', last, total, total_rest)
  elseif counts then
    call('SETRANGE', key, 72 + (first + held - 1) % room * 20, pack('<ddI4', last, total, total_rest))
  end
end

--- tell
-- The blocks that have to leave before the event passes, as one block at the time of the last of them, and all
-- others at the time of the last: then it is as long until the event passes, and until nothing counts. A process that
-- charges a sum decides about many events by the answer: for one event it is the same, and the others are eight blocks.
told = nil
if held > 0 then
  local one, parts = w, 1
  if charges_ then one, parts = 1000000, 8 end
  local at, to, to_rest = number, sum, sum_rest
  if held > 1 and one <= most and between(to, to_rest, total, total_rest) + one > most then
    local guess = floor((content + one - most) / content * held) - 1
    guess = math.min(math.max(guess, 1), held - 1)
    guess, at, to, to_rest = search(key, first, held, room, sum, sum_rest, last, total, total_rest,
      -1 / 0, most - one, guess)
  end
  told = pack('<dd', at + shift, between(base, base_rest, to, to_rest))
  local others = between(to, to_rest, total, total_rest)
  for part = parts - 1, 0, -1 do
    if at < last then
      local from, from_rest, guess = to, to_rest, nil
      if part == 0 then
        at, to, to_rest = last, total, total_rest
      else
        guess = math.min(math.max(floor((1 - others * part / parts / content) * held), 1), held - 1)
        guess, at, to, to_rest = search(key, first, held, room, sum, sum_rest, last, total, total_rest,
          at, others * part / parts, guess)
      end
      told = told .. pack('<dd', at + shift, between(from, from_rest, to, to_rest))
    end
  end
end

--- undo
-- The block in which the event was counted gives back, if it is still there: the sums from there on become smaller. A
-- decision must not take longer because much is remembered, so with more than 200 later blocks the oldest block gives back
-- in its place, which leaves first: then less is given back, or for a shorter time.
local target = floor(when / width) - shift
local place, block_number, to, to_rest, from, from_rest
if held > 0 and w > 0 and target >= number and target <= last then
  if target == number then
    place, block_number, to, to_rest, from, from_rest = 0, number, sum, sum_rest, base, base_rest
  elseif held > 1 then
    place, block_number, to, to_rest, from, from_rest =
      search(key, first, held, room, sum, sum_rest, last, total, total_rest, target - 1, 1 / 0, held - 2)
  end
end
if place and block_number == target then
  if held - place > 200 then
    place, to, to_rest, from, from_rest = 0, sum, sum_rest, base, base_rest
  end
  local counted = between(from, from_rest, to, to_rest)
  local back = math.min(w, counted)
  -- A sum less `back`, modulo 2^52 events.
  local function less_back(events, rest)
    local odd = math.fmod(back, 1000000)
    events, rest = events - floor((back - odd) / 1000000 + 0.5), rest - odd
    if rest < 0 then events, rest = events - 1, rest + 1000000 end
    return events % 4503599627370496, rest
  end
  if place == 0 then
    -- More was counted before the first block: the others keep their sums.
    base, base_rest = plus(base, base_rest, back)
  else
    -- A block that is empty now leaves, and the later ones move up.
    local gone = back == counted and 1 or 0
    for n = place + gone, held - 1 do
      local at = 72 + (first + n) % room * 20
      local block, events, rest = unpack('<ddI4', call('GETRANGE', key, at, at + 19))
      events, rest = less_back(events, rest)
      at = 72 + (first + n - gone) % room * 20
      call('SETRANGE', key, at, pack('<ddI4', block, events, rest))
    end
    held = held - gone
    local at = 72 + (first + held - 1) % room * 20
    last, total, total_rest = unpack('<ddI4', call('GETRANGE', key, at, at + 19))
  end
  content = content - back
  if content <= 0 then
    bytes, held, content = BLOCKS, 0, 0
  else
    if back == counted and place == 0 then
      first, held = (first + 1) % room, held - 1
      number, sum, sum_rest = unpack('<ddI4', call('GETRANGE', key, 72 + first * 20, 91 + first * 20))
    end
    bytes = pack('<dI4I4I4dI4ddI4ddI4', shift, first, held, room, base, base_rest, number, sum, sum_rest,
      last, total, total_rest)
  end
elseif trimmed then
  bytes = held > 0 and pack('<dI4I4I4dI4ddI4ddI4', shift, first, held, room, base, base_rest, number, sum,
    sum_rest, last, total, total_rest) or BLOCKS
end
