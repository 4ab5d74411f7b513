package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// Kustomization is a kustomization as kustomize reads it.
type Kustomization struct {
	types.Kustomization

	// Folder and File are its paths, from the root.
	Folder, File string
	// Paths maps the paths in it to paths from the root.
	Paths map[string]string
	// Documents are the documents of its patches, by the path or the text of a patch.
	Documents map[string][]Document

	// CRLF are the files of generators with CRLF line ends: they are part of the generated object.
	CRLF []string

	absent   []Absent
	remote   []string // resources that kustomize would fetch
	fetched  fetchedEntries
	root     *yaml.Node // nil if it cannot be read
	standIn  []byte     // its content with the configuration of the kinds, or nil
	loads    []load
	patches  []patchDocument
	problems problems
}

// IsEmpty reports whether kustomize refuses a kustomization as empty.
func (k *Kustomization) IsEmpty() bool { return k.CheckEmpty() != nil }

// folderReader reads the kustomization of a folder, and the files in it other than manifests.
type folderReader struct {
	*Kustomization
	fs       *FileSystem
	isConfig bool // a generator, transformer or validator loads the folder
}

// readKustomization reads the kustomization of a folder. The kustomization of the environment isRoot.
func readKustomization(files *FileSystem, folder, file string, isRoot, isConfig bool) *Kustomization {
	k := &Kustomization{Folder: folder, File: file, Paths: map[string]string{}, Documents: map[string][]Document{}}
	r := folderReader{k, files, isConfig}
	content, ok := r.readFile(file)
	if !ok {
		return k
	}
	if k.root = r.parseKustomization(content); k.root == nil {
		return k
	}
	for _, f := range loadFields {
		for _, list := range node.Fields(k.root, f.name) {
			for i, entry := range node.Items(list) {
				r.readEntry(f, i, entry)
			}
		}
	}
	if len(k.fetched.entries) > 0 {
		k.loadFetched()
	}
	k.configure(isRoot)
	k.FixKustomization()
	return k
}

// readFile returns the content of a file, unless kustomize cannot read it.
func (r folderReader) readFile(file string) (content []byte, ok bool) {
	content, found := readFile(r.fs, file)
	r.problems = append(r.problems, found...)
	return content, len(found) == 0
}

// readFile returns the content of a file, or the problems that keep kustomize from reading it.
func readFile(files *FileSystem, file string) (content []byte, found problems) {
	_, content, err := files.find(file)
	if err != nil {
		found.add(file, 0, "%v", err)
		return nil, found
	}
	return content, checkConflicts(file, content)
}

func checkConflicts(file string, content []byte) (found problems) {
	for _, line := range text.Conflicts(content) {
		found = append(found, manifest.Problem{Code: manifest.MergeConflict, File: Relative(file), Line: line,
			Message: "an unresolved merge conflict: keep what is right of it, and remove the lines of <<<<<<<, " +
				"======= and >>>>>>>"})
	}
	return found
}

// checkEnv reports the first line of an env file, and counts others, whose key the API server refuses. The lines are as
// keyValuesFromLine in kv/kv.go of kustomize reads them. A message quotes none: it may be a part of a secret value.
func checkEnv(file string, content []byte) problems {
	var wrong []int
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(content, []byte("\ufeff"))) {
		number++
		line = bytes.TrimLeftFunc(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), unicode.IsSpace)
		key, _, _ := bytes.Cut(line, []byte("="))
		isData := len(line) > 0 && line[0] != '#'
		if isData && (!utf8.Valid(line) || len(validation.IsConfigMapKey(string(key))) > 0) {
			wrong = append(wrong, number)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	more := ""
	if len(wrong) > 1 {
		more = fmt.Sprintf(" (and %d below)", len(wrong)-1)
	}
	return problems{{File: Relative(file), Line: wrong[0], Code: metav1.CauseTypeFieldValueInvalid,
		Message: "a line of an env file without a valid key" + more + ": write KEY=VALUE, with a key of letters, " +
			"digits, -, _ and .; list a value of several lines under files:, in a file of its own"}}
}

// loadField is a field of a kustomization that names files to load.
type loadField struct {
	name string
	key  string // of the path in an item; empty if the item is the path
	is   loadKind
}

type loadKind int

const (
	loadObjects loadKind = iota // a file of objects, or a folder with a kustomization
	loadFolder                  // a folder with a kustomization
	loadConfig                  // as loadObjects, or objects in place of the path
	loadPatches                 // a file of patches, or the patches in place of the path
	loadPatch                   // a file of patches
	inlinePatch                 // no path, but the patches themselves
	loadYAML                    // a file of one YAML document
	loadEnv                     // a file of lines KEY=VALUE
	loadAny                     // any file, perhaps with a name: name=file
)

