-- Gives back if all else has passed. The lifetime of a key does not change.
local gives_ = allowed_ and not delayed_
for n = asked_ + 1, #KEYS do
  local key, count, i, value = KEYS[n], byte(args_, rest_), 1, ''
  local is_ring = count == 0
  local found_ = found_at_(key, is_ring)
  rest_ = rest_ + 1
  for _ = 1, is_ring and 1 or count do
    local bytes
    rest_, i, bytes = gives_back_[byte(args_, rest_)](key, found_, i, rest_ + 6, gives_)
    value = value .. bytes
  end
  if is_ring then
    found_ = value ~= '' and value
  elseif found_ and gives_ then
    call('SET', key, value, 'KEEPTTL')
    found_ = value
  end
  if tells_ then
    told_[n] = tell_(found_)
    -- The parts of the answer that told of this key before are out of date.
    for before = 1, gives_ and n - 1 or 0 do
      if KEYS[before] == key then told_[before] = told_[n] end
    end
  end
end
