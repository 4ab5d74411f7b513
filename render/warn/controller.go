package warn

import (
	"fmt"
	"slices"
	"strings"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// controllerName is the default name of the controller's Deployment, the name of its image, and the
// value of its label app.kubernetes.io/name.
const controllerName = "gatehouse-controller"

// controllerID is the Deployment of the controller in environments/base/gatehouse.
var controllerID = manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "gatehouse-system", Name: controllerName}

// missingController warns, at the first object of a gated kind, if the environment has no controller
// to open gates.
func missingController(in Input) []manifest.Problem {
	isGated := func(o manifest.Object) bool {
		k := in.Kinds.Find(o.GroupVersionKind())
		return k != nil && k.Gate() != ""
	}
	gated := slices.IndexFunc(in.Objects, isGated)
	if gated < 0 || len(in.controllers) > 0 || in.Elsewhere.Has(controllerID) {
		return nil
	}
	o := in.Objects[gated]
	return []manifest.Problem{warning(o, "", "no Gatehouse controller in the environment: without it no %s starts: "+
		"add environments/base/gatehouse, %s", o.GetKind(), in.orAnnotate(controllerID))}
}

// gatePolicyID is the policy in environments/base/gatehouse that lets only the controller open gates.
var gatePolicyID = manifest.ID{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy",
	Name: "gatehouse-gates"}

// missingGatePolicy warns of a controller without the gate policy: anyone who may change Pods could
// open gates.
func missingGatePolicy(in Input) []manifest.Problem {
	isPolicy := func(o manifest.Object) bool {
		return o.GetKind() == gatePolicyID.Kind && strings.Contains(o.GetName(), gatePolicyID.Name)
	}
	if len(in.controllers) == 0 || len(in.Kinds.Gates()) == 0 || slices.ContainsFunc(in.Objects, isPolicy) ||
		in.Elsewhere.Has(gatePolicyID) {
		return nil
	}
	return []manifest.Problem{warning(in.controllers[0], "", "no %s in the environment: without it anyone who may "+
		"change Pods can open gates: add environments/base/gatehouse/gate-policy.yaml, %s", gatePolicyID,
		in.orAnnotate(gatePolicyID))}
}

// LocalImage is the controller's image if it is built from this repository.
const LocalImage = controllerName + ":dev"

// unpinnedController warns of a controller with an image that is not pinned to a digest: an attacker
// could move the tag to another image and open any gate. An image without a registry is on the nodes of a
// lab, if ElsewhereAnnotation says so, and otherwise nowhere.
func unpinnedController(in Input) (warnings []manifest.Problem) {
	if len(in.Kinds.Gates()) == 0 {
		return nil
	}
	for _, o := range in.controllers {
		i, image := controllerContainer(o)
		id := manifest.ID{Kind: "Image", Name: image}
		message := fmt.Sprintf("%s is not pinned to a digest, and another image of that name could open any gate: "+
			"write %[1]s@sha256:... with the digest in the registry, or give images: a digest", image)
		switch {
		case image == "" || strings.Contains(image, "@sha256:"):
			continue
		case !strings.Contains(image, "/") && in.Elsewhere.Has(id):
			continue
		case !strings.Contains(image, "/"):
			message = fmt.Sprintf("%s has no registry, so no cluster can pull it: push it, and set its name and "+
				"digest in images:, or, if the nodes of a lab have it, %s", image, in.annotate(id.String()))
		}
		field := fmt.Sprintf("spec.template.spec.containers[%d].image", i)
		warnings = append(warnings, warning(o, field, "%s", message))
	}
	return warnings
}

// IsController reports whether an object is a workload that runs the controller.
func IsController(o manifest.Object) bool {
	workloads := []string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps"}
	if o.IsRendered() || !slices.Contains(workloads, o.GroupVersionKind().GroupKind().String()) {
		return false
	}
	for _, labels := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}} {
		if decoding.At(o.Object, append(labels, "app.kubernetes.io/name")) == controllerName {
			return true
		}
	}
	_, image := controllerContainer(o)
	return imageName(image) == controllerName
}

// controllerContainer returns the index and image of the container that runs the controller: by its
// image, otherwise the container named controller, otherwise the first.
func controllerContainer(o manifest.Object) (index int, image string) {
	containers, _ := decoding.At(o.Object, []string{"spec", "template", "spec", "containers"}).([]any)
	for _, matches := range []func(name, image string) bool{
		func(_, image string) bool { return imageName(image) == controllerName },
		func(name, _ string) bool { return name == "controller" },
		func(string, string) bool { return true },
	} {
		for i, item := range containers {
			container, _ := item.(map[string]any)
			name, _ := container["name"].(string)
			image, _ := container["image"].(string)
			if matches(name, image) {
				return i, image
			}
		}
	}
	return 0, ""
}

// imageName returns the last element of an image's name, without tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	image, _, _ = strings.Cut(image, ":")
	return image
}
