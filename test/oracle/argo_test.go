package oracle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/gobwas/glob"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// runArgo makes the objects of an Application: all that its sources here have, in the namespace of its destination.
func (c *cluster) runArgo(o *object) (all []*object, err error) {
	sources, _, _ := unstructured.NestedSlice(o.Object, "spec", "sources")
	if one, is, _ := unstructured.NestedMap(o.Object, "spec", "source"); is && len(sources) == 0 {
		sources = []any{one}
	}
	hasRef := map[string]bool{}
	for _, each := range sources {
		source, _ := each.(map[string]any)
		if ref, _ := source["ref"].(string); ref != "" && c.isHere(source) {
			hasRef[ref] = true
		}
	}
	namespace, _, _ := unstructured.NestedString(o.Object, "spec", "destination", "namespace")
	for _, each := range sources {
		source, _ := each.(map[string]any)
		made, failed := c.runSource(source, o.GetName(), namespace, hasRef)
		err = cmp.Or(err, failed)
		all = append(all, made...)
	}
	for _, made := range all {
		kind := kyaml.TypeMeta{APIVersion: made.GetAPIVersion(), Kind: made.GetKind()}
		isNamespaced, isKnown := openapi.IsNamespaceScoped(kind)
		if made.GetNamespace() == "" && isNamespaced && isKnown {
			made.SetNamespace(namespace)
		}
	}
	return all, err
}

// isHere reports whether a source of an Application or a generator is the repository of the tree.
func (c *cluster) isHere(source map[string]any) bool {
	url, _ := source["repoURL"].(string)
	out, _ := exec.Command("git", "-C", c.dir, "remote", "get-url", "origin").Output()
	name := func(url string) string {
		return strings.ToLower(path.Base(strings.TrimSuffix(strings.TrimSpace(url), ".git")))
	}
	return source["chart"] == nil && name(url) == name(string(out))
}

// runSource makes the objects of one source of an Application.
func (c *cluster) runSource(source map[string]any, name, namespace string, hasRef map[string]bool) (all []*object,
	err error) {
	defer catch(&err)
	at, _ := source["path"].(string)
	if !c.isHere(source) {
		return nil, errors.New("another repository")
	}
	if at == "" {
		return nil, nil
	}
	folder := filepath.Join(c.dir, at)
	isThere := func(name string) bool { _, err := os.Stat(filepath.Join(folder, name)); return err == nil }
	switch {
	case source["directory"] != nil:
	case isThere("Chart.yaml"):
		return c.runChart(folder, source, common.ReleaseOptions{Name: name, Namespace: namespace}, hasRef), nil
	case isThere("kustomization.yaml"), isThere("kustomization.yml"), isThere("Kustomization"):
		return c.runKustomize(at), nil
	}
	return readFolder(folder, source), nil
}

// runChart renders the chart of a source.
func (c *cluster) runChart(folder string, source map[string]any, release common.ReleaseOptions,
	hasRef map[string]bool) []*object {
	files, _, _ := unstructured.NestedStringSlice(source, "helm", "valueFiles")
	mayMiss, _, _ := unstructured.NestedBool(source, "helm", "ignoreMissingValueFiles")
	values := map[string]any{}
	merge := func(content []byte) {
		values = loader.MergeMaps(values, must(loader.LoadValues(bytes.NewReader(content))))
	}
	for _, file := range files {
		within := filepath.Join(folder, file)
		ref, rest, _ := strings.Cut(strings.TrimPrefix(file, "$"), "/")
		switch {
		case strings.HasPrefix(file, "$") && hasRef[ref]:
			within = filepath.Join(c.dir, rest)
		case strings.HasPrefix(file, "/"):
			within = filepath.Join(c.dir, file)
		}
		content, err := os.ReadFile(within)
		if err == nil || !mayMiss {
			merge(must(content, err))
		}
	}
	text, _, _ := unstructured.NestedString(source, "helm", "values")
	object, isObject, _ := unstructured.NestedMap(source, "helm", "valuesObject")
	if isObject {
		text = string(must(yaml.Marshal(object)))
	}
	merge([]byte(text))
	parameters, _, _ := unstructured.NestedSlice(source, "helm", "parameters")
	for _, each := range parameters {
		p, _ := each.(map[string]any)
		set := fmt.Sprintf("%v=%v", p["name"], p["value"])
		if p["forceString"] == true {
			must(0, strvals.ParseIntoString(set, values))
		} else {
			must(0, strvals.ParseInto(set, values))
		}
	}
	name, _, _ := unstructured.NestedString(source, "helm", "releaseName")
	release.Name = cmp.Or(name, release.Name)
	return runHelm(folder, release, nil, values)
}

