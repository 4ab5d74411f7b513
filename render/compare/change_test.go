package compare

import (
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

func read(t *testing.T, text string) []manifest.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	objects, problems := tree.Objects("prod", []tree.File{{Content: []byte(text)}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for i, o := range objects {
		objects[i].File = "rendered/prod/" + o.GetName() + ".yaml"
	}
	return objects
}

const deployment = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        resources: {requests: {cpu: 1000m, memory: 1Gi}}
`

func TestEqualIgnoresEquivalentValues(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop, labels: {one: '1', two: '2'}}\ndata: {k: v}\n"
	for name, test := range map[string]struct {
		before, after string
		same          bool
	}{
		"order of fields":     {configMap, "data: {k: v}\nkind: ConfigMap\nmetadata: {labels: {two: '2', one: '1'}, namespace: shop, name: a}\napiVersion: v1\n", true},
		"style":               {configMap, "# why\napiVersion: \"v1\"\nkind: 'ConfigMap'\nmetadata:\n    name: a\n    namespace: shop\n    labels:\n        one: \"1\"\n        \"two\": \"2\"\ndata:\n    k: |-\n        v\n", true},
		"JSON":                {configMap, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop", "labels": {"one": "1", "two": "2"}}, "data": {"k": "v"}}`, true},
		"line ends":           {configMap, strings.ReplaceAll(configMap, "\n", "\r\n"), true},
		"order of objects":    {configMap + deployment, deployment + "---\n" + configMap, true},
		"a quantity":          {deployment, strings.NewReplacer("1000m", "1", "1Gi", "1024Mi").Replace(deployment), true},
		"nothing in a field":  {deployment, strings.Replace(deployment, "replicas: 2", "replicas: 2\n  strategy: {}", 1), true},
		"another quantity":    {deployment, strings.Replace(deployment, "1000m", "1001m", 1), false},
		"an endless quantity": {strings.Replace(deployment, "1Gi", "1e999999999", 1), strings.Replace(deployment, "1Gi", "2e999999999", 1), false},
		"order of a list":     {deployment, strings.Replace(deployment, "image: web:1", "image: web:1\n        args: [a, b]", 1), false},
		"a field of no kind":  {deployment, strings.Replace(deployment, "replicas: 2", "replicas: 2\n  replica: 2", 1), false},
		"text like a number":  {configMap, strings.Replace(configMap, "k: v", "k: '1'", 1), false},
		"version":             {"apiVersion: x.io/v1\nkind: X\nmetadata: {name: a}", "apiVersion: x.io/v2\nkind: X\nmetadata: {name: a}", false},
	} {
		e := New(gatehouse.All(), "prod", Input{Objects: read(t, test.before)}, Input{Objects: read(t, test.after)})
		if same := len(e.Changes) == 0; same != test.same {
			t.Errorf("%s: same is %t: %+v", name, same, e.Changes)
		}
		for _, c := range e.Changes {
			if c.Action() != Changed || c.Unified() == "" {
				t.Errorf("%s: %s: %s", name, c.Action(), c.Unified())
			}
		}
	}
}

func podOf(name, at, ns string) string {
	return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: " + ns + ", labels: {cnat.programming-kubernetes.info/at: " + at + "}}\n"
}

func TestDefaultNamespaceEqualsNoNamespace(t *testing.T) {
	bare := strings.Replace(deployment, ", namespace: shop", "", 1)
	changes := New(gatehouse.All(), "prod", Input{Objects: read(t, bare)}, Input{Objects: read(t, strings.Replace(bare, "name: web", "name: web, namespace: default", 1))}).Changes
	if len(changes) != 1 || changes[0].Action() != Changed || !strings.Contains(changes[0].Unified(), "+  namespace: default") {
		t.Errorf("%+v", changes)
	}
}

