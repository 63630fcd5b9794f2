-- Several limits, at one key or several: all are asked first, and then counted in all or in none.
-- ARGV[1]: the clock. ARGV[2]: what to do. ARGV[2 + n]: what is asked at the n-th key; in its value, the
-- states of these limits follow each other.
local t, skew, least = unpack('<ddd', ARGV[1])
local mode = ARGV[2]
local now = t
if skew >= 0 then
  local clock = call('TIME')
  local here = clock[1] * 1000000 + clock[2]
  now = here
  if t > here - skew and t < here + skew then now = t end
end
local asked, found, reply = {}, {}, {}
local passes, rules = true, {}
for k = 1, #KEYS do
  local s = call('GET', KEYS[k])
  local args, i, place = ARGV[2 + k], 1, 1
  found[k] = s
  while i <= #args do
    local a = {unpack('<BBI2dddddd', args, i)}
    i = a[10]
    local kind = a[1]
    local r = {look[kind](s or initial[kind], s and place or 1, now, list(a, 4, 9))}
    a.key, a.from, a.found = k, place, r
    if s then
      place = r[1]
      a.to = place - 1
    end
    -- 1: it is in force, 2: it is a shadow, 4: it is stretched.
    local force, shadow = a[2] % 2 == 1, a[2] % 4 >= 2
    if force and not r[2] then
      rules[a[3]] = false
      if not shadow then passes = false end
    end
    asked[#asked + 1] = a
    reply[#reply + 1] = pack('<Bdd', r[2] and 1 or 0, r[3], r[4])
  end
end
if mode ~= 'peek' and mode ~= 'peek+' then
  local values, lives, changed = {}, {}, {}
  for n = 1, #asked do
    local a = asked[n]
    local k, r, kind = a.key, a.found, a[1]
    local counted = mode == 'charge'
    if not counted then
      -- A shadow counts what it would if it could refuse; a limit in whose place the stretched one
      -- decides counts what passes within it.
      local would = a[2] % 4 < 2 or rules[a[3]] ~= false
      counted = passes and would and (a[2] % 2 == 1 or a[2] >= 4 or r[2])
    end
    local bytes, life = keep[kind](now, a[4], counted, r[5], r[6], r[7], r[8], r[9],
      a[5], a[6], a[7], a[8], a[9])
    if bytes then
      changed[k] = true
    elseif found[k] then
      bytes = sub(found[k], a.from, a.to)
    else
      bytes = initial[kind]
    end
    values[k] = (values[k] or '') .. bytes
    if not lives[k] or life > lives[k] then lives[k] = life end
  end
  for k = 1, #KEYS do
    if changed[k] then
      local life = ceil(lives[k] / 1000) + 1000
      if not (life > least) then life = least end
      if not (life < 1e14) then life = 1e14 end
      call('SET', KEYS[k], values[k], 'PX', life)
      found[k] = values[k]
    end
  end
end
reply = table.concat(reply)
if mode == 'check+' or mode == 'peek+' then
  reply = reply .. pack('<d', now)
  for k = 1, #KEYS do
    local s = found[k]
    if s then reply = reply .. '\1' .. pack('<I4', #s) .. s else reply = reply .. '\0' end
  end
end
return reply
