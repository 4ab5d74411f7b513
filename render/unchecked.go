package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/delivery/definitions"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/warn"
)

// Unchecked counts the objects of a kind without a definition.
type Unchecked struct {
	schema.GroupVersionKind // of the first object, or one that its tool no longer serves
	Objects                 int
	// First is a problem with the position of the first object.
	First manifest.Problem
	// Differing are the positions of definitions in the repository that differ, so that none of them is used.
	Differing []string
}

// unchecked returns the kinds without a definition, in order, except those that an annotation says are elsewhere.
func (p *pipeline) unchecked(objects []manifest.Object) (all []Unchecked) {
	byKind := map[schema.GroupKind]*Unchecked{}
	elsewhere := p.elsewhere()
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		if _, isKnown := p.checker.IsNamespaced(gvk); isKnown || elsewhere.Has(apiServiceOf(gvk)) {
			continue
		}
		if byKind[gvk.GroupKind()] == nil {
			byKind[gvk.GroupKind()] = &Unchecked{GroupVersionKind: gvk,
				First: p.locate(manifest.NewProblem(o, "", manifest.Value{}, ""))}
			_, byKind[gvk.GroupKind()].Differing = p.undelivered(gvk)
		}
		if served, _ := definitions.Instead(gvk); served != "" { // for which no object of the kind is checked
			byKind[gvk.GroupKind()].GroupVersionKind = gvk
		}
		byKind[gvk.GroupKind()].Objects++
	}
	for _, u := range byKind {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b Unchecked) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// apiServiceOf returns the ID of the object by which a cluster serves a version of a group.
func apiServiceOf(gvk schema.GroupVersionKind) manifest.ID {
	return manifest.ID{Group: "apiregistration.k8s.io", Kind: "APIService", Name: gvk.Version + "." + gvk.Group}
}

// aggregated are groups of API servers beside kube-apiserver, by project: a cluster has no CustomResourceDefinition of
// their kinds.
var aggregated = map[string]string{
	"apps.openshift.io": "OpenShift", "authorization.openshift.io": "OpenShift", "build.openshift.io": "OpenShift",
	"image.openshift.io": "OpenShift", "oauth.openshift.io": "OpenShift", "project.openshift.io": "OpenShift",
	"route.openshift.io": "OpenShift", "template.openshift.io": "OpenShift", "user.openshift.io": "OpenShift",
	"core.gardener.cloud": "Gardener", "operations.gardener.cloud": "Gardener",
	"security.gardener.cloud": "Gardener", "seedmanagement.gardener.cloud": "Gardener",
	"settings.gardener.cloud": "Gardener",
}

// unserved are groups of files of programs, which no cluster serves, by program.
var unserved = map[string]string{
	"kind.x-k8s.io": "kind", "kustomize.config.k8s.io": "kustomize", "builtin": "kustomize",
	"kubeadm.k8s.io": "kubeadm", "kubelet.config.k8s.io": "the kubelet", "kubeproxy.config.k8s.io": "kube-proxy",
	"kubescheduler.config.k8s.io": "kube-scheduler", "audit.k8s.io": "kube-apiserver",
	"apiserver.config.k8s.io": "kube-apiserver", "scorecard.operatorframework.io": "operator-sdk",
	"skaffold": "Skaffold", "k3d.io": "k3d", "eksctl.io": "eksctl", "kuttl.dev": "kuttl", "cli.kyverno.io": "Kyverno",
	"chainsaw.kyverno.io": "Chainsaw", "backstage.io": "Backstage", "ctlptl.dev": "ctlptl",
}

// uncheckedTotal is the number of objects of a kind in all environments.
type uncheckedTotal struct {
	Unchecked
	first        int // index of the environment
	environments []string
}

