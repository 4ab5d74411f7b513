package review

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
)

// sayKept describes a removed object that stays in the cluster.
func sayKept(by delivery.Setting) kind.Effect {
	what := kind.Say("stays in the cluster: %s prevents pruning", by.Key)
	switch by.Treatment {
	case delivery.Confirmed:
		what = kind.Say("stays in the cluster until somebody confirms its removal: %s is %s", by.Key, by.Value)
	case delivery.Outlasting:
		what = kind.Say("stays in the cluster: %s", by.Key)
	case delivery.Ignored:
		what = kind.Say("stays in the cluster, if %s is %s there, too", by.Key, by.Value)
	}
	return kind.Effect{Type: effect.ObjectKept, What: what}
}

// sayLeft describes an object that its tool does not change.
func sayLeft(by delivery.Setting, c compare.Change) kind.Effect {
	e := kind.Effect{Type: effect.ObjectLeft, Risk: "the cluster keeps the object as it is"}
	tool := kind.Sentence(by.Tool)
	switch {
	case c.Before == nil:
		e.What = tool + " does not create it"
		e.Risk = "it has no effect in the cluster"
	case by.Treatment == delivery.CreatedOnce:
		e.What = tool + " does not apply this change to the object in the cluster"
		e.Risk += " until somebody deletes it: then the new one is created"
	default:
		e.What = tool + " does not apply this change"
	}
	e.What += kind.Say(": %s is %s", by.Key, by.Value)
	return e
}

// treatments say what a tool does with an object from now on: with a setting, and without one that it had. The first
// sentence is no risk, the second is one.
var treatments = map[delivery.Treatment]struct{ begins, ends [2]kind.Sentence }{
	delivery.Ignored:     {ends: [2]kind.Sentence{"", "applies it, with all changes since it last did"}},
	delivery.CreatedOnce: {ends: [2]kind.Sentence{"", "changes it, with all changes since it created it"}},
	delivery.Kept: {
		begins: [2]kind.Sentence{"leaves it in the cluster when it is removed from git"},
		ends:   [2]kind.Sentence{"", "deletes it when it is removed from git"},
	},
	delivery.Confirmed: {
		begins: [2]kind.Sentence{"deletes it only after somebody confirms that"},
		ends:   [2]kind.Sentence{"", "deletes it unasked when it is removed from git"},
	},
	delivery.Outlasting: {
		begins: [2]kind.Sentence{"leaves it in the cluster when its Application or release is deleted"},
		ends:   [2]kind.Sentence{"", "deletes it with its Application or release"},
	},
	delivery.Forced: {
		begins: [2]kind.Sentence{"", "deletes and recreates it when the API server refuses a change"},
		ends:   [2]kind.Sentence{"fails to apply a change that the API server refuses"},
	},
	delivery.Recreated: {
		begins: [2]kind.Sentence{"", "deletes and recreates it at each sync"},
		ends:   [2]kind.Sentence{"no longer deletes and recreates it at each sync"},
	},
	delivery.Replaced: {
		begins: [2]kind.Sentence{"", "replaces it as a whole: the values that others set in it are lost"},
		ends:   [2]kind.Sentence{"no longer replaces it as a whole"},
	},
	delivery.Merged: {
		begins: [2]kind.Sentence{"keeps the fields that others add to it"},
		ends:   [2]kind.Sentence{"removes the fields that kubectl added to it"},
	},
	delivery.Ended: {
		begins: [2]kind.Sentence{"", "deletes it when it has ended"},
		ends:   [2]kind.Sentence{"leaves it in the cluster when it has ended"},
	},
	delivery.Unchecked: {
		begins: [2]kind.Sentence{"applies it with fewer checks"},
		ends:   [2]kind.Sentence{"applies it with all checks"},
	},
}

