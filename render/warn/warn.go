// Package warn finds objects that the API server accepts but that are probably mistakes. A rule is a
// function here, or belongs to a kind. It is silent unless it is sure: people ignore warnings that
// are often wrong.
package warn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/references"
)

// ElsewhereAnnotation is an annotation of kustomizations. It lists objects that the environment
// needs and does not define, because they exist elsewhere: "Namespace monitoring, Deployment
// shop/web".
const ElsewhereAnnotation = "gatehouse.example.com/elsewhere"

// Input is a rendered environment with the facts that the rules need.
type Input struct {
	// Kinds are the kinds of source objects.
	Kinds *registry.Kinds
	// Objects are all objects: source objects and rendered objects.
	Objects []manifest.Object
	// Local are CustomResourceDefinitions that are known here and applied from elsewhere.
	Local []manifest.Object
	// IsNamespaced reports whether objects of a kind have a namespace, and whether the kind is
	// known.
	IsNamespaced func(schema.GroupVersionKind) (namespaced, known bool)
	// Resources returns the plurals of the known kinds, by group.
	Resources func() map[string][]string
	// Elsewhere holds the values of ElsewhereAnnotation.
	Elsewhere Elsewhere
	// ElsewhereFile is the file to write other such objects into, of an environment without a kustomization of its own.
	ElsewhereFile string
	// Now is the time of rendering. If it is zero, warnings do not depend on the time.
	Now time.Time
	// Installed are objects that controllers install.
	Installed []manifest.Object
	// Configured are the fields that configurations of kustomize know to name objects.
	Configured []references.Configured
	// Renamed returns the ID of the object that had an ID until a kustomization of another object renamed it.
	Renamed func(from manifest.Object, was manifest.ID) (now manifest.ID, ok bool)
	// IsWritten reports whether an object's file in rendered/ exists, or the environment is not rendered yet.
	IsWritten func(manifest.Object) bool
	// Deliveries are what tools apply: first the environment itself.
	Deliveries []Delivery
	// IsPartial reports whether deliveries bring more than is known.
	IsPartial bool
	// IsPrepared reports whether people may install more in an empty cluster before.
	IsPrepared func() bool

	sources     []manifest.Object // the Objects that are not rendered: a kind decides about its own
	controllers []manifest.Object // the Objects that IsController accepts
	autoscalers map[pod.Workload][]manifest.Object
	index       *references.Index // of Objects and Installed
}

// Warnings returns the warnings of all rules, without files and lines, and an error for each kind
// whose own rule panics.
func (in Input) Warnings() (warnings []manifest.Problem) {
	in.autoscalers = map[pod.Workload][]manifest.Object{}
	for _, o := range in.Objects {
		if !o.IsRendered() {
			in.sources = append(in.sources, o)
		}
		if IsController(o) {
			in.controllers = append(in.controllers, o)
		}
		if a, scales := pod.ReadAutoscaler(o.Unstructured); scales {
			in.autoscalers[a.Target] = append(in.autoscalers[a.Target], o)
		}
	}
	in.index = references.NewIndex(slices.Concat(in.Objects, in.Installed), in.Configured...)
	rules := []struct {
		code metav1.CauseType
		find func(Input) []manifest.Problem
	}{
		{manifest.MissingNamespace, missingNamespaces},
		{manifest.MissingController, missingController}, {manifest.MissingController, missingGatePolicy},
		{manifest.InvalidImage, unpinnedController}, {manifest.InvalidImage, invalidImages},
		{manifest.ScaledTwice, scaledTwice}, {manifest.ScaledTwice, scaledByTwo},
		{manifest.RunsAgain, ofSources(repeatedJobs)},
		{manifest.MissingObject, unresolvedReferences}, {manifest.MissingObject, ofSources(unknownProbePorts)},
		{manifest.MissingObject, ofSources(emptyMounts)},
		{manifest.NothingSelected, ofSources(idleSelectors)}, {manifest.NothingSelected, unknownResources},
		{manifest.MissingObject, ofSources(unknownRoles)}, {manifest.MissingObject, ofSources(unknownSecretKeys)},
		{manifest.MissingObject, misplacedSecrets},
		{manifest.NeverWorks, ofSources(neverWorking)}, {manifest.NeverWorks, ofSources(blockedEvictions)},
		{manifest.NeverWorks, ofSources(unspreadPods)},
		{manifest.NothingChanged, ofSources(unreadSettings)},
		{manifest.NeverStarts, neverStarting}, {manifest.NeverStarts, refusedApplications},
		{manifest.OfKind, ofKinds},
	}
	found := make([][]manifest.Problem, len(rules))
	parallel.For(len(rules), func(i int) { found[i] = manifest.AllAs(rules[i].code, rules[i].find(in)) })
	return slices.Concat(found...)
}

