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
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/resourceset"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// openSet makes the objects that the controller of an ApplicationSet or a ResourceSet makes.
func (f *following) openSet(d *Delivery, files *source.FileSystem) []manifest.Problem {
	o := d.InCluster
	all, unknown, err := f.expandSet(d, files)
	d.unknown(unknown...)
	var problems []manifest.Problem
	none := applicationset.NoMatchError{}
	refused := new(field.Error)
	switch {
	case errors.As(err, &refused):
		problems = problemsOfErrors([]manifest.Object{d.Of}, []error{err})
	case errors.As(err, &none) && none.IsSure:
		problems = warning(o, fmt.Sprintf("%v, so Argo CD makes no Application by this generator", err))
	case err != nil && d.IsFlux:
		return d.notJudged(err.Error())
	case err != nil:
		message := fmt.Sprintf("is not judged: %v: commit the Applications that argocd appset generate prints", err)
		asking := applicationset.AskingError("")
		if errors.As(err, &asking) {
			message += ", or write its clusters, or the parameters of its generator, into " + settings.File
		}
		d.unknown(fmt.Sprintf("generator: %v", err))
		problems = warning(o, message)
		problems[0] = problems[0].Because(asking.Error())
	}
	if len(unknown) > 0 { // which may be right with all values
		problems = manifest.Each(problems, func(p manifest.Problem) manifest.Problem {
			p.Warning = true
			return p
		})
	}
	if len(problems) > 0 && len(all) == 0 && !none.IsSure {
		return problems
	}
	made := make([]manifest.Object, len(all))
	for i, u := range all {
		made[i] = manifest.Object{Unstructured: u, Written: u, InGit: &o, Origin: o.Origin, File: o.Origin, Delivery: d}
	}
	if f.from.Cluster != "" && d.Parent.isEntry() {
		made = deliveringTo(f.from.Cluster, made)
	}
	d.setBuilt(made)
	return append(problems, d.unsetParameters()...)
}

// expandSet returns the objects of a set, and the reasons why there may be others.
func (f *following) expandSet(d *Delivery, files *source.FileSystem) (all []*unstructured.Unstructured,
	unknown []string, err error) {
	if !d.IsFlux {
		known := f.known.Of(d.InCluster)
		known.Clusters = slices.Concat(f.world.clusters, known.Clusters)
		known.Origin = f.world.origin
		all, err = applicationset.Expand(d.InCluster, filesOfSet{files}, known)
		return all, nil, err
	}
	outer := d.outer()
	if outer != nil && outer.Values == nil && flux.HasVariables(decoding.At(d.InCluster.Object,
		[]string{"spec", "inputs"})) {
		unknown = []string{"inputs: variables of Flux, whose values the cluster has"}
	}
	made, err := resourceset.Expand(d.InCluster, f.world)
	d.templates = map[manifest.ID]string{}
	for _, o := range made.Objects {
		all = append(all, o.Unstructured)
		d.templates[manifest.Object{Unstructured: o.Unstructured}.ID()] = o.Field
	}
	return all, append(unknown, made.Unknown...), err
}

// template returns the keys of the template of an object in a set.
func (d *Delivery) template(o manifest.Object) []string {
	if d.IsFlux {
		return manifest.SplitField(d.templates[o.ID()])
	}
	return []string{"spec", "template"}
}

// blameSet returns a problem of an object at the line of its set: in its patch, at the value of a generator or an input
// that is the whole text of the field, or in its template.
func (d *Delivery) blameSet(p manifest.Problem) manifest.Problem {
	owner := d.Parent.input
	keys := manifest.SplitField(p.Field)
	spec, _ := d.Of.Object["spec"].(map[string]any)
	var patch map[string]any
	text, _ := spec["templatePatch"].(string)
	_ = yaml.Unmarshal([]byte(text), &patch)                      // a template need not be YAML
	_, isSet, _ := unstructured.NestedFieldNoCopy(patch, keys...) // perhaps to null
	if len(keys) > 0 && (isSet || decoding.At(patch, keys) != nil) {
		at := manifest.NewProblem(d.Of, "spec.templatePatch", manifest.Value{}, "")
		p.File, p.Line = owner.locateText(at, keys)
		return p
	}
	template := append(d.template(p.Subject), keys...)
	if text, _ = decoding.At(d.Of.Object, template).(string); text != "" && parameter.FindString(text) == text {
		name := strings.Trim(text[strings.LastIndex(text, ".")+1:], "{}<> ")
		p.File, p.Line = owner.generated(d.Of.ID(), name, fmt.Sprint(decoding.At(p.Subject.Object, keys)))
	}
	if p.File == "" {
		at := manifest.NewProblem(d.Of, manifest.JoinField(template), p.Value, "")
		if d.Parent.isSet() {
			at = d.Parent.Blame(at)
		}
		at = d.locate(at)
		p.File = at.File
		p.Line = at.Line
	}
	return p
}

// generated returns the position of a value in a generator of an ApplicationSet, or an input of a ResourceSet: of a
// parameter with a name or else, as generators may rename it, of any; nothing if the value is not there.
func (in *input) generated(set manifest.ID, name, text string) (file string, line int) {
	isNamed := false
	for _, d := range in.sources.SourceDocuments(set) {
		_, generators := node.Walk(d.Node(), []string{"spec", "generators"}, nil)
		if generators == nil {
			_, generators = node.Walk(d.Node(), []string{"spec", "inputs"}, nil)
		}
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

// parameter matches a parameter in a template, and one that no generator has, as Argo CD leaves it.
var parameter = regexp.MustCompile(`\{\{[^{}]*\}\}|<< *inputs\.[^<>|]*>>|<no value>`)

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
