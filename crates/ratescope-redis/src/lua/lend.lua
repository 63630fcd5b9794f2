-- Lends events of some keys, if the events of each that all processes hold stay within a bound. Each of these keys has
-- one more key, for its leases, which are the last ones. The last argument has for each of them: the number of the
-- process, of the lease, and of an earlier lease that was used up; the length in microseconds, the amount, and the
-- bound.
-- Source: crates/ratescope/src/share.rs, `Lent`.
--
-- The leases of a key are a hash. The field '' is the time of the first; the field of a lease has its end and its amount.
-- They are by the clock of Redis, whatever the clock of the events is.
local lend_, lends_, holders_, leases_ = ARGV[#ARGV], true, '', {}
local clock_ = call('TIME')
local real_ = clock_[1] * 1000000 + clock_[2]
for n_ = 1, #lend_ / 48 do
  local from_ = n_ * 48 - 47
  local key_ = table.remove(KEYS, #KEYS - #lend_ / 48 + n_)
  local own_, lease_ = sub(lend_, from_, from_ + 7), sub(lend_, from_, from_ + 15)
  local used_up_ = own_ .. sub(lend_, from_ + 16, from_ + 23)
  local length_, amount_, most_ = unpack('<ddd', lend_, from_ + 24)
  local since_, sum_, count_, seen_, held_ = nil, amount_, 1, {}, call('HGETALL', key_)
  for i_ = 1, #held_, 2 do
    local field_, ends_, lent_ = held_[i_], unpack('<dd', held_[i_ + 1])
    if field_ == '' then
      since_ = ends_
    -- An end that is far ahead is of a clock that was set back.
    elseif field_ == used_up_ or ends_ + length_ + 1000000 <= real_ or ends_ > real_ + 60000000 then
      call('HDEL', key_, field_)
    elseif sub(field_, 1, 8) ~= own_ and ends_ > real_ then
      sum_ = sum_ + lent_
      local who_ = sub(field_, 1, 8)
      if not seen_[who_] then seen_[who_], count_ = true, count_ + 1 end
    end
  end
  if not since_ or since_ > real_ then
    since_ = real_
    call('HSET', key_, '', pack('<dd', since_, 0))
  end
  if real_ - since_ < length_ or sum_ > most_ then lends_ = false end
  holders_ = holders_ .. pack('<I2', count_ < 65535 and count_ or 65535)
  leases_[n_] = {key_, own_, lease_, length_, amount_}
end

-- A process to which nothing is lent is known by the lease 0.
local function note_leases_(is_lent)
  for _, one_ in ipairs(leases_) do
    local key_, own_, lease_, length_, amount_ = one_[1], one_[2], one_[3], one_[4], one_[5]
    if not is_lent then lease_, amount_ = own_ .. '\0\0\0\0\0\0\0\0', 0 end
    call('HSET', key_, lease_, pack('<dd', real_ + length_, amount_))
    call('PEXPIRE', key_, ceil(length_ / 1000) * 3 + 2000)
  end
end
if not lends_ then
  note_leases_(false)
  return '\0' .. holders_
end
