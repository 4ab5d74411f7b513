package verdict_test

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// drawSpec draws a Memcached or an At with mostly valid fields.
func drawSpec(r *rapid.T) *unstructured.Unstructured {
	kind := rapid.SampledFrom([]string{"Memcached", "At"}).Draw(r, "kind")
	spec, apiVersion := drawMemcached(r), "cache.example.com/v1alpha1"
	if kind == "At" {
		spec, apiVersion = drawAt(r), "cnat.programming-kubernetes.info/v1alpha1"
	}
	metadata := map[string]any{"name": good("a", "my-cache", strings.Repeat("a", 51)).or(strings.Repeat("a", 52), "1a", "A", "a.b", "a_b", "-a").draw(r, "name")}
	maybe(r, metadata, "namespace", good("default"))
	maybe(r, metadata, "labels", mapOf(
		good("team", "example.com/team", "app.kubernetes.io/part-of", strings.Repeat("k", 63)).or("a b", "", "Example.com/a", strings.Repeat("k", 64)),
		good("a", "", "A.b_c-1", strings.Repeat("v", 63)).or("a b", "-", strings.Repeat("v", 64), int64(1), nil)))
	maybe(r, metadata, "annotations", mapOf(
		good("team", "example.com/Note", strings.Repeat("k", 63)).or("a b", strings.Repeat("k", 64)),
		good("a", "", "any text: é\n", "1").or(nil)))
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec}}
}

func drawMemcached(r *rapid.T) map[string]any {
	spec := map[string]any{}
	maybe(r, spec, "size", good(int64(1), int64(2), int64(3)).or(int64(0), int64(4), "2", 1.5, nil))
	maybe(r, spec, "image", images)
	maybe(r, spec, "memoryLimit", good("2Mi", "64Mi", "3000Ki", "1.5Gi", "1e9", "1Ti", int64(67108864), "67108864", "100M").or("1Mi", "2Ti", "64MB", "-1Mi", "", 1.5, nil, "2097151"))
	maybe(r, spec, "maxConnections", good(int64(32), int64(1024), int64(1000000)).or(int64(31), int64(1000001), nil))
	maybe(r, spec, "threads", good(int64(1), int64(4), int64(64)).or(int64(0), int64(65)))
	maybe(r, spec, "port", good(int64(1024), int64(11211), int64(65535), int64(9151)).or(int64(1023), int64(65536), int64(9150)))
	maybe(r, spec, "args", listOf(good("-v", "", "$(A)", "$$(A)", "a b\n", strings.Repeat("a", 1024)).or(strings.Repeat("a", 1025), nil, int64(1))))
	maybe(r, spec, "resources", drawn(drawResources))
	maybe(r, spec, "exporter", drawn(func(r *rapid.T) any {
		exporter := map[string]any{}
		maybe(r, exporter, "image", images)
		maybe(r, exporter, "port", good(int64(1024), int64(9150), int64(65535)).or(int64(1023), int64(11211)))
		return exporter
	}))
	maybe(r, spec, "replicas", value{}.or(int64(1)))
	return spec
}

func drawAt(r *rapid.T) map[string]any {
	spec := map[string]any{
		"schedule": good("2027-01-01T00:00:00Z", "2027-01-01T00:00:00.123456789+23:59", "0001-01-01T00:00:01Z", "9999-12-31T23:59:59.999999999Z", "2027-03-28T03:00:00+02:00[Europe/Berlin]", "2027-03-28T06:00:00Z[Asia/Tokyo]").
			or("2027-03-28T03:00:00+01:00[Europe/Berlin]", "2027-03-28T06:00:00Z[Asia/Edo]", "2027-01-01", "2027-02-29T00:00:00Z", "10000-01-01T00:00:00Z", "2027-01-01T00:00:00,5Z", "").draw(r, "schedule"),
		"command": good("echo hello", "$(A) $$(A)", " ", "a\nb", strings.Repeat("a", 65536)).or("", strings.Repeat("a", 65537), nil).draw(r, "command"),
	}
	maybe(r, spec, "image", images)
	maybe(r, spec, "startingDeadlineSeconds", good(int64(1), int64(3153600000)).or(int64(0), int64(3153600001)))
	maybe(r, spec, "activeDeadlineSeconds", good(int64(1), int64(2147483647)).or(int64(0), int64(2147483648)))
	maybe(r, spec, "restartPolicy", good("OnFailure", "Never").or("Always", "", nil))
	maybe(r, spec, "suspend", good(true, false).or("true", nil))
	maybe(r, spec, "env", drawn(drawEnv))
	maybe(r, spec, "envFrom", listOf(drawn(drawEnvFrom)))
	maybe(r, spec, "resources", drawn(drawResources))
	maybe(r, spec, "serviceAccountName", good("runner", "my.runner", strings.Repeat("a", 253)).or("My_SA", "", strings.Repeat("a", 254), "a..b"))
	return spec
}

