package render

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// FuzzRender renders an environment with any kustomization, manifest and other file.
func FuzzRender(f *testing.F) {
	for _, archive := range seeds(f, "testdata/corpus/*.txtar", "testdata/problems/*.txtar") {
		kustomization, rest := "", []string{"", ""}
		for i, file := range archive.Files {
			if i == 0 {
				kustomization = string(file.Data)
			} else if i <= len(rest) {
				rest[i-1] = string(file.Data)
				kustomization = strings.ReplaceAll(kustomization, path.Base(file.Name), rawFiles[i-1])
			}
		}
		f.Add(kustomization, rest[0], rest[1])
	}
	for field := range reflect.TypeFor[types.Kustomization]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		for _, value := range []string{"", "a", "1", "{}", "[]", "[null]", "[{}]", "[a]", "[a.yaml]", "[b.yaml]", "{a: b}", "{path: b.yaml}", "[{path: b.yaml}]", "[\"a: b\\n\"]"} {
			kustomization := "resources: [a.yaml]\n" + name + ": " + value + "\n"
			f.Add(kustomization, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}\n", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
		}
	}
	h := newHarness(f)
	f.Fuzz(func(t *testing.T, kustomization, manifest, other string) {
		h.check(t, map[string]string{
			"environments/prod/kustomization.yaml": kustomization,
			"environments/prod/" + rawFiles[0]:     manifest,
			"environments/prod/" + rawFiles[1]:     other,
		})
	})
}

// rawFiles are the files beside any kustomization.
var rawFiles = []string{"a.yaml", "b.yaml"}

// FuzzOverrides renders a Memcached and an At with any overrides.
func FuzzOverrides(f *testing.F) {
	const folder = "environments/prod/overrides/"
	for _, archive := range seeds(f, "testdata/overrides.txtar", "testdata/problems/overrides*.txtar") {
		for _, file := range archive.Files {
			if path.Base(file.Name) == "kustomization.yaml" && strings.HasSuffix(path.Dir(file.Name), "/"+overridesFolder) {
				f.Add(string(file.Data), "")
			}
		}
	}
	component := "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	f.Add(component+"patches: [{path: patch.yaml}]\n", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: sessions, namespace: shop}, spec: {minReadySeconds: 5}}\n")
	f.Add(component+"patches: [{path: patch.yaml, target: {kind: Pod}}]\n", "[{op: add, path: /metadata/annotations/a, value: b}]\n")
	f.Add(component+"resources: [patch.yaml]\nnamespace: shop\n", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
	h := newHarness(f)
	f.Fuzz(func(t *testing.T, component, patch string) {
		h.check(t, map[string]string{
			"environments/prod/kustomization.yaml": "resources: [all.yaml]\nnamespace: shop\n",
			"environments/prod/all.yaml":           fmt.Sprintf(oneMemcached+oneAt, 0, 0) + "---\n{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: sessions}}\n",
			folder + "kustomization.yaml":          component,
			folder + "patch.yaml":                  patch,
		})
	})
}

// seeds returns the archives that match, without their expectations.
func seeds(f *testing.F, patterns ...string) (archives []*txtar.Archive) {
	f.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				f.Fatal(err)
			}
			archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == builtFile || f.Name == "problems" })
			archives = append(archives, archive)
		}
	}
	return archives
}

// harness renders one repository after another in one folder. The folder is in memory if possible, as
// faster fuzzing finds more.
type harness struct {
	root  string
	files map[string]string // the files in the folder
}

func newHarness(f *testing.F) *harness {
	f.Helper()
	memory := "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		memory = ""
	}
	root, err := os.MkdirTemp(memory, "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(root) })
	if err := os.Mkdir(filepath.Join(root, tree.EnvironmentsFolder), 0o755); err != nil {
		f.Fatal(err)
	}
	return &harness{root: root, files: map[string]string{}}
}

// endless is more time than rendering a few objects takes.
const endless = 20 * time.Second

// check renders files, some of them twice, and checks the properties of every rendering.
func (h *harness) check(t *testing.T, files map[string]string) {
	t.Helper()
	for _, content := range files {
		if strings.Contains(content, "openapi") {
			t.Skip("schemas are of the process, and take a while to read again")
		}
	}
	h.write(t, files)
	watch := time.AfterFunc(endless, func() { panic(fmt.Sprintf("is not rendered in %s: %q", endless, files)) })
	defer watch.Stop()

	first := h.render(t)
	if isSampled(files) {
		const oneOfMany = "kustomize cannot change this" // kustomize visits the objects with references in random order
		if a, b := first.String(), h.render(t).String(); a != b && (!strings.Contains(a, oneOfMany) || !strings.Contains(b, oneOfMany)) {
			t.Errorf("rendered again it is another:\n%s\n---\n%s", a, b)
		}
	}
	checkProblems(t, first, files)
	switch {
	case h.hasOverrides():
	case len(first.problems) == 0:
		h.compareWithLibrary(t, first)
	case strings.Contains(first.problems[0], ": kustomize: "):
		if _, err := libraryObjects(filepath.Join(h.root, prodFolder)); err == nil {
			t.Errorf("kustomize builds what it is said not to: %s", first)
		}
	}
}

// isSampled reports whether a repository is in a sample of one in four.
func isSampled(files map[string]string) bool {
	sum := crc32.NewIEEE()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprint(sum, files[name])
	}
	return sum.Sum32()%4 == 0
}

// write replaces the files in the folder.
func (h *harness) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name := range h.files {
		if _, ok := files[name]; ok {
			continue
		}
		file := filepath.Join(h.root, name)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Dir(file)) // if it is empty
		delete(h.files, name)
	}
	for name, content := range files {
		if was, ok := h.files[name]; ok && was == content {
			continue
		}
		file := filepath.Join(h.root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		h.files[name] = content
	}
}

