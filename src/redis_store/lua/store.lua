-- Writes the states of a key, which are of no more use after `life` microseconds.
local function store(key, bytes, life)
  life = ceil(life / 1000) + 1000
  if life < least then life = least end
  if life < 1e14 then
    call('SET', key, bytes, 'PX', life)
  elseif least > 0 then
    call('SET', key, bytes, 'PX', least)
  else
    call('SET', key, bytes)
  end
end
