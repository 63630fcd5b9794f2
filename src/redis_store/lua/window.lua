-- The fixed window: at most `most` millionths in `period` microseconds.
-- Source: tests/f64/window.rs.
local WINDOW = '\0\0'

local function look_window(s, i, now, w, most, period)
  local before, counted
  before, i = signed(s, i)
  counted, i = amount(s, i)
  local number = floor(now / period)
  local moved = false
  if before == number + 1 then
    number = before
  elseif before < number then
    counted = 0
  else
    -- From further ahead, the clock was set back.
    moved = before > number
  end
  local level = counted + w
  return i, level <= most, level / 1000000, 0, number, counted, moved
end

local function keep_window(now, w, allowed, number, counted, moved, _, _, most, period)
  local bytes
  if allowed and w > 0 or moved and counted > 0 then
    if allowed and w > 0 then counted = counted + w end
    bytes = put_signed(number) .. put_amount(counted)
  end
  return bytes, (number + 1) * period - now
end
