package gatehouse

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

func atSpec(t *testing.T, spec string) (s cnatv1alpha1.AtSpec) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func memcachedSpec(t *testing.T, spec string) (s cachev1alpha1.MemcachedSpec) {
	t.Helper()
	defaulted := `{size: 1, image: "memcached:1", memoryLimit: 64Mi, maxConnections: 1024, threads: 4, port: 11211}`
	for _, document := range []string{defaulted, spec} {
		if err := yaml.UnmarshalStrict([]byte(document), &s, yaml.DisallowUnknownFields); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestAtDigest(t *testing.T) {
	const at = `{schedule: "2027-01-01T00:00:00Z", command: date, image: "busybox:1.37", restartPolicy: OnFailure`
	base := AtDigest(atSpec(t, at+`}`))
	for spec, same := range map[string]bool{
		at + `, suspend: true}`:                                      true, // the controller's to act on
		at + `, startingDeadlineSeconds: 5}`:                         true,
		strings.Replace(at, "00:00:00Z", "01:30:00+01:30", 1) + `}`:  true, // the same instant
		strings.Replace(at, "00:00:00Z", "00:00:00.000Z", 1) + `}`:   true,
		strings.Replace(at, "00:00:00Z", "00:00:00.001Z", 1) + `}`:   false,
		strings.Replace(at, "00:00:00Z", "00:00:00+01:00", 1) + `}`:  false,
		strings.Replace(at, "date", "date -u", 1) + `}`:              false,
		at + `, activeDeadlineSeconds: 5}`:                           false,
		at + `, env: [{name: A, value: b}]}`:                         false,
		at + `, serviceAccountName: report}`:                         false,
		strings.Replace(at, "OnFailure", "Never", 1) + `}`:           false,
		strings.Replace(at, "busybox:1.37", "busybox:1.36", 1) + `}`: false,
		at + `, resources: {limits: {memory: 1Gi}}}`:                 false,
		at + `, envFrom: [{configMapRef: {name: settings}}]}`:        false,
	} {
		if got := AtDigest(atSpec(t, spec)) == base; got != same {
			t.Errorf("%s: same digest %t, want %t", spec, got, same)
		}
	}
	if half, milli := AtDigest(atSpec(t, at+`, resources: {limits: {cpu: 0.5}}}`)), AtDigest(atSpec(t, at+`, resources: {limits: {cpu: 500m}}}`)); half != milli {
		t.Error("0.5 and 500m have two digests")
	}
	if !strings.HasPrefix(base, "sha256:") || len(base) != len("sha256:")+64 {
		t.Errorf("digest %q", base)
	}
}

func TestSchedule(t *testing.T) {
	for schedule, want := range map[string]string{
		"2027-01-01T00:00:00Z":          "2027-01-01T00:00:00Z",
		"2027-01-01T00:00:00+01:00":     "2026-12-31T23:00:00Z",
		"2027-01-01T00:00:00.250-09:30": "2027-01-01T09:30:00.25Z",
		"2027-01-01T00:00:00-00:00":     "2027-01-01T00:00:00Z",
		"tomorrow":                      "",
		"2027-02-29T00:00:00Z":          "",
		"2027-01-01T00:00:00":           "",
		"2027-12-31T23:59:60Z":          "",
		"2027-01-01T24:00:00Z":          "",
		"2027-01-01t00:00:00z":          "",
		"2027-01-01T0:00:00Z":           "",
		"2027-01-01T00:00:00,5Z":        "",
		"0000-06-01T00:00:00Z":          "",
		"0001-01-01T00:00:00.999Z":      "", // the zero time, in whole seconds
		"0001-01-01T00:00:01Z":          "0001-01-01T00:00:01Z",
		"0001-01-01T00:59:59+01:00":     "",
		"9999-12-31T23:59:59.9Z":        "9999-12-31T23:59:59.9Z",
		"9999-12-31T23:59:59-01:00":     "",
	} {
		got, err := Schedule(cnatv1alpha1.AtSpec{Schedule: schedule})
		if (err != nil) != (want == "") || err == nil && got.Format("2006-01-02T15:04:05.999999999Z07:00") != want {
			t.Errorf("%s: %v, %v, want %s", schedule, got, err, want)
		}
	}
}

func TestMemcachedResources(t *testing.T) {
	for spec, want := range map[string]string{
		`{}`:                                     `{limits: {memory: 150Mi}, requests: {memory: 150Mi}}`,
		`{resources: {requests: {cpu: 1}}}`:      `{limits: {memory: 150Mi}, requests: {cpu: 1, memory: 150Mi}}`,
		`{resources: {requests: {memory: 1Gi}}}`: `{requests: {memory: 1Gi}}`,
		`{resources: {limits: {memory: 80Mi}}}`:  `{limits: {memory: 80Mi}}`,
	} {
		var resources corev1.ResourceRequirements
		if err := yaml.Unmarshal([]byte(want), &resources); err != nil {
			t.Fatal(err)
		}
		got, _ := yaml.Marshal(memcachedResources(memcachedSpec(t, spec)))
		normal, _ := yaml.Marshal(resources)
		if string(got) != string(normal) {
			t.Errorf("%s:\n%swant\n%s", spec, got, normal)
		}
	}
}

// The API server's own evaluation of Pod Security finds nothing against any Pod.
func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := &cnatv1alpha1.At{Spec: atSpec(t, `{schedule: "2027-01-01T00:00:00Z", command: date, serviceAccountName: a}`)}
	cache := &cachev1alpha1.Memcached{Spec: memcachedSpec(t, `{exporter: {image: exporter, port: 9150}}`)}
	for _, object := range append(At(at), Memcached(cache)...) {
		pod := podOf(object)
		if pod == nil {
			continue
		}
		for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
			if !result.Allowed {
				t.Errorf("%T: %s: %s", object, result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
	}
}

func podOf(object Object) *corev1.PodTemplateSpec {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil
	}
	for _, fields := range [][]string{{}, {"spec", "template"}} {
		pod := content
		if len(fields) > 0 {
			pod, _, _ = unstructured.NestedMap(content, fields...)
		}
		var template corev1.PodTemplateSpec
		if runtime.DefaultUnstructuredConverter.FromUnstructured(pod, &template) == nil && len(template.Spec.Containers) > 0 {
			return &template
		}
	}
	return nil
}

func TestHashName(t *testing.T) {
	pod := func(change string) string {
		p := &unstructured.Unstructured{}
		content := `{apiVersion: v1, kind: Pod, metadata: {name: report, labels: {cnat.programming-kubernetes.info/at: report` + change + `}}}`
		if err := yaml.Unmarshal([]byte(content), &p.Object); err != nil {
			t.Fatal(err)
		}
		if err := HashName(p); err != nil {
			t.Fatal(err)
		}
		first := p.GetName()
		if err := HashName(p); err != nil || p.GetName() != first {
			t.Errorf("sealed twice: %s, then %s (%v)", first, p.GetName(), err)
		}
		return first
	}
	plain, changed := pod(""), pod(", team: a")
	if plain == changed || !strings.HasPrefix(plain, "report-") || len(plain) != len("report-")+10 {
		t.Errorf("names %s and %s", plain, changed)
	}
}

// A Memcached and an At have what is rendered from them in their own wave: a sync of
// Argo CD waits until they are healthy, and without it they never are. The name of a Pod
// says nothing of the wave.
func TestWaves(t *testing.T) {
	const wave = "argocd.argoproj.io/sync-wave"
	names := map[string]bool{}
	for _, annotations := range []map[string]string{nil, {wave: "-5"}, {wave: "1000"}, {wave: ""}} {
		want, isSet := annotations[wave]
		for _, kind := range []string{"At", "Memcached"} {
			owner := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(map[string]string{
				"At":        `{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: a}, spec: {schedule: "2027-01-01T00:00:00Z", command: date}}`,
				"Memcached": `{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: a}, spec: {size: 2, memoryLimit: 64Mi, maxConnections: 1024, threads: 4, port: 11211}}`,
			}[kind]), &owner.Object); err != nil {
				t.Fatal(err)
			}
			owner.SetAnnotations(annotations)
			rendered, err := Expand(owner)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range rendered {
				if got, ok := o.GetAnnotations()[wave]; got != want || ok != isSet {
					t.Errorf("%s of %s %v: wave %q", o.GetKind(), kind, annotations, got)
				}
				if err := HashName(o); err != nil {
					t.Fatal(err)
				}
				if o.GetKind() == "Pod" {
					names[o.GetName()] = true
				}
			}
		}
	}
	if len(names) != 1 {
		t.Errorf("Pods have the names %v, want one", names)
	}
}

// The Pod of an At is in no backup, whatever its At says, and its name says nothing of that.
func TestExcludeFromBackup(t *testing.T) {
	names := map[string]bool{}
	for _, labels := range []map[string]string{nil, {excludeFromBackup: "false"}, {excludeFromBackup: "true"}} {
		at := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(`{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: a}, spec: {schedule: "2027-01-01T00:00:00Z", command: date}}`), &at.Object); err != nil {
			t.Fatal(err)
		}
		at.SetLabels(labels)
		rendered, err := Expand(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := rendered[0].GetLabels()["velero.io/exclude-from-backup"]; got != "true" {
			t.Errorf("%v: %q", labels, got)
		}
		for range 2 { // with the label, and as earlier versions made it
			if err := HashName(rendered[0]); err != nil {
				t.Fatal(err)
			}
			names[rendered[0].GetName()] = true
			unstructured.RemoveNestedField(rendered[0].Object, "metadata", "labels", excludeFromBackup)
		}
	}
	if len(names) != 1 {
		t.Errorf("names %v", names)
	}
}
