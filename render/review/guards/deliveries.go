package guards

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/image"
	"example.com/gatehouse/render/review/known"
)

const (
	syncs      = "it decides which objects are applied to the cluster, from which source, and with which rights"
	undelivers = "the objects that it delivers are deleted with it, or no longer updated"
	// isReinstalled tells a release for another target: ReleaseTargetChanged in internal/action/verify.go.
	isReinstalled = "the release is uninstalled, and installed anew: its objects are deleted before, and their data"
	unseen        = "no row shows its effect: its chart is not in this repository, or does not read it"
)

// undelivered returns the risk of removing an object that delivers: how many of its objects go, with the other
// deliveries and the volumes among them, and how many stay.
func undelivered(both *compare.Comparison, removed compare.Change) kind.Sentence {
	id := removed.Object().ID()
	isBelow := map[manifest.ID]bool{}
	named := map[string]int64{} // by kind
	var going, staying int64
	for _, c := range both.Changes {
		if _, isSeen := isBelow[c.InstalledBy]; !isSeen {
			isBelow[c.InstalledBy] = slices.Contains(both.Above(c.InstalledBy), id)
		}
		switch {
		case c.After != nil || !isBelow[c.InstalledBy]:
			continue
		case compare.KeptBy(c) != nil:
			staying++
			continue
		case c.Delivers(), c.Before.GetKind() == "PersistentVolumeClaim":
			named[c.Before.GetKind()]++
		}
		going++
	}
	among := make([]kind.Sentence, 0, len(named))
	for _, k := range slices.Sorted(maps.Keys(named)) {
		among = append(among, kind.Count(named[k], k))
	}
	var said []kind.Sentence
	if going > 0 {
		said = append(said, "its removal deletes "+kind.Count(going, "object"))
	}
	if len(among) > 0 {
		said[0] += ", with " + effect.Join(among, " and ")
	}
	if staying > 0 {
		said = append(said, "its removal leaves "+kind.Count(staying, "object")+
			" in the cluster, and nothing updates them any more")
	}
	switch {
	case len(said) == 0:
		return undelivers
	case both.IsUnproven(id):
		said = append(said, "not all of its objects are known")
	}
	return effect.Join(said, "; ")
}

// sources guard the sources of deliveries, and other objects whose fields nearly all decide what is delivered.
var sources = []guard{{fields: ordinary}, {risk: syncs, lost: undelivers}}

// applicationSets guard the fields of an ApplicationSet that decide beyond its Applications.
var applicationSets = append([]guard{{fields: known.OfSets, when: showsAll}}, sources...)

// resourceSets guard the fields of a ResourceSet that decide beyond its objects.
var resourceSets = append([]guard{{fields: at("spec.commonMetadata", "spec.inputs", "spec.resources",
	"spec.resourcesTemplate", "spec.steps"), when: showsAll}}, sources...)

// versions guard the sources of Flux, whose later versions are not judged.
var versions = append([]guard{{fields: at("spec.ref.tag", "spec.version"), when: isNewTag}}, sources...)

// tags matches the values of charts with an image or its tag.
var tags = regexp.MustCompile(`^spec\.(values|sources?(\[[^\]]*\])?\.helm\.valuesObject)[.\[].*` +
	`([tT]ag|[iI]mage(Name)?)$`)

// isNewTag reports whether an image, its tag or a version is a later one: nobody judges it, and it is no more than
// unknown.
func isNewTag(_ *compare.Comparison, _ compare.Change, f compare.FieldChange) bool {
	areBoth := f.Before != nil && f.After != nil
	return image.StepOfTag(f.Before, f.After) != image.Other ||
		areBoth && image.StepOf(*f.Before, *f.After) != image.Other
}

// ordinary matches the fields that do not decide what is delivered.
var ordinary = regexp.MustCompile(`^spec\.(` + strings.Join([]string{
	"description", "interval", "orphanedResources", "retryInterval", "template\\.metadata", "template\\.spec\\.info",
	"template\\.spec\\.revisionHistoryLimit", "template\\.spec\\.syncPolicy\\.retry", "timeout",
}, "|") + `)([.\[]|$)|\.requeueAfterSeconds$`)

