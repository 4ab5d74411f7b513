package kustomize

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"example.com/gatehouse/render/kustomize/parts"
	"example.com/gatehouse/render/memo"
)

// TestRandomDivision builds random repositories at once and in parts, and compares the objects.
func TestRandomDivision(t *testing.T) {
	c := counts{references: readReferences(t)}
	for partSize := 1; partSize <= 3; partSize++ {
		t.Run(fmt.Sprintf("parts of %d", partSize), func(t *testing.T) { c.checkRandomDivisions(t, partSize) })
	}
	t.Logf("%d repositories, %d divided, %d built, %d with overlapping parts; %d of %d variants share parts", c.all, c.divided, c.built, c.overlaps, c.shared, c.variants)
	if c.divided*4 < c.all || c.built*3 < c.divided {
		t.Error("too few are divided or built")
	}
}

// counts counts repositories.
type counts struct {
	all, divided, built, overlaps, variants, shared int

	references []reference
}

func (c *counts) checkRandomDivisions(t *testing.T, partSize int) {
	defer mute()()
	rapid.Check(t, func(t *rapid.T) {
		d := &drawing{T: t, known: c.references}
		archive := d.repository()
		dir, err := os.MkdirTemp("", "division")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, canBuild := tryReadSources(t, dir, archive)
		if !canBuild {
			return
		}
		paths, division := divide(s, partSize)
		c.all++
		if division.Len() == 0 {
			return
		}
		c.divided++
		whole := buildWhole(s)
		divided := buildDivided(nil, paths, division)
		if divided.problem == parts.ErrOverlap.Error() {
			c.overlaps++
			return
		}
		if difference := whole.diff(divided); difference != "" {
			t.Fatalf("%s\n%s", difference, txtar.Format(archive))
		}
		if whole.problem != "" {
			return
		}
		if c.built++; c.built%4 == 0 {
			c.checkShared(t, archive, partSize)
		}
	})
}

// checkShared builds a repository and others, which differ in the namespaces and labels that their kustomizations
// set, with one memo.
func (c *counts) checkShared(t *rapid.T, archive *txtar.Archive, partSize int) {
	m := &memo.Memo{}
	for _, change := range []*strings.Replacer{
		strings.NewReplacer(),
		strings.NewReplacer("\nnamespace: one\n", "\nnamespace: three\n", "team: a}, include", "team: c}, include"),
		strings.NewReplacer("\nnamespace: two\n", "\nnamespace: one\n", "team: b}, include", "team: a}, include"),
		strings.NewReplacer("\nnamespace: one\n", "\nnamespace: a\n", "\nnamespace: two\n", "\nnamespace: b\n"),
	} {
		changed := &txtar.Archive{}
		for _, f := range archive.Files {
			changed.Files = append(changed.Files, txtar.File{Name: f.Name, Data: []byte(change.Replace(string(f.Data)))})
		}
		dir, err := os.MkdirTemp("", "division")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, _ := tryReadSources(t, dir, changed)
		paths, division := divide(s, partSize)
		if division.Len() == 0 {
			continue
		}
		before := m.Len()
		if divided := buildDivided(m, paths, division); divided.problem != parts.ErrOverlap.Error() && buildWhole(s).diff(divided) != "" {
			t.Fatalf("with a memo: %s\n%s", buildWhole(s).diff(divided), txtar.Format(changed))
		}
		if c.variants++; m.Len()-before < division.Len() {
			c.shared++
		}
	}
}

// drawing draws a repository bottom up: a folder loads folders that were drawn before.
type drawing struct {
	*rapid.T
	archive    txtar.Archive
	folders    []string
	components []string
	specs      []string // their names
	generated  []string // names of ConfigMaps and Secrets
	isLoaded   map[string]bool
	// isWild reports whether to draw input that mostly fails, or is not divided.
	isWild bool
	// isPlain reports whether to draw mostly built-in kinds.
	isPlain bool
	// known has the references of kustomize's own configuration.
	known []reference
	// here has the names in the current folder and in the folders that it loads, by kind. in has the same
	// for each folder drawn before.
	here map[string][]string
	in   map[string]map[string][]string
}

// moreReferences is a configuration of further references.
const moreReferences = `nameReference:
- kind: ConfigMap
  fieldSpecs:
  - {path: metadata/labels/settings, kind: At}
  - {path: metadata/annotations/settings, kind: Memcached}
- kind: Secret
  fieldSpecs:
  - {path: metadata/annotations/settings, kind: Memcached}
- kind: PriorityClass
  fieldSpecs:
  - {path: spec/serviceAccountName, kind: At}
`