// A running Pod of an At cannot be changed: one of another name takes its place.
// An object that a folder and a chart deliver, with other content, changes only if one of the two does.
func TestObjectsOfSeveralDeliveriesAreComparedEach(t *testing.T) {
	labelled := strings.Replace(deployment, "namespace: shop", "namespace: shop, labels: {by: chart}", 1)
	raised := strings.Replace(labelled, "web:1", "web:2", 1)
	for name, test := range map[string]struct {
		before, after string
		want          string
	}{
		"equal":   {deployment + labelled, labelled + deployment, ""},
		"changed": {deployment + labelled, raised + deployment, "changed web:1 web:2\n"},
		"fewer":   {deployment + labelled, labelled, ""},
		"removed": {deployment + labelled, "", "removed\n"},
	} {
		got := ""
		both := New(gatehouse.All(), "prod", Input{Objects: read(t, test.before)}, Input{Objects: read(t, test.after)})
		for _, c := range both.Changes {
			if got += string(c.Action()); c.Action() == Changed {
				for _, f := range c.Fields() {
					got += " " + *f.Before + " " + *f.After
				}
			}
			got += "\n"
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestChangesHaveActions(t *testing.T) {
	before := podOf("a-1", "a", "shop") + podOf("b-1", "b", "shop") + podOf("d-1", "d", "x") + podOf("e-1", "e", "shop") + podOf("e-2", "e", "shop") + deployment
	after := podOf("a-2", "a", "shop") + podOf("c-1", "c", "shop") + podOf("d-1", "d", "z") + podOf("e-3", "e", "shop") + strings.Replace(deployment, "web:1", "web:2", 1)
	var got []string
	for _, c := range New(gatehouse.All(), "prod", Input{Objects: read(t, before)}, Input{Objects: read(t, after)}).Changes {
		got = append(got, string(c.Action())+" "+c.Object().String())
	}
	want := []string{
		"changed Deployment shop/web", "replaced Pod shop/a-2", "removed Pod shop/b-1", "added Pod shop/c-1",
		"removed Pod shop/e-1", "removed Pod shop/e-2", "added Pod shop/e-3", "removed Pod x/d-1", "added Pod z/d-1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The hash of the content in a name proves that kustomize generated an object.
func TestGeneratedObjectsAreReplaced(t *testing.T) {
	const hashA, hashB = "-k4b9tgf9m9", "-ck5fk26hc4"
	config := func(name, data string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: shop}\ndata: {" + data + "}\n"
	}
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"another content":   {config("app"+hashA, "level: info"), config("app"+hashB, "level: debug"), []string{"replaced ConfigMap shop/app" + hashB}},
		"another generator": {config("app"+hashA, "level: info"), config("job"+hashB, "level: debug"), []string{"removed ConfigMap shop/app" + hashA, "added ConfigMap shop/job" + hashB}},
		"no hash after":     {config("app"+hashA, "level: info"), config("app", "level: debug"), []string{"replaced ConfigMap shop/app"}},
		"another hash":      {config("app-2222222222", "level: info"), config("app-4444444444", "level: debug"), []string{"removed ConfigMap shop/app-2222222222", "added ConfigMap shop/app-4444444444"}},
		"one is not proven": {config("app"+hashA, "level: info"), config("app-4444444444", "level: debug"), []string{"added ConfigMap shop/app-4444444444", "removed ConfigMap shop/app" + hashA}},
		"names with dashes": {config("app-a", "level: info"), config("app-b", "level: debug"), []string{"removed ConfigMap shop/app-a", "added ConfigMap shop/app-b"}},
	} {
		var got []string
		for _, c := range New(gatehouse.All(), "prod", Input{Objects: read(t, test.before)}, Input{Objects: read(t, test.after)}).Changes {
			got = append(got, string(c.Action())+" "+c.Object().String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A diff shows whether a value changes.
func TestValuesOfSecretsAreMasked(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	for name, test := range map[string]struct{ before, after, want string }{
		"changed": {secret + "data: {a: czE=, b: czI=}", secret + "data: {a: czE=, b: czM=}", "   a: '***'\n-  b: '*** (before)'\n+  b: '*** (after)'\n"},
		"added":   {"", secret + "stringData: {a: s1}", "+  a: '***'\n"},
		"removed": {secret + "data: {a: czE=}", secret + "data: {}", "-  a: '***'\n"},
		"mapping": {secret + "data: {a: {b: s1}}", secret + "data: {a: {b: s2}}", "+  a: '*** (after)'\n"},
		"applied": {secret + "data: {}", strings.Replace(secret, "a}", `a, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"czE="}}', x: '{"kind":"Secret","data":{"a":"czE="}}'}}`, 1) + "data: {}", "+    kubectl.kubernetes.io/last-applied-configuration: '***'\n+    x: '***'\n"},
		"text":    {secret + "data: s1", secret + "data: {}", "-data: '*** (before)'\n"},
		"moved":   {secret + "data: {a: czE=}", secret + "stringData: {a: s1}", "+stringData:\n+  a: '***'\n"},
	} {
		changes := New(gatehouse.All(), "prod", Input{Objects: read(t, test.before)}, Input{Objects: read(t, test.after)}).Changes
		if len(changes) != 1 {
			t.Fatalf("%s: %+v", name, changes)
		}
		if diff := changes[0].Unified(); !strings.Contains(diff, test.want) || strings.Contains(diff, "czE") || strings.Contains(diff, "s1") {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
