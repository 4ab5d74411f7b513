package manifest

// PodTemplatePath returns the path of the Pod template in objects of a built-in kind that has
// one: that of a Pod is its root.
func PodTemplatePath(kind string) (path []string, ok bool) {
	switch kind {
	case "Pod":
		return nil, true
	case "PodTemplate":
		return []string{"template"}, true
	case "CronJob":
		return []string{"spec", "jobTemplate", "spec", "template"}, true
	case "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet":
		return []string{"spec", "template"}, true
	}
	return nil, false
}
