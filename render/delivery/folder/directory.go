package folder

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"example.com/gatehouse/render/manifest"
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
	// Problems are of files that the tool cannot read.
	Problems []manifest.Problem

	// changed are files as Argo CD reads them, if it reads them otherwise, by their paths.
	changed map[string][]byte
}

// manifestFile matches the names of manifests, as in reposerver/repository/repository.go of Argo CD.
var manifestFile = regexp.MustCompile(`^.*\.(yaml|yml|json|jsonnet)$`)

// List returns the manifests in the folder, whose kustomization does not count. Argo CD reads hidden folders as
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
			case slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)):
				all.addKustomization(files, at)
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

// HasPatterns reports whether patterns select the files of the folder.
func (p Place) HasPatterns() bool {
	options := p.Application.Directory
	return options != nil && (options.Include != "" || options.Exclude != "")
}

// add adds a file that Argo CD reads, unless it leaves it out for its content.
func (l *Listing) add(files *source.FileSystem, at, name string) {
	content, err := files.ReadAny(at)
	switch {
	case err == nil && bytes.Contains(content, []byte(application.SkipMarker)):
	case path.Ext(name) == ".jsonnet":
		l.Jsonnet = append(l.Jsonnet, name)
	case err == nil && path.Ext(name) == ".json" && isArtifact(content):
	case err == nil && path.Ext(name) != ".json" && !isManifest(content):
	default:
		if err == nil && path.Ext(name) == ".json" && hasMore(content) {
			l.Problems = append(l.Problems, manifest.Problem{Code: manifest.InvalidObject, File: source.Relative(at),
				Line: 1, Message: "Argo CD reads one object in a file of JSON, and this has more: write a file for " +
					"each, or a List"})
		}
		l.Resources = append(l.Resources, "./"+name)
		changed := l.takeLast(at, endLine(nameHooks(at, content)))
		if err == nil && !bytes.Equal(changed, content) {
			if l.changed == nil {
				l.changed = map[string][]byte{}
			}
			l.changed[at] = changed
		}
	}
}

// endLine returns a file with a line end if it lacks one and has texts of several lines, such as key: |. The reader of
// Argo CD ends each line, and so a text at the end of the file: see LineReader in k8s.io/apimachinery/pkg/util/yaml.
func endLine(content []byte) []byte {
	if bytes.ContainsAny(content, "|>") && !bytes.HasSuffix(content, []byte("\n")) {
		return slices.Concat(content, []byte("\n"))
	}
	return content
}

// takeLast returns a file in which each key counts once: of several the last one, as for Argo CD. An object with such a
// key is on its first line then, as JSON, and other objects keep their lines.
func (l *Listing) takeLast(file string, content []byte) []byte {
	taken := content
	for _, d := range text.Split(content) {
		var twice text.Error
		if _, err := d.Parse(); !errors.As(err, &twice) || twice.Other == 0 {
			continue
		}
		root, err := d.Uniting(node.TakeLast).Parse()
		if err != nil { // an error where the file is built
			continue
		}
		o, err := manifest.FromYAML11(root)
		if err != nil {
			continue
		}
		l.Problems = append(l.Problems, manifest.Problem{Code: manifest.MalformedYAML, File: source.Relative(file),
			Line: twice.Line, Warning: true, Message: fmt.Sprintf("a key of this object is in line %d as well, and "+
				"Argo CD takes this one: remove one", twice.Other)})
		lines := bytes.Repeat([]byte("\n"), bytes.Count(d.Content, []byte("\n")))
		first := min(1, len(lines)) // after ---
		united := slices.Concat(lines[:first], []byte(manifest.JSON(o.Object)), lines[first:])
		taken = bytes.Replace(taken, d.Content, united, 1)
	}
	return taken
}

// addKustomization adds the problem of a kustomization, which Argo CD takes for an object if it has a kind.
func (l *Listing) addKustomization(files *source.FileSystem, at string) {
	content, err := files.ReadAny(at)
	if err == nil && !bytes.Contains(content, []byte(application.SkipMarker)) && isManifest(content) {
		l.Problems = append(l.Problems, manifest.Problem{Code: manifest.InvalidObject, File: source.Relative(at),
			Line: 1, Message: "Argo CD applies this file of a directory as an object, and no cluster has its kind: " +
				"leave it out by directory.exclude, or write a kustomization that has it as a resource"})
	}
}

// hasMore reports whether JSON has another value behind the first.
func hasMore(content []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(content))
	var first json.RawMessage
	return decoder.Decode(&first) == nil && decoder.More()
}

// isArtifact reports whether JSON is no object of Kubernetes, but may be a manifest of an OCI artifact, which Argo CD
// leaves out: as it has the types of one, any mapping without these fields as well. See getObjsFromYAMLOrJSON there.
func isArtifact(content []byte) bool {
	var o struct{ Kind string }
	decoder := json.NewDecoder(bytes.NewReader(content))
	err := decoder.Decode(&o)
	return (err != nil || o.Kind == "") && json.Unmarshal(content, new(artifact)) == nil
}

// artifact has the fields of a manifest of the OCI image specification.
type artifact struct {
	descriptor
	SchemaVersion int
	Config        descriptor
	Layers        []descriptor
	Subject       *descriptor
}

// descriptor has the fields of a descriptor there.
type descriptor struct {
	MediaType, ArtifactType, Digest string
	Size                            int64
	URLs                            []string
	Annotations                     map[string]string
	Data                            []byte
}

// nameHooks returns a file with a name for each hook with a generateName, of the length that the API server makes.
// Argo CD creates a hook, and does not apply it.
func nameHooks(file string, content []byte) (named []byte) {
	named = content
	if !bytes.Contains(content, []byte("generateName")) {
		return named
	}
	lines := bytes.Split(content, []byte("\n"))
	for _, d := range text.Split(content) {
		root, err := d.Parse()
		metadata := node.Field(root, "metadata")
		key, prefix := node.Entry(metadata, "generateName")
		if err != nil || key == nil || prefix == nil || node.Text(metadata, "name") != "" {
			continue
		}
		var o struct{ Annotations map[string]string }
		if err := metadata.Decode(&o); err != nil || !delivery.IsArgoHook(o.Annotations) {
			continue // an error where the file is built
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
