-- The question about one event, or about several that are decided as one: first all limits are asked, and then the
-- event is counted in all of them or in none. ARGV[1]: the limits with their numbers. ARGV[2]: the operation.
--   check, peek, charge: as the methods of a store; by default check
--   refuse: the same as check, where something else has refused all of these events
-- With a + at its end, the answer has the states, too.
local args_, op_ = ARGV[1], ARGV[2]
-- Whether all limits let it pass; the outcomes of the limits; the states of the keys.
local looks_, charges_, tells_, allowed_, reply_, states_ = false, false, false, true, '', ''
if op_ then
  looks_, charges_ = op_ == 'peek' or op_ == 'peek+', op_ == 'charge' or op_ == 'charge+'
  tells_ = byte(op_, #op_) == 43
  allowed_ = op_ ~= 'refuse' and op_ ~= 'refuse+'
end
