-- Reads an amount, and returns it in millionths. Whole events are kept as twice their number, other
-- amounts as twice their millionths plus one.
local function amount(s, i)
  local n
  n, i = whole(s, i)
  if n % 2 == 0 then return n * 500000, i end
  return (n - 1) / 2, i
end

-- Writes an amount. From 2^52 millionths on, where the odd number would not be exact in f64, it is
-- rounded up to whole events.
local function put_amount(n)
  if n % 1000000 == 0 and n < 9e18 then return put(n / 500000) end
  if n < 4503599627370496 then return put(n * 2 + 1) end
  return put(ceil((n < 9e18 and n or 9e18) / 1000000) * 2)
end