func (d *drawing) repository() *txtar.Archive {
	d.isLoaded, d.in = map[string]bool{}, map[string]map[string][]string{}
	d.isWild, d.isPlain = d.chance(40), d.chance(60)
	d.write("more/kustomization.yaml", "configurations: [more.yaml]\n")
	d.write("more/more.yaml", moreReferences)
	for i := range d.number(3) {
		folder := fmt.Sprintf("component%d", i)
		d.drawFolder(folder, true)
		d.components = append(d.components, folder)
	}
	for i := range d.number(4) {
		folder := fmt.Sprintf("folder%d", i)
		d.drawFolder(folder, false)
		d.folders = append(d.folders, folder)
	}
	d.drawFolder("environments/prod", false)
	return &d.archive
}

// number draws a number below n. All are equally likely: rapid's own generators prefer small numbers.
func (d *drawing) number(n int) (number int) {
	for limit := 1; limit < 8*n; limit *= 2 {
		number *= 2
		if rapid.Bool().Draw(d.T, "bit") {
			number++
		}
	}
	return number % n
}

// chance is true in a percentage of cases.
func (d *drawing) chance(percent int) bool { return d.number(100) >= 100-percent }

// wild is true in a percentage of cases in wild repositories.
func (d *drawing) wild(percent int) bool { return d.isWild && d.chance(percent) }

func (d *drawing) pick(words ...string) string { return words[d.number(len(words))] }

func (d *drawing) write(file, content string) {
	d.archive.Files = append(d.archive.Files, txtar.File{Name: file, Data: []byte(content)})
}

func (d *drawing) drawFolder(folder string, isComponent bool) {
	k := &strings.Builder{}
	d.here = map[string][]string{}
	d.in[folder] = d.here
	field := func(percent int, format string, args ...any) {
		if d.chance(percent) {
			fmt.Fprintf(k, format+"\n", args...)
		}
	}
	if isComponent {
		k.WriteString("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n")
	}
	d.drawLoaded(k, folder, isComponent)
	if !isComponent || d.chance(20) {
		field(30, "namespace: %s", d.pick("one", "two", "default"))
		field(25, "namePrefix: %s", d.pick("p-", "q-"))
		field(10, "nameSuffix: -%s", d.pick("s", "t"))
	}
	field(25, "labels: [{pairs: {%s}, includeSelectors: %t}]", d.pick("team: a", "team: b", "settings: "+d.configName()), d.chance(50))
	field(5, "commonLabels: {team: a}")
	field(15, "commonAnnotations: {%s}", d.pick("owner: b", "team: b", "settings: "+d.configName()))
	field(20, "images:\n- %s\n- %s", d.image(), d.image())
	if kind := d.pick("Deployment", "StatefulSet", "ReplicaSet"); len(d.here[kind]) > 0 {
		field(20, "replicas: [{name: %s, count: 3}]", d.nameHere(kind))
	} else if len(d.here["Memcached"]) > 0 || d.wild(5) {
		field(15, "replicas: [{name: %s, count: 5}]", d.nameHere("Memcached"))
	}
	field(5, "generatorOptions: {%s: true}", d.pick("disableNameSuffixHash", "immutable"))
	field(2, "buildMetadata: [%s]", d.pick("originAnnotations", "managedByLabel", "transformerAnnotations"))
	field(2, "sortOptions: {order: fifo}")
	d.drawReplacements(k)
	if d.wild(5) {
		field(30, "vars: [{name: V, objref: {apiVersion: v1, kind: ConfigMap, name: %s}, fieldref: {fieldpath: data.k}}]", d.nameHere("ConfigMap"))
		field(30, "transformers:\n- |\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: any}\n  prefix: t-\n  fieldSpecs: [{path: metadata/name}]")
	}
	d.drawGenerators(k)
	d.drawPatches(k, folder)
	d.write(folder+"/kustomization.yaml", k.String())
}

// image draws an entry of images:. Some make images that others change.
func (d *drawing) image() string {
	return d.pick("{name: memcached, newTag: '1'}", "{name: memcached, newTag: '2', newName: r.io/t/other}",
		"{name: busybox, newName: other}", "{name: other, newTag: '3'}", "{name: r.io/t/other, digest: 'sha256:1'}",
		"{name: rxio/t/other, newTag: '4'}", "{name: m.*d, tagSuffix: -5}", "{name: 'mem[', newTag: '6'}", "{newTag: '7'}")
}