// reviewTreatments returns the effects of annotations and labels by which a tool treats an object in another way.
func reviewTreatments(c compare.Change) (effects []kind.Effect) {
	if c.Action() != compare.Changed {
		return nil
	}
	was := compare.Settings(c, c.Before)
	is := compare.Settings(c, c.After)
	add := func(s delivery.Setting, words [2]kind.Sentence) {
		e := kind.Effect{Type: effect.ObjectTreated, What: "changes " + effect.SayChangeOf(c.Fields(), s.Path),
			Fields: []string{s.Path}}
		for i, said := range words {
			switch {
			case said == "":
			case i == 0:
				e.What += ": " + kind.Sentence(s.Tool) + " " + said
			default:
				e.Risk = kind.Sentence(s.Tool) + " now " + said
			}
		}
		if e.Risk != "" || words[0] != "" {
			effects = append(effects, e)
		}
	}
	isHook := delivery.Find(is, delivery.Hooked, delivery.Ended) != nil // which runs at each sync
	for _, s := range is {
		switch {
		case !hasTreatment(was, s):
			add(s, treatments[s.Treatment].begins)
		case s.Treatment == delivery.Recreated && !isHook:
			effects = append(effects, kind.Effect{Type: effect.ObjectTreated,
				What: kind.Say("%s deletes and creates it again: %s is %s", string(s.Tool), s.Key, s.Value),
				Risk: "it is gone until then: its Pods stop before new ones start, and its data is lost"})
		}
	}
	for _, s := range was {
		if !hasTreatment(is, s) {
			add(s, treatments[s.Treatment].ends)
		}
	}
	return effects
}

// addSteps says of each changed Application when a RollingSync syncs it.
func addSteps(both *compare.Comparison, effects []effect.Effect) {
	for _, c := range both.Changes {
		step := sayStep(both, c)
		if step == "" {
			continue
		}
		first := slices.IndexFunc(effects, func(e effect.Effect) bool { return e.Object == c.Object().ID() })
		if first >= 0 {
			effects[first].What += step
		}
	}
}

// sayStep says when a RollingSync of an ApplicationSet syncs a changed Application: nothing for any other. See
// buildAppDependencyList in applicationset/controllers/applicationset_controller.go of Argo CD.
func sayStep(both *compare.Comparison, c compare.Change) kind.Sentence {
	if c.After == nil || c.InstalledBy.Kind != "ApplicationSet" ||
		compare.KindOf(c.After) != "Application.argoproj.io" {
		return ""
	}
	var spec struct {
		Strategy struct {
			Type        string
			RollingSync struct {
				Steps []struct {
					MatchExpressions []metav1.LabelSelectorRequirement
				}
			}
		}
	}
	for _, o := range both.After().Objects {
		if (manifest.Object{Unstructured: o}).ID() == c.InstalledBy {
			_ = manifest.Decode(o.Object["spec"], &spec) // a wrong type is an error of the definition
		}
	}
	steps := spec.Strategy.RollingSync.Steps
	if spec.Strategy.Type != "RollingSync" || len(steps) == 0 {
		return ""
	}
	for i, step := range steps {
		selects := func(r metav1.LabelSelectorRequirement) bool {
			value, isSet := c.After.GetLabels()[r.Key]
			return (isSet && slices.Contains(r.Values, value)) == (r.Operator == metav1.LabelSelectorOpIn)
		}
		isSelected := !slices.ContainsFunc(step.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return !selects(r)
		})
		switch {
		case !isSelected:
		case i == 0:
			return kind.Say("; step 1 of %d of the RollingSync of %s syncs it", len(steps), c.InstalledBy.String())
		default:
			return kind.Say("; step %d of %d of the RollingSync of %s syncs it, when the Applications of the steps "+
				"before are healthy", i+1, len(steps), c.InstalledBy.String())
		}
	}
	return kind.Say("; no step of the RollingSync of %s selects it, so somebody has to sync it", c.InstalledBy.String())
}

// hasTreatment reports whether a tool treats an object as by a setting, for whichever reason.
func hasTreatment(settings []delivery.Setting, as delivery.Setting) bool {
	return slices.ContainsFunc(settings, func(s delivery.Setting) bool {
		return s.Tool == as.Tool && s.Treatment == as.Treatment
	})
}
