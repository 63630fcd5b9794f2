key_ = function(n, next_)
  if n > asked_ then
    rest_ = next_
    return
  end
  local key, count = KEYS[n], byte(args_, next_)
  local is_ring = count == 0
  local found_ = found_at_(key, is_ring)
  local bytes, life, changed = ask_(key, found_, 1, next_ + 1, is_ring and 1 or count, n)
  if changed then
    found_ = bytes
    --- store
  end
  if is_ring then found_ = bytes end
  if tells_ then told_[n] = tell_(found_) end
end
key_(1, 11)
