local cost_ = tonumber(ARGV[1] or '1')
if not (cost_ and cost_ >= 0 and cost_ <= 1e12) then
  return redis.error_reply('ERR the cost is a number from 0 to 1e12, such as 1')
end
if ARGV[2] and ARGV[2] ~= 'peek' then
  return redis.error_reply('ERR after the cost comes peek, or nothing')
end
-- The cost in whole millionths, rounded up, but for a rounding error.
local millionths_ = cost_ * 1000000
local nearest_ = floor(millionths_ + 0.5)
if math.abs(millionths_ - nearest_) <= millionths_ * 2.220446049250313e-16 then
  millionths_ = nearest_
else
  millionths_ = ceil(millionths_)
end
local looks_, charges_, tells_, allowed_ = ARGV[2] == 'peek', false, false, true
local levels_, bounds_, wait_, next_, states_ = {}, {}, 0, 1, ''