func (is loadKind) mayBeFolder() bool {
	return is == loadObjects || is == loadFolder || is == loadConfig
}

var loadFields = []loadField{
	{"resources", "", loadObjects}, {"bases", "", loadObjects}, {"components", "", loadFolder},
	{"generators", "", loadConfig}, {"transformers", "", loadConfig}, {"validators", "", loadConfig},
	{"patches", "path", loadPatch}, {"patchesJson6902", "path", loadPatch}, {"patchesStrategicMerge", "", loadPatches},
	{"patches", "patch", inlinePatch}, {"patchesJson6902", "patch", inlinePatch},
	{"replacements", "path", loadYAML}, {"configurations", "", loadYAML}, {"crds", "", loadYAML},
	{"openapi", "path", loadYAML},
	{"configMapGenerator", "files", loadAny}, {"configMapGenerator", "envs", loadEnv},
	{"configMapGenerator", "env", loadEnv},
	{"secretGenerator", "files", loadAny}, {"secretGenerator", "envs", loadEnv}, {"secretGenerator", "env", loadEnv},
}

// Loads returns the paths in a kustomization, as they are written: of objects and folders, and of all other files.
func Loads(kustomization *yaml.Node) (objects, others []string) {
	for _, f := range loadFields {
		for _, list := range node.Fields(kustomization, f.name) {
			for _, entry := range node.Items(list) {
				name := node.Text(entry, strings.Fields(f.key)...)
				switch {
				case name == "" || strings.Contains(name, "\n") || f.is == inlinePatch:
				case f.is.mayBeFolder():
					objects = append(objects, name)
				default:
					others = append(others, name[strings.Index(name, "=")+1:]) // of a generator
				}
			}
		}
	}
	return objects, others
}

// readEntry reads the files, or the YAML in their place, that the entry of a field with an index loads.
func (r folderReader) readEntry(f loadField, i int, entry *yaml.Node) {
	values := []*yaml.Node{entry}
	if f.key != "" {
		values = node.Fields(entry, f.key)
	}
	for _, value := range values {
		for _, item := range node.Items(value) {
			if item.Kind == yaml.ScalarNode && !node.IsNull(item) {
				r.readValue(f, fmt.Sprintf("%s[%d]", f.name, i), item, targetOf(entry))
			}
		}
	}
}

// targetOf returns the target of a patch, or nil. An empty mapping is a target, null is not.
func targetOf(entry *yaml.Node) (target *yaml.Node) {
	for _, value := range node.Fields(entry, "target") {
		if !node.IsNull(value) {
			target = value
		}
	}
	return target
}

// readValue reads a file that an entry of a field loads, or the YAML in place of its path. A patch may
// have a target.
func (r folderReader) readValue(f loadField, entry string, value, target *yaml.Node) {
	switch {
	case f.is == inlinePatch:
		texts := text.SplitScalar(value)
		r.checkPatch(value, texts, entry+".patch:")
		r.addPatches(value, target, r.readYAML(r.File, texts, f))
		return
	case (f.is == loadPatches || f.is == loadConfig) && r.isInline(value.Value):
		r.readInline(f, value)
		return
	}
	if wrong := r.addPath(value.Value, f); wrong != "" && !r.addAbsent(f, value, wrong) {
		return
	}
	resolved := r.Paths[value.Value]
	switch f.is {
	case loadAny, loadEnv:
		r.readContent(resolved, f.is)
	case loadYAML, loadPatch, loadPatches:
		content, ok := r.readFile(resolved)
		if !ok {
			return
		}
		texts := text.Split(content)
		documents := r.readYAML(resolved, texts, f)
		r.Documents[value.Value] = documents
		if f.name == "configurations" && len(documents) == 1 {
			r.checkFields(resolved, documents[0].Node(), content, reflect.TypeFor[Configuration]())
		}
		if f.is != loadYAML {
			r.checkPatch(value, texts, entry+": "+value.Value)
			r.addPatches(value, target, documents)
		}
	default:
		r.addLoad(load{by: r.Kustomization, from: f, line: value.Line, path: resolved, isDir: r.fs.IsDir(resolved),
			isConfig: r.isConfig || f.is == loadConfig})
	}
}

// addAbsent adds a path that is wrong as it is. It reports whether a fetched file is there in its place.
func (r folderReader) addAbsent(f loadField, value *yaml.Node, wrong string) (isFetched bool) {
	name, isRemote := remoteName(value.Value, f)
	switch {
	case isRemote:
		return r.addRemote(f, name, value, wrong)
	case r.fs.isIgnored(path.Join(r.Folder, name)):
		r.leaveOut(f, manifest.Problem{Code: manifest.InvalidKustomization, File: Relative(r.File), Line: value.Line,
			Message: wrong}, ignoredFile+": "+Relative(path.Join(r.Folder, name)), value)
	default:
		r.problems.add(r.File, value.Line, "%s", wrong)
	}
	return false
}

