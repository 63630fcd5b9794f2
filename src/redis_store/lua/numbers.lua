-- The numbers of a kept state (ratescope::limit::kept). Whole numbers are seven bits a byte, the
-- lowest first, the high bit set in all but the last. Each reader returns the number and the place
-- after it; beyond the end of the bytes it fails, before anything was written.
local call, byte, char, sub = redis.call, string.byte, string.char, string.sub
local floor, ceil, log = math.floor, math.ceil, math.log
local list = unpack
local pack, unpack = struct.pack, struct.unpack

local function whole(s, i)
  local b = byte(s, i)
  if b < 128 then return b, i + 1 end
  local n, unit = b - 128, 128
  repeat
    i = i + 1
    b = byte(s, i)
    n = n + b % 128 * unit
    unit = unit * 128
  until b < 128
  return n, i + 1
end

local function put(n)
  if n < 128 then return char(n) end
  local high = floor(n / 128)
  if high < 128 then return char(n - high * 128 + 128, high) end
  local bytes = char(n - high * 128 + 128)
  while high >= 128 do
    n, high = high, floor(high / 128)
    bytes = bytes .. char(n - high * 128 + 128)
  end
  return bytes .. char(high)
end

-- An amount in millionths: twice the events, or else twice the millionths and one.
local function amount(s, i)
  local n
  n, i = whole(s, i)
  if n % 2 == 0 then return n * 500000, i end
  return (n - 1) / 2, i
end

-- Where the odd number would not be exact, the amount is rounded up to whole events.
local function put_amount(n)
  if n >= 2 ^ 52 then
    if n > 9e18 then n = 9e18 end
    return put(ceil(n / 1000000) * 2)
  end
  if n % 1000000 == 0 then return put(n / 500000) end
  return put(n * 2 + 1)
end

-- A number with its sign as the lowest bit.
local function signed(s, i)
  local n
  n, i = whole(s, i)
  if n % 2 == 0 then return n / 2, i end
  return -(n + 1) / 2, i
end

local function put_signed(n)
  if n < 0 then return put(-2 * n - 1) end
  return put(2 * n)
end
