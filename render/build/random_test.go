package build

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"
)

// TestRandomDivision builds random repositories as wholes and in parts: the same has to
// come of each.
func TestRandomDivision(t *testing.T) {
	for partSize := 1; partSize <= 3; partSize++ {
		t.Run(fmt.Sprintf("parts of %d", partSize), func(t *testing.T) { checkRandomDivisions(t, partSize) })
	}
}

func checkRandomDivisions(t *testing.T, partSize int) {
	defer mute()()
	all, built, divided, mended := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		archive := drawRepository(t)
		dir, err := os.MkdirTemp("", "division")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s := readSources(t, dir, archive)
		d := newDivision(s, partSize)
		all++
		if countParts(d) == 0 {
			return
		}
		divided++
		whole := buildWhole(s)
		if difference := whole.compare(buildDivided(d)); difference != "" {
			t.Fatalf("%s\n%s", difference, txtar.Format(archive))
		}
		if os.Getenv("WHY") != "" { fmt.Println("WHY", whole.problem) }
		if whole.problem == "" {
			built++
			if partsFail(d) {
				mended++
			}
		}
	})
	t.Logf("of %d repositories %d are divided, %d of these can be built, %d not in parts", all, divided, built, mended)
	if divided*5 < all || built*2 < divided || mended*10 > built {
		t.Error("that is too few, or too many")
	}
}

// repository is drawn bottom up: a folder loads those that were drawn before it.
type repository struct {
	*rapid.T
	archive    txtar.Archive
	folders    []string
	components []string
	specs      []string // their names
	generated  []string // names of ConfigMaps and Secrets
	isLoaded   map[string]bool
	// here are the specs and ConfigMaps of the folder that is drawn, by kind.
	here map[string][]string
}

func drawRepository(t *rapid.T) *txtar.Archive {
	r := &repository{T: t, isLoaded: map[string]bool{}}
	for i := range r.number(3) {
		folder := fmt.Sprintf("component%d", i)
		r.drawFolder(folder, true)
		r.components = append(r.components, folder)
	}
	for i := range r.number(5) {
		folder := fmt.Sprintf("folder%d", i)
		r.drawFolder(folder, false)
		r.folders = append(r.folders, folder)
	}
	r.drawFolder("environments/prod", false)
	return &r.archive
}

// number draws one of n numbers, each as often as any other: left to itself rapid
// prefers small ones.
func (r *repository) number(n int) (number int) {
	for limit := 1; limit < 8*n; limit *= 2 {
		number *= 2
		if rapid.Bool().Draw(r.T, "bit") {
			number++
		}
	}
	return number % n
}

// chance is true in some of a hundred cases.
func (r *repository) chance(percent int) bool { return r.number(100) >= 100-percent }

func (r *repository) pick(words ...string) string { return words[r.number(len(words))] }

func (r *repository) write(file, content string) {
	r.archive.Files = append(r.archive.Files, txtar.File{Name: file, Data: []byte(content)})
}

func (r *repository) drawFolder(folder string, isComponent bool) {
	k := &strings.Builder{}
	r.here = map[string][]string{}
	field := func(percent int, format string, args ...any) {
		if r.chance(percent) {
			fmt.Fprintf(k, format+"\n", args...)
		}
	}
	if isComponent {
		k.WriteString("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n")
	}
	r.drawLoaded(k, folder, isComponent)
	if !isComponent || r.chance(3) {
		field(30, "namespace: %s", r.pick("one", "two", "default"))
		field(25, "namePrefix: %s", r.pick("p-", "q-"))
		field(10, "nameSuffix: -%s", r.pick("s", "t"))
	}
	field(15, "labels: [{pairs: {%s: %s}, includeSelectors: %t}]", r.pick("team", "settings"), r.pick("a", "b", "cm"), r.chance(50))
	field(5, "commonLabels: {team: a}")
	field(10, "commonAnnotations: {%s: b}", r.pick("owner", "team"))
	field(15, "images: [{name: memcached, newTag: %q}, {name: busybox, newName: other}]", r.pick("1", "2"))
	field(6, "replicas: [{name: %s, count: 5}]", r.nameHere("Memcached"))
	field(5, "generatorOptions: {%s: true}", r.pick("disableNameSuffixHash", "immutable"))
	field(2, "buildMetadata: [%s]", r.pick("originAnnotations", "managedByLabel", "transformerAnnotations"))
	field(2, "sortOptions: {order: fifo}")
	field(3, "replacements:\n- source: {kind: ConfigMap, name: %s, fieldPath: data.k}\n  targets: [{select: {kind: At}, fieldPaths: [spec.command]}]", r.configName())
	field(1, "vars: [{name: V, objref: {apiVersion: v1, kind: ConfigMap, name: %s}, fieldref: {fieldpath: data.k}}]", r.configName())
	field(1, "transformers:\n- |\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: any}\n  prefix: t-\n  fieldSpecs: [{path: metadata/name}]")
	r.drawGenerators(k)
	r.drawPatches(k, folder)
	r.write(folder+"/kustomization.yaml", k.String())
}