// readContent reads a file of a generator.
func (r folderReader) readContent(file string, is loadKind) {
	_, content, err := r.fs.find(file)
	if bytes.Contains(content, []byte("\r\n")) {
		r.CRLF = append(r.CRLF, file)
	}
	if err != nil { // kustomize reports it
		return
	}
	found := checkConflicts(file, content)
	if is == loadEnv && len(found) == 0 {
		found = checkEnv(file, content)
	}
	r.problems = append(r.problems, found...)
}

// checkPatch reports a patch of nothing but comments: kustomize ignores it, which undoes the patch. checkPatches
// reports an empty value.
func (r folderReader) checkPatch(value *yaml.Node, texts []text.Document, name string) {
	if value.Value != "" && !slices.ContainsFunc(texts, func(d text.Document) bool { return !d.IsEmpty() }) {
		r.problems.add(r.File, value.Line, "%s is empty: write the patch, or remove the entry", name)
	}
}

// addPath resolves a path that a field loads, or returns its problem.
func (r folderReader) addPath(name string, f loadField) (wrong string) {
	entry := name
	if _, after, ok := strings.Cut(name, "="); ok && f.is == loadAny {
		name = after
	}
	resolved, isDir, wrong := r.resolve(name, f)
	switch {
	case wrong != "":
		return wrong
	case isDir && !f.is.mayBeFolder():
		return name + " is a folder: write the path of a file"
	case isDir && r.fs.KustomizationFile(resolved) == "" && r.fs.Exists(path.Join(resolved, "Chart.yaml")):
		return name + " is a chart: list it under helmCharts, or its rendered files here"
	case isDir && r.fs.KustomizationFile(resolved) == "":
		return name + " has no kustomization.yaml: write one there, or list its files here"
	case !isDir && f.is == loadObjects && resolved == r.File:
		return name + " is this kustomization, and no file of objects: remove it"
	case !isDir && f.is == loadFolder:
		return name + " is a file: write the path of a folder with a kustomization.yaml"
	}
	r.Paths[entry] = resolved
	return ""
}

// remote matches every path that kustomize would fetch: a URL, a git repository, or a user at a host.
var remote = regexp.MustCompile(
	`(?i)^(git::|gh:|https?:|[a-z][a-z0-9+.-]*://|[a-z][a-z0-9-]*@[^/:]*[/:]|(www\.)?github\.com[:/])`)

// resolve finds a path of a kustomization, or returns its problem.
func (r folderReader) resolve(name string, f loadField) (resolved string, isDir bool, wrong string) {
	switch {
	case name == "":
		return "", false, f.name + ": an empty path: remove it"
	case strings.Contains(name, "\n"):
		return "", false, fmt.Sprintf("%s: %s is no path: write that of a file, on one line", f.name, text.Clip(name))
	case path.IsAbs(name):
		return "", false, fmt.Sprintf("%s is absolute: write a path relative to %s", name, Relative(r.Folder))
	}
	resolved, isDir, err := r.fs.Resolve(path.Join(r.Folder, name))
	if !fs.ValidPath(path.Join(Relative(r.Folder), name)) {
		err = errOutside(name)
	}
	exists := !errors.Is(err, fs.ErrNotExist)
	isRemote := remote.MatchString(name) && (!exists || isDir || strings.HasPrefix(strings.ToLower(name), "http"))
	switch {
	case isRemote && exists:
		return "", false,
			fmt.Sprintf("kustomize may take %s for a remote repository: write ./%s for what is here", name, name)
	case isRemote:
		return "", false, name + " is remote: rendering reads only this repository; copy it here and write its path"
	case !exists:
		return "", false, name + ": no such file or folder in this repository" + r.similarPath(name)
	case err != nil:
		return "", false, err.Error()
	}
	return resolved, isDir, ""
}

