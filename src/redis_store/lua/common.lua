-- What every script begins with.
local call, byte, char, sub = redis.call, string.byte, string.char, string.sub
local floor, ceil, log = math.floor, math.ceil, math.log
local pack, unpack, list = struct.pack, struct.unpack, unpack
