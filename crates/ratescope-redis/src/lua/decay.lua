-- The exponential decay over x time constants, with the same bits as natively (ratescope::estimate::decay). Returns the
-- factor that is left, and its mean on the way. With `alone` the caller does not use the mean, and from x = 1/128 on
-- `exp` gives the factor. `exp` and `expm1` are computed as in the libm crate, after FreeBSD's e_exp.c and s_expm1.c,
-- for negative numbers: nothing but + - * / in doubles, so that every machine rounds alike, whereas the exponential of
-- the platform differs in the last bit.
local function decay(x, alone)
  if x < 0.0078125 then
    local tail = 1 / 24 - x * (1 / 120 - x * (1 / 720 - x * (1 / 5040)))
    local mean = 1 - x * (0.5 - x * (1 / 6 - x * tail))
    return 1 - x * mean, mean
  end
  local whole = x
  x = -x
  if whole < 0.6931471805599453 and not alone then
    -- `expm1` gives the loss, which is less than a half here.
    local k, c = 0, 0
    if x <= -0.3465735912322998 then
      local hi, lo = x + 6.93147180369123816490e-01, -1.90821492927058770002e-10
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
    local lost
    if k == 0 then
      lost = -(x - (x * e - hxs))
    else
      e = x * (e - c) - c
      e = e - hxs
      lost = -(0.5 * (x - e) - 0.5)
    end
    return 1 - lost, lost / whole
  end
  local left = 0
  if x >= -745.13321910194110842 then
    local k, hi, lo = 0, x, 0
    if x <= -0.3465735912322998 then
      k = -1
      if x <= -1.0397205352783203 then k = math.ceil(1.44269504088896338700 * x - 0.5) end
      hi, lo = x - k * 6.93147180369123816490e-01, k * 1.90821492927058770002e-10
      x = hi - lo
    end
    local xx = x * x
    local c = x - xx * (1.66666666666666019037e-01 + xx * (-2.77777777770155933842e-03
      + xx * (6.61375632143793436117e-05 + xx * (-1.65339022054652515390e-06
      + xx * 4.13813679705723846039e-08))))
    left = 1 + (x * c / (2 - c) - lo + hi)
    if k ~= 0 then left = math.ldexp(left, k) end
  end
  return left, (1 - left) / whole
end
