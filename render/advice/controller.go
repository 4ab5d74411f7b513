package advice

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/object"
)

// controllerName is the name of the controller: of its Deployment, as it comes, and of its
// image, and its label app.kubernetes.io/name.
const controllerName = "gatehouse-controller"

// controllerID is the Deployment of the controller, as it comes.
var controllerID = object.ID{Group: "apps", Kind: "Deployment", Namespace: "gatehouse-system", Name: controllerName}

// missingController warns, at the first At, of an environment without the controller:
// nothing would open the gates of its Pods.
func missingController(e Environment) []object.Problem {
	at := slices.IndexFunc(e.Objects, isAt)
	if at < 0 || slices.ContainsFunc(e.Objects, IsController) || e.isElsewhere(controllerID) {
		return nil
	}
	return []object.Problem{warning(e.Objects[at], "", nil,
		"no Gatehouse controller in the environment: without it no At starts: add environments/base/gatehouse or, where something else brings it, annotate the kustomization with %s: %s", ElsewhereAnnotation, controllerID)}
}

// gatePolicyID is the policy that keeps gates for the controller, as it comes.
var gatePolicyID = object.ID{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy", Name: "gatehouse-gates"}

// missingGatePolicy warns of a controller without the policy that keeps gates for it: all who
// may change Pods could open them.
func missingGatePolicy(e Environment) []object.Problem {
	isIt := func(o object.Object) bool {
		return o.GetKind() == gatePolicyID.Kind && strings.Contains(o.GetName(), gatePolicyID.Name)
	}
	controller := slices.IndexFunc(e.Objects, IsController)
	if controller < 0 || len(e.Kinds.Gates()) == 0 || slices.ContainsFunc(e.Objects, isIt) || e.isElsewhere(gatePolicyID) {
		return nil
	}
	return []object.Problem{warning(e.Objects[controller], "", nil,
		"no %s in the environment: without it all who may change Pods open gates: add environments/base/gatehouse/gate-policy.yaml or, where something else brings it, annotate the kustomization with %s: %[1]s", gatePolicyID, ElsewhereAnnotation)}
}

// unpinnedController warns of a controller whose image is not pinned to a digest: what a
// tag names may be replaced, and what replaces it could start whatever waits.
func unpinnedController(e Environment) (warnings []object.Problem) {
	for _, o := range e.Objects {
		if !IsController(o) {
			continue
		}
		i, image := controllerContainer(o)
		if image == "" || strings.Contains(image, "@sha256:") {
			continue
		}
		warnings = append(warnings, warning(o, fmt.Sprintf("spec.template.spec.containers[%d].image", i), image,
			"%s is not pinned to a digest, so that others may replace what opens gates: write %s@sha256:..., as the registry has it, or give images: a digest", image, image))
	}
	return warnings
}

// IsController says whether an object is a workload that runs the controller.
func IsController(o object.Object) bool {
	switch o.GetKind() {
	case "Deployment", "StatefulSet", "DaemonSet":
	default:
		return false
	}
	if o.GroupVersionKind().Group != "apps" || o.IsRendered() {
		return false
	}
	labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
	const name = "app.kubernetes.io/name"
	if o.GetLabels()[name] == controllerName || labels[name] == controllerName {
		return true
	}
	_, image := controllerContainer(o)
	return imageName(image) == controllerName
}

// controllerContainer is the index and image of the container that may run the controller:
// the one with its image, or that is called controller, or the first.
func controllerContainer(o object.Object) (index int, image string) {
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, isIt := range []func(name, image string) bool{
		func(_, image string) bool { return imageName(image) == controllerName },
		func(name, _ string) bool { return name == "controller" },
		func(string, string) bool { return true },
	} {
		for i, item := range containers {
			container, _ := item.(map[string]any)
			name, _ := container["name"].(string)
			image, _ := container["image"].(string)
			if isIt(name, image) {
				return i, image
			}
		}
	}
	return 0, ""
}

// imageName is the last part of the name of an image, without registry, tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	image, _, _ = strings.Cut(image, ":")
	return image
}
