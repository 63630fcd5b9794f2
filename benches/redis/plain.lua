-- GCRA as it is written in ten lines: one time in microseconds, read and written as text.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local due = tonumber(redis.call('GET', KEYS[1]) or now)
if due < now then due = now end
local next = due + interval
if next - now > interval * burst then return {0, math.ceil((next - now - interval * burst) / 1000)} end
redis.call('SET', KEYS[1], string.format('%.0f', next), 'PX', math.ceil((next - now) / 1000))
return {1, math.floor(burst - (next - now) / interval)}
