package check

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/object"
)

// restrictedField is one that a check of Pod Security looks at, by its path in a template:
// * is any index, or the end of any key, and containers are those of all kinds.
type restrictedField struct{ path, wants string }

// restrictedFields are those of each check. A check says that a Pod does not pass, but not
// where: that is found by having it judge each of these values alone.
// https://kubernetes.io/docs/concepts/security/pod-security-standards/
var restrictedFields = map[policy.CheckID][]restrictedField{
	"allowPrivilegeEscalation": {{"spec.containers[*].securityContext.allowPrivilegeEscalation", "must be false"}},
	"appArmorProfile": {
		{"spec.securityContext.appArmorProfile.type", "must be RuntimeDefault or Localhost"},
		{"spec.containers[*].securityContext.appArmorProfile.type", "must be RuntimeDefault or Localhost"},
		{"metadata.annotations[container.apparmor.security.beta.kubernetes.io/*]", "must be runtime/default or localhost/..."},
	},
	"capabilities_baseline": {{"spec.containers[*].securityContext.capabilities.add[*]", "is no capability that containers have by default: remove it"}},
	"capabilities_restricted": {
		{"spec.containers[*].securityContext.capabilities.drop", "must contain ALL"},
		{"spec.containers[*].securityContext.capabilities.add[*]", "must be none but NET_BIND_SERVICE: remove it"},
	},
	"hostNamespaces": {
		{"spec.hostNetwork", "must be false"},
		{"spec.hostPID", "must be false"},
		{"spec.hostIPC", "must be false"},
	},
	"hostPathVolumes": {{"spec.volumes[*].hostPath", "must be another kind of volume, such as emptyDir or persistentVolumeClaim"}},
	"hostPorts":       {{"spec.containers[*].ports[*].hostPort", "must not be set: write a Service"}},
	"hostProbesAndHostLifecycle": {
		{"spec.containers[*].livenessProbe.httpGet.host", toItself},
		{"spec.containers[*].livenessProbe.tcpSocket.host", toItself},
		{"spec.containers[*].readinessProbe.httpGet.host", toItself},
		{"spec.containers[*].readinessProbe.tcpSocket.host", toItself},
		{"spec.containers[*].startupProbe.httpGet.host", toItself},
		{"spec.containers[*].startupProbe.tcpSocket.host", toItself},
		{"spec.containers[*].lifecycle.postStart.httpGet.host", toItself},
		{"spec.containers[*].lifecycle.postStart.tcpSocket.host", toItself},
		{"spec.containers[*].lifecycle.preStop.httpGet.host", toItself},
		{"spec.containers[*].lifecycle.preStop.tcpSocket.host", toItself},
	},
	"privileged":           {{"spec.containers[*].securityContext.privileged", "must be false"}},
	"procMount":            {{"spec.containers[*].securityContext.procMount", "must be Default"}},
	"procMount_restricted": {{"spec.containers[*].securityContext.procMount", "must be Default"}},
	"restrictedVolumes":    {{"spec.volumes[*]", "must be a configMap, csi, downwardAPI, emptyDir, ephemeral, image, persistentVolumeClaim, projected or secret"}},
	"runAsNonRoot": {
		{"spec.securityContext.runAsNonRoot", "must be true, here or in each container"},
		{"spec.containers[*].securityContext.runAsNonRoot", "must be true"},
	},
	"runAsUser": {
		{"spec.securityContext.runAsUser", "must not be 0"},
		{"spec.containers[*].securityContext.runAsUser", "must not be 0"},
	},
	"seLinuxOptions": {
		{"spec.securityContext.seLinuxOptions.type", seLinuxTypes},
		{"spec.securityContext.seLinuxOptions.user", "must not be set"},
		{"spec.securityContext.seLinuxOptions.role", "must not be set"},
		{"spec.containers[*].securityContext.seLinuxOptions.type", seLinuxTypes},
		{"spec.containers[*].securityContext.seLinuxOptions.user", "must not be set"},
		{"spec.containers[*].securityContext.seLinuxOptions.role", "must not be set"},
	},
	"seccompProfile_baseline": {
		{"spec.securityContext.seccompProfile.type", "must be RuntimeDefault or Localhost"},
		{"spec.containers[*].securityContext.seccompProfile.type", "must be RuntimeDefault or Localhost"},
		{"metadata.annotations[seccomp.security.alpha.kubernetes.io/*]", "must be runtime/default or localhost/..."},
		{"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/*]", "must be runtime/default or localhost/..."},
	},
	"seccompProfile_restricted": {
		{"spec.securityContext.seccompProfile.type", "must be RuntimeDefault or Localhost, here or in each container"},
		{"spec.containers[*].securityContext.seccompProfile.type", "must be RuntimeDefault or Localhost"},
	},
	"sysctls": {{"spec.securityContext.sysctls[*].name", "is no sysctl that is safe for other Pods: remove it"}},
	"windowsHostProcess": {
		{"spec.securityContext.windowsOptions.hostProcess", "must be false"},
		{"spec.containers[*].securityContext.windowsOptions.hostProcess", "must be false"},
	},
}

const (
	toItself     = "must not be set: it is the Pod itself then"
	seLinuxTypes = "must be a type for containers, such as container_t"
)