// drawLoaded draws the resources and components of a folder.
func (r *repository) drawLoaded(k *strings.Builder, folder string, isComponent bool) {
	up := "../"
	if strings.Contains(folder, "/") {
		up = "../../"
	}
	var resources, components []string
	if r.chance(85) {
		resources = append(resources, up+"config")
	}
	loads := func(other string, often int) bool {
		if r.isLoaded[other] { // what has two ways out is often there twice
			often = 15
		}
		loads := r.chance(often)
		r.isLoaded[other] = r.isLoaded[other] || loads
		return loads
	}
	if !isComponent {
		for _, other := range r.folders {
			if loads(other, 50) || !r.isLoaded[other] && folder == "environments/prod" {
				resources = append(resources, up+other)
			}
		}
	}
	for _, other := range r.components {
		if loads(other, 30) {
			components = append(components, up+other)
		}
	}
	for _, file := range []string{"a.yaml", "b.yaml"} {
		if r.chance(60) {
			resources = append(resources, file)
			r.write(folder+"/"+file, r.manifest())
		}
	}
	if r.chance(20) {
		slices.Reverse(resources)
	}
	fmt.Fprintf(k, "resources: [%s]\ncomponents: [%s]\n", strings.Join(resources, ", "), strings.Join(components, ", "))
}

// manifest draws a file of some documents, each on a line.
func (r *repository) manifest() string {
	documents := make([]string, r.number(6))
	for i := range documents {
		documents[i] = r.document()
		if r.chance(5) {
			documents[i] = fmt.Sprintf("{apiVersion: v1, kind: List, items: [%s, %s]}", documents[i], r.document())
		}
	}
	return strings.Join(documents, "\n---\n") + "\n"
}

func (r *repository) document() string {
	namespace := ""
	if r.chance(15) {
		namespace = ", namespace: " + r.pick("one", "two", "default")
	}
	switch kind := r.number(20); {
	case kind < 10:
		return fmt.Sprintf("{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: %s%s%s}, spec: {command: env%s}}",
			r.newSpec("At"), namespace, r.drawMetadata(), r.references())
	case kind < 15:
		return fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: %s%s%s}, spec: {size: 1, image: memcached}}",
			r.newSpec("Memcached"), namespace, r.drawMetadata())
	case kind < 18:
		kind := r.pick("ConfigMap", "Secret", "ServiceAccount")
		return fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: %s%s}, data: {k: v}}", kind, r.newConfig(kind), namespace)
	}
	return fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s%s}}", r.newSpec("Service"), namespace)
}

func (r *repository) drawMetadata() string {
	return r.pick("", "", "", ", labels: {team: a}", ", labels: {team: b}", ", annotations: {owner: b}")
}

// newSpec draws the name of a spec that, mostly, no other has.
func (r *repository) newSpec(kind string) string {
	name := fmt.Sprintf("s%d", len(r.specs))
	if r.chance(3) {
		name = r.specName()
	}
	r.specs = append(r.specs, name)
	r.here[kind] = append(r.here[kind], name)
	return name
}

// nameHere draws the name of a spec or ConfigMap of the folder, mostly.
func (r *repository) nameHere(kind string) string {
	switch {
	case len(r.here[kind]) > 0 && r.chance(85):
		return r.pick(r.here[kind]...)
	case kind == "ConfigMap":
		return r.configName()
	}
	return r.specName()
}

// specName draws the name of a spec, as it is written or may be.
func (r *repository) specName() string {
	if len(r.specs) == 0 {
		return "s0"
	}
	return r.affix(r.pick(r.specs...))
}

// newConfig draws the name of a ConfigMap that is, mostly, new.
func (r *repository) newConfig(kind string) string {
	name := fmt.Sprintf("cm%d", len(r.generated))
	if r.chance(8) {
		name = r.configName()
	}
	r.generated = append(r.generated, name)
	r.here[kind] = append(r.here[kind], name)
	return name
}

func (r *repository) configName() string {
	if len(r.generated) == 0 {
		return "cm0"
	}
	return r.affix(r.pick(r.generated...))
}

func (r *repository) affix(name string) string {
	if r.chance(15) {
		name = r.pick("p-", "q-") + name
	}
	if r.chance(5) {
		name += "-s"
	}
	return name
}

// references draws what an At refers to: names that are there already, or may come.
func (r *repository) references() string {
	references := ""
	name := func() string {
		if r.chance(30) {
			return r.affix(r.pick("cm0", "cm1", "cm2"))
		}
		return r.configName()
	}
	if r.chance(60) {
		references += fmt.Sprintf(", envFrom: [{%s: {name: %s}}]", r.pick("configMapRef", "configMapRef", "secretRef"), name())
	}
	if r.chance(20) {
		references += fmt.Sprintf(", env: [{name: A, valueFrom: {configMapKeyRef: {name: %s, key: k}}}]", name())
	}
	if r.chance(10) {
		references += ", serviceAccountName: " + name()
	}
	return references
}

