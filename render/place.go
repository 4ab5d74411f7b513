package render

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/applicationset"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// place is a folder in git that a tool builds, with the fields that change the objects.
type place struct {
	delivery.Overlay
	object manifest.Object // as it is in git
	// inCluster is the same object as it is applied.
	inCluster manifest.Object
	field     string // of the path
	nth       int    // of the sources of an Application, or negative
	folder    string // from the root
	source    string // names the source of Flux: KIND/NAMESPACE/NAME
	isFlux    bool
	// isPart reports whether the source has a part of the repository.
	isPart bool
	// isDecrypted reports whether Flux decrypts files and objects.
	isDecrypted bool
	// isElsewhere reports whether another cluster or nobody gets the objects.
	isElsewhere bool
	// namespace is the namespace of objects without one, as Argo CD applies them.
	namespace string
	directory *directory // of Argo CD
}

// sourceKind returns the kind of the source of Flux.
func (p place) sourceKind() string {
	kind, _, _ := strings.Cut(p.source, "/")
	return kind
}

// isForeign reports whether another source than that of the environment has the folder. An external artifact has parts
// of other sources, perhaps of this repository, and a source in the world may be this repository, too.
func (p place) isForeign(own string, w *world, files *source.FileSystem) bool {
	switch {
	case !p.isFlux || p.isElsewhere:
		return false
	case own != "" && p.sourceKind() != "ExternalArtifact":
		return p.source != own
	case files.IsDir(p.folder):
		return false
	}
	return p.sourceKind() == "ExternalArtifact" || w.names[p.source]
}

