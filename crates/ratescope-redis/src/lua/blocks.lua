-- The sliding window and the sliding log: at most `most` millionths in `blocks` blocks of `width`
-- microseconds. At most `capacity` blocks are remembered. The blocks of a log are one microsecond wide.
-- Source: src/limit/history.rs.
local BLOCKS = '\0'

--- numbers: most width blocks capacity
local count, begin = whole(s, i)
local here = floor(now / width)
local current = here
-- The blocks in the window: their number, their content in millionths, the first and the last of them.
local held, content, latest, first, first_amount, first_end, last_from, last_gap, last_amount
repeat
  local again = false
  i, held, content = begin, 0, 0
  for n = 1, count do
    local from, gap, counted = i
    if n == 1 then
      latest, i = signed(s, i)
    else
      gap, i = whole(s, i)
      latest = latest + gap
    end
    counted, i = amount(s, i)
    if latest > current - blocks then
      held, content = held + 1, content + counted
      if held == 1 then first, first_amount, first_end = latest, counted, i end
      last_from, last_gap, last_amount = from, gap, counted
    end
  end
  -- Time runs backwards: the latest block becomes the current one, and the blocks are read again.
  if count > 0 and latest > current then current, again = latest, true end
until not again
--- look
local back = 0
if current - here > blocks then current, back = here, current - here end
local passes, level, extra = content + w <= most, (content + w) / 1000000, 0

--- keep
local counts = counted and w > 0
local last = held > 0 and latest - back or current
life = ((counts and current or last) + blocks) * width - now
if counts or held < count or back ~= 0 then
  local more = ''
  if counts and held > 0 and (last == current or held >= capacity) then
    if held == 1 then
      first, first_amount = current + back, first_amount + w
    else
      last_gap, last_amount = last_gap + current - last, last_amount + w
    end
  elseif counts then
    more = (held > 0 and put(current - last) or put_signed(current)) .. put_amount(w)
  end
  bytes = put(more == '' and held or held + 1)
  if held > 0 then bytes = bytes .. put_signed(first - back) .. put_amount(first_amount) end
  if held > 1 then
    bytes = bytes .. sub(s, first_end, last_from - 1) .. put(last_gap) .. put_amount(last_amount)
  end
  bytes = bytes .. more
end

--- undo
-- The oldest blocks in the window give back first.
while held > 0 and w >= first_amount do
  w, held = w - first_amount, held - 1
  if held > 0 then
    local gap
    gap, first_end = whole(s, first_end)
    first_amount, first_end = amount(s, first_end)
    first = first + gap
  end
end
if held > 0 then
  bytes = put(held) .. put_signed(first) .. put_amount(first_amount - w) .. sub(s, first_end, i - 1)
elseif count > 0 then
  bytes = BLOCKS
end
