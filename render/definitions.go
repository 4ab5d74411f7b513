package render

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery/definitions"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/text"
	"example.com/gatehouse/render/tree"
)

// definitionsFolder is the folder of CustomResourceDefinitions that render judges by and writes
// nowhere, as other tools install them: environments/definitions is for all environments, and the
// folder definitions in an environment for that one.
const definitionsFolder = "definitions"

// definitionFolders returns the folders of the definitions for an environment, its own first.
func definitionFolders(folder string) []string {
	shared := path.Join("/", tree.EnvironmentsFolder, definitionsFolder)
	if path.Dir(folder) != "/"+tree.EnvironmentsFolder { // any folder may have another one of this name
		return []string{shared}
	}
	return []string{path.Join(folder, definitionsFolder), shared}
}

// DefinitionFolders returns the folders of the definitions for an environment, relative to the root.
func DefinitionFolders(environment string) (folders []string) {
	for _, folder := range definitionFolders(folderOf(environment)) {
		folders = append(folders, source.Relative(folder))
	}
	return folders
}

// definitions returns the CustomResourceDefinitions beside the built objects. A built object, and a
// definition of the environment, stands in for one of the same name for all environments.
func (in *input) definitions(built []manifest.Object) (all []manifest.Object, problems []manifest.Problem) {
	folders := map[string]string{} // by name
	for _, o := range built {
		if crd.Is(o.Unstructured) {
			folders[o.GetName()] = ""
		}
	}
	for _, m := range in.sources.Definitions {
		for _, d := range in.sources.Documents(m.File) {
			o, err := in.definition(d)
			folder, isKnown := folders[d.Name]
			switch isSame := folder == path.Dir(m.File); {
			case err != nil:
				problems = append(problems, problemOf(d, err.Error()))
			case isKnown && isSame:
				problems = append(problems, problemOf(d, "is twice in this folder: remove one"))
			case !isKnown:
				folders[d.Name] = path.Dir(m.File)
				all = append(all, o)
			}
		}
	}
	return all, problems
}

// definition returns a CustomResourceDefinition without the fields that a cluster adds.
func (in *input) definition(d source.Document) (manifest.Object, error) {
	type key struct{ *source.Tree }
	type result struct {
		manifest.Object
		error
	}
	r := memo.Get(in.memo, key{d.Tree}, func() result {
		o, err := manifest.FromYAML(d.Node())
		if err == nil && !crd.Is(o.Unstructured) {
			err = fmt.Errorf("is no CustomResourceDefinition: a folder %s has only these", definitionsFolder)
		}
		if err != nil {
			return result{error: err}
		}
		o.Origin = source.Relative(d.File)
		return result{Object: WithoutStatus(o)}
	})
	return r.Object, r.error
}

// WithoutStatus returns a CustomResourceDefinition without the fields that a cluster adds.
func WithoutStatus(o manifest.Object) manifest.Object {
	definition := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(),
		"kind": o.GetKind(), "spec": o.Object["spec"]}}
	definition.SetName(o.GetName())
	definition.SetAnnotations(o.GetAnnotations())
	return manifest.Object{Unstructured: definition, Written: definition, Origin: o.Origin, File: o.File}
}

// definitionsIn returns the CustomResourceDefinitions among objects.
func definitionsIn(objects []manifest.Object) []manifest.Object {
	return slices.DeleteFunc(objects, func(o manifest.Object) bool { return !crd.Is(o.Unstructured) })
}

// standIn returns definitions with others in place of definitions of the same names.
func standIn(others, definitions []manifest.Object) []manifest.Object {
	return append(slices.DeleteFunc(definitions, func(o manifest.Object) bool {
		isSame := func(other manifest.Object) bool { return other.GetName() == o.GetName() }
		return slices.ContainsFunc(others, isSame)
	}), others...)
}

func problemOf(d source.Document, message string) manifest.Problem {
	p := manifest.Problem{Code: manifest.InvalidDefinition, Object: d.String(), Message: message}
	p.File, p.Line = d.Position()
	return p
}

// fileDefinition is a CustomResourceDefinition in a file of the repository.
type fileDefinition struct {
	*unstructured.Unstructured
	position string
}

// undelivered returns the CustomResourceDefinition of a kind in the files of the repository, if one serves the version,
// and all that serve it are the same: otherwise the positions of those that differ. Its problems are warnings, as those
// by a definition of this program.
func (r *Repository) undelivered(gvk schema.GroupVersionKind) (definition *unstructured.Unstructured,
	differing []string) {
	isSame := true
	all := slices.DeleteFunc(slices.Clone(r.defined()[gvk.GroupKind()]), func(d fileDefinition) bool {
		return !crd.Serves(d.Unstructured, gvk.Version)
	})
	for _, d := range all {
		differing = append(differing, d.position)
		definition = cmp.Or(definition, d.Unstructured)
		isSame = isSame && reflect.DeepEqual(d.Object["spec"], definition.Object["spec"])
	}
	if !isSame {
		return nil, differing
	}
	return definition, nil
}

// MayDefine reports whether a file, from the root, may have definitions of kinds of any environment. It is no look of
// an environment.
func (r *Repository) MayDefine(file string) bool {
	content, _ := source.NewFileSystem(r.files, r.dir, nil).ReadAny("/" + file) // a file that is gone has none
	return mayDefine(content)
}

// Markers returns the comments in a file that tell Flux which of its policies sets an image there, in their order.
func (r *Repository) Markers(file string) []string {
	content, _ := source.NewFileSystem(r.files, r.dir, nil).ReadAny("/" + file) // a file that is gone has none
	return marker.FindAllString(string(content), -1)
}

// marker matches a setter of an image (SetterShortHand in pkg/update/setters.go of image-automation-controller).
var marker = regexp.MustCompile(`\{\s*"\$imagepolicy"[^}\n]*\}`)

func mayDefine(content []byte) bool {
	return bytes.Contains(content, []byte("CustomResourceDefinition"))
}

// findDefinitions returns the CustomResourceDefinitions in the YAML files of the repository, by kind: but those in
// environments/, which are for the environments that list them, and patches, which have no versions.
func (r *Repository) findDefinitions() map[schema.GroupKind][]fileDefinition {
	all := map[schema.GroupKind][]fileDefinition{}
	source.EachYAML(r.files, tree.Folder, func(name string, content []byte) {
		isOfEnvironment := strings.HasPrefix(name, tree.EnvironmentsFolder+"/")
		if isOfEnvironment || !mayDefine(content) {
			return
		}
		defer fault.Catch(new(error)) // nothing delivers the file: it is left out, as one that is malformed
		for _, d := range text.Split(content) {
			root, err := d.Parse()
			if err != nil || root == nil {
				continue
			}
			o, err := manifest.FromYAML(root)
			if err != nil || !crd.Is(o.Unstructured) || len(crd.Versions(o.Unstructured)) == 0 {
				continue
			}
			o = WithoutStatus(o)
			position := manifest.Problem{File: name, Line: root.Line}.Position()
			annotations := map[string]string{definitions.ReleaseAnnotation: position}
			maps.Copy(annotations, o.GetAnnotations()) // the API server wants one of groups of Kubernetes
			o.SetAnnotations(annotations)
			kind := crd.Kind(o.Unstructured)
			all[kind] = append(all[kind], fileDefinition{o.Unstructured, position})
		}
	})
	return all
}
