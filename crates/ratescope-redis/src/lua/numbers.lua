-- The numbers of a kept state (ratescope::limit::kept). Whole numbers are seven bits a byte, the
-- lowest first, with the high bit set in all bytes but the last. Each reader returns the number and
-- the place after it. Beyond the end of the bytes it fails, and nothing has been written by then.
local function whole(s, i)
  local a, b, c, d = byte(s, i, i + 3)
  if a < 128 then return a, i + 1 end
  if b < 128 then return a - 128 + b * 128, i + 2 end
  if c < 128 then return a + b * 128 + c * 16384 - 16512, i + 3 end
  if d < 128 then return a + b * 128 + c * 16384 + d * 2097152 - 2113664, i + 4 end
  local n, unit = a + b * 128 + c * 16384 + d * 2097152 - 270549120, 268435456
  i = i + 3
  repeat
    i = i + 1
    a = byte(s, i)
    n = n + a % 128 * unit
    unit = unit * 128
  until a < 128
  return n, i + 1
end

local function put(n)
  if n < 128 then return char(n) end
  if n < 16384 then return char(n % 128 + 128, floor(n / 128)) end
  local high = floor(n / 16384)
  if high < 128 then return char(n % 128 + 128, floor(n / 128) % 128 + 128, high) end
  local low = char(n % 128 + 128, floor(n / 128) % 128 + 128, high % 128 + 128)
  high = floor(high / 128)
  while high >= 128 do
    low, high = low .. char(high % 128 + 128), floor(high / 128)
  end
  return low .. char(high)
end
