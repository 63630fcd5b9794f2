-- Changes the exceptions of a domain, which are lines. ARGV[1]: the line of an exception, which begins with its end in
-- microseconds, its limit and its key; it replaces the line of the same key in the same limit. ARGV[2]: the time now. Lines
-- that are over are left out. Returns the lines, or ! if there is no room.
local line, now, most = ARGV[1], tonumber(ARGV[2]), 1000
local of = string.match(line, '^%S+ (%S+ %S+) ')
local kept, last = {}, 0
-- The end of an exception; long ago for a line that is none.
local function end_of(one)
  return tonumber(string.match(one, '^%d+') or 0)
end
local function keep(one)
  kept[#kept + 1] = one
  last = math.max(last, end_of(one))
end
for one in string.gmatch(redis.call('GET', KEYS[1]) or '', '[^\n]+') do
  local is_over = end_of(one) <= now
  if not is_over and string.match(one, '^%S+ (%S+ %S+) ') ~= of then keep(one) end
end
if end_of(line) > now then
  if #kept >= most then return '!' end
  keep(line)
end
if #kept == 0 then
  redis.call('UNLINK', KEYS[1])
  return ''
end
local text = table.concat(kept, '\n')
redis.call('SET', KEYS[1], text, 'PX', string.format('%.0f', math.ceil((last - now) / 1000) + 1000))
return text