// drawLoaded draws the resources and components of a folder.
func (d *drawing) drawLoaded(k *strings.Builder, folder string, isComponent bool) {
	up := "../"
	if strings.Contains(folder, "/") {
		up = "../../"
	}
	var resources, components []string
	if !d.wild(30) {
		resources = append(resources, up+"config")
	}
	if d.chance(20) {
		resources = append(resources, up+"more")
	}
	loads := func(other string, often int) bool {
		if d.isLoaded[other] { // an object with two build paths is often a duplicate
			often = 15
		}
		loads := d.chance(often)
		d.isLoaded[other] = d.isLoaded[other] || loads
		for kind, names := range d.in[other] {
			if loads {
				d.here[kind] = append(d.here[kind], names...)
			}
		}
		return loads
	}
	if !isComponent {
		for _, other := range d.folders {
			if loads(other, 50) || !d.isLoaded[other] && folder == "environments/prod" {
				resources = append(resources, up+other)
			}
		}
	}
	for _, other := range d.components {
		if loads(other, 30) {
			components = append(components, up+other)
		}
	}
	for _, file := range []string{"a.yaml", "b.yaml"} {
		if d.chance(60) {
			resources = append(resources, file)
			d.write(folder+"/"+file, d.manifest())
		}
	}
	if d.chance(20) {
		slices.Reverse(resources)
	}
	fmt.Fprintf(k, "resources: [%s]\ncomponents: [%s]\n", strings.Join(resources, ", "), strings.Join(components, ", "))
}

// manifest draws a file with a few documents, one a line.
func (d *drawing) manifest() string {
	documents := make([]string, d.number(6))
	for i := range documents {
		documents[i] = d.document()
		if d.chance(5) {
			documents[i] = fmt.Sprintf("{apiVersion: v1, kind: List, items: [%s, %s]}", documents[i], d.document())
		}
	}
	return strings.Join(documents, "\n---\n") + "\n"
}

func (d *drawing) document() string {
	namespace := ""
	if d.chance(15) {
		namespace = ", namespace: " + d.pick("one", "two", "default")
	}
	if d.isPlain || d.chance(30) {
		switch kind := d.number(20); {
		case kind < 9:
			return d.referrer(namespace)
		case kind < 17:
			return d.target(namespace)
		case kind < 18:
			return d.special()
		}
	}
	switch kind := d.number(20); {
	case kind < 10:
		return fmt.Sprintf("{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: %s%s%s}, spec: {command: env%s}}",
			d.newSpec("At", namespace), namespace, d.drawMetadata(), d.references())
	case kind < 14:
		return fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: %s%s%s}, spec: {size: 1, image: memcached}}",
			d.newSpec("Memcached", namespace), namespace, d.drawMetadata())
	case kind < 17:
		kind := d.pick("ConfigMap", "ConfigMap", "Secret", "ServiceAccount")
		return fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: %s%s}, data: {k: v}}", kind, d.newConfig(kind, namespace), namespace)
	case kind < 18:
		return fmt.Sprintf("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: %s}}", d.newConfig("PriorityClass", ""))
	case kind < 19:
		return fmt.Sprintf("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: %s%s}, spec: {scaleTargetRef: {kind: Deployment, name: %s}}}",
			d.newSpec("HorizontalPodAutoscaler", namespace), namespace, d.nameHere("Memcached"))
	}
	return fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s%s}}", d.newSpec("Service", namespace), namespace)
}

func (d *drawing) drawMetadata() string {
	return d.pick("", "", "", ", labels: {team: a}", ", labels: {team: b}", ", annotations: {owner: b}")
}

// newSpec draws the name of a new spec, mostly unique.
func (d *drawing) newSpec(kind, namespace string) string {
	name := fmt.Sprintf("s%d", len(d.specs))
	if d.wild(5) {
		name = d.specName()
	}
	d.specs = append(d.specs, name)
	d.addName(kind, name, namespace)
	return name
}

// addName makes a name available for patches and references.
func (d *drawing) addName(kind, name, namespace string) {
	if namespace == "" {
		d.here[kind] = append(d.here[kind], name)
	}
}

// nameHere draws the name of an object here, or, in a wild repository, another name.
func (d *drawing) nameHere(kind string) string {
	switch {
	case len(d.here[kind]) > 0 && !d.wild(15):
		return d.pick(d.here[kind]...)
	case kind == "ConfigMap":
		return d.configName()
	}
	return d.specName()
}

