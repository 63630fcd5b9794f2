-- Takes the given time: that of a host whose clock may be `skew` off, or, if `skew` is below 0, that of
-- the event. A key is kept for `shortest` milliseconds at least.
local now, skew, shortest = unpack('<ddd', ARGV[3])
if skew >= 0 then
  local clock = call('TIME')
  local here = clock[1] * 1000000 + clock[2]
  if now <= here - skew or now >= here + skew then now = here end
end