// readFolder reads the manifests of a folder.
func readFolder(folder string, source map[string]any) (all []*object) {
	recurses, _, _ := unstructured.NestedBool(source, "directory", "recurse")
	takes := func(within, field string, otherwise bool) bool {
		pattern, _, _ := unstructured.NestedString(source, "directory", field)
		return pattern == "" && otherwise || pattern != "" && must(glob.Compile(pattern)).Match(within)
	}
	must(0, filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		within, _ := filepath.Rel(folder, name)
		switch info, _ := os.Stat(name); { // Argo CD reads links to files
		case err != nil:
			return err
		case entry.IsDir() && name != folder && !recurses:
			return filepath.SkipDir
		case info == nil || info.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
		case takes(within, "include", true) && !takes(within, "exclude", false):
			content := must(os.ReadFile(name))
			isObject := bytes.Contains(content, []byte("kind"))
			if isObject && !bytes.Contains(content, []byte("+argocd:skip-file-rendering")) {
				all = append(all, parse(content)...)
			}
		}
		return nil
	}))
	return all
}

// runSet makes the Applications of an ApplicationSet with lists, generators of git, and matrices of these.
func (c *cluster) runSet(o *object) (all []*object) {
	generators, _, _ := unstructured.NestedSlice(o.Object, "spec", "generators")
	form, _, _ := unstructured.NestedMap(o.Object, "spec", "template")
	s := set{cluster: c}
	s.isGo, _, _ = unstructured.NestedBool(o.Object, "spec", "goTemplate")
	options, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "goTemplateOptions")
	s.options = options
	patch, _, _ := unstructured.NestedString(o.Object, "spec", "templatePatch")
	for _, each := range generators {
		generator, _ := each.(map[string]any)
		for _, values := range s.generate(generator, nil) {
			made, _ := s.fill(form, values).(map[string]any)
			made["apiVersion"], made["kind"] = "argoproj.io/v1alpha1", "Application"
			content := must(yaml.YAMLToJSON(must(yaml.Marshal(made))))
			if patch != "" {
				by := must(yaml.YAMLToJSON([]byte(s.execute(patch, values))))
				content = must(jsonpatch.MergePatch(content, by))
			}
			app := &object{}
			must(0, app.UnmarshalJSON(content))
			app.SetNamespace(o.GetNamespace())
			all = append(all, app)
		}
	}
	count := map[string]int{}
	for _, app := range all {
		count[app.GetName()]++
	}
	return slices.DeleteFunc(all, func(app *object) bool { return count[app.GetName()] > 1 }) // it updates none of them
}

// set is an ApplicationSet at work.
type set struct {
	*cluster
	isGo    bool
	options []string
}

// generate returns the parameters of a generator, beside the given ones.
func (s *set) generate(generator, given map[string]any) (all []map[string]any) {
	list, isList := generator["list"].(map[string]any)
	git, isGit := generator["git"].(map[string]any)
	matrix, isMatrix := generator["matrix"].(map[string]any)
	switch {
	case isList:
		elements, _ := list["elements"].([]any)
		for _, each := range elements {
			all = append(all, s.flat(each.(map[string]any)))
		}
	case isGit && s.isHere(git):
		all = s.generateFromGit(s.fill(git, given).(map[string]any))
	case isMatrix:
		all = []map[string]any{given}
		for _, each := range matrix["generators"].([]any) {
			var next []map[string]any
			for _, one := range all {
				for _, two := range s.generate(each.(map[string]any), one) {
					both := maps.Clone(two)
					maps.Copy(both, one)
					next = append(next, both)
				}
			}
			all = next
		}
	default:
		must(0, fmt.Errorf("no such generator here: %v", slices.Sorted(maps.Keys(generator))))
	}
	return all
}

// flat returns parameters as a template without Go has them: by paths.
func (s *set) flat(values map[string]any) map[string]any {
	if s.isGo {
		return maps.Clone(values)
	}
	all := map[string]any{}
	for key, value := range values {
		inner, isMap := value.(map[string]any)
		if !isMap {
			all[key] = value
			continue
		}
		for below, value := range s.flat(inner) {
			all[key+"."+below] = value
		}
	}
	return all
}

