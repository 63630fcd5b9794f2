-- The sliding window and the sliding log: at most `most` millionths in `blocks` blocks of `width`
-- microseconds, of which no more than `capacity` are remembered. Those of a log are of one
-- microsecond.
-- Source: tests/f64/blocks.rs.
local BLOCKS = '\0'

-- What is found: how many blocks, their numbers and amounts, and where each ends in the bytes.
local function look_blocks(s, i, now, w, most, width, blocks)
  local count, latest
  count, i = whole(s, i)
  local numbers, amounts, ends = {}, {}, {}
  for n = 1, count do
    local number
    if n == 1 then
      number, i = signed(s, i)
    else
      number, i = whole(s, i)
      number = latest + number
    end
    latest = number
    numbers[n] = number
    amounts[n], i = amount(s, i)
    ends[n] = i
  end
  local here = floor(now / width)
  local current, back = here, 0
  if latest and latest > here then
    current = latest
    if latest - here > blocks then back = latest - here end
  end
  local first, counted = 1, 0
  while first <= count and numbers[first] <= current - blocks do first = first + 1 end
  for n = first, count do counted = counted + amounts[n] end
  local level = counted + w
  local found = {s = s, count = count, numbers = numbers, amounts = amounts, ends = ends,
    first = first, current = back > 0 and here or current, back = back}
  return i, level <= most, level / 1000000, 0, found
end

local function keep_blocks(now, w, allowed, f, _, _, _, _, most, width, blocks, capacity)
  local count, first, current, back = f.count, f.first, f.current, f.back
  local numbers, amounts, ends = f.numbers, f.amounts, f.ends
  local counts = allowed and w > 0
  local last = count >= first and numbers[count] - back or nil
  local life = ((counts and current or last or current) + blocks) * width - now
  if not counts and first == 1 and back == 0 then return nil, life end
  -- What is left, in three parts: the first block, those between that stay as they are, the last.
  local left = count - first + 1
  local new = nil
  if counts then
    if left > 0 and (last == current or left >= capacity) then
      amounts[count] = amounts[count] + w
      numbers[count] = current + back
    else
      left = left + 1
      new = put_amount(w)
    end
  end
  if left == 0 then return '\0', life end
  local bytes = put(left)
  if count >= first then
    bytes = bytes .. put_signed(numbers[first] - back) .. put_amount(amounts[first])
    if count > first then
      bytes = bytes .. sub(f.s, ends[first], ends[count - 1] - 1)
        .. put(numbers[count] - numbers[count - 1]) .. put_amount(amounts[count])
    end
    if new then bytes = bytes .. put(current - last) .. new end
  else
    bytes = bytes .. put_signed(current) .. new
  end
  return bytes, life
end
