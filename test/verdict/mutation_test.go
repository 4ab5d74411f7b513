package verdict_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
	render "example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/test/apiserver"
)

// mutationCase has policies, which match the objects of one Namespace.
type mutationCase struct {
	Title    string
	Policies []map[string]any // the specs; operations and apiVersions are fields of their rule
	Binding  map[string]any   // the spec of each binding
	Params   []map[string]any
	Objects  []map[string]any
	// Resources are the resources that the policies match; all if it is empty.
	Resources []any
}

// objects returns the objects of a case with a number: the policies, which come first, and the others.
func (c mutationCase) objects(t *testing.T, number int, version string) (policies, others []*unstructured.Unstructured) {
	t.Helper()
	space := fmt.Sprintf("case-%d", number)
	object := func(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}}
	}
	take := func(spec map[string]any, name string, otherwise any) any {
		value, ok := spec[name]
		if delete(spec, name); ok {
			return value
		}
		return otherwise
	}
	all := any([]any{"*"})
	if len(c.Resources) > 0 {
		all = c.Resources
	}
	for i, spec := range c.Policies {
		rule := map[string]any{
			"apiGroups": []any{"*"}, "apiVersions": take(spec, "apiVersions", []any{"*"}), "operations": take(spec, "operations", []any{"CREATE"}), "resources": all,
		}
		constraints := take(spec, "matchConstraints", map[string]any{}).(map[string]any)
		constraints["resourceRules"] = []any{rule}
		spec["matchConstraints"] = constraints
		spec["reinvocationPolicy"] = take(spec, "reinvocationPolicy", "Never")
		for _, mutation := range spec["mutations"].([]any) {
			of := mutation.(map[string]any)
			if of["patchType"] = "ApplyConfiguration"; of["jsonPatch"] != nil {
				of["patchType"] = "JSONPatch"
			}
		}
		name := fmt.Sprintf("%s-%d", space, i)
		binding := map[string]any{"policyName": name, "matchResources": map[string]any{
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": space}},
		}}
		for key, value := range c.Binding {
			binding[key] = value
		}
		policies = append(policies, object(version, "MutatingAdmissionPolicy", name, spec), object(version, "MutatingAdmissionPolicyBinding", name, binding))
	}
	others = append(others, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": space}}})
	for i, content := range append(c.Params, c.Objects...) {
		u := &unstructured.Unstructured{Object: plain(t, content, number).(map[string]any)}
		if u.SetNamespace(space); i >= len(c.Params) {
			u.SetName(fmt.Sprintf("object-%d", i))
		}
		others = append(others, u)
	}
	return policies, others
}

// Objects are changed by MutatingAdmissionPolicies of render and of the API server in the same way, and refused
// alike.
func TestMutationsAreTheSame(t *testing.T) {
	version := "admissionregistration.k8s.io/v1"
	mutating, stop, err := apiserver.Start(t.TempDir(), func(s *envtest.APIServer) {
		if kubernetes(t) < 36 {
			version += "beta1"
			s.Configure().Set("runtime-config", version+"=true").Set("feature-gates", "MutatingAdmissionPolicy=true")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	if _, err := envtest.InstallCRDs(mutating.Admin, envtest.CRDInstallOptions{Paths: []string{"../../apis/crds"}}); err != nil {
		t.Fatal(err)
	}
	judge := newJudgeOf(t, mutating.Admin)
	create := func(u *unstructured.Unstructured, options metav1.CreateOptions) (*unstructured.Unstructured, error) {
		resource, err := judge.resource(u)
		if err != nil {
			t.Fatal(err)
		}
		return resource.Create(t.Context(), u.DeepCopy(), options)
	}
	mutated, refused := 0, 0
	for number, c := range readMutations(t) {
		policies, others := c.objects(t, number, version)
		first := 1 + len(c.Params)
		for _, u := range append(others[:first:first], policies...) {
			if _, err := create(u, metav1.CreateOptions{}); err != nil {
				t.Fatalf("%s: %v", c.Title, err)
			}
		}
		all := make([]manifest.Object, 0, len(others)+len(policies))
		for _, u := range append(others, policies...) {
			all = append(all, manifest.Object{Unstructured: u, Written: u})
		}
		checker, _ := verdict.New(nil, gatehouse.All(), kubernetes(t), nil)
		if kubernetes(t) < 36 {
			checker.RuntimeConfig = render.RuntimeConfig(version)
		}
		mutations, _ := checker.Mutations(all)
		problems := checker.Admit(all, func(manifest.Problem) string { return "" }, func(manifest.Object) bool { return false })
		after := append([]manifest.Object{}, all...)
		for i, m := range mutations {
			if m.After != nil {
				after[i] = manifest.Object{Unstructured: m.After, Written: m.After}
			}
		}
		stored := checker.Stored(after)
		for i, u := range others[first:] {
			i += first
			wrong := ""
			for _, p := range problems {
				if p.Subject.Unstructured == u {
					wrong += p.String() + "\n"
				}
			}
			var said error
			var of *unstructured.Unstructured
			same := func(context.Context) (bool, error) { // the API server sees new policies with a delay
				of, said = create(u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if said != nil || wrong != "" {
					return said != nil && wrong != "", nil
				}
				return reflect.DeepEqual(withoutCluster(t, stored[i]), withoutCluster(t, of)), nil
			}
			if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 5*time.Second, true, same); err != nil {
				if said == nil && wrong == "" {
					t.Errorf("%s: %s: render (-) and the API server (+) store\n%s", c.Title, u.GetKind(), diff.Diff(withoutCluster(t, stored[i]), withoutCluster(t, of)))
				} else {
					t.Errorf("%s: %s: render says %q, the API server %v", c.Title, u.GetKind(), wrong, said)
				}
			}
			refused += one(said != nil)
			if mutations[i].After != nil && said == nil {
				mutated++
			}
		}
	}
	t.Logf("%d objects changed, %d refused", mutated, refused)
}

func readMutations(t *testing.T) (cases []mutationCase) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "mutations", "mutations.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var c mutationCase
		if err := yaml.UnmarshalStrict([]byte(document), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}
