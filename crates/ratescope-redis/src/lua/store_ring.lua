-- The same for the head of a ring, or for a `fresh` ring.
life = life / 1000 + 1001
life = life - life % 1
if not (life > shortest) then life = shortest end
if fresh then
  call('SET', key, bytes, 'PX', life)
else
  call('SETRANGE', key, 0, bytes)
  call('PEXPIRE', key, life)
end
