-- An At is Healthy once its Pod is armed or held, while the command runs, and whatever came of
-- it: the result of a command is not the health of a delivery. It is Degraded when a person has
-- to act before it can run.
local health = {status = "Progressing", message = "The controller has not looked at it yet"}
local status = obj.status
if status == nil or status.observedGeneration ~= obj.metadata.generation then
  return health
end
local is = {}
for _, condition in ipairs(status.conditions or {}) do
  is[condition.type or ""] = condition.status == "True"
  if condition.type == "Ready" then
    health.message = (condition.reason or "") .. ": " .. (condition.message or "")
  end
end
if is.Ready or status.phase == "RUNNING" or status.phase == "DONE" then
  health.status = "Healthy"
elseif is.Stalled then
  health.status = "Degraded"
end
return health