// ofSources returns a rule that applies the rule of one object to each source object.
func ofSources(find func(Input, manifest.Object) []manifest.Problem) func(Input) []manifest.Problem {
	return func(in Input) (warnings []manifest.Problem) {
		for _, o := range in.sources {
			warnings = append(warnings, find(in, o)...)
		}
		return warnings
	}
}

func ofKinds(in Input) (warnings []manifest.Problem) {
	if !slices.ContainsFunc(in.Kinds.All, func(k kind.Kind) bool { return k.Warnings != nil }) {
		return nil
	}
	sources := map[manifest.ID]manifest.Object{}
	rendered := map[manifest.ID][]manifest.Object{}
	for _, o := range in.Objects {
		if in.Kinds.Find(o.GroupVersionKind()) != nil {
			sources[o.ID()] = o
		}
		if o.Written != nil {
			source := o.Source().ID()
			rendered[source] = append(rendered[source], o)
		}
	}
	environment := kind.Environment{All: manifest.Untyped(in.Objects), Now: in.Now}
	for _, v := range in.Kinds.Views(environment, manifest.Untyped(in.Local)) {
		found, err := v.Warnings()
		if err != nil {
			warnings = append(warnings, manifest.Problem{Code: manifest.RunFailed, Message: err.Error()})
		}
		for _, w := range found {
			o, ok := sources[manifest.ID{Group: v.Kind.GVK().Group, Kind: v.Kind.GVK().Kind,
				Namespace: w.Object.GetNamespace(), Name: w.Object.GetName()}]
			isOld := ok && w.IfNew && !slices.ContainsFunc(rendered[o.ID()], func(o manifest.Object) bool {
				return !in.IsWritten(o)
			})
			if !ok || isOld { // the rule made the object up, or was told before
				continue
			}
			warnings = append(warnings, warning(o, w.Field, "%s", w.Message))
		}
	}
	return warnings
}

func warning(o manifest.Object, field, format string, args ...any) manifest.Problem {
	message := fmt.Sprintf(format, args...)
	value := manifest.Value{}
	if field != "" {
		message = field + ": " + message
		value.Is = decoding.At(o.Object, manifest.SplitField(field))
	}
	w := manifest.NewProblem(o, field, value, message)
	w.Warning = true
	return w
}

// warningAt is warning for the path of a field.
func warningAt(o manifest.Object, path []string, format string, args ...any) manifest.Problem {
	return warning(o, manifest.JoinField(path), format, args...)
}

// Elsewhere has values of ElsewhereAnnotation.
type Elsewhere []string

// Has reports whether a list has an object.
func (e Elsewhere) Has(id manifest.ID) bool {
	for _, list := range e {
		for entry := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == '\n' }) {
			if strings.Join(strings.Fields(entry), " ") == id.String() {
				return true
			}
		}
	}
	return false
}

// orAnnotate is the end of a warning of an object that is not in the environment.
func (in Input) orAnnotate(id manifest.ID) string {
	return "or, if it exists elsewhere, " + in.annotate(id.String())
}

// annotate says where to write that an object is elsewhere.
func (in Input) annotate(object string) string {
	if in.ElsewhereFile != "" {
		return fmt.Sprintf("write %s into elsewhere of %s", object, in.ElsewhereFile)
	}
	return fmt.Sprintf("annotate the kustomization with %s: %s", ElsewhereAnnotation, object)
}
