-- The fixed window: at most `most` millionths in `period` microseconds.
-- Source: tests/f64/window.rs.
local WINDOW = '\0\0'

local function look_window(s, i, now, w, most, period)
  local before, counted
  before, i = signed(s, i)
  counted, i = amount(s, i)
  local number = floor(now / period)
  -- From further ahead, the clock was set back. What has moved is remembered there, as time may run
  -- backwards.
  if before == number + 1 then number = before end
  local moved = before ~= number and counted > 0
  if before < number then counted = 0 end
  local level = counted + w
  return i, level <= most, level / 1000000, 0, number, counted, moved
end

local function keep_window(now, w, allowed, number, counted, moved, _, _, most, period)
  local bytes
  local counts = allowed and w > 0
  if counts then counted = counted + w end
  if counts or moved then
    bytes = counted > 0 and put_signed(number) .. put_amount(counted) or WINDOW
  end
  return bytes, (number + 1) * period - now
end
