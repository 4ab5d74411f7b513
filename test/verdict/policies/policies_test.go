// Package policies_test compares how render and a real API server evaluate ValidatingAdmissionPolicies.
package policies_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
	kubernetes "example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/test/apiserver"
)

var server apiserver.Server

func TestMain(m *testing.M) { apiserver.Run(m, &server) }

// patience bounds how long the API server takes to see policies and kinds of parameters.
const patience = time.Minute

// answer has the denials and warnings of policies for an object.
type answer struct{ denials, warnings []string }

// agrees reports whether the answer of render matches the API server, which reports one of several
// denials. render does not repeat denials as warnings.
func (v answer) agrees(told answer) bool {
	if len(v.denials) == 0 || len(told.denials) == 0 {
		return len(v.denials) == len(told.denials) && slices.Equal(v.warnings, told.warnings)
	}
	return slices.Contains(v.denials, told.denials[0])
}

func (v answer) String() string {
	texts := []string{"ok"}
	if len(v.denials) > 0 {
		texts = v.denials
	}
	for _, warning := range v.warnings {
		texts = append(texts, "warning: "+warning)
	}
	return strings.Join(texts, "\n\t")
}

// Each file of testdata is an environment. For each of its objects, render and the API server have the
// same answer.
func TestPoliciesHaveTheSameVerdict(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			objects := read(t, file)
			rendered := renderVerdicts(t, objects)
			c := newCluster(t)
			c.install(objects)
			var told []answer
			err := wait.PollUntilContextTimeout(t.Context(), time.Second, patience, true, func(context.Context) (bool, error) {
				told = c.verdicts(objects)
				return slices.EqualFunc(rendered, told, answer.agrees), nil
			})
			for i, o := range objects {
				if !rendered[i].agrees(told[i]) {
					t.Errorf("%s\nrender:\n\t%s\nthe API server:\n\t%s", o, rendered[i], told[i])
				} else {
					t.Logf("%-40s %s", o, rendered[i])
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func read(t *testing.T, file string) (objects []manifest.Object) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(u); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, manifest.Object{Unstructured: u, Written: u})
	}
}

func renderVerdicts(t *testing.T, objects []manifest.Object) []answer {
	t.Helper()
	checker, problems := verdict.New(nil, gatehouse.All(), version(t), objects)
	_, invalid := checker.Objects(objects)
	for _, p := range append(problems, invalid...) {
		t.Fatal(p)
	}
	verdicts := make([]answer, len(objects))
	for _, p := range checker.Admit(objects, func(manifest.Problem) string { return "" }, func(manifest.Object) bool { return false }) {
		i := slices.IndexFunc(objects, func(o manifest.Object) bool { return o.Unstructured == p.Subject.Unstructured })
		verdicts[i].add(t, p)
	}
	for i := range verdicts {
		verdicts[i].sort()
	}
	return verdicts
}

