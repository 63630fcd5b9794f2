-- Several limits at one key, all of them in force: all are asked first, and then counted in all or in
-- none. ARGV: what is asked, as in `all.lua`, and what to do: `check`, if nothing.
local args, deed, key = ARGV[1], ARGV[2], KEYS[1]
local found = call('GET', key)
local s, i, at, passes, reply = found, 1, 2, true, ''
local keep, stops = {}, {}
local count = byte(args, 1)
for n = 1, count do
  local kind, allowed, level, extra = byte(args, at)
  if found then
    at, i, allowed, level, extra, keep[n] = look[kind](args, at + 4, s, i)
    stops[n] = i
  else
    at, i, allowed, level, extra, keep[n] = look[kind](args, at + 4, initial[kind], 1)
    stops[n] = initial[kind]
  end
  if not allowed then passes = false end
  reply = reply .. pack('<Bdd', allowed and 1 or 0, level, extra)
end
if deed ~= 'peek' and deed ~= 'peek+' then
  local value, longest, changed, start = '', 0, false, 1
  for n = 1, count do
    local bytes, life = keep[n](passes or deed == 'charge')
    if bytes then
      changed = true
    elseif found then
      bytes = sub(s, start, stops[n] - 1)
    else
      bytes = stops[n]
    end
    if found then start = stops[n] end
    value = value .. bytes
    if life > longest then longest = life end
  end
  if changed then
    store(key, value, longest)
    found = value
  end
end
if deed == 'check+' or deed == 'peek+' then
  reply = reply .. pack('<d', now)
  if found then reply = reply .. pack('<BI4', 1, #found) .. found else reply = reply .. '\0' end
end
return reply
