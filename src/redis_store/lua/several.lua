-- A few limits at one key, all of them in force: all are asked first, and then counted in all or in
-- none. The parts of each limit stand one after the other, with its number after each of their names.
-- ARGV: the numbers of all, and the operation, by default `check`.
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
