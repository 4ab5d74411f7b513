package render

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
)

// repositories is the number of random repositories. Without a fuzzer's instrumentation, rendering is
// five times as fast.
var repositories = flag.Uint64("repositories", 50, "random repositories that FuzzFeatures starts with")

// FuzzFeatures renders repositories of several levels. Its bytes choose their features.
func FuzzFeatures(f *testing.F) {
	for seed := range *repositories {
		random := rand.New(rand.NewPCG(seed, 0))
		choices := make([]byte, 20+4*(seed%50))
		for i := range choices {
			choices[i] = byte(random.Uint32())
		}
		f.Add(choices)
	}
	h := newHarness(f)
	f.Fuzz(func(t *testing.T, choices []byte) {
		d := &draft{choices: choices, files: map[string]string{
			"environments/config/kustomization.yaml": "configurations: [config.yaml]\n",
			"environments/config/config.yaml":        string(gatehouse.All().KustomizeConfig()),
		}}
		h.check(t, d.repository())
	})
}

// draft builds a repository bottom up, as bytes choose.
type draft struct {
	choices []byte
	files   map[string]string
	names   map[string][]string // of objects, by kind
}

// number chooses one of n numbers: 0 without further bytes.
func (d *draft) number(n int) int {
	if len(d.choices) == 0 {
		return 0
	}
	chosen := int(d.choices[0]) % n
	d.choices = d.choices[1:]
	return chosen
}

// maybe is true in one of n cases.
func (d *draft) maybe(n int) bool { return d.number(n) == n-1 }

func (d *draft) pick(words ...string) string { return words[d.number(len(words))] }

func (d *draft) repository() map[string]string {
	d.names = map[string][]string{}
	loaded := []string{"../config"}
	if d.number(4) > 0 {
		d.folder("base", loaded, nil)
		loaded = []string{"../base"}
	}
	var components []string
	for _, name := range []string{"one", "two"}[:d.number(3)] {
		components = append(components, "../"+name)
	}
	if d.maybe(2) {
		d.folder("middle", loaded, nil)
		loaded = []string{"../middle"}
	}
	for _, component := range components {
		d.folder(strings.TrimPrefix(component, "../"), nil, nil)
	}
	if d.maybe(4) {
		loaded = append(loaded, "../config")
	}
	d.folder("prod", loaded, components)
	if d.maybe(4) {
		d.overrides()
	}
	return d.files
}

// folder drafts a kustomization that loads folders and components.
func (d *draft) folder(name string, loaded, components []string) {
	k := &strings.Builder{}
	if name == "one" || name == "two" {
		k.WriteString("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n")
	}
	objects := d.objects()
	if objects != "" {
		d.files["environments/"+name+"/all.yaml"] = objects
		loaded = append(slices.Clip(loaded), "all.yaml")
	}
	fmt.Fprintf(k, "resources: [%s]\ncomponents: [%s]\n", strings.Join(loaded, ", "), strings.Join(components, ", "))
	d.generators(k)
	d.fields(k)
	d.patches(k, name)
	d.files["environments/"+name+"/kustomization.yaml"] = k.String()
}

// new returns a name for an object, mostly a unique one.
func (d *draft) new(kind string) string {
	name := fmt.Sprintf("%s%d", strings.ToLower(kind[:1]), len(d.names[kind]))
	if d.maybe(16) {
		name = d.pick("a", "a.b", "c0", "1", "x"+strings.Repeat("y", 60))
	}
	d.names[kind] = append(d.names[kind], name)
	return name
}

// old returns the name of an object, mostly of an existing one.
func (d *draft) old(kind string) string {
	if len(d.names[kind]) == 0 {
		return strings.ToLower(kind[:1]) + "0"
	}
	return d.pick(d.names[kind]...)
}

func (d *draft) objects() string {
	all := make([]string, d.number(6))
	for i := range all {
		all[i] = d.object()
	}
	if len(all) > 0 && d.maybe(8) {
		return "apiVersion: v1\nkind: List\nitems:\n- " + strings.Join(all, "\n- ") + "\n"
	}
	return strings.Join(all, "\n---\n")
}

