-- Writes the states of a key, which are useless after `life` microseconds. The key lives a second longer
-- than that, and at least `shortest` milliseconds. If `life` is infinite, it lives for `shortest`, or for
-- ever if that is 0.
if life == 1 / 0 and shortest == 0 then
  call('SET', key, bytes)
else
  life = life / 1000 + 1001
  life = life - life % 1
  if not (life > shortest) then life = shortest end
  if not (life < 1e14) then life = shortest > 0 and shortest or 1e14 end
  call('SET', key, bytes, 'PX', life)
end