func (r *repository) drawGenerators(k *strings.Builder) {
	for _, kind := range []string{"ConfigMap", "Secret"} {
		if !r.chance(35) {
			continue
		}
		fmt.Fprintf(k, "%s%sGenerator:\n", strings.ToLower(kind[:1]), kind[1:])
		for range 1 + r.number(2) {
			name, more := r.newConfig(kind), ""
			if slices.Contains(r.generated[:len(r.generated)-1], name) {
				more = r.pick("", ", behavior: merge", ", behavior: merge", ", behavior: replace")
			}
			if r.chance(10) {
				more += ", namespace: " + r.pick("one", "two")
			}
			fmt.Fprintf(k, "- {name: %s, literals: [k=%s]%s}\n", name, r.pick("v", "w"), more)
		}
	}
}

const (
	merge      = "apiVersion: %s\n    kind: %s\n    metadata: {name: %s}\n    %s\n"
	atVersion  = "cnat.programming-kubernetes.info/v1alpha1"
	memVersion = "cache.example.com/v1alpha1"
)

func (r *repository) drawPatches(k *strings.Builder, folder string) {
	count := max(0, r.number(5)-2)
	if count == 0 {
		return
	}
	k.WriteString("patches:\n")
	for i := range count {
		target, patch := r.drawPatch()
		if target != "" {
			target = "target: {" + target + "}\n  "
		}
		if r.chance(20) {
			file := fmt.Sprintf("patch%d.yaml", i)
			r.write(folder+"/"+file, strings.ReplaceAll(patch, "\n    ", "\n"))
			fmt.Fprintf(k, "- %spath: %s\n", target, file)
			continue
		}
		fmt.Fprintf(k, "- %spatch: |\n    %s", target, patch)
	}
	if r.chance(5) {
		fmt.Fprintf(k, "patchesStrategicMerge:\n- |\n    "+merge, memVersion, "Memcached", r.nameHere("Memcached"), "spec: {size: 8}")
	}
	if r.chance(5) {
		fmt.Fprintf(k, "patchesJson6902:\n- target: {version: v1alpha1, kind: At, name: %s}\n  patch: |\n    - {op: add, path: /spec/suspend, value: true}\n", r.specName())
	}
}

// drawPatch draws a patch and its target; empty where it has none.
func (r *repository) drawPatch() (target, patch string) {
	target = r.pick("kind: At", "kind: Memcached", "kind: At|Memcached", "group: cache.example.com", "labelSelector: team=a",
		"annotationSelector: owner=b", "namespace: one", "kind: At, name: s.*", "kind: ConfigMap", "kind: Service", "name: "+r.specName())
	switch kind := r.number(50); {
	case kind < 12:
		return target, fmt.Sprintf("- {op: add, path: /metadata/%s, value: {x: %s}}\n", r.pick("labels", "annotations"), r.pick("a", "b"))
	case kind < 24:
		return target, fmt.Sprintf(merge, "v1", "Any", "any", r.pick("spec: {added: true}", "data: {added: a}"))
	case kind < 30:
		return "kind: At", fmt.Sprintf("- {op: add, path: /spec/envFrom, value: [{configMapRef: {name: %s}}]}\n", r.configName())
	case kind < 34:
		return "", fmt.Sprintf(merge, memVersion, "Memcached", r.nameHere("Memcached"), "spec: {size: 9}")
	case kind < 38:
		return "", fmt.Sprintf(merge, atVersion, "At", r.nameHere("At"), "spec: {envFrom: [{configMapRef: {name: "+r.configName()+"}}]}")
	case kind < 42:
		return "", fmt.Sprintf(merge, "v1", "ConfigMap", r.nameHere("ConfigMap"), "data: {patched: a}")
	case kind < 44:
		return "kind: ConfigMap", "- {op: add, path: /data/json, value: a}\n"
	case kind < 45:
		return target, fmt.Sprintf(merge, "v1", "Any", "any", "$patch: delete")
	case kind < 46:
		return target, fmt.Sprintf("- {op: replace, path: /metadata/name, value: %s}\n", r.specName())
	case kind < 47:
		return target, r.pick(
			"- {op: remove, path: /spec/missing}\n",
			"- {op: test, path: /spec/command, value: other}\n",
			"- {op: add, path: /spec/envFrom/-, value: {configMapRef: {name: cm0}}}\n")
	}
	return "kind: At", fmt.Sprintf(merge, "v1", "Any", "any", "spec: {serviceAccountName: "+r.configName()+"}")
}
