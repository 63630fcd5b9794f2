-- A jail of fail2ban: the event that reaches `most` in `findtime` bans its sender for `ban`, both in
-- microseconds. A count of 0 stands for a ban that ends at `last`, and may be over.
-- Source: crates/ratescope/src/limit/fail2ban.rs; fail2ban, failmanager.py and ticket.py.
local FAIL2BAN = string.rep('\0', 17) -- a ban that ended at the origin of time

--- numbers: most findtime ban
local began, last = unpack('<i8i8', s, i)
local count
count, i = whole(s, i + 16)
local at, banned, moved = now, false, false
if count == 0 then
  banned, began = now < last, now
  if banned and last > now + ban + 1 then last, moved = now + ban + 1, true end
elseif now >= last + findtime then
  began, count = now, 0
elseif last > now + findtime then
  began = now -- The clock was set back.
else
  if at < last then at = last end
  if at - began > findtime then
    local share = count / ((at - began) / 1000000) * (findtime / 1000000)
    count = floor(share)
    local rest = share - count
    if rest > 0.5 or rest == 0.5 and count % 2 == 1 then count = count + 1 end
    began = at - findtime
  end
end
-- A cost that can't be counted comes as NaN: it is refused, with NaN as the level.
local passes, level, extra = false, w, 0
local n = w == w and math.min(ceil(w / 1000000), 4294967295) or 0
if w == w then
  if banned then
    level = most
  else
    level = math.min(count + n, 4294967295)
    passes = n == 0 or level < most
  end
end

--- keep
life = last + findtime - now
if banned then
  if moved then bytes = pack('<i8i8', last, last) .. put(0) end
  life = last - now
elseif n > 0 then
  life = findtime + at - now
  if passes then
    bytes = pack('<i8i8', began, at) .. put(level)
  else
    last = now + ban + 1 -- A ban still holds when it has lasted its whole time.
    life = last - now
    bytes = pack('<i8i8', last, last) .. put(0)
  end
end
