// Package known answers: which changed fields are ordinary, because a rule proves what happens? A field that no row
// of its table names is unknown. TestRowsTellOrdinaryChanges proves each row.
package known

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/image"
	"example.com/gatehouse/render/verdict/apiserver"
)

// row is a field whose changes are ordinary.
type row struct {
	name  string         // for tests
	kinds *regexp.Regexp // with their groups; nil for all
	// Of paths. A field of a Pod template begins with * in place of the field of the template.
	fields *regexp.Regexp
	when   func(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool // nil for all changes
}

// rows are the ordinary changes. A row is a claim: nothing that a reviewer has to decide follows from it.
var rows = []row{
	{name: "status", fields: regexp.MustCompile(`^status\b`), when: isBuiltIn}, // the API server ignores it
	{
		name: "labels of charts",
		fields: regexp.MustCompile(`(^|[.*])metadata\.labels(\[(helm\.sh/chart|app\.kubernetes\.io/version)\]|` +
			`\.(chart|heritage))$`),
		when: isUnselected,
	},
	{
		name:   "recommended labels",
		kinds:  regexp.MustCompile(`^(CronJob|Job)\.batch$|\.apps$|^(ConfigMap|Pod|Service|ServiceAccount)$`),
		fields: regexp.MustCompile(`(^|[.*])metadata\.labels\[app\.kubernetes\.io/[a-z-]+\]$`),
		when:   isUnselected,
	},
	{
		name: "notes",
		fields: regexp.MustCompile(`^metadata\.annotations(\.description|\[(` +
			`kubernetes\.io/(change-cause|description)|controller-gen\.kubebuilder\.io/version|` +
			`artifacthub\.io/[^\]]*)\])$`),
	},
	{
		name: "restarts", // Pods are replaced by the same
		fields: regexp.MustCompile(`^\*metadata\.annotations(\.rollme|\[(checksum/[^\]]*|` +
			`kubectl\.kubernetes\.io/restartedAt)\])$`),
		when: isSet,
	},
	{name: "versions of images", fields: regexp.MustCompile(`^\*spec\.(initC|c)ontainers\[[^\]]*\]\.image$`),
		when: isNewVersion},
	{
		name: "resources",
		fields: regexp.MustCompile(`^\*spec\.(initC|c)ontainers\[[^\]]*\]\.resources\.(limits|requests)\.` +
			`(cpu|memory)$`),
		when: keepsClass,
	},
	{
		name:   "replicas",
		kinds:  regexp.MustCompile(`^(Deployment|ReplicaSet)\.apps$`),
		fields: regexp.MustCompile(`^spec\.replicas$`), when: keepsCapacity,
	},
	{
		name:   "histories",
		kinds:  regexp.MustCompile(`^CronJob\.batch$|\.apps$`),
		fields: regexp.MustCompile(`^spec\.(revisionHistoryLimit|(successful|failed)JobsHistoryLimit)$`),
	},
	{
		name:   "content of generated ConfigMaps", // Pods restart with it
		kinds:  regexp.MustCompile(`^ConfigMap$`),
		fields: regexp.MustCompile(`^(data|binaryData)[.\[]`), when: isReadByPodsAlone,
	},
	{
		name: "names of generated objects",
		fields: regexp.MustCompile(`^\*spec\..*\.((configMap|configMapRef|configMapKeyRef|secret|secretRef|` +
			`secretKeyRef)\.name|secret\.secretName)$`),
		when: namesSuccessor,
	},
	{
		name:   "descriptions of definitions",
		kinds:  regexp.MustCompile(`^CustomResourceDefinition\.apiextensions\.k8s\.io$`),
		fields: regexp.MustCompile(`^spec\.versions\[[^\]]*\]\.schema\.openAPIV3Schema\.(.*\.)?description$`),
		when:   isText,
	},
	{
		name:   "values of charts", // the rows of the installed objects tell them
		kinds:  regexp.MustCompile(`^HelmRelease\.helm\.toolkit\.fluxcd\.io$`),
		fields: regexp.MustCompile(`^spec\.values[.\[]`), when: changesInstalled,
	},
	{
		name: "versions of charts", // so do they here
		kinds: regexp.MustCompile(`^(HelmRelease\.helm|(HelmChart|OCIRepository)\.source)\.toolkit\.fluxcd\.io$|` +
			`^Application\.argoproj\.io$`),
		fields: regexp.MustCompile(`^spec\.(chart\.spec\.version|version|ref\.tag|` +
			`sources?(\[[^\]]*\])?\.targetRevision)$`), when: changesVersion,
	},
}

// Is reports whether the change of a field is ordinary.
func Is(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	if c.Before == nil || c.After == nil {
		return false
	}
	path := inTemplate(both, c.After, f.Path)
	return slices.ContainsFunc(rows, func(r row) bool {
		return (r.kinds == nil || r.kinds.MatchString(compare.KindOf(c.After))) && r.fields.MatchString(path) &&
			(r.when == nil || r.when(both, c, f))
	})
}

// inTemplate replaces the field of a Pod template at the start of a path by *.
func inTemplate(both *compare.Comparison, o *unstructured.Unstructured, path string) string {
	for _, t := range both.Templates(o) {
		if within, ok := strings.CutPrefix(path, strings.TrimSuffix(t.Field, "spec")); ok {
			return "*" + within
		}
	}
	return path
}

func isSet(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	return f.Before != nil && f.After != nil
}

// isText reports whether a change is of texts, and not of a field that is called description.
func isText(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	isBranch := func(text *string) bool { return text != nil && strings.HasPrefix(*text, "{") }
	return !isBranch(f.Before) && !isBranch(f.After) && !strings.HasSuffix(f.Path, ".default.description")
}

func isBuiltIn(_ *compare.Comparison, c compare.Change, _ compare.FieldChange) bool {
	_, ok := apiserver.Newest.Lookup(c.After.GroupVersionKind())
	return ok
}

// label matches the key of a label in a path.
var label = regexp.MustCompile(`labels(?:\.([^.\[]+)|\[([^\]]+)\])$`)

// isUnselected reports whether no object of the environment mentions a label beside its own labels.
func isUnselected(both *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	match := label.FindStringSubmatch(f.Path)
	return !both.Mentions().Selected.Has(match[1] + match[2])
}

func isNewVersion(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	return isSet(both, c, f) && image.IsNewVersion(*f.Before, *f.After)
}

// keepsClass reports whether Pods keep their class of quality of service, and at least half of a resource.
func keepsClass(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	classes := func(o *unstructured.Unstructured) (all []corev1.PodQOSClass) {
		for _, t := range both.Templates(o) {
			all = append(all, qos.ComputePodQOS(&corev1.Pod{Spec: t.Spec}))
		}
		return all
	}
	return slices.Equal(classes(c.Before), classes(c.After)) && isLike(f)
}

// isLike reports whether a quantity changes to no less than half of it, and to no more than its double.
func isLike(f compare.FieldChange) bool {
	was, wasRead := compare.Quantity(f.Before)
	is, isRead := compare.Quantity(f.After)
	return wasRead && isRead && was > 0 && is >= was/2 && is <= was*2
}

// keepsCapacity reports whether a workload has at least two Pods or more than before, and neither an autoscaler nor a
// budget that states a minimum.
func keepsCapacity(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	if !isLike(f) {
		return false
	}
	was, _ := compare.Quantity(f.Before)
	is, _ := compare.Quantity(f.After)
	namespace := compare.NamespaceOf(c.After)
	if both.Mentions().Scaled.Has(namespace) || is < was && both.Mentions().Budgeted.Has(namespace) {
		return false
	}
	return is > was || is >= 2
}

// isReadByPodsAlone reports whether Pods of the environment use a ConfigMap, and no other object names it.
func isReadByPodsAlone(both *compare.Comparison, c compare.Change, _ compare.FieldChange) bool {
	_, after := both.Uses()
	return c.Action() == compare.Replaced && len(after[manifest.Object{Unstructured: c.After}.IDInNamespace()]) > 0 &&
		!both.Mentions().Named.Has(c.After.GetName())
}

// namesSuccessor reports whether a reference follows an object whose name has the hash of its content.
func namesSuccessor(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	return isSet(both, c, f) && both.Mentions().Successors.Has(compare.Successor{
		Namespace: compare.NamespaceOf(c.After), Before: *f.Before, After: *f.After})
}

// changesVersion reports whether a release has a later version of a chart and changes objects, as do all releases that
// use this chart.
func changesVersion(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	m := both.Mentions()
	users := m.Users[c.Object().ID()]
	isOther := func(user manifest.ID) bool { return !m.Installs.Has(user) }
	return image.IsNewTag(f.Before, f.After) && !slices.ContainsFunc(users, isOther) &&
		(len(users) > 0 || changesInstalled(both, c, f))
}

// changesInstalled reports whether a release changes objects, which have rows of their own.
func changesInstalled(both *compare.Comparison, c compare.Change, _ compare.FieldChange) bool {
	return both.Mentions().Installs.Has(c.Object().ID())
}