func (d *draft) object() string {
	metadata := func(kind string) string {
		return "{name: '" + d.new(kind) + "'" + d.pick("", "", "", ", namespace: one", ", labels: {team: a}", ", annotations: {team: b}", ", labels: {team: b}, namespace: two") + "}"
	}
	switch d.number(9) {
	case 0:
		return "{apiVersion: v1, kind: ConfigMap, metadata: " + metadata("ConfigMap") + ", data: {k: " + d.value() + "}}"
	case 1:
		return "{apiVersion: apps/v1, kind: Deployment, metadata: " + metadata("Deployment") + ", spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: " + d.podSpec() + "}}}"
	case 2:
		return "{apiVersion: v1, kind: Service, metadata: " + metadata("Service") + ", spec: {selector: {app: a}, ports: [{port: 80}]}}"
	case 3:
		return "{apiVersion: example.com/v1, kind: Widget, metadata: " + metadata("Widget") + ", spec: {image: 'memcached:1', list: [{name: a, value: " + d.value() + "}]}}"
	case 4:
		return "{apiVersion: v1, kind: Pod, metadata: " + metadata("Pod") + ", spec: " + d.podSpec() + "}"
	case 5:
		return "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: " + metadata("RoleBinding") + ", roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: " + d.pick("default", d.old("ServiceAccount")) + d.pick("", ", namespace: one") + "}]}"
	case 6:
		return "{apiVersion: v1, kind: ServiceAccount, metadata: " + metadata("ServiceAccount") + "}"
	case 7:
		return "{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: " + metadata("Memcached") + ", spec: {size: " + d.pick("1", "2") + ", image: 'memcached:1'}}"
	}
	return "{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: " + metadata("At") + ", spec: {schedule: '2027-01-01T00:00:00Z', command: env" + d.pick("", ", envFrom: [{configMapRef: {name: '"+d.old("ConfigMap")+"'}}]", ", serviceAccountName: '"+d.old("ServiceAccount")+"'") + "}}"
}

func (d *draft) podSpec() string {
	return "{serviceAccountName: '" + d.old("ServiceAccount") + "', containers: [{name: a, image: '" + d.pick("memcached:1", "busybox", "a/b@sha256:00") + "', envFrom: [{configMapRef: {name: '" + d.old("ConfigMap") + "'}}]}]}"
}

// value returns a text, in quotes if YAML would read another type.
func (d *draft) value() string {
	return d.pick("v", "'1'", "'true'", "''", "'*'", `"a\nb"`, `"a\n\n b\n"`, "'2027-01-01'", "'a: b'", "'# a'", `"\t"`, "é", "'null'")
}

func (d *draft) generators(k *strings.Builder) {
	if !d.maybe(3) {
		return
	}
	k.WriteString("configMapGenerator:\n")
	for range 1 + d.number(3) {
		var name, more string
		if len(d.names["ConfigMap"]) > 0 && d.maybe(6) {
			name, more = d.old("ConfigMap"), ", behavior: "+d.pick("merge", "replace")
		} else {
			name = d.new("ConfigMap")
			more = d.pick("", "", ", options: {disableNameSuffixHash: true}", ", options: {labels: {team: a}, immutable: true}", ", namespace: one")
		}
		fmt.Fprintf(k, "- {name: '%s', literals: [\"%s=%s\"]%s}\n", name, d.pick("k", "l", "a.b"), d.pick("v", "1", "a=b", "a b", ""), more)
	}
}

// fields drafts the fields that change all objects, or the objects of a name.
func (d *draft) fields(k *strings.Builder) {
	field := func(n int, format string, args ...any) {
		if d.maybe(n) {
			fmt.Fprintf(k, format+"\n", args...)
		}
	}
	field(4, "namespace: %s", d.pick("one", "two", "default"))
	field(4, "namePrefix: %s", d.pick("p-", "q-"))
	field(6, "nameSuffix: %s", d.pick("-s", "-t"))
	field(4, "labels: [{pairs: {team: %s}, includeSelectors: %s, includeTemplates: %s}]", d.pick("a", "'1'"), d.pick("true", "false"), d.pick("true", "false"))
	field(8, "commonLabels: {more: a}")
	field(5, "commonAnnotations: {team: %s}", d.pick("a", "'1'", "'true'"))
	field(4, "images: [{name: %s, %s}, {name: busybox, newName: memcached}]", d.pick("memcached", "a/b"), d.pick("newTag: '2'", "newName: other", "digest: 'sha256:0123456789012345678901234567890123456789012345678901234567890123'"))
	if kind := d.pick("Deployment", "Memcached"); len(d.names[kind]) > 0 {
		field(4, "replicas: [{name: '%s', count: %d}]", d.old(kind), 1+d.number(4))
	}
	field(12, "sortOptions: {order: %s}", d.pick("fifo", "legacy"))
	field(12, "buildMetadata: [%s]", d.pick("originAnnotations", "transformerAnnotations"))
	field(12, "generatorOptions: {%s: true}", d.pick("disableNameSuffixHash", "immutable"))
	field(12, "transformers: ['{apiVersion: builtin, kind: AnnotationsTransformer, metadata: {name: any}, annotations: {t: a}, fieldSpecs: [{path: metadata/annotations, create: true}]}\n\n']")
	if len(d.names["ConfigMap"]) > 0 {
		field(8, "replacements: [{source: {kind: ConfigMap, name: '%s', fieldPath: %s}, targets: [{select: {kind: %s}, fieldPaths: [%s], options: {create: true}}]}]",
			d.old("ConfigMap"), d.pick("data.k", "metadata.name"), d.pick("Widget", "Service", "At", "Pod"), d.pick("metadata.annotations.r", "spec.r", "metadata.labels.team"))
	}
}

