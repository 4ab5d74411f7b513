// Package known answers: which changed fields are ordinary, because a rule proves what happens? A field that no row
// of its table names is unknown. TestRowsTellOrdinaryChanges proves each row.
package known

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/image"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/podsecurity"
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
		when: fits,
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
		when:   keepsHistory,
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
		name:   "versions of databases", // their operators roll them out
		kinds:  regexp.MustCompile(`^Cluster\.postgresql\.cnpg\.io$`),
		fields: regexp.MustCompile(`^spec\.imageName$`), when: isNewVersion,
	},
	{
		name: "versions of monitors", kinds: monitors,
		fields: regexp.MustCompile(`^spec\.image$`), when: isNewVersion,
	},
	{
		name: "numbers of monitors", kinds: monitors,
		fields: regexp.MustCompile(`^spec\.version$`), when: isNewNumber,
	},
	{
		name: "settings of deliveries", // the rows of the delivered objects tell them
		kinds: regexp.MustCompile(`^(HelmRelease\.helm|Kustomization\.kustomize)\.toolkit\.fluxcd\.io$|` +
			`^Application\.argoproj\.io$`),
		fields: regexp.MustCompile(`^spec\.(values|images|postBuild\.substitute|sources?(\[[^\]]*\])?\.(helm\.(` +
			`parameters|values|valuesObject)|kustomize\.images))([.\[]|$)`), when: changesSetting,
	},
	{
		name:   "elements of sets", // so do they here: all that a set makes is compared
		kinds:  regexp.MustCompile(`^ApplicationSet\.argoproj\.io$|^ResourceSet\.fluxcd\.controlplane\.io$`),
		fields: OfSets, when: changesSetting,
	},
	{
		name: "versions of charts", // so do they here
		kinds: regexp.MustCompile(`^(HelmRelease\.helm|(HelmChart|OCIRepository)\.source)\.toolkit\.fluxcd\.io$|` +
			`^Application\.argoproj\.io$`),
		fields: regexp.MustCompile(`^spec\.(chart\.spec\.version|version|ref\.tag|` +
			`sources?(\[[^\]]*\])?\.targetRevision)$`), when: changesVersion,
	},
}

// monitors matches the kinds whose Pods the Prometheus operator replaces one after the other.
var monitors = regexp.MustCompile(`^(Alertmanager|Prometheus(Agent)?|ThanosRuler)\.monitoring\.coreos\.com$`)

// OfSets matches the settings of sets that decide nothing beyond the objects that a set makes.
var OfSets = regexp.MustCompile(`^spec\.(inputs\[[^\]]*\]|` +
	`generators\[\d+\](\.(matrix|merge)\.generators\[\d+\])*\.list\.elements\[[^\]]*\]|` +
	`template\.spec\.sources?(\[[^\]]*\])?\.(helm\.(parameters|values|valuesObject)|kustomize\.images))` +
	`([.\[]|$)`)

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

// inValue matches paths within the values that a definition has for objects.
var inValue = regexp.MustCompile(`\.(default|enum)[.\[]`)

// isText reports whether a change is of texts, and not of a field that is called description.
func isText(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	isBranch := func(text *string) bool { return text != nil && strings.HasPrefix(*text, "{") }
	return !isBranch(f.Before) && !isBranch(f.After) && !inValue.MatchString(f.Path)
}

func isBuiltIn(_ *compare.Comparison, c compare.Change, _ compare.FieldChange) bool {
	_, ok := apiserver.Newest.Lookup(c.After.GroupVersionKind())
	return ok
}

// label matches the key of a label in a path.
var label = regexp.MustCompile(`labels(?:\.([^.\[]+)|\[([^\]]+)\])$`)

// isUnselected reports whether no object of the environment mentions a label beside its own labels, nor in the spelling
// of Prometheus.
func isUnselected(both *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	match := label.FindStringSubmatch(f.Path)
	name := match[1] + match[2]
	m := both.Mentions()
	return !m.MaySelect(name, f.Before, f.After) && !m.MentionsPart("label_"+unplain.ReplaceAllString(name, "_"))
}

// unplain matches characters that names of Prometheus cannot have.
var unplain = regexp.MustCompile(`[^A-Za-z0-9_]`)

func isNewVersion(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	return isSet(both, c, f) && (image.IsNewVersion(*f.Before, *f.After) || isOwnDigest(both, *f.Before, *f.After))
}

