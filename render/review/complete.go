package review

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/guards"
)

// complete keeps a review complete: rules only choose better words. It adds the changed fields and objects that no
// effect tells, and the risks of fields to the effects that tell them. A field needs no words of its own if it
// follows from the source object, whose own change has an effect, unless it is a risk.
func complete(both *compare.Comparison, effects []effect.Effect) []effect.Effect {
	of := map[manifest.ID][]int{} // indexes of effects
	for i, e := range effects {
		of[e.Object] = append(of[e.Object], i)
	}
	following := map[manifest.ID][]compare.Change{}
	for _, c := range slices.Concat(both.Changes, both.Definitions) {
		id := c.Object().ID()
		told := sets.Set[string]{}
		for _, i := range of[id] {
			told.Insert(effects[i].Fields...)
		}
		risks := guards.Risks(both, c)
		fields, owner := ownFields(both, c, risks)
		fields = slices.DeleteFunc(fields, func(f compare.FieldChange) bool { return f.IsWithin(told) })
		isBare := c.Action() != compare.Changed && owner == id && len(of[id]) == 0 // nothing else tells it
		lost, _ := guards.Loss(both, c)
		if lost != "" || isBare || len(fields) > 0 && (c.After != nil || len(of[id]) == 0) {
			of[id] = append(of[id], len(effects))
			effects = append(effects, reviewFields(both, c, fields, risks))
		} else if owner != id && len(of[id]) == 0 {
			following[owner] = append(following[owner], c)
		}
		for _, i := range of[id] {
			risks = addRisks(&effects[i], risks)
		}
	}
	for _, owner := range slices.SortedFunc(maps.Keys(following), effect.CompareObjects) {
		effects = append(effects, effect.Of(owner, reviewFollowing(both, following[owner]))...)
	}
	return effects
}

// reviewFields returns the effect of fields that no other effect tells, or of a removed object.
func reviewFields(both *compare.Comparison, c compare.Change, fields []compare.FieldChange,
	risks []guards.Risk) effect.Effect {
	said := kind.Effect{Type: effect.ObjectRemoved, What: "is removed"}
	if c.After != nil {
		risky := sets.Set[string]{}
		for _, r := range risks {
			risky.Insert(r.Path)
		}
		said = effect.OfFields(c, fields, risky)
	}
	said.Risk = lossOf(both, c)
	e := effect.Of(c.Object().ID(), said)[0]
	if lost, severity := guards.Loss(both, c); e.Risk == "" && lost != "" {
		e.AddRisk(lost, severity)
	}
	return e
}

// addRisks adds the risks of fields to the effect that tells these, and returns the others.
func addRisks(e *effect.Effect, risks []guards.Risk) (others []guards.Risk) {
	if len(risks) == 0 {
		return nil
	}
	told := sets.New(e.Fields...)
	var found []kind.Sentence
	severities := map[kind.Sentence]effect.Severity{}
	paths := map[kind.Sentence][]string{}
	for _, r := range risks {
		switch {
		case !(compare.FieldChange{Path: r.Path}).IsWithin(told):
			others = append(others, r)
			continue
		case !slices.Contains(found, r.Risk):
			found = append(found, r.Risk)
		}
		severities[r.Risk] = max(severities[r.Risk], r.Severity)
		if !r.OfObject {
			paths[r.Risk] = append(paths[r.Risk], r.Path)
		}
	}
	for _, risk := range found {
		severity := severities[risk]
		if n := len(paths[risk]); 0 < n && n < len(e.Fields) {
			risk += ": " + effect.Quote(paths[risk])
		}
		e.AddRisk(risk, severity)
	}
	return others
}

// identity are the fields in the ID of an object.
var identity = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace"}

// generated are fields that Gatehouse computes from others.
var generated = []string{
	"metadata.annotations[" + kind.DigestAnnotation + "]",
	"metadata.annotations[" + registry.RenderingAnnotation + "]",
}

// ownFields returns the changed fields of an object that do not follow from a change of its source object, or are
// a risk, and the source object, or the object itself if it has none.
func ownFields(both *compare.Comparison, c compare.Change, risks []guards.Risk) (fields []compare.FieldChange,
	owner manifest.ID) {
	o := c.Object().Unstructured
	fields = slices.DeleteFunc(c.Fields(), func(f compare.FieldChange) bool {
		return slices.ContainsFunc(generated, f.IsIn) ||
			c.Action() != compare.Changed && slices.Contains(identity, f.Path)
	})
	owner, ok := compare.OwnerOf(both.Kinds, o)
	if !ok || owner == compare.IDOf(o) {
		return fields, compare.IDOf(o)
	}
	overridden := sets.Set[string]{}
	around := sets.Set[string]{} // paths, and paths with one of them below
	for _, f := range both.Overridden(owner, c) {
		overridden.Insert(f.Path)
		around.Insert(slices.Collect(f.Starts())...)
	}
	for _, r := range risks {
		if !r.IsLimit {
			around.Insert(slices.Collect(compare.FieldChange{Path: r.Path}.Starts())...)
		}
	}
	return slices.DeleteFunc(fields, func(f compare.FieldChange) bool {
		return !f.IsWithin(overridden) && !around.Has(f.Path)
	}), owner
}

// reviewFollowing names the changed rendered objects that follow their source object.
func reviewFollowing(both *compare.Comparison, changes []compare.Change) kind.Effect {
	e := kind.Effect{Type: effect.RenderedFollow}
	said := make([]kind.Sentence, len(changes))
	for i, c := range changes {
		said[i] = kind.Say("%s (", c.Object().String()) + kind.Sentence(c.Action()) + ")"
		e.Risk = max(e.Risk, lossOf(both, c)) // a Job that runs again comes before others
	}
	e.What = "its rendered objects follow: " + effect.Join(said, ", ")
	return e
}

// lossOf returns the risk of a removed or replaced rendered object, unless the kind of its source object has a review.
func lossOf(both *compare.Comparison, c compare.Change) kind.Sentence {
	o := c.Object().Unstructured
	action := c.Action()
	k := both.Kinds.RenderedFrom(o)
	switch {
	case k == nil || k.Review != nil || !manifest.MakesPods(o) || o.GetKind() == "CronJob":
	case action == compare.Replaced && o.GetKind() == "Job":
		return "it runs again, and its running Pods are stopped"
	case action == compare.Removed, action == compare.Replaced:
		return "its running Pods are stopped"
	}
	return ""
}
