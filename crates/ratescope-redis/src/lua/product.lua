-- Products of two whole numbers below 2^52, compared exactly with f64 alone.
-- Source: crates/ratescope/src/limit/in_f64.rs, which says why that is exact.
local LIMB = 67108864

-- a b as a high and a low part of 52 bits each.
local function product(a, b)
  local a1, b1 = floor(a / LIMB), floor(b / LIMB)
  local a0, b0 = a - a1 * LIMB, b - b1 * LIMB
  local mid = a1 * b0 + a0 * b1
  local mid1 = floor(mid / LIMB)
  local low = a0 * b0 + (mid - mid1 * LIMB) * LIMB
  local carry = floor(low / (LIMB * LIMB))
  return a1 * b1 + mid1 + carry, low - carry * LIMB * LIMB
end

-- Whether a b < c d.
local function less(a, b, c, d)
  local high, low = product(a, b)
  local other_high, other_low = product(c, d)
  return high < other_high or high == other_high and low < other_low
end

-- a b / c, rounded up, where b <= c.
local function divided_up(a, b, c)
  local quotient = floor(a * (b / c))
  if quotient > a then quotient = a end
  while less(a, b, quotient, c) do quotient = quotient - 1 end
  while quotient < a and not less(a, b, quotient + 1, c) do quotient = quotient + 1 end
  if less(quotient, c, a, b) then return quotient + 1 end
  return quotient
end