// restrictedValues are errors of the values that keep a template from passing a check.
func (t podTemplate) restrictedValues(level api.LevelVersion, check policy.CheckID) (errs field.ErrorList) {
	fields := restrictedFields[check]
	ofPod := fields[0]
	for _, f := range fields {
		for _, keys := range t.expand(f.path) {
			value := decoding.At(t.written, keys)
			inherits := value == nil && f != ofPod && f.path == containerPath(ofPod.path)
			if inherits && decoding.At(t.written, object.SplitField(ofPod.path)) != nil || t.passesAlone(level, check, keys, value) {
				continue
			}
			err := t.restricted(keys, value, f.wants)
			if inherits { // it is written once for all
				err = t.restricted(object.SplitField(ofPod.path), nil, ofPod.wants)
			}
			if !slices.ContainsFunc(errs, func(known *field.Error) bool { return known.Field == err.Field }) {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// restricted is the error of a value that is not allowed, or of none.
func (t podTemplate) restricted(keys []string, value any, wants string) *field.Error {
	err := &field.Error{Type: field.ErrorTypeInvalid, Field: t.fieldOf(keys, value), BadValue: value, Detail: wants}
	if value == nil {
		err.Type = field.ErrorTypeRequired
	}
	return err
}

// containerPath is that of a field in containers which the one of the Pod stands in for.
func containerPath(path string) string {
	return strings.Replace(path, "spec.securityContext.", "spec.containers[*].securityContext.", 1)
}

// fieldOf is the path of a value in the object. Of a volume it is that of its kind.
func (t podTemplate) fieldOf(keys []string, value any) string {
	keys = append(slices.Clone(t.path), keys...)
	if volume, ok := value.(map[string]any); ok && len(volume) == 2 && volume["name"] != nil {
		for key := range volume {
			if key != "name" {
				keys = append(keys, key)
			}
		}
	}
	return object.JoinField(keys)
}

// containerLists are where a Pod has containers.
var containerLists = []string{"initContainers", "containers", "ephemeralContainers"}

// expand returns the paths in the template that a pattern stands for. The last key need
// not be there.
func (t podTemplate) expand(pattern string) (paths [][]string) {
	inContainers, ok := strings.CutPrefix(pattern, "spec.containers[*].")
	if !ok {
		return expand(t.written, nil, object.SplitField(pattern))
	}
	for _, list := range containerLists {
		paths = append(paths, expand(t.written, nil, object.SplitField("spec."+list+"[*]."+inContainers))...)
	}
	return paths
}

// expand returns the paths in content, which is at a path, that the keys of a pattern
// stand for.
func expand(content any, path, pattern []string) (paths [][]string) {
	if len(pattern) == 0 {
		return [][]string{slices.Clone(path)}
	}
	mapping, _ := content.(map[string]any)
	prefix, isPattern := strings.CutSuffix(pattern[0], "*")
	switch items, _ := content.([]any); {
	case !isPattern:
		return expand(mapping[pattern[0]], append(path, pattern[0]), pattern[1:])
	case prefix == "":
		for i, item := range items {
			paths = append(paths, expand(item, append(path, "["+strconv.Itoa(i)+"]"), pattern[1:])...)
		}
	default:
		for _, key := range slices.Sorted(maps.Keys(mapping)) {
			if strings.HasPrefix(key, prefix) {
				paths = append(paths, expand(mapping[key], append(path, key), pattern[1:])...)
			}
		}
	}
	return paths
}

// passesAlone says whether a Pod passes a check that has the value at a path, and else
// obeys.
func (t podTemplate) passesAlone(level api.LevelVersion, check policy.CheckID, path []string, value any) bool {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(t.obedient(path, value), pod); err != nil {
		return true // it could be converted before
	}
	legacyscheme.Scheme.Default(pod)
	return !slices.ContainsFunc(failedChecks(level, &pod.ObjectMeta, &pod.Spec), func(r policy.CheckResult) bool {
		return r.ForbiddenReason == string(check)
	})
}

// obedient is a Pod with the containers of the template that obeys all checks, but for the
// value at a path.
func (t podTemplate) obedient(path []string, value any) map[string]any {
	spec := map[string]any{}
	written, _ := t.written["spec"].(map[string]any)
	for _, key := range []string{"os", "hostUsers"} { // they decide what is checked
		if written[key] != nil {
			spec[key] = written[key]
		}
	}
	for _, list := range containerLists {
		containers, _ := written[list].([]any)
		obedient := make([]any, len(containers))
		for i, c := range containers {
			container, _ := c.(map[string]any)
			obedient[i] = map[string]any{"name": container["name"], "securityContext": map[string]any{
				"allowPrivilegeEscalation": false,
				"capabilities":             map[string]any{"drop": []any{"ALL"}},
				"runAsNonRoot":             true,
				"seccompProfile":           map[string]any{"type": string(corev1.SeccompProfileTypeRuntimeDefault)},
			}}
		}
		spec[list] = obedient
	}
	pod := map[string]any{"spec": spec}
	if value != nil {
		setAt(pod, path, value)
	} else if parent, ok := decoding.At(pod, path[:len(path)-1]).(map[string]any); ok {
		delete(parent, path[len(path)-1])
	}
	return pod
}

// setAt returns content with a value at a path. In a list that is too short the value, or
// what holds it, is the last item.
func setAt(content any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if strings.HasPrefix(path[0], "[") {
		items, _ := content.([]any)
		index, _ := strconv.Atoi(strings.Trim(path[0], "[]"))
		if index >= len(items) {
			items, index = append(items, nil), len(items)
		}
		items[index] = setAt(items[index], path[1:], value)
		return items
	}
	mapping, ok := content.(map[string]any)
	if !ok {
		mapping = map[string]any{}
	}
	mapping[path[0]] = setAt(mapping[path[0]], path[1:], value)
	return mapping
}
