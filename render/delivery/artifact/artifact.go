// Package artifact makes the artifacts of an ArtifactGenerator as source-watcher does, from the files of its sources. A
// refusal of the controller is a field.Error, and any other error names an unknown.
package artifact

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Is reports whether an object makes artifacts.
func Is(o manifest.Object) bool {
	return o.GetKind() == "ArtifactGenerator" && manifest.Group(o.GetAPIVersion()) == "source.extensions.fluxcd.io"
}

// ID returns the ID of an artifact in a namespace.
func ID(namespace, name string) manifest.ID {
	return manifest.ID{Group: "source.toolkit.fluxcd.io", Kind: "ExternalArtifact", Namespace: namespace, Name: name}
}

// Files are the files of an artifact by their paths, without a leading slash.
type Files map[string]source.Link

// generator has the fields of an ArtifactGenerator that make its artifacts.
type generator struct {
	Sources     []struct{ Alias, Kind, Name, Namespace string }
	PathPattern string
	Artifacts   []output
}

type output struct {
	Name string
	Copy []operation
}

// operation copies files of a source to the artifact.
type operation struct {
	From, To string
	Exclude  []string
	Strategy string
}

// Names returns the names of the artifacts of an ArtifactGenerator that are known without its sources.
func Names(o manifest.Object) (names []string) {
	var spec generator
	if manifest.Decode(o.Object["spec"], &spec) != nil || spec.PathPattern != "" {
		return nil
	}
	for _, a := range spec.Artifacts {
		names = append(names, a.Name)
	}
	return names
}

// Generate returns the artifacts of an ArtifactGenerator in a file of the repository by name. Find returns the files of
// a source, and read the content of a file of the repository.
func Generate(o manifest.Object, file string, find func(manifest.ID) (Files, error),
	read func(name string) ([]byte, error)) (map[string]Files, error) {
	var spec generator
	if err := manifest.Decode(o.Object["spec"], &spec); err != nil {
		return nil, err
	}
	if strings.ToLower(o.GetAnnotations()["source.extensions.fluxcd.io/reconcile"]) == "disabled" {
		return nil, errors.New("it is suspended: source-watcher leaves its artifacts as they are")
	}
	s := staging{sources: map[string]Files{}, read: read}
	for _, from := range spec.Sources {
		id := manifest.ID{Group: "source.toolkit.fluxcd.io", Kind: from.Kind, Namespace: from.Namespace,
			Name: from.Name}
		if id.Namespace == "" {
			id.Namespace = o.GetNamespace()
		}
		files, err := find(id)
		if err != nil {
			return nil, err
		}
		if from.Kind == "OCIRepository" {
			files = files.part(path.Dir(file), spec.names(from.Alias))
		}
		s.sources[from.Alias] = files
	}
	outputs, err := s.outputs(spec)
	if err != nil {
		return nil, err
	}
	made := map[string]Files{}
	for _, out := range outputs {
		s.made = Files{}
		s.folders = map[string]bool{".": true}
		for i, op := range out.Copy {
			if err := s.copy(op); err != nil {
				at := field.NewPath("spec", "artifacts").Index(out.index).Child("copy").Index(i)
				return nil, refusal(at, err)
			}
		}
		made[out.Name] = s.made
	}
	return made, nil
}

// names returns the files and folders of a source that the generator names, up to their patterns.
func (g generator) names(alias string) (all []string) {
	add := func(from string) {
		pattern, isOf := strings.CutPrefix(from, "@"+alias+"/")
		pattern, _, _ = strings.Cut(pattern, "{")
		if isOf {
			all = append(all, path.Join(slices.Collect(literals(pattern))...))
		}
	}
	add(g.PathPattern)
	for _, a := range g.Artifacts {
		for _, op := range a.Copy {
			add(op.From)
		}
	}
	return all
}