// similarPath returns a hint at the path that a missing one may be meant to be: with slashes, from the folder in place
// of the root, or of a similar name in place of the first name that is not there.
func (r folderReader) similarPath(name string) string {
	if strings.Contains(name, `\`) {
		return ": write / between the names of folders, and not \\"
	}
	fromRoot := path.Join("/", name)
	if way, err := filepath.Rel(r.Folder, fromRoot); err == nil && path.Dir(fromRoot) != "/" && r.fs.Exists(fromRoot) {
		return ": a path begins in the folder of its kustomization: write " + filepath.ToSlash(way)
	}
	names := strings.Split(name, "/")
	for i := range names {
		folder := path.Join(append([]string{r.Folder}, names[:i]...)...)
		if r.fs.Exists(path.Join(folder, names[i])) {
			continue
		}
		files, _ := r.fs.List(folder)
		known := make([]string, len(files))
		for j, file := range files {
			known[j] = path.Join(path.Join(names[:i]...), file)
		}
		return manifest.DidYouMean(path.Join(names[:i+1]...), known)
	}
	return ""
}

// readYAML returns the documents of a file that a field loads, or of the YAML in its place.
func (r folderReader) readYAML(file string, texts []text.Document, f loadField) (documents []Document) {
	for _, d := range texts {
		if d.IsTabbedJSON() {
			continue
		}
		root, err := d.Parse()
		var twice text.Error
		if file == r.File && f.is == loadYAML && errors.As(err, &twice) && twice.Other > 0 {
			r.problems = append(r.problems, droppedKey(file, err))
			root, err = d.Uniting(node.TakeLast).Parse()
		}
		if err != nil {
			r.problems = append(r.problems, malformed(file, err))
			continue
		}
		if root == nil || node.IsNull(root) {
			continue
		}
		if len(documents) > 0 && (documents[0].Node().Kind == yaml.SequenceNode || f.is == loadYAML) {
			r.problems.add(file, root.Line,
				"a second document, which kustomize does not read: make one of both, or a file of each")
		}
		documents = append(documents, splitList(file, root, false)...)
	}
	return documents
}

// droppedKey returns the warning of a key that a kustomization has twice.
func droppedKey(file string, err error) manifest.Problem {
	p := malformed(file, err)
	p.Warning = true
	p.Message = "kustomize takes the last of equal keys alone: " + strings.TrimPrefix(p.Message, "malformed YAML: ")
	return p
}

// patchDocument is a patch of objects.
type patchDocument struct {
	Document
	kind      string // of the objects: a pattern, "" for any
	hasTarget bool   // it selects the objects in place of the document's name
}

// addPatches adds the patches of an entry, which may have a target.
func (r folderReader) addPatches(entry, target *yaml.Node, documents []Document) {
	r.Documents[entry.Value] = documents
	for _, d := range documents {
		if d.Node().Kind == yaml.SequenceNode && len(d.Node().Content) > 0 && target == nil {
			r.problems.add(r.File, entry.Line,
				"a JSON patch needs a target: list it under patches, with target: and the kind and name of what it "+
					"changes, or target: {} to change everything")
		}
		r.checkOperations(d)
		kind := d.Kind
		if target != nil { // kustomize ignores the kind in the document
			kind = node.Text(target, "kind")
			d.APIVersion = ""
		}
		if d.Kind == "" && kind != "" {
			d.Kind = kind
			d.Name = node.Text(target, "name")
		}
		r.patches = append(r.patches, patchDocument{d, kind, target != nil})
	}
}

// checkOperations reports operations of a JSON patch that do not exist.
func (r folderReader) checkOperations(patch Document) {
	operations := []string{"add", "remove", "replace", "move", "copy", "test"}
	for _, o := range patch.Node().Content {
		if op := node.Text(o, "op"); patch.Node().Kind == yaml.SequenceNode && !slices.Contains(operations, op) {
			r.problems.add(patch.File, node.Line(o, "op"), "op: %q is no operation of a JSON patch: write one of %s",
				op, strings.Join(operations, ", "))
		}
	}
}

// isInline reports whether kustomize reads a value as YAML and not as a path.
func (r folderReader) isInline(value string) bool {
	if strings.Contains(value, "\n") {
		return true
	}
	var root yaml.Node
	err := yaml.Unmarshal([]byte(value), &root)
	if err == nil && (len(root.Content) == 0 || root.Content[0].Kind == yaml.ScalarNode) {
		return false
	}
	if err == nil && node.Text(root.Content[0], "kind") != "" {
		return true
	}
	return !r.fs.Exists(path.Join(r.Folder, value)) && (err == nil || strings.HasPrefix(value, "{"))
}

// readInline reads the objects in place of a path.
func (r folderReader) readInline(f loadField, value *yaml.Node) {
	before := len(r.problems)
	documents := r.readYAML(r.File, text.SplitScalar(value), f)
	if len(r.problems) > before {
		return
	}
	for _, d := range documents {
		if d.Node().Kind != yaml.MappingNode || d.Kind == "" || d.Name == "" {
			r.problems.add(r.File, d.Line(),
				"%s: %s is neither a path nor an object: write the path of a file on one line, or an object with "+
					"apiVersion, kind and metadata.name", f.name, text.Clip(value.Value))
			return
		}
	}
	switch {
	case len(documents) == 0:
		r.problems.add(r.File, value.Line, "%s: an empty text: remove it", f.name)
	case f.is == loadPatches:
		r.addPatches(value, nil, documents)
	default:
		for _, d := range documents {
			absent, found := checkConfig(d)
			r.absent = append(r.absent, absent...)
			r.problems = append(r.problems, found...)
		}
	}
}
