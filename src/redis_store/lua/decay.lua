-- The exponential decay, with the same bits as natively (ratescope::estimate::decay): `exp` and
-- `expm1` as the libm crate computes them, after FreeBSD's e_exp.c and s_expm1.c, for negative
-- numbers. Nothing but + - * / in doubles, so that every machine rounds alike; the exponential of
-- the platform differs in the last bit.
local LN2, LN2HI, LN2LO = 0.6931471805599453, 6.93147180369123816490e-01, 1.90821492927058770002e-10

-- e^x for x below 0.
local function exp(x)
  if x < -745.13321910194110842 then return 0 end
  local k, hi, lo = 0, x, 0
  if x <= -0.3465735912322998 then
    k = -1
    if x <= -1.0397205352783203 then k = ceil(1.44269504088896338700 * x - 0.5) end
    hi, lo = x - k * LN2HI, k * LN2LO
    x = hi - lo
  end
  local xx = x * x
  local c = x - xx * (1.66666666666666019037e-01 + xx * (-2.77777777770155933842e-03
    + xx * (6.61375632143793436117e-05 + xx * (-1.65339022054652515390e-06
    + xx * 4.13813679705723846039e-08))))
  local y = 1 + (x * c / (2 - c) - lo + hi)
  if k == 0 then return y end
  return math.ldexp(y, k)
end

-- e^x - 1 for x from -1.5 ln 2 to -2^-54.
local function expm1(x)
  local k, c = 0, 0
  if x <= -0.3465735912322998 then
    local hi, lo = x + LN2HI, -LN2LO
    k = -1
    x = hi - lo
    c = (hi - x) - lo
  end
  local hfx = 0.5 * x
  local hxs = x * hfx
  local r1 = 1 + hxs * (-3.33333333333331316428e-02 + hxs * (1.58730158725481460165e-03
    + hxs * (-7.93650757867487942473e-05 + hxs * (4.00821782732936239552e-06
    + hxs * -2.01099218183624371326e-07))))
  local t = 3 - r1 * hfx
  local e = hxs * ((r1 - t) / (6 - x * t))
  if k == 0 then return x - (x * e - hxs) end
  e = x * (e - c) - c
  e = e - hxs
  return 0.5 * (x - e) - 0.5
end

-- What is left after x time constants, and the mean of what was left on the way.
local function decay(x)
  if x < 0.0078125 then
    local tail = 1 / 24 - x * (1 / 120 - x * (1 / 720 - x * (1 / 5040)))
    local mean = 1 - x * (0.5 - x * (1 / 6 - x * tail))
    return 1 - x * mean, mean
  elseif x < LN2 then
    local lost = -expm1(-x)
    return 1 - lost, lost / x
  end
  local left = exp(-x)
  return left, (1 - left) / x
end

-- The largest number that a state holds.
local MOST = 1.7976931348623157e308

-- How long a key is kept that is not to be forgiven by its age.
local FOREVER = 1 / 0
