package guards

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/image"
	"example.com/gatehouse/render/review/selector"
	"example.com/gatehouse/render/verdict/podsecurity"
)

const (
	isUndone  = "its work is no longer done"
	refuses   = "new objects beyond it are refused: Pods may not start again"
	stopsMore = "a drain may stop more Pods at once than before"
	blocks    = "it blocks each drain: no Pod can be evicted, so nodes cannot be emptied or upgraded"
)

var cronJobs = []guard{
	{fields: at("spec.suspend"), isRisk: oneOf("true"), risk: isUndone, limits: true},
	{fields: at("spec.schedule"), isRisk: isNever, risk: "this date never comes: its work is not done"},
}

var limits = []guard{
	{fields: mostOfLimits, when: rises, risk: "Pods may use more resources than before"},
	{fields: mostOfLimits, when: falls, risk: refuses},
	{fields: leastOfLimits, when: rises, risk: "new Pods below it are refused"},
	{fields: leastOfLimits, when: falls},
	{
		risk: "it decides which resources new Pods get, and which Pods are refused",
		lost: "Pods may use more resources, and lose their defaults",
	},
}

var (
	mostOfLimits  = regexp.MustCompile(`\.(max|maxLimitRequestRatio)[.\[]`)
	leastOfLimits = regexp.MustCompile(`\.min[.\[]`)
)

var budgets = []guard{
	{fields: at("spec.maxUnavailable", "spec.minAvailable"), when: blocksDrains, risk: blocks},
	{fields: at("spec.maxUnavailable"), when: rises, risk: stopsMore},
	{fields: at("spec.maxUnavailable"), when: falls},
	{fields: at("spec.minAvailable"), when: falls, risk: stopsMore},
	{fields: at("spec.minAvailable"), when: rises},
	{
		risk: "it decides which Pods a drain may stop, and how many at once", limits: true,
		lost: "a drain may stop all Pods at once",
	},
}

var quotas = []guard{
	{fields: at("spec.hard"), when: rises, risk: "its namespace may use more than before"},
	{fields: at("spec.hard"), when: falls, risk: refuses},
	{fields: at("spec.hard"), isRisk: except(), risk: refuses, lost: "nothing limits this in its namespace"},
	{
		risk: "it limits other objects of its namespace than before",
		lost: "the resources of its namespace are unlimited",
	},
}

// condition tells the changes of fields that a guard is about.
type condition func(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool

func rises(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	return direction(f) > 0
}

func falls(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	return direction(f) < 0
}

// direction compares two numbers, quantities or percentages. It is 0 for other values.
func direction(f compare.FieldChange) int {
	if f.Before == nil || f.After == nil {
		return 0
	}
	was, wasPercent := strings.CutSuffix(*f.Before, "%")
	is, isPercent := strings.CutSuffix(*f.After, "%")
	before, errBefore := resource.ParseQuantity(was)
	after, errAfter := resource.ParseQuantity(is)
	if wasPercent != isPercent || errBefore != nil || errAfter != nil {
		return 0
	}
	return cmp.Compare(after.AsApproximateFloat64(), before.AsApproximateFloat64()) // quick for huge exponents, too
}

// blocksDrains reports whether a PodDisruptionBudget lets no Pod be evicted, as far as the number of its Pods is known.
func blocksDrains(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	const roundUp = true
	spec := manifest.As[policyv1.PodDisruptionBudget](c.After).Spec
	pods := protected(both, c.After)
	switch {
	case f.After == nil:
		return false
	case spec.MaxUnavailable != nil:
		few, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, max(pods, 1), roundUp)
		return err == nil && few == 0
	case spec.MinAvailable == nil:
		return false
	case pods == 0:
		return spec.MinAvailable.String() == "100%"
	}
	needed, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, pods, roundUp)
	return err == nil && needed >= pods
}

// protected returns the number of Pods that a PodDisruptionBudget selects, or 0 if it is unknown.
func protected(both *compare.Comparison, budget *unstructured.Unstructured) (pods int) {
	read, ok := selector.Read(manifest.As[policyv1.PodDisruptionBudget](budget).Spec.Selector)
	if !ok {
		return 0
	}
	namespace := compare.NamespaceOf(budget)
	for _, o := range both.After().Objects {
		matches := func(template map[string]any) bool {
			of, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
			return read.Matches(labels.Set(of))
		}
		if compare.NamespaceOf(o) != namespace || !slices.ContainsFunc(both.WrittenTemplates(o), matches) {
			continue
		}
		_, isScaled := both.After().Autoscalers[pod.WorkloadOf(o)]
		switch o.GetKind() {
		case "Deployment", "StatefulSet", "ReplicaSet":
			pods += int(pod.Number(o, 1, "spec", "replicas"))
		default:
			return 0
		}
		if isScaled {
			return 0
		}
	}
	return pods
}

const keepsAllocated = "the cluster keeps it until the Service is deleted: its removal has no effect"

// allocated matches the fields of a Service that the cluster sets once.
var allocated = regexp.MustCompile(
	`^spec\.(clusterIPs?|healthCheckNodePort|ipFamilies|ipFamilyPolicy|ports\[.*\]\.nodePort)`)

// stays reports whether the API server keeps a field that a change removes.
func stays(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	return both.Keeps(c, f)
}

// isMoved reports whether a field of an existing object changes.
func isMoved(_ *compare.Comparison, c compare.Change, _ compare.FieldChange) bool {
	return c.Before != nil
}

func isGone(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	return f.After == nil
}

func changesRepository(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	return f.Before != nil && f.After != nil && image.Repository(*f.Before) != image.Repository(*f.After)
}

// isUpgraded reports whether an image has a new major version, and its Pods keep data: a database may not start on the
// files of another one.
func isUpgraded(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	if f.Before == nil || f.After == nil || !image.IsNewSeries(*f.Before, *f.After) {
		return false
	}
	keepsData := func(t podsecurity.Template) bool {
		return slices.ContainsFunc(t.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil || v.HostPath != nil || v.NFS != nil || v.ISCSI != nil || v.FC != nil
		})
	}
	claims, _, _ := unstructured.NestedSlice(c.After.Object, "spec", "volumeClaimTemplates")
	return len(claims) > 0 || strings.HasSuffix(f.Path, "Name") ||
		slices.ContainsFunc(both.Templates(c.After), keepsData)
}

// isNever reports whether the schedule of a CronJob has no date.
func isNever(_ []string, schedule string) bool { return manifest.IsNever(schedule) }
