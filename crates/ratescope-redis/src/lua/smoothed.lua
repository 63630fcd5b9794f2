-- The smoothed rate `elapsed` seconds after it was `smoothed` and the rate was `rate`; `q` is at least 2 `p`.
-- Source: crates/ratescope/src/estimate/smoothed.rs.
local function smoothed_after(smoothed, rate, elapsed, p, q)
  if not (elapsed > 0) then return smoothed end
  local in_decays, in_increases = elapsed / p, elapsed / q
  local faded, faded_mean = decay(in_decays)
  local forgotten, forgotten_mean = decay(in_increases)
  local apart = forgotten - faded
  if in_decays < 1 then apart = in_decays * faded_mean - in_increases * forgotten_mean end
  return smoothed * forgotten + rate * (p / (q - p) * apart)
end
