// Package admission_test tests that render and a real API server accept the same objects, created or
// applied, also in Namespaces with Pod Security.
package admission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/test/apiserver"
)

var server apiserver.Server

func TestMain(m *testing.M) { apiserver.Run(m, &server) }

// namespaces has the Pod Security levels of Namespaces.
var namespaces = map[string]string{"open": "privileged", "base": "baseline", "strict": "restricted"}

// pod returns a Pod with more metadata, more fields of its container, and more of its spec.
func pod(namespace, metadata, container, spec string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: %s, %s}, spec: {containers: [{name: a, image: a, %s}], %s}}",
		namespace, metadata, container, spec)
}

func at(spec string) string {
	return "{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: a, namespace: open}, " +
		`spec: {schedule: "2100-01-01T00:00:00Z", command: date, ` + spec + "}}"
}

func serviceAccount(fields string) string {
	return "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: open}, " + fields + "}"
}

func namespace(name, labels string) string {
	return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + ", labels: {" + labels + "}}}"
}

// The fields that the level restricted requires of containers and of Pods.
const (
	safe    = "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}"
	nonRoot = "securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}"
)

// object is a manifest with the field that render refuses, if any.
type object struct{ yaml, field string }

var objects = []object{
	{pod("base", "", "", ""), ""},
	{pod("base", "", "", "hostPID: true"), "spec.hostPID"},
	{pod("base", "", "ports: [{containerPort: 80}]", "hostNetwork: true"), "spec.containers[0]"},
	{pod("base", "", "ports: [{containerPort: 80, hostPort: 80}]", ""), "spec.containers[0]"},
	{pod("base", "", "securityContext: {privileged: true}", ""), "spec.containers[0].securityContext.privileged"},
	{pod("base", "", "securityContext: {capabilities: {add: [CHOWN, SYS_TIME]}}", ""), "spec.containers[0].securityContext.capabilities.add"},
	{pod("base", "", "livenessProbe: {tcpSocket: {port: 80, host: a}}", ""), "spec.containers[0]"},
	{pod("base", "", "", "volumes: [{name: a, hostPath: {path: /}}]"), "spec.volumes[0]"},
	{pod("base", "", "", "volumes: [{name: a, nfs: {server: a, path: /}}]"), ""},
	{pod("base", "", "", "securityContext: {sysctls: [{name: kernel.msgmax, value: a}]}"), "spec"},
	{pod("base", "", "", "securityContext: {seLinuxOptions: {type: spc_t}}"), "spec.securityContext.seLinuxOptions"},
	{pod("strict", "", safe, nonRoot), ""},
	{pod("strict", "", safe, nonRoot+", volumes: [{name: a}]"), ""},
	{pod("strict", "", safe, nonRoot+", volumes: [{name: a, nfs: {server: a, path: /}}]"), "spec.volumes[0]"},
	{pod("strict", "", safe, "securityContext: {seccompProfile: {type: RuntimeDefault}}"), "spec.securityContext.runAsNonRoot"},
	{pod("strict", "", safe, "securityContext: {runAsNonRoot: true}"), "spec.securityContext.seccompProfile.type"},
	{pod("strict", "", strings.Replace(safe, "ALL", "CHOWN", 1), nonRoot), "spec.containers[0].securityContext.capabilities.drop"},
	{pod("strict", "", strings.Replace(safe, "false", "true", 1), nonRoot), "spec.containers[0].securityContext.allowPrivilegeEscalation"},
	{pod("strict", "", "", "os: {name: windows}, securityContext: {runAsNonRoot: true}"), ""},
	{pod("open", "creationTimestamp: null, labels: {a: null}, annotations: null", "args: [a, a], env: [{name: a, value: null}], resources: {limits: {cpu: null}}", ""), ""},
	{pod("open", "", "env: [{name: a}, {name: b}, {name: a}]", ""), "spec.containers[0].env[2]"},
	{pod("open", "", "ports: [{containerPort: 80, name: a}, {containerPort: 80, name: b}]", ""), "spec.containers[0].ports[1]"},
	{pod("open", "", "ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]", ""), ""},
	{pod("open", "", "", "hostAliases: [{ip: 10.0.0.1}, {ip: 10.0.0.1}]"), "spec.hostAliases[1]"},
	{pod("open", "", "", "tolerations: [{key: a, operator: Exists}, {key: a, operator: Exists}]"), ""},
	{pod("open", "finalizers: [a.b/c, a.b/c]", "", ""), "metadata.finalizers[1]"},
	{pod("open", "managedFields: []", "", ""), "metadata.managedFields"},
	{pod("open", "uid: a", "", ""), "metadata.uid"},
	{serviceAccount("secrets: [{name: a}]"), ""},
	{serviceAccount("secrets: [{namespace: a}]"), "secrets[0]"},
	{serviceAccount("secrets: [null]"), "secrets[0]"},
	{serviceAccount("imagePullSecrets: [{name: a}, {name: a}]"), ""},
	{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: open}, data: {a: null}}", ""},
	{at("suspend: null, image: null, env: [{name: A, value: null}], resources: {limits: {cpu: null}}"), ""},
	{at("env: [{name: A}, {name: A}]"), "spec.env[1]"},
	{namespace("a", "pod-security.kubernetes.io/warn: none"), "metadata.labels[pod-security.kubernetes.io/warn]"},
	{namespace("a", `pod-security.kubernetes.io/audit-version: "1.30"`), "metadata.labels[pod-security.kubernetes.io/audit-version]"},
	{namespace("a", "pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: v1.99"), ""},
}