func isNewNumber(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	return image.IsNewTag(f.Before, f.After)
}

// isOwnDigest reports whether an image gets the digest that its tag has in the registry.
func isOwnDigest(both *compare.Comparison, was, is string) bool {
	digest, isAdded := strings.CutPrefix(is, was+"@")
	return isAdded && image.Tag(was) != "" && both.Images[is].Digest == digest
}

// keepsHistory reports whether a workload keeps some of its history: without any, there is no way back.
func keepsHistory(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	return f.After == nil || *f.After != "0"
}

// fits reports whether Pods keep their class of quality of service and find room: their limits do not fall, they
// request no more than half as much again, nothing in their namespace limits them, and no autoscaler there measures
// them by their requests.
func fits(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	classes := func(o *unstructured.Unstructured) (all []corev1.PodQOSClass) {
		for _, t := range both.Templates(o) {
			all = append(all, qos.ComputePodQOS(&corev1.Pod{Spec: t.Spec}))
		}
		return all
	}
	least := 0.5
	most := 1.5
	isLimit := strings.Contains(f.Path, ".limits.")
	if isLimit {
		least = 1
		most = 2
	}
	if c.After.GetKind() == "DaemonSet" { // on each node
		most = 1
	}
	m := both.Mentions()
	namespace := compare.NamespaceOf(c.After)
	return isBetween(f, least, most) && slices.Equal(classes(c.Before), classes(c.After)) &&
		!m.IsLimited(namespace) && (isLimit || !m.Scaled.Has(namespace))
}

// isBetween reports whether a quantity changes to no less than a part of it, and to no more than another part.
func isBetween(f compare.FieldChange, least, most float64) bool {
	was, wasRead := compare.Quantity(f.Before)
	is, isRead := compare.Quantity(f.After)
	return wasRead && isRead && was > 0 && is >= was*least && is <= was*most
}

// keepsCapacity reports whether a workload has at least two Pods, before and after, up to twice as many as before, and
// nothing that limits, counts or scales them.
func keepsCapacity(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	was, _ := compare.Quantity(f.Before)
	is, _ := compare.Quantity(f.After)
	if !isBetween(f, 0.5, 2) || was < 2 || is < 2 {
		return false
	}
	namespace := compare.NamespaceOf(c.After)
	m := both.Mentions()
	if m.Scaled.Has(namespace) || is < was && m.Budgeted.Has(namespace) {
		return false
	}
	return is < was || !m.IsLimited(namespace) && !slices.ContainsFunc(both.Templates(c.After), isBound)
}

// isBound reports whether a second Pod of a template may not start, or not on the same node: it has a volume that is
// not its own, a port, a device or the name of its node, or a rule about its neighbours.
func isBound(t podsecurity.Template) bool {
	s := t.Spec
	isShared := func(v corev1.Volume) bool {
		return v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil
	}
	needsNode := func(c corev1.Container) bool {
		hasDevice := func(name corev1.ResourceName) bool { return !helper.IsNativeResource(name) }
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 }) ||
			slices.ContainsFunc(slices.Collect(maps.Keys(c.Resources.Limits)), hasDevice)
	}
	return s.HostNetwork || s.NodeName != "" || slices.ContainsFunc(s.Volumes, isShared) ||
		slices.ContainsFunc(slices.Concat(s.InitContainers, s.Containers), needsNode) || len(s.ResourceClaims) > 0 ||
		len(s.TopologySpreadConstraints) > 0 || s.Affinity != nil && s.Affinity.PodAntiAffinity != nil
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

// changesSetting reports whether a delivery changes objects, and a setting that it had, or a value: values that nothing
// reads have a row of their own. No row shows a variable in an encrypted object.
func changesSetting(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	isVariable := strings.HasPrefix(f.Path, "spec.postBuild.")
	return (isSet(both, c, f) || strings.Contains(f.Path, ".values")) && changesInstalled(both, c, f) &&
		(!isVariable || !both.Mentions().Encrypted.Has(c.Object().ID()))
}

// changesInstalled reports whether a delivery changes objects, which have rows of their own, and all of them are known.
func changesInstalled(both *compare.Comparison, c compare.Change, _ compare.FieldChange) bool {
	return both.Mentions().Installs.Has(c.Object().ID())
}
