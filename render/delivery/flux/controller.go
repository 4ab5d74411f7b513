package flux

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
)

// Unset is how Flux treats a variable that has neither a value nor a default.
type Unset int

// The ways to treat an unset variable. MayRefuse is for a cluster with an unknown version of Flux.
const (
	MayRefuse Unset = iota
	Refuses
	LeavesEmpty
)

// gate is the feature of kustomize-controller that decides, and firstStrict the minor version that turned it on
// (internal/features/features.go of kustomize-controller). Flux 2.N has kustomize-controller 1.N.
const (
	gate        = "StrictPostBuildSubstitutions"
	firstStrict = 9
)

// controller and image are the names of the Deployment of kustomize-controller and of its image.
const (
	controller = "kustomize-controller"
	image      = "ghcr.io/fluxcd/" + controller
)

// UnsetBy returns how Flux treats unset variables, by the Deployment of its controller.
func UnsetBy(o manifest.Object) (unset Unset, isController bool) {
	if o.GetKind() != "Deployment" || o.GetName() != controller {
		return MayRefuse, false
	}
	for _, c := range manifest.As[appsv1.Deployment](o.Unstructured).Spec.Template.Spec.Containers {
		name, _, _ := strings.Cut(c.Image, "@")
		colon := strings.LastIndex(name, ":")
		if !strings.HasSuffix(name[:max(colon, 0)], controller) {
			continue
		}
		if version, err := semver.NewVersion(name[colon+1:]); err == nil {
			unset = LeavesEmpty
			if version.Major() > 1 || version.Minor() >= firstStrict {
				unset = Refuses
			}
		}
		for _, argument := range c.Args {
			gates, isGates := strings.CutPrefix(strings.TrimLeft(argument, "-"), "feature-gates=")
			for each := range strings.SplitSeq(gates, ",") {
				switch {
				case !isGates:
				case each == gate+"=false":
					unset = LeavesEmpty
				case each == gate+"=true":
					unset = Refuses
				}
			}
		}
	}
	return unset, true
}

// webhook is the chart of a webhook that adds variables to each Kustomization
// (github.com/xunholy/fluxcd-kustomize-mutating-webhook).
const webhook = "kustomize-mutating-webhook"

// AddsVariables reports whether an object makes the cluster change Kustomizations when they are applied, so that their
// variables may have more values than git has: a webhook for them, or a release of such a webhook.
func AddsVariables(o manifest.Object) bool {
	switch o.GetKind() {
	case "HelmRelease", "OCIRepository", "Application":
		return manifest.Contains(o.Object["spec"], func(_ string, value any) bool {
			text, _ := value.(string)
			return path.Base(text) == webhook
		})
	case "MutatingWebhookConfiguration":
		for _, of := range manifest.As[admissionv1.MutatingWebhookConfiguration](o.Unstructured).Webhooks {
			for _, rule := range of.Rules {
				if slices.Contains(rule.Resources, "kustomizations") {
					return true
				}
			}
		}
	}
	return false
}

// IsInstance reports whether an object is a FluxInstance of flux-operator.
func IsInstance(o manifest.Object) bool {
	return o.GetKind() == "FluxInstance" && manifest.Group(o.GetAPIVersion()) == "fluxcd.controlplane.io"
}

// Instance has the fields of a FluxInstance that decide about its sync.
type Instance struct {
	Distribution struct{ Version string }
	Sync         *struct{ Name, Kind, URL, Ref, Path string }
	Kustomize    struct{ Patches []map[string]any }
}

// InstanceOf returns the fields of a FluxInstance, or of values of the chart flux-instance.
func InstanceOf(spec any) (i Instance, ok bool) {
	return i, spec != nil && manifest.Decode(spec, &i) == nil
}

// Objects returns the objects of a FluxInstance in a namespace that decide about deliveries, before its patches: the
// source and the Kustomization of its sync (syncTmpl in internal/builder/templates.go of flux-operator), and the
// Deployment of kustomize-controller.
func (i Instance) Objects(namespace string) (objects []manifest.Object) {
	add := func(apiVersion, kind, name string, spec map[string]any) {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
		u.SetName(name)
		u.SetNamespace(namespace)
		objects = append(objects, manifest.Object{Unstructured: u, Written: u})
	}
	labels := map[string]any{"app": controller}
	add("apps/v1", "Deployment", controller, map[string]any{
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "manager", "image": image + ":" + i.controllerTag(),
				"args": []any{"--log-level=info", "--log-encoding=json", "--enable-leader-election"},
			}}},
		},
	})
	if i.Sync == nil {
		return objects
	}
	name := i.Sync.Name
	if name == "" {
		name = namespace
	}
	add("source.toolkit.fluxcd.io/v1", i.Sync.Kind, name, map[string]any{"url": i.Sync.URL,
		"ref": map[string]any{"name": i.Sync.Ref}})
	add("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, map[string]any{"path": i.Sync.Path, "prune": true,
		"interval": "10m0s", "sourceRef": map[string]any{"kind": i.Sync.Kind, "name": name}})
	return objects
}

// controllerTag returns the tag of kustomize-controller. The operator takes the newest version of those that it knows,
// so a range tells only if all of its versions, or none, are strict.
func (i Instance) controllerTag() string {
	const unknown = "unknown"
	constraint, err := semver.NewConstraint(i.Distribution.Version)
	if err != nil {
		return unknown
	}
	var minors []uint64
	for minor := range uint64(2 * firstStrict) {
		for _, patch := range []uint64{0, 99} {
			version := semver.New(2, minor, patch, "", "")
			if constraint.Check(version) {
				minors = append(minors, minor)
			}
		}
	}
	if exact, err := semver.NewVersion(i.Distribution.Version); err == nil {
		minors = []uint64{exact.Minor()}
	}
	if len(minors) == 0 || (slices.Min(minors) < firstStrict) != (slices.Max(minors) < firstStrict) {
		return unknown
	}
	return fmt.Sprintf("v1.%d.0", slices.Max(minors))
}
