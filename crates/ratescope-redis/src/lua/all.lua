-- Several limits, at one key or several: all are asked first, and then the event is counted in all of
-- them or in none. ARGV[1]: the limits at each key with their numbers, one key after the other; the value
-- of a key holds the states of its limits in the same order. ARGV[2]: the operation.
local args, deed = ARGV[1], ARGV[2]
local at, n, passes, refused = 1, 0, true, {}
local found, ends, starts, stops, keep, reply = {}, {}, {}, {}, {}, {}
local kinds, flags, rules, allowed, delayed = {}, {}, {}, {}, false
for k = 1, #KEYS do
  local count, s, i = byte(args, at), call('GET', KEYS[k]), 1
  at, found[k] = at + 1, s
  for _ = 1, count do
    local kind, flag, rule, level, extra
    n = n + 1
    kind, flag, rule, at = unpack('<BBI2', args, at)
    starts[n], kinds[n], flags[n], rules[n] = i, kind, flag, rule
    if s then
      at, i, allowed[n], level, extra, keep[n] = look[kind](args, at, s, i)
    else
      at, i, allowed[n], level, extra, keep[n] = look[kind](args, at, initial[kind], 1)
    end
    stops[n] = i - 1
    -- The flags of a limit are added up. 1: it is in force, 2: it is a shadow, 4: it is stretched, 8: an event
    -- that would have to wait for it is not counted.
    if flag % 2 == 1 and not allowed[n] then
      refused[rule] = true
      if flag % 4 < 2 then passes = false end
    end
    if flag >= 8 and allowed[n] and extra > 0 then delayed = true end
    reply[n] = pack('<Bdd', allowed[n] and 1 or 0, level, extra)
  end
  ends[k] = n
end
if deed ~= 'peek' and deed ~= 'peek+' and not (passes and delayed) then
  local writes, values, lives = {}, {}, {}
  local m = 1
  for k = 1, #KEYS do
    local value, longest, s = '', 0, found[k]
    while m <= ends[k] do
      local counted = deed == 'charge'
      if passes and not counted then
        -- A shadow counts what it would count if it could refuse. A limit whose stretched form is in force in
        -- its place counts only what it would have allowed itself.
        local flag = flags[m]
        counted = flag == 1
          or (flag % 4 < 2 or not refused[rules[m]]) and (flag % 2 == 1 or flag >= 4 or allowed[m])
      end
      local bytes, life = keep[m](counted)
      if bytes then
        writes[k] = true
      elseif s then
        bytes = sub(s, starts[m], stops[m])
      else
        bytes = initial[kinds[m]]
      end
      value = value .. bytes
      if life > longest then longest = life end
      m = m + 1
    end
    values[k], lives[k] = value, longest
  end
  for k = 1, #KEYS do
    if writes[k] then
      store(KEYS[k], values[k], lives[k])
      found[k] = values[k]
    end
  end
end
reply = table.concat(reply)
if deed == 'check+' or deed == 'peek+' then
  reply = reply .. pack('<d', now)
  for k = 1, #KEYS do
    local s = found[k]
    if s then reply = reply .. pack('<BI4', 1, #s) .. s else reply = reply .. '\0' end
  end
end
return reply
