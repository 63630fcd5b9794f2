-- GCRA as it is mostly written, in ten lines: one time in seconds, read and written as text.
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local due = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
local next = due + interval
local over = next - now - interval * burst
if over > 0 then return {0, tostring(over)} end
redis.call('SET', KEYS[1], next, 'PX', math.ceil((next - now) * 1000))
return {1, tostring(-over)}
