package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	yamlv3 "go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// TestEachKustomizeFeatureBuildsTheSame builds a repository for each feature of kustomize, as `kustomize build` does, and
// renders it. Both must produce the same objects, alone and beside specs. An archive ends with the
// built objects, as built.yaml, and its comment with other expectations:
//
//	fails: no match        part of kustomize's error; rendering fails, too
//	refused: a Secret      part of a problem with the built objects
//	on purpose: reason     rendering differs from kustomize's output, and is better
func TestEachKustomizeFeatureBuildsTheSame(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/corpus: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { checkFeature(t, file) })
	}
}

// builtFile has the built objects of an archive.
const builtFile = "built.yaml"

func checkFeature(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	marks := marksOf(string(archive.Comment))
	input, want := splitBuilt(archive)
	library := kustomizeBuild(input, write(t, string(txtar.Format(input))))
	switch {
	case !strings.Contains(library.failure, marks["fails"]) || (library.failure == "") != (marks["fails"] == ""):
		t.Errorf("kustomize fails with %q, want %q", library.failure, marks["fails"])
	case *rewrite:
		input.Files = append(input.Files, txtar.File{Name: builtFile, Data: []byte(library.yaml)})
		if err := os.WriteFile(file, txtar.Format(input), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	default:
		equal(t, "built", want, library.yaml)
	}
	difference := differences(t, input, library, marks)
	switch differs := marks["on purpose"] != ""; {
	case differs && difference == "":
		t.Error("this differs no more: remove the mark")
	case !differs && difference != "":
		t.Error(difference)
	}
}

// differences compares rendering with the library: alone, with one spec and with many. It returns ""
// if they agree.
func differences(t *testing.T, input *txtar.Archive, library outcome, marks map[string]string) string {
	t.Helper()
	alone := renderFolder(t, write(t, string(txtar.Format(input))))
	if difference := library.compare(alone, marks["refused"]); difference != "" {
		return difference
	}
	if internal.MatchString(alone.failure) {
		return "a problem that nobody understands: " + alone.failure
	}
	with := withSpecs(t, input, 1)
	root := write(t, string(txtar.Format(with)))
	rendered := renderFolder(t, root)
	if difference := kustomizeBuild(with, root).compare(rendered, marks["refused"]); difference != "" {
		return "with specs: " + difference
	}
	if alone.failure != "" {
		return ""
	}
	many := renderFolder(t, write(t, string(txtar.Format(withSpecs(t, input, manySpecs)))))
	return cmp.Or(many.failure, udiff.Unified("alone", "with specs", alone.plain, rendered.plain), udiff.Unified("alone", "with many specs", alone.plain, many.plain))
}

// manySpecs is enough for a build in parts.
const manySpecs = 48

var mark = regexp.MustCompile(`(?m)^(fails|refused|on purpose): (.*)$`)

func marksOf(comment string) map[string]string {
	marks := map[string]string{}
	for _, match := range mark.FindAllStringSubmatch(comment, -1) {
		marks[match[1]] = match[2]
	}
	return marks
}

func splitBuilt(archive *txtar.Archive) (input *txtar.Archive, built string) {
	input = &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if f.Name == builtFile {
			built = string(f.Data)
		} else {
			input.Files = append(input.Files, f)
		}
	}
	return input, built
}

// outcome is the result of building or rendering an environment.
type outcome struct {
	failure string   // the error
	objects []string // the source objects as JSON, in the order of render
	plain   string   // the objects other than specs
	yaml    string   // all objects, as kustomize writes them
}

// compare compares a rendering with the outcome of the library, unless the rendering should be refused.
// It returns "" if they agree.
func (library outcome) compare(rendered outcome, refused string) string {
	switch {
	case refused != "" && (library.failure == "" || rendered.failure != ""):
		if !strings.Contains(rendered.failure, refused) || rendered.failure == "" {
			return fmt.Sprintf("is refused with %q, want %q\n", rendered.failure, refused)
		}
		return ""
	case library.failure != "" && rendered.failure != "":
		return ""
	case library.failure != "":
		return fmt.Sprintf("renders what kustomize refuses: %s\n", library.failure)
	case rendered.failure != "":
		return fmt.Sprintf("is refused, but not by kustomize: %s\n", rendered.failure)
	}
	return udiff.Unified("kustomize build", "render", strings.Join(library.objects, ""), strings.Join(rendered.objects, ""))
}

const prodFolder = "/environments/prod"

// kustomizeBuild builds the environment of an archive, below root, as `kustomize build` does.
func kustomizeBuild(archive *txtar.Archive, root string) outcome {
	sorts := false
	for _, f := range archive.Files {
		if bytes.Contains(f.Data, []byte("openapi")) {
			defer openapi.ResetOpenAPI() // the schemas belong to the process
		}
		sorts = sorts || path.Join("/", path.Dir(f.Name)) == prodFolder && bytes.Contains(f.Data, []byte("sortOptions"))
	}
	resources, err := runKustomize(filepath.Join(root, prodFolder))
	if err != nil {
		return outcome{failure: err.Error()}
	}
	content, err := resources.AsYaml()
	if err != nil {
		return outcome{failure: err.Error()}
	}
	var all []builtObject
	for _, r := range resources.Resources() {
		content, err := r.AsYAML()
		if err != nil {
			return outcome{failure: err.Error()}
		}
		all = append(all, newBuilt(content))
	}
	if !sorts {
		slices.SortStableFunc(all, compareBuilt)
	}
	o := newOutcome(all)
	o.yaml = string(content)
	return o
}