// part returns the files of an image. It often has a part of the repository: then that is the first folder above its
// generator that has any of some files or folders.
func (f Files) part(above string, names []string) Files {
	at := ""
	for part := range strings.SplitSeq("./"+above, "/") {
		at = path.Join(at, part)
		within := Files{}
		for _, name := range f.below(at) {
			within[strings.TrimPrefix(name, strings.TrimPrefix(at+"/", "./"))] = f[name]
		}
		isThere := func(name string) bool { return within[name].From != nil || within.isFolder(name) }
		if slices.ContainsFunc(names, isThere) {
			return within
		}
	}
	return f
}

// refusal returns an error of a field, unless it names an unknown.
func refusal(at *field.Path, err error) error {
	if errors.Is(err, errUnknown) {
		return err
	}
	return field.Invalid(at, field.OmitValueType{}, err.Error())
}

// errUnknown is an error of what rendering does not do.
var errUnknown = errors.New("is not known")

// request is an artifact to make, of the output with an index.
type request struct {
	output
	index int
}

var (
	capture  = regexp.MustCompile(`\\\{([A-Za-z_][A-Za-z0-9_]*)\\\}`)
	variable = regexp.MustCompile(`\{[^{}]*\}`)
)

// outputs returns the artifacts to make: with spec.pathPattern one for each folder that it matches
// (buildArtifactRequests in internal/controller/artifactgenerator_pathpattern.go).
func (s *staging) outputs(spec generator) (all []request, err error) {
	if spec.PathPattern == "" {
		for i, out := range spec.Artifacts {
			all = append(all, request{out, i})
		}
		return all, nil
	}
	at := field.NewPath("spec", "pathPattern")
	alias, pattern, _ := strings.Cut(strings.TrimPrefix(spec.PathPattern, "@"), "/")
	matcher, err := regexp.Compile("^" + capture.ReplaceAllString(regexp.QuoteMeta(pattern), "(?P<$1>[^/]+)") + "$")
	if s.sources[alias] == nil || err != nil {
		return nil, field.Invalid(at, spec.PathPattern, "has no source, or names a part twice")
	}
	folders := map[string]string{} // by the name of an artifact
	for _, folder := range s.sources[alias].folders() {
		match := matcher.FindStringSubmatch(folder)
		for i, out := range spec.Artifacts {
			if match == nil {
				continue
			}
			made := request{output{Name: fill(out.Name, matcher, match, strings.ToLower)}, i}
			if other, isThere := folders[made.Name]; isThere {
				return nil, field.Invalid(at, spec.PathPattern, fmt.Sprintf("makes the artifact %s of %s and of %s",
					made.Name, other, folder))
			}
			folders[made.Name] = folder
			asIs := func(text string) string { return text }
			for _, op := range out.Copy {
				op.From = fill(op.From, matcher, match, asIs)
				op.To = fill(op.To, matcher, match, asIs)
				made.Copy = append(made.Copy, op)
			}
			all = append(all, made)
		}
	}
	return all, nil
}

// fill returns a text with the parts of a match in place of their names.
func fill(text string, matcher *regexp.Regexp, match []string, as func(string) string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if i := matcher.SubexpIndex(strings.Trim(name, "{}")); i > 0 {
			return as(match[i])
		}
		return name
	})
}

// folders returns the folders of files, in order.
func (f Files) folders() (all []string) {
	isThere := map[string]bool{}
	for name := range f {
		for at := path.Dir(name); at != "." && !isThere[at]; at = path.Dir(at) {
			isThere[at] = true
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return all
}

// In returns the files as they are in a folder, from the root.
func (f Files) In(folder string) map[string]source.Link {
	in := map[string]source.Link{}
	for name, file := range f {
		in[path.Join(folder, name)] = file
	}
	return in
}

// Root returns the folder of the repository that has all files of an artifact at the same paths, from the root, and
// reports whether there is one.
func (f Files) Root() (folder string, isOne bool) {
	first := true
	for name, file := range f {
		if len(file.From) != 1 || file.Content != nil {
			return "", false
		}
		above, isBelow := strings.CutSuffix("/"+file.From[0], "/"+name)
		if !isBelow || !first && above != folder {
			return "", false
		}
		first = false
		folder = above
	}
	return path.Join("/", folder), true
}
