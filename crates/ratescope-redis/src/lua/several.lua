-- One limit at one key, the usual case, or a few, all in force: all are asked first, and then the event is counted in
-- all of them or in none. The parts of the limits follow each other here; each name in them ends with the number of its
-- limit. ARGV[1]: the numbers of all limits. ARGV[2]: the operation, by default `check`.
local key = KEYS[1]
local found = call('GET', key)
local s, i = found or INITIAL, 1
--- look
local passes, deed = PASSES, ARGV[2]
if deed ~= 'peek' and deed ~= 'peek+' then
  local counted = passes or deed == 'charge'
  --- keep
  if CHANGED then
    local bytes, life = BYTES, math.max(LIVES)
    --- store
    found = bytes
  end
end
local reply = pack('FORMAT', OUTCOMES)
if deed == 'check+' or deed == 'peek+' then
  reply = reply .. pack('<d', now)
  if found then reply = reply .. pack('<BI4', 1, #found) .. found else reply = reply .. '\0' end
end
return reply
