// Package tree writes what is rendered: it lays objects out in files, plans what has
// to be written and pruned, shows it as a diff and carries it out.
package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
)

// The kustomization.yaml of a rendered environment is the index of what render
// owns there: the files that it lists, itself, and the page beside it. Nothing else in the
// folder is ever changed or removed, but for the temporary files of runs that were killed.

// IndexFile is the path of the index in the folder of an environment.
const IndexFile = "kustomization.yaml"

// indexHeader tells an index from a kustomization that a person wrote.
const indexHeader = "# Written by gatehouse render, which owns the files listed here: do not edit.\n"

// KubernetesAnnotation is an annotation of the kustomization of an environment, and of its index:
// the minor version of the Kubernetes that it is for, such as "1.35". An environment without it is
// for the newest version that render knows.
const KubernetesAnnotation = "gatehouse.example.com/kubernetes"

// Index is what an index says of a rendered environment, beside its files.
type Index struct {
	// Kubernetes is the version that the environment says it is for; empty where it says none.
	Kubernetes string
	// KeepsOrder reports whether kustomize has to keep the order of the files.
	KeepsOrder bool
}

// list returns the content of the index of files in apply order.
func (i Index) list(names []string) []byte {
	var b bytes.Buffer
	b.WriteString(indexHeader)
	b.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
	if i.Kubernetes != "" {
		fmt.Fprintf(&b, "metadata:\n  annotations:\n    %s: %q\n", KubernetesAnnotation, i.Kubernetes)
	}
	b.WriteString("resources:\n")
	for _, name := range names {
		b.WriteString("- " + name + "\n")
	}
	if i.KeepsOrder {
		b.WriteString("sortOptions:\n  order: fifo\n")
	}
	return b.Bytes()
}

// annotatedKubernetes matches the line of an index with the version of Kubernetes.
var annotatedKubernetes = regexp.MustCompile(`(?m)^    ` + regexp.QuoteMeta(KubernetesAnnotation) + `: "([0-9.]+)"\r?$`)

// KubernetesOf returns the version of Kubernetes in the content of an index; empty where it has
// none.
func KubernetesOf(index []byte) string {
	if match := annotatedKubernetes.FindSubmatch(index); match != nil && isIndex(index) {
		return string(match[1])
	}
	return ""
}

// isIndex reports whether render wrote a kustomization.
func isIndex(content []byte) bool { return startsWith(content, indexHeader) }

// startsWith reports whether a file starts with a header. Marks of a merge may be before it, and
// lines may end as on another system.
func startsWith(content []byte, header string) bool {
	for line := range bytes.Lines(content) {
		if string(bytes.TrimRight(line, "\r\n")) == strings.TrimRight(header, "\n") {
			return true
		}
		if !mergeMark.Match(line) {
			return false
		}
	}
	return false
}

// mergeMark matches a line that git writes between the sides of a merge.
var mergeMark = regexp.MustCompile(`^(<<<<<<<|\|\|\|\|\|\|\||=======|>>>>>>>)( |\r?\n|$)`)

// readIndex returns the files that an index lists. It reads line by line, so that
// one with the marks of a merge conflict is the index of both sides.
func readIndex(content []byte) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "- ")
		if ok && IsOwnable(name) {
			names[name] = true
		}
	}
	return names
}

// Read returns the rendered files of an environment below root, none if it was not rendered.
func Read(root *os.Root, environment string) ([]File, error) {
	index, err := ReadIndex(root, environment)
	if err != nil {
		return nil, err
	}
	names := Listed(index)
	contents := (&folder{root: root, path: path.Join(Folder, environment)}).readAll(names)
	files, errs := make([]File, 0, len(names)), []error(nil)
	for _, name := range names {
		if read := contents[name]; read.bytes != nil {
			files = append(files, File{name, read.bytes})
		} else {
			errs = append(errs, read.err)
		}
	}
	return files, errors.Join(errs...)
}

// ReadIndex returns the content of the index of an environment below root, nil if it was not
// rendered.
func ReadIndex(root *os.Root, environment string) ([]byte, error) {
	folder, err := openFolder(root, environment)
	if err != nil {
		return nil, err
	}
	defer folder.close()
	index, err := folder.read(IndexFile)
	if !isIndex(index) {
		index = nil
	}
	return index, err
}

// Listed returns the files that an index lists, sorted; none if render did not write it.
func Listed(index []byte) []string {
	if !isIndex(index) {
		return nil
	}
	return slices.Sorted(maps.Keys(readIndex(index)))
}

// IsOwnable reports whether render might have written a file of some path: an edited index must
// not make render remove other files.
func IsOwnable(name string) bool {
	folder, base, ok := strings.Cut(name, "/")
	return ok && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) &&
		!strings.HasPrefix(folder, ".") && !strings.Contains(base, "/") && !strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".yaml")
}

// Environments returns the names of the environments that were rendered below root.
func Environments(root *os.Root) (names []string, err error) {
	dir, err := openReal(root, Folder)
	if dir == nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, entry := range entries {
		content, err := regular.ReadFile(dir, path.Join(entry.Name(), IndexFile))
		if err == nil && isIndex(content) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// Two files are beside the index, which cannot list them, as kustomize does not build them: the page
// about the environment, and the schema for editors. The first line tells each from a file that a
// person wrote. Render leaves such a file and goes on, as nobody deploys it.

// The files beside the index, and their first lines.
const (
	PageFile     = "README.md"
	PageHeader   = "<!-- Written by gatehouse render: do not edit. -->\n"
	SchemaFile   = "schema.json"
	SchemaHeader = `{"$comment": "Written by gatehouse render: do not edit.",` + "\n"
)

var besideHeaders = map[string]string{PageFile: PageHeader, SchemaFile: SchemaHeader}

// readBeside returns the content of a file beside the index, nil if there is none, and reports whether
// that file, or anything else in its place, is one that render did not write.
func (p *Plan) readBeside(name string) (content []byte, isOther bool, err error) {
	if p.folder.dir == nil {
		return nil, false, nil
	}
	info, err := p.folder.dir.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, true, nil
	}
	content, err = p.folder.read(name)
	return content, content != nil && !startsWith(content, besideHeaders[name]), err
}

// otherFile returns the warning about a file beside the index that render did not write.
func (p *Plan) otherFile(name string) manifest.Problem {
	return manifest.Problem{
		File:    p.folder.full(name),
		Message: fmt.Sprintf("render did not write it, and leaves it: rename it, or move it to environments/%s, to have render's file of that name", path.Base(p.folder.path)),
		Warning: true,
	}
}
