// Package definitions answers: which objects are refused, stored otherwise or no longer read after a change of
// a CustomResourceDefinition, or of the version of Kubernetes? TestChangedDefinitionsHaveTheSameVerdict
// compares its verdicts with an API server.
package definitions

import (
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
)

// Review reviews a changed or removed CustomResourceDefinition.
func Review(both *compare.Comparison, c compare.Change) (effects []kind.Effect) {
	if c.After == nil {
		risk := kind.Say("every %s of the cluster is deleted", crd.Kind(c.Before).Kind)
		if c.IsCopy() {
			risk = kind.Say("no object of kind %s is checked any more; if it leaves the cluster, every one is deleted",
				crd.Kind(c.Before).Kind)
		}
		if names := objectsOf(both, crd.Kind(c.Before), ""); len(names) > 0 {
			risk += ", and here are " + effect.Quote(names)
		}
		return []kind.Effect{{Type: effect.DefinitionRemoved, What: "is removed", Risk: risk}}
	}
	add := func(what, risk kind.Sentence) {
		effects = append(effects, kind.Effect{Type: effect.DefinitionChanged, What: what, Risk: risk})
	}
	was := manifest.As[apiextensions.CustomResourceDefinition](c.Before).Spec
	is := manifest.As[apiextensions.CustomResourceDefinition](c.After).Spec
	old := strategy(was)
	current := strategy(is)
	for _, v := range was.Versions {
		reviewVersion(both, c, v, is, add)
	}
	switch {
	case old == current:
	case current == apiextensions.NoneConverter:
		add("no longer converts objects by a webhook",
			"the API server changes their apiVersion alone: fields that a version lacks or has otherwise are lost "+
				"or wrong")
	default:
		add("converts objects by a webhook",
			"without it the API server reads and writes no object of another version than the stored one")
	}
	for _, f := range c.Fields() {
		name := strings.ToLower(strings.ReplaceAll(f.Path, "-", ""))
		if strings.HasSuffix(name, "preserveunknownfields") && ptr.Deref(f.Before, "") == "true" {
			add(kind.Say("drops unknown fields: %s is no longer true", f.Path),
				"objects lose them when they are written again")
		}
	}
	return effects
}

func reviewVersion(both *compare.Comparison, c compare.Change, v apiextensions.CustomResourceDefinitionVersion,
	is apiextensions.CustomResourceDefinitionSpec, add func(what, risk kind.Sentence)) {
	i := slices.IndexFunc(is.Versions, func(other apiextensions.CustomResourceDefinitionVersion) bool {
		return other.Name == v.Name
	})
	risk := kind.Sentence("clients that use it fail")
	if names := objectsOf(both, crd.Kind(c.After), v.Name); len(names) > 0 {
		risk = "the API server refuses objects that are written in it: " + effect.Quote(names)
	}
	if i < 0 {
		risk += "; the API server refuses this change as long as status.storedVersions lists it"
	}
	if v.Served && (i < 0 || !is.Versions[i].Served) {
		add(kind.Say("no longer serves %s", v.Name), risk)
	} else if i < 0 {
		add(kind.Say("no longer has %s", v.Name), risk)
	}
	if v.Storage && i >= 0 && !is.Versions[i].Storage {
		risk := kind.Sentence("its webhook has to convert existing objects, which stay as they are stored until " +
			"they are written again")
		if strategy(is) == apiextensions.NoneConverter {
			risk = "existing objects stay as they are stored until they are written again: then they lose the " +
				"fields that the new version lacks"
		}
		add(kind.Say("no longer stores objects in %s", v.Name), risk)
	}
}

func strategy(spec apiextensions.CustomResourceDefinitionSpec) apiextensions.ConversionStrategyType {
	if spec.Conversion == nil || spec.Conversion.Strategy == "" {
		return apiextensions.NoneConverter
	}
	return spec.Conversion.Strategy
}

// objectsOf names the objects of a kind in the environment, of one version or of any.
func objectsOf(both *compare.Comparison, kind schema.GroupKind, version string) (names []string) {
	for _, o := range both.After().Objects {
		if gvk := o.GroupVersionKind(); gvk.GroupKind() == kind && (version == "" || gvk.Version == version) {
			names = append(names, compare.IDOf(o).String())
		}
	}
	return names
}

// Verdicts reviews the objects whose verdict differs.
func Verdicts(v *compare.Verdicts) (effects []effect.Effect) {
	if v == nil {
		return nil
	}
	add := func(p manifest.Problem, e kind.Effect) {
		id := manifest.ID{Kind: p.Object}
		if p.Subject.Unstructured != nil {
			id = p.Subject.ID()
		}
		effects = append(effects, effect.Of(id, e)...)
	}
	at := func(p manifest.Problem) kind.Sentence { return kind.Say("%s: %s", p.Position(), p.Message) }
	for _, p := range v.Errors {
		e := kind.Effect{Type: effect.ObjectRefused, What: "is refused after this change, " + at(p.Problem),
			Risk: "Flux and Argo CD fail to apply it"}
		if p.MayStay {
			e.Risk = "an existing object may stay as it is: the API server refuses a new one, and changes that " +
				"leave this wrong"
		}
		add(p.Problem, e)
	}
	for _, p := range v.Warnings {
		add(p, kind.Effect{Type: effect.ObjectWarned, What: "has a new warning, " + at(p),
			Risk: "check the programs that read or write it"})
	}
	for _, o := range v.Stored {
		reviewStored(o, add)
	}
	return effects
}

func reviewStored(o compare.StoredObject, add func(manifest.Problem, kind.Effect)) {
	var lost []kind.Sentence
	isExisting := map[string]bool{}
	others := slices.DeleteFunc(slices.Clone(o.Existing), func(f compare.FieldChange) bool {
		isExisting[f.Path] = true
		if f.After == nil {
			lost = append(lost, kind.Say("%s: %s", f.Path, *f.Before))
		}
		return f.After == nil
	})
	ofNew := slices.DeleteFunc(slices.Clone(o.Fields), func(f compare.FieldChange) bool { return isExisting[f.Path] })
	say := func(what string, fields []compare.FieldChange, risk kind.Sentence) {
		if len(fields) > 0 {
			e := effect.OfFields(compare.Change{Before: o.Subject.Unstructured, After: o.Subject.Unstructured},
				fields, nil)
			add(o.Problem, kind.Effect{Type: effect.StoredOtherwise,
				What: kind.Sentence(what) + kind.Say(" (%s): it ", o.Position()) + e.What, Risk: risk})
		}
	}
	if len(lost) > 0 {
		add(o.Problem, kind.Effect{Type: effect.FieldsLost, What: kind.Say("loses fields (%s): ", o.Position()) +
			effect.List(lost), Risk: "the API server no longer stores them"})
	}
	say("is read and stored otherwise", others, "no change of it in git says so")
	say("is stored otherwise if it is new", ofNew,
		"an existing object stays, and differs from one that is created again")
}
