-- Reads and writes a whole number with its sign as the lowest bit.
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