// kustomizations guard the fields of a Kustomization of Flux that decide beyond the objects in git.
var kustomizations = []guard{
	{fields: at("spec.images"), when: showsAll},
	{fields: at(
		"spec.commonMetadata", "spec.components", "spec.decryption", "spec.deletionPolicy", "spec.force", "spec.ignore",
		"spec.images", "spec.kubeConfig", "spec.namePrefix", "spec.nameSuffix", "spec.patches", "spec.patchesJson6902",
		"spec.patchesStrategicMerge", "spec.path", "spec.postBuild.substituteFrom", "spec.prune",
		"spec.serviceAccountName", "spec.sourceRef", "spec.suspend", "spec.targetNamespace",
	), risk: syncs},
	{lost: undelivers},
}

// helmReleases guard the fields of a HelmRelease that decide beyond the objects of its chart.
var helmReleases = []guard{
	{fields: tags, when: isNewTag},
	{fields: at("spec.values"), when: showsNothing, risk: unseen},
	{fields: at("spec.values")},
	{fields: at("spec.chart.spec.version"), when: isNewTag},
	{fields: at("spec.chart.spec.chart"), when: reinstalls, risk: isReinstalled},
	{fields: at("spec.releaseName", "spec.storageNamespace", "spec.targetNamespace"), risk: isReinstalled},
	{fields: at(
		"spec.chart", "spec.chartRef", "spec.commonMetadata", "spec.driftDetection", "spec.install.crds",
		"spec.install.createNamespace", "spec.install.skipCRDs", "spec.kubeConfig", "spec.postRenderers",
		"spec.postRenderStrategy", "spec.serviceAccountName", "spec.suspend", "spec.uninstall",
		"spec.upgrade.chartNameChangeStrategy", "spec.upgrade.crds", "spec.upgrade.force",
		"spec.upgrade.preserveValues", "spec.valuesFrom",
	), risk: syncs},
	{lost: undelivers},
}

// reinstalls reports whether another chart takes the place of the chart of a release: by default not within the
// release.
func reinstalls(_ *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	if f.Before == nil || f.After == nil || path.Base(*f.Before) == path.Base(*f.After) {
		return false
	}
	strategy, _, _ := unstructured.NestedString(c.After.Object, "spec", "upgrade", "chartNameChangeStrategy")
	return strategy != "InPlaceUpdate"
}

// applications guard the fields of an Application that decide beyond the objects in git.
var applications = []guard{
	{fields: tags, when: isNewTag},
	{fields: chartValues, when: showsNothing, risk: unseen},
	{fields: chartValues},
	{fields: regexp.MustCompile(`^spec\.sources?(\[[^\]]*\])?\.kustomize\.images([.\[]|$)`), when: showsAll},
	{fields: regexp.MustCompile(`^spec\.sources?(\[[^\]]*\])?\.targetRevision$`), when: isNewTag},
	{fields: at(
		"operation", "spec.destination", "spec.ignoreDifferences", "spec.project", "spec.source", "spec.sourceHydrator",
		"spec.sources", "spec.syncPolicy.automated", "spec.syncPolicy.managedNamespaceMetadata",
		"spec.syncPolicy.syncOptions",
	), risk: syncs},
	{lost: undelivers},
}

// chartValues matches the values of the chart of an Application.
var chartValues = regexp.MustCompile(`^spec\.sources?(\[[^]]*\])?\.helm\.(values|valuesObject|parameters)([.\[]|$)`)

// showsNothing reports whether no object that a HelmRelease or Application installs changes.
func showsNothing(both *compare.Comparison, c compare.Change, _ compare.FieldChange) bool {
	return !both.Mentions().Installs.Has(c.Object().ID())
}

// showsAll reports whether the rows of the objects of a delivery tell what its change does.
func showsAll(both *compare.Comparison, c compare.Change, f compare.FieldChange) bool {
	return !showsNothing(both, c, f)
}

// digest matches the digest of an image.
var digest = regexp.MustCompile(`sha256:[0-9a-f]{32,}`)

// lostDigests returns the risks of fields that lose the digest of an image, in values of charts for example.
func lostDigests(c compare.Change) (risks []Risk) {
	count := func(text string) int { return len(digest.FindAllString(text, -1)) }
	for _, f := range c.Fields() {
		isDigest := strings.HasSuffix(strings.ToLower(f.Path), "digest")
		isLost := f.Before != nil && f.After != nil && count(*f.After) < count(*f.Before)
		isLost = isLost || isDigest && f.Before != nil && f.After == nil && count(*f.Before) > 0
		if isLost && !f.IsIn("metadata") {
			risks = append(risks, Risk{Path: f.Path, Risk: compare.DigestLost, Severity: effect.Serious})
		}
	}
	return risks
}
