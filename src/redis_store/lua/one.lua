-- One limit at one key, the usual case. ARGV[1]: its numbers. ARGV[2]: the operation, by default `check`.
local key = KEYS[1]
local found = call('GET', key)
local s, i = found or INITIAL, 1
--- look
local deed = ARGV[2]
local bytes, life
if deed ~= 'peek' and deed ~= 'peek+' then
  local counted = passes or deed == 'charge'
  --- keep
  if bytes then
    --- store
  end
end
local reply = pack('<Bdd', passes and 1 or 0, level, extra)
if deed == 'check+' or deed == 'peek+' then
  bytes = bytes or found
  reply = reply .. pack('<d', now)
  if bytes then reply = reply .. pack('<BI4', 1, #bytes) .. bytes else reply = reply .. '\0' end
end
return reply
