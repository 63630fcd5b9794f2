-- Asks ratescope run whether a request passes: txn.ratescope is then "passed", "refused" or "failed", and
-- txn.ratescope_retry the seconds after which a refused one would pass.
local service = "http://127.0.0.1:8080/auth/web"

core.register_action("ratescope", { "http-req" }, function(txn)
  local answer = core.httpclient():get({
    url = service,
    -- In milliseconds.
    timeout = 250,
    headers = {
      ["x-forwarded-for"] = { txn.f:src() },
      ["x-forwarded-method"] = { txn.f:method() },
      ["x-forwarded-uri"] = { txn.f:pathq() },
      ["x-forwarded-host"] = { txn.sf:req_hdr("host") },
      ["x-user"] = { txn.sf:req_hdr("x-user") },
    },
  })
  local status = answer and answer.status or 0
  local result = "failed"
  if status == 200 then result = "passed" elseif status == 429 then result = "refused" end
  local retry = answer and answer.headers and answer.headers["retry-after"]
  txn:set_var("txn.ratescope", result)
  txn:set_var("txn.ratescope_retry", retry and retry[0] or "1")
end)