func (d *draft) patches(k *strings.Builder, folder string) {
	count := max(0, d.number(6)-2)
	if count == 0 {
		return
	}
	k.WriteString("patches:\n")
	for i := range count {
		target := "target: {" + d.target() + "}, "
		patch := d.patch()
		if kind := d.pick("ConfigMap", "Widget", "Deployment", "Memcached", "At"); d.maybe(4) && (len(d.names[kind]) > 0 || d.maybe(16)) {
			target, patch = "", "apiVersion: "+versions[kind]+"\nkind: "+kind+"\nmetadata: {name: '"+d.old(kind)+"'}\n"+d.change()
		}
		if d.maybe(3) {
			file := fmt.Sprintf("patch%d.yaml", i)
			d.files["environments/"+folder+"/"+file] = patch
			fmt.Fprintf(k, "- {%spath: %s}\n", target, file)
			continue
		}
		fmt.Fprintf(k, "- {%spatch: %q}\n", target, patch)
	}
}

var versions = map[string]string{
	"ConfigMap": "v1", "Widget": "example.com/v1", "Deployment": "apps/v1",
	"Memcached": "cache.example.com/v1alpha1", "At": "cnat.programming-kubernetes.info/v1alpha1",
}

func (d *draft) target() string {
	return d.pick("kind: ConfigMap", "kind: Widget", "kind: At", "kind: Memcached|Widget", "group: apps", "labelSelector: team=a", "annotationSelector: team",
		"namespace: one", "kind: Deployment, name: d.*", "version: v1, kind: Pod", "name: '"+d.old("Widget")+"'", "kind: None", "kind: .*")
}

// patch returns a patch that needs a target.
func (d *draft) patch() string {
	switch d.number(7) {
	case 0:
		return "apiVersion: any\nkind: any\nmetadata: {name: any, labels: {team: b}}\n"
	case 1:
		return "- {op: add, path: /metadata/" + d.pick("labels", "annotations") + ", value: {team: " + d.pick("a", "b") + "}}\n"
	case 2:
		return `[{"op": "` + d.pick("add", "add", "add", "replace", "remove", "test") + `", "path": "` + d.pick("/data", "/spec", "/metadata/labels/team", "/metadata/name", "/spec/list/0") + `", "value": ` + d.pick(`{"k": "v"}`, `"v"`) + `}]`
	case 3:
		return "apiVersion: any\nkind: any\nmetadata: {name: any}\n$patch: delete\n"
	}
	return "apiVersion: any\nkind: any\nmetadata: {name: any}\n" + d.change()
}

// change returns the changes of a strategic merge patch.
func (d *draft) change() string {
	return d.pick("data: {more: "+d.value()+"}", "data: {k: null}", "spec: {size: 3}", "spec: {image: 'memcached:3'}",
		"spec: {list: [{name: b}]}", "spec: {template: {spec: {containers: [{name: a, image: 'memcached:4'}, {name: b, image: b}]}}}", "$patch: delete", "spec: {suspend: true}") + "\n"
}

func (d *draft) overrides() {
	k := &strings.Builder{}
	k.WriteString("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n")
	d.patches(k, "prod/overrides")
	if d.maybe(4) || strings.HasSuffix(k.String(), "Component\n") {
		k.WriteString(d.pick("namePrefix: o-", "commonAnnotations: {o: a}", "labels: [{pairs: {o: a}}]", "namespace: three", "images: [{name: memcached, newTag: '9'}]") + "\n")
	}
	d.files["environments/prod/overrides/kustomization.yaml"] = k.String()
}