// sourceName names a source of Flux.
func sourceName(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// directory has the fields of an Application for a folder without a kustomization.
type directory struct {
	Recurse          bool
	Include, Exclude string
}

func isKustomization(o manifest.Object) bool {
	return o.GetKind() == "Kustomization" && manifest.Group(o.GetAPIVersion()) == "kustomize.toolkit.fluxcd.io"
}

func isApplication(o manifest.Object) bool {
	return o.GetKind() == "Application" && manifest.Group(o.GetAPIVersion()) == "argoproj.io"
}

func isApplicationSet(o manifest.Object) bool {
	return o.GetKind() == "ApplicationSet" && manifest.Group(o.GetAPIVersion()) == "argoproj.io"
}

// isFollowed reports whether an object may deliver a folder.
func isFollowed(o manifest.Object) bool {
	return isKustomization(o) || isApplication(o) || isApplicationSet(o)
}

// placesOf returns the folders that a tool builds for an object. A field of a wrong type is an error of the definition.
func placesOf(o manifest.Object) []place {
	switch {
	case isKustomization(o):
		return placeOfKustomization(o)
	case isApplication(o):
		return placesOfApplication(o)
	}
	return nil
}

func placeOfKustomization(o manifest.Object) []place {
	var spec struct {
		delivery.Overlay
		SourceRef  struct{ Kind, Name, Namespace string }
		KubeConfig *struct{}
		Suspend    bool
		Decryption *struct{}
	}
	if err := manifest.Decode(o.Object["spec"], &spec); err != nil {
		return nil
	}
	ref := spec.SourceRef
	return []place{{
		Overlay: spec.Overlay, object: o.Committed(), inCluster: o, field: "spec.path", nth: -1,
		folder: path.Join("/", spec.Path), isFlux: true,
		source:      sourceName(ref.Kind, cmp.Or(ref.Namespace, o.GetNamespace()), ref.Name),
		isElsewhere: spec.Suspend || spec.KubeConfig != nil,
		isDecrypted: spec.Decryption != nil,
	}}
}

func placesOfApplication(o manifest.Object) (all []place) {
	type applicationSource struct {
		Path, Chart  string
		Helm, Plugin *struct{}
		Kustomize    delivery.Overlay
		Directory    *directory
	}
	var spec struct {
		Source      *applicationSource
		Sources     []applicationSource
		Destination struct{ Name, Server, Namespace string }
	}
	if err := manifest.Decode(o.Object["spec"], &spec); err != nil {
		return nil
	}
	isAlone := len(spec.Sources) == 0 && spec.Source != nil
	if isAlone {
		spec.Sources = append(spec.Sources, *spec.Source)
	}
	to := spec.Destination
	object := o.Committed()
	if isApplicationSet(object) { // it made the Application
		object = o
	}
	for i, s := range spec.Sources {
		if s.Path == "" || s.Chart != "" || s.Helm != nil || s.Plugin != nil {
			continue
		}
		field, nth := fmt.Sprintf("spec.sources[%d].path", i), i
		if isAlone {
			field, nth = "spec.source.path", -1
		}
		all = append(all, place{
			Overlay: s.Kustomize, object: object, inCluster: o, field: field, nth: nth, folder: path.Join("/", s.Path),
			isElsewhere: !delivery.IsInCluster(to.Name, to.Server), namespace: to.Namespace,
			directory: cmp.Or(s.Directory, &directory{}),
		})
	}
	return all
}

// setOf returns an ApplicationSet with the Applications that its controller makes.
func (in *input) setOf(repository *Repository, files *source.FileSystem, o manifest.Object,
	clusters []manifest.Object) (*followed, error) {
	all, err := applicationset.Expand(o, filesOfSet{repository, files}, clusters)
	if err != nil {
		return nil, err
	}
	f := &followed{input: in, place: place{object: o.Committed(), inCluster: o}}
	for _, u := range all {
		made := manifest.Object{Unstructured: u, Written: u, InGit: &o, Origin: o.Origin, Delivery: f}
		made.File = made.Origin
		f.built = append(f.built, made)
	}
	return f, nil
}

// blameSet returns a problem of an Application at the line of its ApplicationSet: in its patch, at the value of a
// generator that is the whole text of the field, or in its template.
func (f *followed) blameSet(p manifest.Problem) manifest.Problem {
	owner, keys := f.input, manifest.SplitField(p.Field)
	if parent, isDelivered := f.object.Delivery.(*followed); isDelivered {
		owner = parent.input
	}
	spec, _ := f.object.Object["spec"].(map[string]any)
	var patch map[string]any
	text, _ := spec["templatePatch"].(string)
	_ = yaml.Unmarshal([]byte(text), &patch) // a template need not be YAML
	if _, isSet, _ := unstructured.NestedFieldNoCopy(patch, keys...); isSet && len(keys) > 0 {
		at := manifest.NewProblem(f.object, "spec.templatePatch", manifest.Value{}, "")
		p.File, p.Line = owner.locateText(at, keys)
		return p
	}
	template := append([]string{"spec", "template"}, keys...)
	if text, _ = decoding.At(f.object.Object, template).(string); text != "" && parameter.FindString(text) == text {
		p.File, p.Line = owner.generated(f.object.ID(), fmt.Sprint(decoding.At(p.Subject.Object, keys)))
	}
	if p.File == "" {
		at := f.locate(manifest.NewProblem(f.object, manifest.JoinField(template), p.Value, ""))
		p.File, p.Line = at.File, at.Line
	}
	return p
}

// generated returns the position of a value in a generator of an ApplicationSet, if it is there.
func (in *input) generated(set manifest.ID, text string) (file string, line int) {
	for _, d := range in.sources.SourceDocuments(set) {
		_, generators := node.Walk(d.Node(), []string{"spec", "generators"}, nil)
		manifest.EachScalar(generators, nil, func(scalar *yamlv3.Node, _ []string, isKey bool) {
			if scalar.Value == text && !isKey && file == "" {
				file, line = source.Relative(d.File), scalar.Line
			}
		})
	}
	return file, line
}

// parameter matches a parameter that no generator has, as Argo CD leaves it.
var parameter = regexp.MustCompile(`\{\{[^{}]*\}\}|<no value>`)

// unsetParameters warns of the first path with a parameter that no generator has.
func (f *followed) unsetParameters() []manifest.Problem {
	for _, made := range f.built {
		for _, p := range placesOf(made) {
			if unset := parameter.FindString(p.folder); unset != "" {
				of := manifest.NewProblem(made, p.field, manifest.Value{}, fmt.Sprintf("%s: no generator has %s: "+
					"correct it, or remove the Application", p.field, unset)).As(manifest.NotFollowed)
				of.Warning = true
				return []manifest.Problem{f.Blame(of)}
			}
		}
	}
	return nil
}

// filesOfSet are the files of a repository, by names from its root.
type filesOfSet struct {
	*Repository
	files *source.FileSystem
}

// ReadFile follows links within the repository.
func (f filesOfSet) ReadFile(name string) ([]byte, error) { return f.files.ReadAny("/" + name) }

// list returns the resources of the folder, which has no kustomization, as the tool lists them.
func (p place) list(files *source.FileSystem) (resources []string) {
	if p.isFlux {
		return files.Manifests(p.folder)
	}
	var visit func(within string)
	visit = func(within string) {
		names, _ := files.List(path.Join(p.folder, within)) // an unreadable folder has no files to build
		for _, name := range names {
			name = path.Join(within, name)
			switch isDir := files.IsDir(path.Join(p.folder, name)); {
			case isDir && p.directory.Recurse && path.Base(name)[0] != '.':
				visit(name)
			case !isDir && (source.IsYAML(name) || path.Ext(name) == ".json") && p.directory.takes(name):
				resources = append(resources, "./"+name)
			}
		}
	}
	visit("")
	return resources
}

// takes reports whether Argo CD takes a file. It takes none whose patterns are not only of package path.
func (d directory) takes(name string) bool {
	matches := func(patterns string) bool {
		for pattern := range strings.SplitSeq(strings.Trim(patterns, "{}"), ",") {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
		return false
	}
	return (d.Include == "" || matches(d.Include)) && (d.Exclude == "" || !matches(d.Exclude))
}