func (h *harness) hasOverrides() bool {
	_, ok := h.files["environments/prod/overrides/kustomization.yaml"]
	return ok
}

// attempt is the result of a rendering.
type attempt struct {
	*Rendering
	problems []string
	vague    []string // problems without a file, or with a message of several lines
}

func (h *harness) render(t *testing.T) attempt {
	t.Helper()
	repository, err := Open(h.root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	e := repository.Load(path.Base(prodFolder), LoadOptions{})
	rendering, problems := e.Rendering, e.Problems
	r := attempt{Rendering: rendering}
	for _, p := range problems {
		if !p.Warning {
			r.problems = append(r.problems, p.String())
		}
		if p.File == "" || strings.TrimSpace(p.Message) == "" || strings.Contains(p.Message, "\n") {
			r.vague = append(r.vague, p.String())
		}
	}
	if rendering == nil {
		return r
	}
	for i, o := range rendering.Objects {
		if inFile := fromFile(o, rendering.Files[i]).json; strings.HasPrefix(inFile, notInFile) {
			t.Error(inFile)
		}
	}
	return r
}

func (r attempt) String() string {
	if len(r.problems) > 0 {
		return strings.Join(r.problems, "\n")
	}
	var b strings.Builder
	for i, f := range r.Files {
		fmt.Fprintf(&b, "%s %s\n%s", r.Objects[i], f.Path, f.Content)
	}
	return b.String() + strings.Join(r.Sources, "\n")
}

// internal matches text that helps no user: addresses, and the output of a panic.
var internal = regexp.MustCompile(`0x[0-9a-f]{6,}|runtime error|nil pointer|index out of range|interface conversion|goroutine \d|reflect\.|\[\]interface|map\[(string\]|)interface|json: unsupported|Go struct field|in object {{|resid\.ResId|%!`)

func checkProblems(t *testing.T, r attempt, files map[string]string) {
	t.Helper()
	if len(r.vague) > 0 {
		t.Errorf("problems without a file, or with a message that is no line: %q", r.vague)
	}
	for _, p := range r.problems {
		found := internal.FindString(p)
		for _, content := range files {
			if strings.Contains(content, found) {
				found = ""
			}
		}
		if found != "" {
			t.Errorf("a problem with %q: %s", found, p)
		}
	}
}

// compareWithLibrary compares the rendered files, except specs, with the objects that kustomize builds.
func (h *harness) compareWithLibrary(t *testing.T, r attempt) {
	t.Helper()
	want, err := libraryObjects(filepath.Join(h.root, prodFolder))
	switch {
	case h.differsOnPurpose(err):
		return
	case err != nil:
		t.Errorf("kustomize does not build what is rendered: %v", err)
		return
	}
	var got []string
	for _, o := range r.Objects {
		if o.IsRendered() || gatehouse.All().Find(o.GroupVersionKind()) != nil {
			continue
		}
		content, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, canonical(content))
	}
	for _, o := range want {
		i := slices.IndexFunc(got, func(object string) bool { return slices.Contains(o, object) })
		if i < 0 {
			t.Errorf("kustomize builds another object: %s\nrendered: %s", o, got)
			return
		}
		got = slices.Delete(got, i, i+1)
	}
	if len(got) > 0 {
		t.Errorf("kustomize does not build %s", got)
	}
}

// aTime matches a time. Without quotes it stays unchanged.
var aTime = regexp.MustCompile(`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}`)

// cannotWrite is the error of objects that kustomize builds, and cannot write or read again.
var cannotWrite = regexp.MustCompile(`unsupported type: map\[interface \{\}\]interface \{\}|control characters are not allowed`)

// differsOnPurpose reports whether kustomize writes another text for a plain scalar, as in the corpus, or
// cannot write it.
func (h *harness) differsOnPurpose(err error) bool {
	if err != nil && cannotWrite.MatchString(err.Error()) {
		return true
	}
	for _, content := range h.files {
		if aTime.MatchString(content) || strings.Contains(content, types.ManagedByLabelOption) {
			return true
		}
	}
	return false
}

// libraryObjects returns the objects that kustomize builds from a folder, except specs: each as kustomize
// writes it and as it holds it in memory. These differ if its YAML writer is wrong.
func libraryObjects(folder string) (objects [][]string, err error) {
	resources, err := runKustomize(folder)
	if err != nil {
		return nil, err
	}
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		if newBuilt(text).isSpec() {
			continue
		}
		var readings []string
		if content, err := yaml.YAMLToJSON(text); err == nil {
			readings = append(readings, canonical(content))
		}
		var value map[string]any
		if err := r.YNode().Decode(&value); err == nil {
			if content, err := json.Marshal(value); err == nil {
				readings = append(readings, canonical(content))
			}
		}
		objects = append(objects, readings)
	}
	return objects, nil
}

// canonical returns JSON with sorted keys, numbers as most programs read them, and without empty labels
// and annotations: the API server drops them, and so does render.
func canonical(content []byte) string {
	var value any
	err := json.Unmarshal(content, &value)
	for key, inner := range manifest.Values(value) {
		metadata, _ := inner.(map[string]any)
		for _, field := range []string{"labels", "annotations"} {
			if pairs, is := metadata[field].(map[string]any); is && key == "metadata" && len(pairs) == 0 {
				delete(metadata, field)
			}
		}
	}
	if err == nil {
		content, err = json.Marshal(value)
	}
	if err != nil {
		return err.Error()
	}
	return string(content)
}