var images = good("busybox", "busybox:1.37", "example.com:5000/a/b@sha256:"+strings.Repeat("0", 64), "a b", "BUSYBOX", "a:b:c", strings.Repeat("i", 512)).
	or(" busybox", "busybox ", "busybox\n", " ", "", strings.Repeat("i", 513), "\tbusybox", nil)

func drawEnv(r *rapid.T) any {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B_C", "a.b-c", "1A", "a b"}), 0, 3, rapid.ID).Draw(r, "names")
	env := []any{}
	for _, name := range names {
		variable := map[string]any{"name": good(name).or("A=B", "", "A", nil).draw(r, "variable")}
		maybe(r, variable, "value", good("a", "", "$(A)", "$$(B)", "a\nb").or(int64(1), true, nil))
		if variable["value"] == nil || rapid.IntRange(0, 9).Draw(r, "both") == 0 {
			maybe(r, variable, "valueFrom", drawn(drawValueFrom))
		}
		env = append(env, variable)
	}
	return env
}

func drawValueFrom(r *rapid.T) any {
	key := func(r *rapid.T) any {
		ref := map[string]any{"name": objectNames.draw(r, "name"), "key": good("a", "A.b_c-1", strings.Repeat("k", 253)).or("a b", "", "..", strings.Repeat("k", 254)).draw(r, "key")}
		maybe(r, ref, "optional", good(true, false))
		return ref
	}
	return sources(r, map[string]value{
		"configMapKeyRef": drawn(key),
		"secretKeyRef":    drawn(key),
		"fieldRef": drawn(func(r *rapid.T) any {
			ref := map[string]any{"fieldPath": good("metadata.name", "metadata.labels['app']", "status.podIP", "spec.nodeName").or("spec.replicas", "", "metadata.labels", "metadata.labels['a b']").draw(r, "field")}
			maybe(r, ref, "apiVersion", good("v1").or("v2"))
			return ref
		}),
		"resourceFieldRef": drawn(func(r *rapid.T) any {
			ref := map[string]any{"resource": good("limits.cpu", "requests.memory", "limits.ephemeral-storage").or("limits.gpu", "").draw(r, "resource")}
			maybe(r, ref, "divisor", good("1", "0").or("1Mi", "7", "x"))
			maybe(r, ref, "containerName", good("command").or("Other_1"))
			return ref
		}),
		"fileKeyRef": drawn(func(*rapid.T) any { return map[string]any{"volumeName": "a", "path": "b", "key": "C"} }),
	})
}

func drawEnvFrom(r *rapid.T) any {
	reference := drawn(func(r *rapid.T) any {
		ref := map[string]any{"name": objectNames.draw(r, "name")}
		maybe(r, ref, "optional", good(true))
		return ref
	})
	source := sources(r, map[string]value{"configMapRef": reference, "secretRef": reference})
	maybe(r, source.(map[string]any), "prefix", good("A_", "a.b-", "").or("A=", nil))
	return source
}

var objectNames = good("a", "a.b-c", strings.Repeat("n", 253)).or("A_b", "", strings.Repeat("n", 254), nil)

// sources returns one source or, by mistake, none or two.
func sources(r *rapid.T, of map[string]value) any {
	count := good(int64(1)).or(int64(0), int64(2)).draw(r, "sources").(int64)
	names := slices.Sorted(maps.Keys(of))
	chosen := map[string]any{}
	for range count {
		name := rapid.SampledFrom(names).Draw(r, "source")
		chosen[name] = of[name].draw(r, name)
	}
	return chosen
}

func drawResources(r *rapid.T) any {
	resources := map[string]any{}
	quantities := mapOf(
		good("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu").or("gpu", "hugepages-2Mi", "requests.cpu", "My/gpu", "kubernetes.io/a", ""),
		good("1", "2", int64(1), int64(2), "2e0").or("100m", "0", "1Gi", "-1", "lots", "", 0.5, nil, "100u"))
	maybe(r, resources, "requests", quantities)
	maybe(r, resources, "limits", quantities)
	maybe(r, resources, "claims", value{}.or([]any{map[string]any{"name": "a"}}, []any{}))
	return resources
}
