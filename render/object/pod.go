package object

// PodTemplatePath says where objects of a built-in kind have what Pods are made of, if they
// do: nowhere but at their root for a Pod.
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
