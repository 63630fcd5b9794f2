-- Takes the given time, in microseconds. If `skew` is below 0, that is the time of the event. Otherwise it
-- is the time of a host, and that of Redis replaces it if the two differ by `skew` microseconds or more.
-- A key is kept for at least `shortest` milliseconds.
local now, skew, shortest = unpack('<ddd', ARGV[3])
if skew >= 0 then
  local clock = call('TIME')
  local here = clock[1] * 1000000 + clock[2]
  if now <= here - skew or now >= here + skew then now = here end
end