// version returns the version of the API server.
func version(t *testing.T) kubernetes.Version {
	t.Helper()
	v, err := kubernetes.ParseVersion(server.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// add adds a problem in the words of the API server.
func (v *answer) add(t *testing.T, p manifest.Problem) {
	t.Helper()
	var policy, binding string
	what, message, _ := strings.Cut(p.Message, ", : ")
	if n, _ := fmt.Sscanf(what, "denied by ValidatingAdmissionPolicy %q (binding %q)", &policy, &binding); n == 2 && !p.Warning {
		v.denials = append(v.denials, fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", policy, binding, message))
	} else if n, _ := fmt.Sscanf(what, "against ValidatingAdmissionPolicy %q (binding %q only warns)", &policy, &binding); n == 2 && p.Warning {
		v.warnings = append(v.warnings, fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", policy, binding, message))
	} else {
		t.Error("neither an error nor a warning of the API server:", p)
	}
}

func (v *answer) sort() {
	slices.Sort(v.denials)
	v.denials = slices.Compact(v.denials)
	slices.Sort(v.warnings)
	v.warnings = slices.Compact(v.warnings)
}

// cluster is the API server with the rights of an administrator.
type cluster struct {
	*testing.T
	client.Client
	mutex    sync.Mutex
	warnings []string
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{T: t}
	config := rest.CopyConfig(server.Admin)
	config.WarningHandler = c
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Client = admin
	return c
}

// HandleWarningHeader keeps the warning of a policy.
func (c *cluster) HandleWarningHeader(_ int, _ string, text string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if strings.HasPrefix(text, "Validation failed for ") {
		c.warnings = append(c.warnings, text)
	}
}

// install creates the objects that policies read, then the policies, and waits until they are in
// effect.
func (c *cluster) install(objects []manifest.Object) {
	c.Helper()
	isRead := map[string]bool{"Namespace": true, "PriorityClass": true, "RuntimeClass": true, "IngressClass": true}
	for _, o := range objects {
		if kind, ok, _ := unstructured.NestedString(o.Object, "spec", "paramKind", "kind"); ok {
			isRead[kind] = true
		}
	}
	first := func(o manifest.Object) bool { return o.GetKind() == "CustomResourceDefinition" }
	isPolicy := func(o manifest.Object) bool { return o.GroupVersionKind().Group == admissionv1.GroupName }
	c.createAll(objects, first)
	c.createAll(objects, func(o manifest.Object) bool { return isRead[o.GetKind()] })
	c.createAll(objects, isPolicy)
	c.awaitPolicies()
}

func (c *cluster) createAll(objects []manifest.Object, which func(manifest.Object) bool) {
	c.Helper()
	for _, o := range objects {
		if which(o) {
			c.create(o.Unstructured)
		}
	}
}

// create creates an object as soon as the API server knows its kind, and deletes policies after the
// test.
func (c *cluster) create(u *unstructured.Unstructured) {
	c.Helper()
	c.eventually(func(ctx context.Context) error {
		err := c.Create(ctx, c.inNamespace(u))
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			c.Fatal(err)
		}
		return client.IgnoreAlreadyExists(err)
	})
	if u.GroupVersionKind().Group == admissionv1.GroupName {
		c.Cleanup(func() {
			if err := c.Delete(context.Background(), u.DeepCopy()); err != nil {
				c.Error(err)
			}
		})
	}
}

// inNamespace returns an object with its namespace, which may be the default.
func (c *cluster) inNamespace(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	if namespaced, err := c.IsObjectNamespaced(u); err == nil && namespaced && u.GetNamespace() == "" {
		u.SetNamespace("default")
	}
	return u
}

func (c *cluster) eventually(do func(context.Context) error) {
	c.Helper()
	var last error
	if err := wait.PollUntilContextTimeout(c.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = do(ctx)
		return last == nil, nil
	}); err != nil {
		c.Fatal(err, last)
	}
}

// awaitPolicies waits until a new policy is in effect. Then earlier policies are, too, and policies of
// earlier tests are gone.
func (c *cluster) awaitPolicies() {
	c.Helper()
	name := "canary-" + strings.ToLower(filepath.Base(c.Name()))
	canary := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": name},
	}}
	c.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}, "operations": []any{"CREATE"}, "resourceNames": []any{name},
			}}},
			"validations": []any{map[string]any{"expression": "false"}},
		},
	}})
	c.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"policyName": name, "validationActions": []any{"Deny"}},
	}})
	c.eventually(func(ctx context.Context) error {
		err := c.Create(ctx, canary.DeepCopy(), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), name) {
			return fmt.Errorf("the canary lives: %w", err)
		}
		return nil
	})
}

// verdicts returns the answers of the API server for objects, in their order.
func (c *cluster) verdicts(objects []manifest.Object) []answer {
	verdicts := make([]answer, len(objects))
	for i, o := range objects {
		c.warnings = nil
		err := c.Create(c.Context(), c.inNamespace(o.Unstructured), client.DryRunAll)
		verdicts[i].warnings = c.warnings
		if err != nil && !apierrors.IsAlreadyExists(err) {
			_, reason, _ := strings.Cut(err.Error(), "is forbidden: ")
			verdicts[i].denials = []string{cmp.Or(reason, err.Error())}
		}
		verdicts[i].sort()
	}
	return verdicts
}