// relaxed has objects that Pod Security refuses before a version of Kubernetes.
var relaxed = []struct {
	object
	since string
}{
	{object{pod("strict", "", safe, "hostUsers: false, securityContext: {runAsUser: 0, seccompProfile: {type: RuntimeDefault}}"), "spec.securityContext.runAsNonRoot"}, "1.35"},
	{object{pod("base", "", "securityContext: {procMount: Unmasked}", "hostUsers: false"), "spec.containers[0].securityContext.procMount"}, "1.35"},
	{object{pod("base", "", "", "securityContext: {sysctls: [{name: net.ipv4.tcp_notsent_lowat, value: a}]}"), "spec"}, "1.37"},
}

func TestVerdictMatchesAdmission(t *testing.T) {
	admin, err := client.New(server.Admin, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, level := range namespaces {
		if err := admin.Create(t.Context(), parse(t, labelled(name, level))); err != nil {
			t.Fatal(err)
		}
	}
	all := slices.Clone(objects)
	for _, r := range relaxed {
		if server.Kubernetes >= r.since {
			r.field = ""
		}
		all = append(all, r.object)
	}
	for _, test := range all {
		written, wrong := renderObject(t, test.yaml)
		if wrong != test.field {
			t.Errorf("%s: render finds %q wrong, want %q", test.yaml, wrong, test.field)
			continue
		}
		u := written
		if u == nil {
			u = parse(t, test.yaml)
		}
		created := admin.Create(t.Context(), u.DeepCopy(), client.DryRunAll)
		applied := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("test"), client.DryRunAll)
		if isLetIn := created == nil && applied == nil; isLetIn != (written != nil) {
			t.Errorf("%s: render finds %q wrong, the API server says, when it is created: %v, when it is applied: %v", test.yaml, wrong, created, applied)
		}
	}
	if !t.Failed() {
		t.Logf("render and the API server agree on %d objects", len(all))
	}
}

func labelled(name, level string) string {
	return namespace(name, "pod-security.kubernetes.io/enforce: "+level)
}

// renderObject returns the rendered object of a manifest, or the first refused field.
func renderObject(t *testing.T, written string) (u *unstructured.Unstructured, wrong string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "environments", "prod")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	documents := []string{written}
	for name, level := range namespaces {
		documents = append(documents, labelled(name, level))
	}
	kustomization := fmt.Sprintf("metadata: {annotations: {%s: %q}}\nresources: [all.yaml]", tree.KubernetesAnnotation, server.Kubernetes)
	for name, content := range map[string]string{"kustomization.yaml": kustomization, "all.yaml": strings.Join(documents, "\n---\n")} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	repository, err := render.Open(filepath.Dir(filepath.Dir(folder)), gatehouse.All(), render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	e := repository.Load("prod", render.LoadOptions{})
	rendering, problems := e.Rendering, e.Problems
	for _, p := range problems {
		if p.IsError() {
			return nil, p.Field
		}
	}
	id := manifest.Object{Unstructured: parse(t, written)}.ID()
	for i, o := range rendering.Objects {
		if o.ID() == id {
			return parse(t, string(rendering.Files[i].Content)), ""
		}
	}
	t.Fatalf("%s is not rendered", id)
	return nil, ""
}

func parse(t *testing.T, content string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(content), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}
