// Package tree writes rendered environments: it assigns objects to files, plans the files to write and
// prune, formats the plan as a diff and executes it.
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

	"go.yaml.in/yaml/v2"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
)

// The kustomization.yaml of a rendered environment is the index of render's files: itself, the files
// that it lists, and the files beside it. Render never changes or removes any other file, except the
// temporary files of killed runs.

// IndexFile is the path of the index in the folder of an environment.
const IndexFile = "kustomization.yaml"

// indexHeader distinguishes an index from other kustomizations.
const indexHeader = "# Written by gatehouse render, which owns the files listed here: do not edit.\n"

// KubernetesAnnotation is an annotation of an environment's kustomization and of its index: the minor
// version of Kubernetes, such as "1.35". The default is the newest version that render knows.
const KubernetesAnnotation = "gatehouse.example.com/kubernetes"

// Index holds the settings in an index.
type Index struct {
	// Kubernetes is the value of KubernetesAnnotation.
	Kubernetes string
	// KeepsOrder reports whether kustomize must keep the order of the files.
	KeepsOrder bool
}

func (i Index) format(names []string) []byte {
	var b bytes.Buffer
	b.WriteString(indexHeader)
	b.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
	if i.Kubernetes != "" {
		fmt.Fprintf(&b, "metadata:\n  annotations:\n    %s: %q\n", KubernetesAnnotation, i.Kubernetes)
	}
	b.WriteString("resources:\n")
	var delivered []string
	for _, name := range names {
		if IsDelivered(name) {
			delivered = append(delivered, name)
		} else {
			b.WriteString("- " + manifest.Scalar(name) + "\n")
		}
	}
	if i.KeepsOrder {
		b.WriteString("sortOptions:\n  order: fifo\n")
	}
	if len(delivered) > 0 {
		b.WriteString("# The files of deliveries, which have an index of their own:\n")
	}
	for _, name := range delivered {
		b.WriteString(deliveredItem + manifest.Scalar(name) + "\n")
	}
	return b.Bytes()
}

// deliveredItem begins the line of a file of a delivery in an index: a comment, as only the delivery has the file.
const deliveredItem = "#- "

// FolderIndex returns the index of a folder in the folder of the environment, with its files by their paths from there.
func FolderIndex(files []string) []byte { return Index{}.format(files) }

// IsDelivered reports whether a file of an environment is in the folder of a delivery.
func IsDelivered(name string) bool { return strings.Count(name, "/") > 1 }

// annotatedKubernetes matches KubernetesAnnotation in an index.
var annotatedKubernetes = regexp.MustCompile(`(?m)^    ` + regexp.QuoteMeta(KubernetesAnnotation) + `: "([0-9.]+)"\r?$`)

// KubernetesOf returns the version of Kubernetes in an index, or "".
func KubernetesOf(index []byte) string {
	if match := annotatedKubernetes.FindSubmatch(index); match != nil && isIndex(index) {
		return string(match[1])
	}
	return ""
}

func isIndex(content []byte) bool { return startsWith(content, indexHeader) }

// startsWith reports whether a file starts with a header, possibly after the marks of a merge, and with
// the line ends of any system.
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

// mergeMark matches git's conflict markers.
var mergeMark = regexp.MustCompile(`^(<<<<<<<|\|\|\|\|\|\|\||=======|>>>>>>>)( |\r?\n|$)`)

// readIndex returns the files in an index. An index with the marks of a merge conflict is no YAML, and lists the files
// of both sides.
func readIndex(content []byte) map[string]bool {
	var index struct{ Resources []string }
	if yaml.Unmarshal(content, &index) != nil {
		index.Resources = readItems(string(content), "- ")
	}
	names := map[string]bool{}
	for _, name := range append(index.Resources, readItems(string(content), deliveredItem)...) {
		if IsOwnable(name) {
			names[name] = true
		}
	}
	return names
}

// readItems returns the items of lists, each on a line after a mark. An item that is no YAML is a name, such as
// %61ux/pod-a.yaml: earlier versions wrote no quotes.
func readItems(content, mark string) (items []string) {
	for line := range strings.Lines(content) {
		if item, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), mark); ok {
			name := item
			_ = yaml.Unmarshal([]byte(item), &name)
			items = append(items, name)
		}
	}
	return items
}

// Read returns the rendered files of an environment below root, if there are any.
func Read(root *os.Root, environment string) ([]File, error) {
	index, err := ReadIndex(root, environment)
	if err != nil {
		return nil, err
	}
	names := Listed(index)
	contents := (&folder{root: root, path: path.Join(Folder, environment)}).readAll(names)
	files := make([]File, 0, len(names))
	errs := []error(nil)
	for _, name := range names {
		if read := contents[name]; read.bytes != nil {
			files = append(files, File{name, read.bytes})
		} else {
			errs = append(errs, read.err)
		}
	}
	return files, errors.Join(errs...)
}

// ReadIndex returns the index of an environment below root, nil if it was never rendered.
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

// Listed returns the files in an index, sorted; none if the content is not an index.
func Listed(index []byte) []string {
	if !isIndex(index) {
		return nil
	}
	return slices.Sorted(maps.Keys(readIndex(index)))
}

// IsOwnable reports whether render could have written a path. It protects other files from an edited
// index.
func IsOwnable(name string) bool {
	return path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) && strings.Contains(name, "/") &&
		!strings.HasPrefix(name, ".") && !strings.Contains(name, "/.") && strings.HasSuffix(name, ".yaml")
}

// Environments returns the names of the rendered environments below root.
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

// The schema for editors is a file beside the index. The index does not list it, because kustomize cannot build it.
// Without its first line the file is not render's: render keeps it and only warns, as no tool deploys it.
const (
	SchemaFile   = "schema.json"
	SchemaHeader = `{"$comment": "Written by gatehouse render: do not edit.",` + "\n"

	// FormerPage is a page that former versions wrote. It is pruned.
	FormerPage = "README.md"
)

var besideHeaders = map[string]string{SchemaFile: SchemaHeader,
	FormerPage: "<!-- Written by gatehouse render: do not edit. -->\n"}

// readBeside returns the content of a file beside the index, nil if it does not exist, and reports
// whether anything else has its name.
func (f *folder) readBeside(name string) (content []byte, isForeign bool, err error) {
	if f.dir == nil {
		return nil, false, nil
	}
	info, err := f.dir.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, true, nil
	}
	content, err = f.read(name)
	return content, content != nil && !startsWith(content, besideHeaders[name]), err
}

// foreignBeside returns the warning about a file in the place of one beside the index.
func (f *folder) foreignBeside(name string) manifest.Problem {
	return manifest.Problem{
		Code: manifest.OtherFile,
		File: f.full(name),
		Message: fmt.Sprintf("render did not write it, and keeps it: rename it, or move it to environments/%s, so "+
			"that render can write its own", path.Base(f.path)),
		Warning: true,
	}
}