// runKustomize builds a folder as `kustomize build` does. An empty result is an error.
func runKustomize(folder string) (resources resmap.ResMap, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	options.Reorder = krusty.ReorderOptionUnspecified
	resources, err = krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err == nil && resources.Size() == 0 {
		err = errors.New("no objects")
	}
	return resources, err
}

// builtObject is a built object.
type builtObject struct {
	resid.ResId
	json string
}

func (b builtObject) isSpec() bool {
	return gatehouse.All().Find(schema.GroupVersionKind{Group: b.Group, Version: b.Version, Kind: b.Kind}) != nil
}

// newBuilt reads YAML as an API server does.
func newBuilt(content []byte) (b builtObject) {
	asJSON, err := yaml.YAMLToJSON(content)
	if err != nil {
		return builtObject{json: err.Error()}
	}
	var metadata struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	_ = json.Unmarshal(asJSON, &metadata) // objects without a name are compared as they are
	b.ResId = resid.ResId{Name: metadata.Metadata.Name, Namespace: metadata.Metadata.Namespace}
	b.Group, b.Version, b.Kind = manifest.Group(metadata.APIVersion), path.Base(metadata.APIVersion), metadata.Kind
	b.json = indented(asJSON)
	return b
}

// indented returns JSON on many lines, with sorted keys and unchanged numbers.
func indented(content []byte) string {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	if err == nil {
		content, err = json.MarshalIndent(value, "", " ")
	}
	if err != nil {
		return err.Error()
	}
	return string(content) + "\n"
}

// compareBuilt orders objects as they are rendered: by kind in the apply order of kustomize, then by
// namespace and name.
func compareBuilt(a, b builtObject) int {
	kindA, kindB := resid.Gvk{Group: a.Group, Kind: a.Kind}, resid.Gvk{Group: b.Group, Kind: b.Kind}
	switch {
	case kindA.IsLessThan(kindB):
		return -1
	case kindB.IsLessThan(kindA):
		return 1
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func newOutcome(all []builtObject) (o outcome) {
	for _, b := range all {
		o.objects = append(o.objects, b.json)
		if !b.isSpec() {
			o.plain += b.json
		}
	}
	return o
}

// renderFolder renders the environment below root.
func renderFolder(t *testing.T, root string) outcome {
	t.Helper()
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	e := repository.Load(path.Base(prodFolder), LoadOptions{})
	rendering, problems := e.Rendering, e.Problems
	return newRendered(rendering, problems)
}

// newRendered returns the outcome of the source objects, read from their files.
func newRendered(rendering *Rendering, problems []manifest.Problem) outcome {
	if rendering == nil {
		errors, _ := manifest.SplitProblems(problems)
		return outcome{failure: errors[0].String()}
	}
	var all []builtObject
	for i, o := range rendering.Objects {
		if !o.IsRendered() {
			all = append(all, fromFile(o, rendering.Files[i]))
		}
	}
	return newOutcome(all)
}

// fromFile reads an object from its file.
func fromFile(o manifest.Object, file tree.File) builtObject {
	inFile := newBuilt(file.Content)
	content, err := json.Marshal(o.Object)
	if err != nil {
		return builtObject{json: err.Error()}
	}
	if asJSON := indented(content); inFile.json != asJSON {
		inFile.json = notInFile + asJSON + "\n" + inFile.json
	}
	return inFile
}

// notInFile marks an object whose file has another object.
const notInFile = "not what its file has: "

const (
	oneMemcached = "---\napiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: beside-memcached-%d}\nspec: {size: 2}\n"
	oneAt        = "---\napiVersion: cnat.programming-kubernetes.info/v1alpha1\nkind: At\nmetadata: {name: beside-at-%d}\nspec: {schedule: \"2027-01-01T00:00:00Z\", command: date}\n"
)

// withSpecs adds specs to the resources of the environment.
func withSpecs(t *testing.T, archive *txtar.Archive, count int) *txtar.Archive {
	t.Helper()
	var specs strings.Builder
	for i := range count {
		fmt.Fprintf(&specs, oneMemcached+oneAt, i, i)
	}
	with := &txtar.Archive{Files: []txtar.File{{Name: prodFolder[1:] + "/beside.yaml", Data: []byte(specs.String())}}}
	for _, f := range archive.Files {
		if folder, name := path.Split("/" + f.Name); path.Clean(folder) == prodFolder && strings.HasPrefix(strings.ToLower(name), "kustomization") {
			f.Data = addResource(t, f.Data, "beside.yaml")
		}
		with.Files = append(with.Files, f)
	}
	return with
}

// addResource adds a path to the resources of a kustomization.
func addResource(t *testing.T, kustomization []byte, name string) []byte {
	t.Helper()
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(kustomization, &document); err != nil || len(document.Content) == 0 {
		return kustomization // nor can kustomize build it
	}
	root := document.Content[0]
	item := &yamlv3.Node{Kind: yamlv3.ScalarNode, Value: name}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if strings.EqualFold(root.Content[i].Value, "resources") { // kustomize folds case
			root.Content[i+1].Content = append(root.Content[i+1].Content, item)
			return marshal(t, &document)
		}
	}
	root.Content = append(root.Content, &yamlv3.Node{Kind: yamlv3.ScalarNode, Value: "resources"},
		&yamlv3.Node{Kind: yamlv3.SequenceNode, Content: []*yamlv3.Node{item}})
	return marshal(t, &document)
}

func marshal(t *testing.T, document *yamlv3.Node) []byte {
	t.Helper()
	content, err := yamlv3.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
