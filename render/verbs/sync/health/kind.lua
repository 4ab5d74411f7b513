-- Healthy when the condition Ready is true{{if .}}, and in the phases {{join . " and "}} regardless of
-- conditions{{end}}. Degraded when the condition Stalled is true: a person must act.
local health = {status = "Progressing", message = "Waiting for the controller"}
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
