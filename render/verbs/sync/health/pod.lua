-- The Pod of {{any .}} is Healthy: its source object has the health. For any other Pod this
-- is a copy of Argo CD's own check: gitops-engine/pkg/health/health_pod.go.
local labels = obj.metadata.labels or {}
local annotations = obj.metadata.annotations or {}
local status = obj.status or {}
local containers = status.containerStatuses or {}

{{- range .}}
if labels["{{.Label}}"] ~= nil then
  return {status = "Healthy", message = "See {{.GVK.Kind}} " .. labels["{{.Label}}"]}
end
{{- end}}

local function is_hook()
  local hook, helm = annotations["argocd.argoproj.io/hook"], annotations["helm.sh/hook"]
  if hook ~= nil then
    return hook ~= "Skip"
  end
  return helm ~= nil and helm ~= "crd-install"
end

local policy = obj.spec.restartPolicy
local stays = policy == "Always" or
  (annotations["argocd.argoproj.io/ignore-restart-policy"] == "true" and not is_hook())

if stays then
  local messages = {}
  for _, container in ipairs(containers) do
    local waiting = (container.state or {}).waiting
    local reason = waiting and waiting.reason or ""
    if reason:sub(1, 3) == "Err" or reason:sub(-5) == "Error" or reason:sub(-7) == "BackOff" then
      messages[#messages + 1] = waiting.message or ""
    end
  end
  if #messages > 0 then
    return {status = "Degraded", message = table.concat(messages, ", ")}
  end
end

local function failure(container)
  local terminated = (container.state or {}).terminated
  if terminated == nil then
    return ""
  elseif (terminated.message or "") ~= "" then
    return terminated.message
  elseif terminated.reason == "OOMKilled" then
    return terminated.reason
  elseif (terminated.exitCode or 0) ~= 0 then
    return string.format("container %q failed with exit code %d", container.name, terminated.exitCode)
  end
  return ""
end

local message = status.message or ""
if status.phase == "Pending" then
  return {status = "Progressing", message = message}
elseif status.phase == "Succeeded" then
  return {status = "Healthy", message = message}
elseif status.phase == "Failed" then
  for _, list in ipairs({status.initContainerStatuses or {}, containers}) do
    for _, container in ipairs(list) do
      if message == "" then
        message = failure(container)
      end
    end
  end
  return {status = "Degraded", message = message}
elseif status.phase == "Running" and stays then
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == "Ready" and condition.status == "True" then
      return {status = "Healthy", message = message}
    end
  end
  for _, container in ipairs(containers) do
    if (container.lastState or {}).terminated ~= nil then
      return {status = "Degraded", message = message}
    end
  end
  return {status = "Progressing", message = message}
elseif status.phase == "Running" then
  return {status = "Progressing", message = message}
end
return {status = "Unknown", message = message}