func (s *set) generateFromGit(git map[string]any) (all []map[string]any) {
	add := func(values map[string]any, folder, file string) {
		segments := strings.Split(folder, "/")
		if s.isGo {
			values["path"] = map[string]any{"path": folder, "basename": path.Base(folder), "segments": segments,
				"filename": file, "basenameNormalized": normalize(path.Base(folder)), "filenameNormalized": normalize(file)}
			if extra, is := git["values"].(map[string]any); is {
				values["values"] = s.fill(extra, values)
			}
			all = append(all, values)
			return
		}
		for key, value := range map[string]string{"path": folder, "path.basename": path.Base(folder),
			"path.filename": file, "path.basenameNormalized": normalize(path.Base(folder))} {
			values[key] = value
		}
		for i, segment := range segments {
			values[fmt.Sprintf("path[%d]", i)] = segment
		}
		extra, _ := git["values"].(map[string]any)
		for key, value := range extra {
			values["values."+key] = s.fill(value, values)
		}
		all = append(all, values)
	}
	entries, _ := git["directories"].([]any)
	for _, folder := range s.folders(entries) {
		add(map[string]any{}, folder, "")
	}
	entries, _ = git["files"].([]any)
	for _, file := range s.filesOf(entries) {
		var content any
		must(0, yaml.Unmarshal(must(os.ReadFile(filepath.Join(s.dir, file))), &content))
		each, isMany := content.([]any)
		if !isMany {
			each = []any{content}
		}
		for _, one := range each {
			values, isMap := one.(map[string]any)
			if !isMap && one != nil {
				must(0, fmt.Errorf("%s has no mapping", file))
			}
			all := s.flat(values)
			if all == nil {
				all = map[string]any{}
			}
			add(all, path.Dir(file), path.Base(file))
		}
	}
	return all
}

func normalize(name string) string {
	name = regexp.MustCompile(`[^-a-z0-9.]`).ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name, "-.")
}

// folders returns the folders that entries select.
func (s *set) folders(entries []any) (all []string) {
	selects := func(folder string, excludes bool) bool {
		return slices.ContainsFunc(entries, func(each any) bool {
			entry, _ := each.(map[string]any)
			pattern, _ := entry["path"].(string)
			isExcluding, _ := entry["exclude"].(bool)
			return isExcluding == excludes && must(path.Match(pattern, folder))
		})
	}
	must(0, filepath.WalkDir(s.dir, func(name string, entry fs.DirEntry, err error) error {
		switch folder, _ := filepath.Rel(s.dir, name); {
		case err != nil || !entry.IsDir():
			return err
		case strings.HasPrefix(entry.Name(), ".") && name != s.dir:
			return filepath.SkipDir
		case selects(folder, false) && !selects(folder, true):
			all = append(all, folder)
		}
		return nil
	}))
	return all
}

// filesOf returns the files that entries select, as pathspecs of git do.
func (s *set) filesOf(entries []any) (all []string) {
	selected := map[string]bool{}
	for _, excludes := range []bool{false, true} {
		for _, each := range entries {
			entry, _ := each.(map[string]any)
			pattern, _ := entry["path"].(string)
			isExcluding, _ := entry["exclude"].(bool)
			if isExcluding != excludes {
				continue
			}
			out := must(exec.Command("git", "-C", s.dir, "ls-files", "-z", "--", pattern).Output())
			for _, file := range strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }) {
				selected[file] = !excludes
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(selected)) {
		if selected[file] {
			all = append(all, file)
		}
	}
	return all
}

// fill returns a value with parameters in each text.
func (s *set) fill(form any, values map[string]any) any {
	switch form := form.(type) {
	case string:
		return s.execute(form, values)
	case []any:
		all := make([]any, len(form))
		for i, each := range form {
			all[i] = s.fill(each, values)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key, each := range form {
			all[s.execute(key, values)] = s.fill(each, values)
		}
		return all
	}
	return form
}

// templateOption matches the options of a Go template.
var templateOption = regexp.MustCompile(`^missingkey=(default|invalid|zero|error)$`)

var parameter = regexp.MustCompile(`\{\{ *([^{} ]+) *\}\}`)

func (s *set) execute(text string, values map[string]any) string {
	if !strings.Contains(text, "{{") || values == nil {
		return text
	}
	if !s.isGo {
		return parameter.ReplaceAllStringFunc(text, func(found string) string {
			value, isThere := values[parameter.FindStringSubmatch(found)[1]]
			if !isThere {
				return found
			}
			return fmt.Sprint(value)
		})
	}
	for _, option := range s.options { // the library panics
		if !templateOption.MatchString(option) {
			must(0, fmt.Errorf("no option of a template: %s", option))
		}
	}
	functions := sprig.TxtFuncMap()
	functions["normalize"] = normalize
	compiled := must(template.New("").Funcs(functions).Option(s.options...).Parse(text))
	var out bytes.Buffer
	must(0, compiled.Execute(&out, values))
	return strings.ReplaceAll(out.String(), "<no value>", "")
}
