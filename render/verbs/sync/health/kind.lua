-- It is Healthy when all that its spec asks for is there{{if .}}, and in the phases {{join . " and "}}
-- whatever its conditions say{{end}}, and Degraded when a person has to act.
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
if is.Ready{{range .}} or status.phase == "{{.}}"{{end}} then
  health.status = "Healthy"
elseif is.Stalled then
  health.status = "Degraded"
end
return health
