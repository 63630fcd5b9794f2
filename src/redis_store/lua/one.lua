-- One limit at one key, the usual case. ARGV: the numbers, and what to do.
local t, skew, least, w, p1, p2, p3, p4, p5 = unpack('<ddddddddd', ARGV[1])
local mode = ARGV[2]
local now = t
if skew >= 0 then
  local clock = call('TIME')
  local here = clock[1] * 1000000 + clock[2]
  now = here
  if t > here - skew and t < here + skew then now = t end
end
local key = KEYS[1]
local s = call('GET', key)
local _, passes, level, extra, x, y, z, u, v = look(s or INITIAL, 1, now, w, p1, p2, p3, p4, p5)
if mode ~= 'peek' and mode ~= 'peek+' then
  local counted = passes or mode == 'charge'
  local bytes, life = keep(now, w, counted, x, y, z, u, v, p1, p2, p3, p4, p5)
  if bytes then
    life = ceil(life / 1000) + 1000
    if not (life > least) then life = least end
    if not (life < 1e14) then life = 1e14 end
    call('SET', key, bytes, 'PX', life)
    s = bytes
  end
end
local reply = pack('<Bdd', passes and 1 or 0, level, extra)
if mode == 'check+' or mode == 'peek+' then
  reply = reply .. pack('<d', now)
  if s then reply = reply .. '\1' .. pack('<I4', #s) .. s else reply = reply .. '\0' end
end
return reply
