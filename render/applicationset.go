package render

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery/applicationset"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// openSet makes the Applications that the controller of an ApplicationSet makes.
func (f *following) openSet(d *Delivery, files *source.FileSystem) []manifest.Problem {
	o := d.InCluster
	known := f.known.Of(o)
	known.Clusters = slices.Concat(f.world.clusters, known.Clusters)
	all, err := applicationset.Expand(o, filesOfSet{files}, known)
	var problems []manifest.Problem
	if refused := new(field.Error); errors.As(err, &refused) {
		problems = problemsOfErrors([]manifest.Object{o.Committed()}, []error{err})
	} else if err != nil {
		message := fmt.Sprintf("is not judged, for its %v: commit the Applications that argocd appset "+
			"generate prints", err)
		if asking := applicationset.AskingError(""); errors.As(err, &asking) {
			message += ", or write what it makes them of into " + settings.File
		}
		d.unknown(fmt.Sprintf("generator: %v", err))
		return warning(o, message)
	}
	if len(problems) > 0 && len(all) == 0 {
		return problems
	}
	made := make([]manifest.Object, len(all))
	for i, u := range all {
		made[i] = manifest.Object{Unstructured: u, Written: u, InGit: &o, Origin: o.Origin, File: o.Origin, Delivery: d}
	}
	if f.cluster != "" && d.Parent.isEntry() {
		made = deliveringTo(f.cluster, made)
	}
	d.setBuilt(made)
	return append(problems, d.unsetParameters()...)
}

// blameSet returns a problem of an Application at the line of its ApplicationSet: in its patch, at the value of a
// generator that is the whole text of the field, or in its template.
func (d *Delivery) blameSet(p manifest.Problem) manifest.Problem {
	owner := d.Parent.input
	keys := manifest.SplitField(p.Field)
	spec, _ := d.Of.Object["spec"].(map[string]any)
	var patch map[string]any
	text, _ := spec["templatePatch"].(string)
	_ = yaml.Unmarshal([]byte(text), &patch) // a template need not be YAML
	if _, isSet, _ := unstructured.NestedFieldNoCopy(patch, keys...); isSet && len(keys) > 0 {
		at := manifest.NewProblem(d.Of, "spec.templatePatch", manifest.Value{}, "")
		p.File, p.Line = owner.locateText(at, keys)
		return p
	}
	template := append([]string{"spec", "template"}, keys...)
	if text, _ = decoding.At(d.Of.Object, template).(string); text != "" && parameter.FindString(text) == text {
		name := strings.Trim(text[strings.LastIndex(text, ".")+1:], "{} ")
		p.File, p.Line = owner.generated(d.Of.ID(), name, fmt.Sprint(decoding.At(p.Subject.Object, keys)))
	}
	if p.File == "" {
		at := d.locate(manifest.NewProblem(d.Of, manifest.JoinField(template), p.Value, ""))
		p.File, p.Line = at.File, at.Line
	}
	return p
}

// generated returns the position of a value in a generator of an ApplicationSet: of a parameter with a name or else, as
// generators may rename it, of any; nothing if the value is not there.
func (in *input) generated(set manifest.ID, name, text string) (file string, line int) {
	isNamed := false
	for _, d := range in.sources.SourceDocuments(set) {
		_, generators := node.Walk(d.Node(), []string{"spec", "generators"}, nil)
		if generators == nil {
			continue
		}
		manifest.EachScalar(generators, nil, func(scalar *yamlv3.Node, keys []string, isKey bool) {
			hasName := len(keys) > 0 && keys[len(keys)-1] == name // another document may have a text
			if scalar.Value == text && !isKey && (file == "" || hasName && !isNamed) {
				file = source.Relative(d.File)
				line = scalar.Line
				isNamed = hasName
			}
		})
	}
	return file, line
}

// parameter matches a parameter that no generator has, as Argo CD leaves it.
var parameter = regexp.MustCompile(`\{\{[^{}]*\}\}|<no value>`)

// unsetParameters warns of the first path with a parameter that no generator has.
func (d *Delivery) unsetParameters() []manifest.Problem {
	for _, made := range d.InGit() {
		for _, p := range folder.Places(made) {
			if unset := parameter.FindString(p.Folder); unset != "" {
				of := manifest.NewProblem(made, p.Field, manifest.Value{}, fmt.Sprintf("%s: no generator has %s: "+
					"correct it, or remove the Application", p.Field, unset)).As(manifest.NotFollowed)
				of.Warning = true
				return []manifest.Problem{d.Blame(of)}
			}
		}
	}
	return nil
}

// filesOfSet are the files of a repository, by names from its root.
type filesOfSet struct{ *source.FileSystem }

// Below returns the files below a folder.
func (f filesOfSet) Below(folder string) []string { return f.Files(path.Join("/", folder)) }

// ReadFile follows links within the repository.
func (f filesOfSet) ReadFile(name string) ([]byte, error) { return f.ReadAny("/" + name) }
