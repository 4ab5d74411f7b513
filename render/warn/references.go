package warn

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
)

// unresolvedReferences warns of names of objects that are not in the environment, if an object got another name,
// or one is similar, and of parts that objects of the environment lack. Other names may be in the cluster. What a chart
// says of its own objects is its affair.
func unresolvedReferences(in Input) (warnings []manifest.Problem) {
	for i, o := range slices.Concat(in.Objects, in.Installed) {
		if o.IsRendered() {
			continue // its kind decides
		}
		isOutside := func(id manifest.ID) bool {
			found := in.index.Find(id)
			return i < len(in.Objects) || len(found) > 0 && found[0].Delivery != o.Delivery
		}
		for _, r := range in.index.Of(o) {
			meant := r.To
			switch {
			case in.Elsewhere.Has(r.To):
			case !in.index.Has(r.To):
				meant.Name = in.index.Similar(r.To)
				if isOutside(meant) {
					warnings = append(warnings, in.missingTarget(r)...)
				}
			case isOutside(r.To):
				for _, n := range in.index.Lacks(r) {
					warnings = append(warnings, in.missingPart(r, n))
				}
			}
		}
	}
	return warnings
}

// issuerNamespace returns the namespace that cert-manager reads Secrets of ClusterIssuers from, if it is known: that
// of its Deployment, or else the usual one if something is in it.
func (in Input) issuerNamespace() (namespace string) {
	const usual = "cert-manager"
	for _, o := range slices.Concat(in.Objects, in.Installed) {
		hasImage := func(key string, value any) bool {
			image, _ := value.(string)
			return key == "image" && strings.Contains(image, "cert-manager-controller")
		}
		isController := o.GetKind() == "Deployment" && manifest.Contains(o.Object["spec"], hasImage)
		if isController && !manifest.Contains(o.Object["spec"], func(_ string, value any) bool {
			argument, _ := value.(string)
			return strings.HasPrefix(argument, "--cluster-resource-namespace=") &&
				!strings.HasSuffix(argument, "$(POD_NAMESPACE)")
		}) {
			return o.GetNamespace()
		}
		if isController {
			return ""
		}
		if o.GetNamespace() == usual {
			namespace = usual
		}
	}
	return namespace
}

// misplacedSecrets warns of Secrets of ClusterIssuers that are in another namespace than cert-manager reads.
func misplacedSecrets(in Input) (warnings []manifest.Problem) {
	for _, o := range in.sources {
		if o.GetKind() != "ClusterIssuer" {
			continue
		}
		namespace := in.issuerNamespace()
		for _, r := range in.index.Of(o) {
			id := r.To
			id.Namespace = namespace
			if r.To.Kind != "Secret" || namespace == "" || in.index.Has(id) || in.Elsewhere.Has(id) {
				continue
			}
			if found := in.index.Find(r.To); len(found) > 0 {
				warnings = append(warnings, warningAt(o, r.Path, "cert-manager reads it from namespace %s, and there "+
					"is only %s: move it, %s", namespace, found[0], in.orAnnotate(id)))
			} else if similar := in.index.Similar(id); similar != "" {
				warnings = append(warnings, warningAt(o, r.Path, "there is no %s here: did you mean %q? Otherwise add "+
					"it, %s", id, similar, in.orAnnotate(id)))
			}
		}
	}
	return warnings
}

// missingTarget returns the warning of a reference to an object that is not in the environment, if that is surely
// a mistake.
func (in Input) missingTarget(r references.Reference) []manifest.Problem {
	now, isRenamed := in.Renamed(r.From, r.To)
	similar := in.index.Similar(r.To)
	anywhere := r.To
	anywhere.Namespace = ""
	others := in.index.Find(anywhere)
	var said string
	switch {
	case isRenamed && now.Namespace == "" && r.To.Namespace != "":
		said = fmt.Sprintf("there is no %s: kustomize generates %s, which has no namespace: give its generator "+
			"namespace: %s", r.To, now, r.To.Namespace)
	case isRenamed:
		said = fmt.Sprintf("there is no %s: kustomize makes it %s, and does not know this field: write the new name, "+
			"or add the field to a nameReference of configurations", r.To, now)
	case similar != "":
		said = fmt.Sprintf("there is no %s here: did you mean %q? Otherwise add it, %s", r.To, similar,
			in.orAnnotate(r.To))
	case len(others) == 1 && strings.HasSuffix(r.To.Group, ".toolkit.fluxcd.io"):
		said = fmt.Sprintf("there is no %s here, but %s: write namespace: %s. Otherwise add it, %s", r.To, others[0],
			others[0].GetNamespace(), in.orAnnotate(r.To))
	case in.index.HasAllClasses(r.To):
		said = fmt.Sprintf("no %s here: the environment brings other classes, and not this one, so no controller "+
			"takes the Ingress: name one of them, %s", r.To, in.orAnnotate(r.To))
	default:
		return nil
	}
	return []manifest.Problem{warningAt(r.From, r.Path, "%s", said).Because("missing " + r.To.String())}
}

// missingPart returns the warning of a part that the object of a reference lacks.
func (in Input) missingPart(r references.Reference, n references.Needed) manifest.Problem {
	target := in.index.Find(r.To)[0]
	names, _ := references.PartsOf(target, n.Part)
	consequence := ""
	switch {
	case n.Path[len(n.Path)-1] == "subPath": // makeMounts in pkg/kubelet/kubelet_pods.go of Kubernetes
		consequence = ", so the container gets an empty folder"
	case n.Part == references.Key && manifest.MakesPods(r.From.Unstructured):
		consequence = ", so no Pod starts"
	}
	return warningAt(r.From, n.Path, "%s has no %s %s%s%s", target, n.Part, n.Name, consequence,
		instead(n.Name, names))
}

