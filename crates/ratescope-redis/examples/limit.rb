# Decides by a limit on Redis: ruby limit.rb USER, after ratescope script 'gcra 10/1m burst 5 per user' > limit.lua

require "redis"

CLIENT = Redis.new(url: ENV.fetch("REDIS_URL", "redis://127.0.0.1:6379"))
SHA = CLIENT.script(:load, File.read("limit.lua"))

def allowed?(user, cost = 1)
  passes, _wait, level, bound = CLIENT.evalsha(SHA, keys: ["limit:{user=#{user}}"], argv: [cost])
  puts format("%s: %s, %g of %g", user, passes == 1 ? "allowed" : "refused", level, bound)
  passes == 1
end

exit(allowed?(ARGV.fetch(0)) ? 0 : 1)
