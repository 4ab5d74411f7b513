package folder

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// Listing are the files of a folder that a tool reads as manifests.
type Listing struct {
	// Resources are relative to the folder, as entries of a kustomization.
	Resources []string
	// Jsonnet are the programs that Argo CD runs to make manifests.
	Jsonnet []string

	// named are files whose hooks get names, by their paths.
	named map[string][]byte
}

// manifestFile matches the names of manifests, as in reposerver/repository/repository.go of Argo CD.
var manifestFile = regexp.MustCompile(`^.*\.(yaml|yml|json|jsonnet)$`)

// List returns the manifests in the folder, for which a kustomization does not count. Argo CD reads hidden folders as
// well, and follows no links to folders: see getPotentiallyValidManifests in reposerver/repository/repository.go.
func (p Place) List(files *source.FileSystem) (all Listing) {
	if p.IsFlux {
		return Listing{Resources: files.Manifests(p.Folder)}
	}
	var options application.Directory
	if p.Application.Directory != nil {
		options = *p.Application.Directory
	}
	var visit func(within, folder string)
	visit = func(within, folder string) {
		names, _ := files.List(folder) // an unreadable folder has no files to build
		for _, name := range names {
			at := path.Join(folder, name)
			name = path.Join(within, name)
			resolved, isDir, err := files.Resolve(at)
			switch {
			case err != nil: // a link to nothing, or a file of git
			case isDir && options.Recurse && resolved == at:
				visit(name, at)
			case isDir || !manifestFile.MatchString(name) || !options.Takes(name):
			case slices.Contains(konfig.RecognizedKustomizationFileNames(), name): // the one that lists the others
			default:
				all.add(files, at, name)
			}
		}
	}
	folder, _, err := files.Resolve(p.Folder)
	if err == nil {
		visit("", folder)
	}
	return all
}

// add adds a file that Argo CD reads, unless it leaves it out for its content.
func (l *Listing) add(files *source.FileSystem, at, name string) {
	content, err := files.ReadAny(at)
	switch {
	case err == nil && bytes.Contains(content, []byte(application.SkipMarker)):
	case path.Ext(name) == ".jsonnet":
		l.Jsonnet = append(l.Jsonnet, name)
	case err == nil && path.Ext(name) != ".json" && !isManifest(content):
	default:
		l.Resources = append(l.Resources, "./"+name)
		if named := nameHooks(at, content); named != nil {
			if l.named == nil {
				l.named = map[string][]byte{}
			}
			l.named[at] = named
		}
	}
}

// nameHooks returns a file with a name for each hook with a generateName, of the length that the API server makes, or
// nil without such a hook. Argo CD creates a hook, and does not apply it.
func nameHooks(file string, content []byte) (named []byte) {
	if !bytes.Contains(content, []byte("generateName")) {
		return nil
	}
	lines := bytes.Split(content, []byte("\n"))
	for _, d := range text.Split(content) {
		root, err := d.Parse()
		metadata := node.Field(root, "metadata")
		key, prefix := node.Entry(metadata, "generateName")
		isHook := node.Text(metadata, "annotations", delivery.ArgoHook) != ""
		if err != nil || key == nil || prefix == nil || !isHook || node.Text(metadata, "name") != "" {
			continue
		}
		line := &lines[key.Line-1]
		at := bytes.Index(*line, []byte("generateName"))
		if at < 0 || key.Line != prefix.Line {
			continue
		}
		suffix := crc32.ChecksumIEEE(fmt.Appendf(nil, "%s:%d", file, key.Line)) & 0xfffff
		rest := bytes.Replace((*line)[at+len("generateName"):], []byte(prefix.Value),
			fmt.Appendf(nil, "%s%05x", prefix.Value, suffix), 1)
		*line = slices.Concat((*line)[:at], []byte("name"), rest)
		named = bytes.Join(lines, []byte("\n"))
	}
	return named
}

// isManifest reports whether Argo CD takes a file of YAML for manifests, or for wrong ones: its first document has a
// kind, or its text has the keys of an object somewhere. See getObjsFromYAMLOrJSON there.
func isManifest(content []byte) bool {
	hasKeys := true
	for _, key := range []string{"apiVersion:", "kind:", "metadata:"} {
		hasKeys = hasKeys && bytes.Contains(content, []byte(key))
	}
	if hasKeys {
		return true
	}
	for _, d := range text.Split(content) {
		if d.IsEmpty() {
			continue
		}
		var o struct{ Kind string }
		return yaml.Unmarshal(d.Content, &o) == nil && o.Kind != ""
	}
	return false
}

// Near returns the folders and files beside the first part of a path that is not there, each in place of it.
func Near(files *source.FileSystem, name string) (missing string, known []string) {
	at := "/"
	for part := range strings.SplitSeq(source.Relative(path.Clean(name)), "/") {
		next := path.Join(at, part)
		if !files.Exists(next) {
			names, _ := files.List(at)
			for _, other := range names {
				if files.IsDir(path.Join(at, other)) {
					known = append(known, source.Relative(path.Join(at, other)))
				}
			}
			return source.Relative(next), known
		}
		at = next
	}
	return source.Relative(at), nil
}