// specName draws the name of a spec, sometimes with affixes.
func (d *drawing) specName() string {
	if len(d.specs) == 0 {
		return "s0"
	}
	return d.affix(d.pick(d.specs...))
}

// newConfig draws the name of a new ConfigMap, mostly unique.
func (d *drawing) newConfig(kind, namespace string) string {
	name := fmt.Sprintf("cm%d", len(d.generated))
	if d.wild(5) || d.chance(3) {
		name = d.configName()
	}
	d.generated = append(d.generated, name)
	d.addName(kind, name, namespace)
	return name
}

// configName draws the name of a reference target, sometimes with affixes.
func (d *drawing) configName() string {
	names := d.generated
	if len(d.here["ConfigMap"]) > 0 && d.chance(70) {
		names = d.here["ConfigMap"]
	}
	if len(names) == 0 {
		return "cm0"
	}
	return d.affix(d.pick(names...))
}

func (d *drawing) affix(name string) string {
	if d.chance(15) {
		name = d.pick("p-", "q-") + name
	}
	if d.chance(5) {
		name += "-s"
	}
	return name
}

// references draws the references of an At to known names or to likely ones.
func (d *drawing) references() string {
	references := ""
	name := func() string {
		if d.chance(30) {
			return d.affix(d.pick("cm0", "cm1", "cm2"))
		}
		return d.configName()
	}
	if d.chance(60) {
		references += fmt.Sprintf(", envFrom: [{%s: {name: %s}}]", d.pick("configMapRef", "configMapRef", "secretRef"), name())
	}
	if d.chance(20) {
		references += fmt.Sprintf(", env: [{name: A, valueFrom: {configMapKeyRef: {name: %s, key: k}}}]", name())
	}
	if d.chance(10) {
		references += ", serviceAccountName: " + name()
	}
	return references
}

func (d *drawing) drawGenerators(k *strings.Builder) {
	for _, kind := range []string{"ConfigMap", "Secret"} {
		if !d.chance(30) {
			continue
		}
		fmt.Fprintf(k, "%s%sGenerator:\n", strings.ToLower(kind[:1]), kind[1:])
		for range 1 + d.number(2) {
			namespace := ""
			if d.chance(10) {
				namespace = ", namespace: " + d.pick("one", "two")
			}
			var name, more string
			if len(d.here[kind]) > 0 && d.chance(30) {
				name, more = d.nameHere(kind), d.pick(", behavior: merge", ", behavior: replace")
			} else {
				name, more = d.newConfig(kind, namespace), namespace
			}
			if d.wild(3) {
				more += ", files: [a.yaml]"
			}
			fmt.Fprintf(k, "- {name: %s, literals: [k=%s]%s}\n", name, d.pick("v", "w"), more)
		}
	}
}

const (
	merge      = "apiVersion: %s\n    kind: %s\n    metadata: {name: %s}\n    %s\n"
	atVersion  = "cnat.programming-kubernetes.info/v1alpha1"
	memVersion = "cache.example.com/v1alpha1"
)

// drawReplacements draws replacements that copy from objects here. They may add references.
func (d *drawing) drawReplacements(k *strings.Builder) {
	kinds := d.kindsHere()
	if len(kinds) == 0 || !d.chance(6) {
		return
	}
	k.WriteString("replacements:\n")
	for range 1 + d.number(2) {
		kind := d.pick(kinds...)
		source := fmt.Sprintf("kind: %s, name: %s", kind, d.nameHere(kind))
		if d.wild(10) {
			source = "kind: " + kind
		}
		fmt.Fprintf(k, "- source: {%s, fieldPath: %s}\n  targets: [{select: {kind: %s}, fieldPaths: [%s], options: {create: true%s}}]\n",
			source, d.pick("metadata.name", "metadata.name", "metadata.namespace", "data.k"), d.pick(append(kinds, "At", "Deployment|Pod")...),
			d.pick("spec.command", "metadata.labels.settings", "spec.template.spec.serviceAccountName", "spec.serviceAccountName", "metadata.annotations.owner"),
			d.pick("", "", ", delimiter: '-', index: 1"))
		if d.wild(5) {
			k.WriteString("- path: a.yaml\n")
		}
	}
}

// kindsHere returns the kinds of the objects here.
func (d *drawing) kindsHere() []string { return slices.Sorted(maps.Keys(d.here)) }