// mostSelectable bounds the objects that a selector is compared with.
const mostSelectable = 1000

// idleSelectors warns of selectors that select nothing in the environment because of a typing error, and of ports that
// nothing of what is selected has.
func idleSelectors(in Input, o manifest.Object) (warnings []manifest.Problem) {
	if in.Elsewhere.Has(o.ID()) {
		return nil
	}
	for _, s := range references.SelectorsOf(o) {
		if selected := in.index.Selected(s); len(selected) > 0 {
			warnings = append(warnings, unknownPorts(in, s, selected)...)
		} else if all := in.index.Selectable(s); len(all) <= mostSelectable {
			warnings = append(warnings, nothingSelected(in, s, all)...)
		}
	}
	return warnings
}

// nothingSelected returns the warning of a selector that selects none of some objects, if that is surely a mistake.
func nothingSelected(in Input, s references.Selector, all []references.Labelled) []manifest.Problem {
	otherwise := "Otherwise " + in.annotate(s.From.String())
	for _, l := range all {
		if key, meant := s.Misses(l); key != "" {
			return []manifest.Problem{warningAt(s.From, append(slices.Clip(s.Path), key),
				"selects no %s here by %s: %s: did you mean %s, as in %s? %s", s.Selects, key, s.Labels[key], meant,
				l.Object, otherwise)}
		}
	}
	for _, l := range all {
		if s.Selects == "Pod" && len(l.Template) > 0 && s.Meets(l.GetLabels()) {
			labels := manifest.JoinField(slices.Concat(l.Template, []string{"metadata", "labels"}))
			return []manifest.Problem{warningAt(s.From, s.Path,
				"selects no Pod here: %s has these labels, but its Pods do not: add them to %s. %s", l.Object, labels,
				otherwise)}
		}
	}
	return nil
}

// unknownPorts warns of named ports of a Service or a monitor that nothing of what it selects has.
func unknownPorts(in Input, s references.Selector, selected []references.Labelled) (warnings []manifest.Problem) {
	consequence := "is never scraped"
	if s.From.GetKind() == "Service" {
		consequence = "has no endpoints"
	} else if s.Selects == "Service" && in.mayMakeServices(s.Namespaces) {
		return nil
	}
	for _, m := range s.MissingPorts(selected) {
		warnings = append(warnings, warningAt(s.From, m.Path, "%s, so this port %s%s", m, consequence,
			instead(m.Name, m.Others)))
	}
	return warnings
}

// mayMakeServices reports whether one of some namespaces has an object of a custom kind whose controller may make a
// Service with more ports. The port of a monitor or a scaler makes none.
func (in Input) mayMakeServices(namespaces []string) bool {
	return slices.ContainsFunc(in.Objects, func(o manifest.Object) bool {
		group := o.GroupVersionKind().Group
		isCustom := strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") && group != "keda.sh"
		return isCustom && !strings.HasSuffix(o.GetKind(), "Monitor") && slices.Contains(namespaces, o.GetNamespace())
	})
}

// instead returns a similar name of a part in place of another, or otherwise the first names.
func instead(name string, names []string) string {
	if hint := manifest.DidYouMean(name, names); hint != "" && len(name) > 3 && strings.Trim(name, "0123456789") != "" {
		return hint
	}
	if len(names) == 0 {
		return ""
	}
	return ": it has " + manifest.FirstOf(5, slices.Compact(slices.Sorted(slices.Values(names))))
}

// unknownProbePorts warns of probes and hooks with a named port that their container does not have: the kubelet looks
// it up in that container alone.
func unknownProbePorts(_ Input, o manifest.Object) (warnings []manifest.Problem) {
	references.VisitPods(o, "containers|initContainers[]", func(container map[string]any, at []string) {
		names := references.PortsOf(container, "")
		look := func(action map[string]any, at []string) {
			port, _ := action["port"].(string)
			if port != "" && !strings.Contains(port, "$") && !slices.Contains(names, port) {
				warnings = append(warnings, warningAt(o, append(at, "port"),
					"the container has no port %s, so it always fails%s", port, instead(port, names)))
			}
		}
		const probes, handlers = "livenessProbe|readinessProbe|startupProbe", "httpGet|tcpSocket"
		references.Visit(container, []string{probes, handlers}, at, look)
		references.Visit(container, []string{"lifecycle", "postStart|preStop", handlers}, at, look)
	})
	return warnings
}

// emptyMounts warns of mounts of a path that the items of their volume do not have: the kubelet makes a folder for it.
// See makeMounts in pkg/kubelet/kubelet_pods.go of Kubernetes.
func emptyMounts(_ Input, o manifest.Object) (warnings []manifest.Problem) {
	files := map[any][]string{} // by the name of their volume
	references.VisitPods(o, "volumes[]", func(volume map[string]any, _ []string) {
		references.Visit(volume, []string{"configMap|secret", "items"}, nil, func(item map[string]any, _ []string) {
			files[volume["name"]] = append(files[volume["name"]], path.Clean(fmt.Sprint(item["path"])))
		})
	})
	references.VisitPods(o, "containers|initContainers[].volumeMounts[]", func(mount map[string]any, at []string) {
		text, _ := mount["subPath"].(string)
		names := files[mount["name"]]
		isThere := slices.ContainsFunc(names, func(name string) bool {
			return strings.HasPrefix(name+"/", path.Clean(text)+"/")
		})
		if text != "" && len(names) > 0 && !isThere && !strings.Contains(text+strings.Join(names, ""), "$") {
			warnings = append(warnings, warningAt(o, append(at, "subPath"),
				"the volume has no file %s, so the container gets an empty folder%s", text, instead(text, names)))
		}
	})
	return warnings
}