// warnUnchecked adds warnings of kinds without a definition to the first environment that has objects of them: one for
// all kinds whose definition a cluster may have, and one for each other kind.
func (u *Update) warnUnchecked() {
	var totals, rest []*uncheckedTotal
	byKind := map[schema.GroupKind]*uncheckedTotal{}
	for i, e := range u.Environments {
		for _, unchecked := range e.Unchecked {
			t := byKind[unchecked.GroupKind()]
			if t == nil {
				t = &uncheckedTotal{Unchecked: unchecked, first: i}
				t.Objects = 0
				t.First.Warning = true
				t.First.Object = ""
				byKind[unchecked.GroupKind()] = t
				totals = append(totals, t)
			}
			t.Objects += unchecked.Objects
			t.environments = append(t.environments, e.Name)
		}
	}
	for _, t := range totals {
		served, release := definitions.Instead(t.GroupVersionKind)
		switch count := fmt.Sprintf("%d, in %s", t.Objects, manifest.FirstOf(3, t.environments)); {
		case served != "":
			u.warnOf(t, fmt.Sprintf("%s: %s no longer serves %s (%s): write %s, so that the objects are checked",
				t.GroupKind(), release, t.Version, count, schema.GroupVersion{Group: t.Group, Version: served}))
		case unserved[t.Group] != "":
			u.warnOf(t, fmt.Sprintf("%s is in files for %s (%s): no cluster serves it, and the sync would fail: take "+
				"it out of resources, or annotate it with config.kubernetes.io/local-config: \"true\"", t.GroupKind(),
				unserved[t.Group], count))
		case aggregated[t.Group] != "":
			u.warnOf(t, fmt.Sprintf("%s: objects without a CustomResourceDefinition are not checked (%s): an API "+
				"server of %s serves them, and no cluster has a definition to copy; annotate the kustomization with "+
				"%s: %s", t.GroupKind(), count, aggregated[t.Group], warn.ElsewhereAnnotation,
				apiServiceOf(t.GroupVersionKind)))
		default:
			rest = append(rest, t)
		}
	}
	if len(rest) > 0 {
		u.warnOf(rest[0], definitionsToCopy(rest))
	}
}

// warnOf adds a warning at the first object of a kind.
func (u *Update) warnOf(t *uncheckedTotal, message string) {
	t.First.Message = message
	t.First.Code = manifest.MissingDefinition
	first := &u.Environments[t.first]
	first.Problems = manifest.SortProblems(append(first.Problems, t.First))
}

// differs says that the repository has several definitions.
func (u Unchecked) differs() string {
	if len(u.Differing) == 0 {
		return ""
	}
	return "; the definitions in " + manifest.FirstOf(3, u.Differing) + " differ, so none is used"
}

// definitionsToCopy returns a message with the kinds, and a command that copies the definitions of all groups. It
// writes nothing for a group without definitions, such as one that nobody installed.
func definitionsToCopy(kinds []*uncheckedTotal) string {
	groups := make([]string, 0, len(kinds))
	names := make([]string, 0, len(kinds))
	var environments []string
	for _, t := range kinds {
		groups = append(groups, t.Group)
		environments = append(environments, t.environments...)
		names = append(names, fmt.Sprintf("%s (%d%s)", t.GroupKind(), t.Objects, t.differs()))
	}
	slices.Sort(groups)
	slices.Sort(environments)
	return fmt.Sprintf("objects without a CustomResourceDefinition are not checked, in %s: %s: with a cluster that "+
		"has the definitions, run mkdir -p %[3]s && for g in %[4]s; do kubectl get crd -o name | "+
		"grep \"/[^.]*\\.$g$\" | xargs -r kubectl get -o yaml > %[3]s/$g.yaml; done "+
		"(docs/validation.md has a way for kinds that nobody may copy)",
		manifest.FirstOf(3, slices.Compact(environments)), strings.Join(names, ", "),
		tree.EnvironmentsFolder+"/"+definitionsFolder, strings.Join(slices.Compact(groups), " "))
}