func (d *drawing) drawPatches(k *strings.Builder, folder string) {
	count := max(0, d.number(5)-2)
	isIdle := len(d.here["Memcached"]) > 0 && d.chance(30) // a Memcached is drawn with this size
	if count == 0 && !isIdle {
		return
	}
	k.WriteString("patches:\n")
	if isIdle {
		fmt.Fprintf(k, "- patch: |\n    "+merge, memVersion, "Memcached", d.nameHere("Memcached"), "spec: {size: 1}")
	}
	for i := range count {
		target, patch := d.drawPatch()
		if target != "" {
			target = "target: {" + target + "}\n  "
		}
		if d.chance(20) {
			file := fmt.Sprintf("patch%d.yaml", i)
			d.write(folder+"/"+file, strings.ReplaceAll(patch, "\n    ", "\n"))
			fmt.Fprintf(k, "- %spath: %s\n", target, file)
			continue
		}
		fmt.Fprintf(k, "- %spatch: |\n    %s", target, patch)
	}
	if d.chance(5) {
		fmt.Fprintf(k, "patchesStrategicMerge:\n- |\n    "+merge, memVersion, "Memcached", d.nameHere("Memcached"), "spec: {size: 8}")
	}
	if d.chance(5) {
		fmt.Fprintf(k, "patchesJson6902:\n- target: {version: v1alpha1, kind: At, name: %s}\n  patch: |\n    - {op: add, path: /spec/suspend, value: true}\n", d.specName())
	}
}

// drawPatch draws a patch and its target, "" if it has none.
func (d *drawing) drawPatch() (target, patch string) {
	target = d.pick("kind: At", "kind: Memcached", "kind: At|Memcached", "group: cache.example.com", "labelSelector: team=a",
		"annotationSelector: owner=b", "namespace: one", "kind: At, name: s.*", "kind: ConfigMap", "kind: Service", "name: "+d.specName())
	if kinds := d.kindsHere(); len(kinds) > 0 && d.chance(40) {
		return d.drawPlainPatch(d.pick(kinds...))
	}
	if d.chance(25) { // what most have
		return "kind: ConfigMap|ServiceAccount, name: " + d.configName() + "|" + d.configName(), d.pick("- {op: add, path: /data/k, value: v}\n", fmt.Sprintf(merge, "v1", "Any", "any", "data: {k: v, z: null}"))
	}
	switch kind := d.number(50); {
	case kind < 12:
		return target, fmt.Sprintf("- {op: add, path: /metadata/%s, value: {%s}}\n", d.pick("labels", "annotations"), d.pick("x: a", "x: b", "team: a", "owner: b"))
	case kind < 24:
		return target, fmt.Sprintf(merge, "v1", "Any", "any", d.pick("spec: {added: true}", "data: {added: a}"))
	case kind < 30:
		return "kind: At", fmt.Sprintf("- {op: add, path: /spec/envFrom, value: [{configMapRef: {name: %s}}]}\n", d.configName())
	case kind < 34:
		return "", fmt.Sprintf(merge, memVersion, "Memcached", d.nameHere("Memcached"), d.pick("spec: {size: 9}", "spec: {size: 1, image: memcached, more: null}"))
	case kind < 38:
		return "", fmt.Sprintf(merge, atVersion, "At", d.nameHere("At"), "spec: {envFrom: [{configMapRef: {name: "+d.configName()+"}}]}")
	case kind < 42:
		return "", fmt.Sprintf(merge, "v1", "ConfigMap", d.nameHere("ConfigMap"), "data: {patched: a}")
	case kind < 44:
		return "kind: ConfigMap", "- {op: add, path: /data/json, value: a}\n"
	case kind >= 44 && !d.isWild:
		return "kind: At", fmt.Sprintf(merge, "v1", "Any", "any", "spec: {serviceAccountName: "+d.configName()+"}")
	case kind < 45:
		return target, fmt.Sprintf(merge, "v1", "Any", "any", "$patch: delete")
	case kind < 46:
		return target, fmt.Sprintf("- {op: replace, path: /metadata/name, value: %s}\n", d.specName())
	case kind < 48 && d.chance(50):
		return "kind: HorizontalPodAutoscaler", fmt.Sprintf("- {op: add, path: /spec/scaleTargetRef/name, value: %s}\n", d.nameHere("Memcached"))
	case kind < 47:
		return target, d.pick(
			"- {op: remove, path: /spec/missing}\n",
			"- {op: test, path: /spec/command, value: other}\n",
			"- {op: add, path: /spec/envFrom/-, value: {configMapRef: {name: cm0}}}\n")
	}
	return "kind: Service", "- {op: replace, path: /kind, value: ConfigMap}\n"
}
