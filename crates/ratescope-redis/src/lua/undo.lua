-- Takes an event back from any limits at one key or several that have counted it. ARGV[1]: the limits with
-- their numbers, as all.lua reads them. The lifetime of a key does not change.
local args, at, writes = ARGV[1], 1, {}
for k = 1, #KEYS do
  local count, s, i = byte(args, at), call('GET', KEYS[k]), 1
  local value, changed = '', false
  at = at + 1
  for _ = 1, count do
    local kind, from, bytes = byte(args, at), i
    if s then
      at, i, bytes = undo[kind](args, at + 4, s, i)
      value, changed = value .. (bytes or sub(s, from, i - 1)), changed or bytes
    else
      at = undo[kind](args, at + 4, initial[kind], 1)
    end
  end
  if changed then writes[k] = value end
end
for k, value in pairs(writes) do call('SET', KEYS[k], value, 'KEEPTTL') end
return ''
