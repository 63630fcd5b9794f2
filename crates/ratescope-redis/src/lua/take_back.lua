-- Takes a lease back, which is at the last key. If it is not known there, nothing is given back.
local held_ = table.remove(KEYS)
if call('HDEL', held_, ARGV[#ARGV]) == 0 then return '' end
