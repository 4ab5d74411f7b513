package references

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// naming matches the fields, and the types of fields, of Kubernetes that name another object.
var (
	naming     = regexp.MustCompile(`(Class|[sS]ecret|serviceAccount|[cC]laim|ClaimTemplate|policy|service)Name$`)
	namingType = regexp.MustCompile(`(Reference|RoleRef|ServiceBackend|EnvSource|ConfigMapVolumeSource)$|` +
		`^(ConfigMap|Secret)(KeySelector|Projection)$`)
)

// others are fields that name objects, with the reason why the table does not have them.
var others = map[string]string{
	"Binding":                                   "a request, not an object of an environment",
	"CSIStorageCapacity.storage.k8s.io":         "a controller writes it",
	"Endpoints":                                 "a controller writes it",
	"EndpointSlice.discovery.k8s.io":            "a controller writes it",
	"Event":                                     "a controller writes it",
	"Event.events.k8s.io":                       "a controller writes it",
	"VolumeAttachment.storage.k8s.io":           "a controller writes it",
	"IPAddress.networking.k8s.io":               "a controller writes it",
	"TokenRequest.authentication.k8s.io":        "a request",
	"PodCertificateRequest.certificates.k8s.io": "a request",
	"SerializedReference":                       "no object of an environment",
}

// Kubernetes has no other fields that name objects: a new one belongs in the table, or in others.
func TestTableHasAllFieldsOfKubernetes(t *testing.T) {
	rows := map[string][]string{}
	for kind, all := range readTable().fields {
		for _, f := range all {
			rows[kind] = append(rows[kind], f.alternatives()...)
		}
	}
	known, used := 0, map[string]bool{}
	check := func(kind, path string) {
		if others[kind] != "" {
			used[kind] = true
			return
		}
		if !slices.ContainsFunc(rows[kind], func(row string) bool {
			return row == path || row == path+".name" ||
				row == path+".secretName"
		}) {
			t.Errorf("%s: %s names an object, and no row of the table has it", kind, path)
		}
		known++
	}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		if !strings.HasPrefix(typ.PkgPath(), "k8s.io/api/") || strings.HasSuffix(gvk.Kind, "List") ||
			gvk.Version != "v1" && gvk.Version != "v2" {
			continue
		}
		visitFields(typ, nil, func(path string) { check(gvk.GroupKind().String(), path) })
	}
	visitFields(podSpec, []string{"."}, func(path string) { check(pods, strings.TrimPrefix(path, "..")) })
	if known < 50 || len(used) != len(others) {
		t.Errorf("%d fields, others that are kinds with such a field: %v", known, used)
	}
}

var podSpec = reflect.TypeFor[corev1.PodSpec]()

// visitFields calls found with the paths of a type's fields that name objects, as the table writes them.
func visitFields(t reflect.Type, path []string, found func(path string)) {
	list := ""
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			list = "[]"
		}
		t = t.Elem()
	}
	if len(path) > 0 {
		path[len(path)-1] += list
	}
	joined := strings.Join(path, ".")
	switch {
	case namingType.MatchString(t.Name()), t.Kind() == reflect.String && naming.MatchString(joined):
		found(joined)
		return
	case t.Kind() != reflect.Struct, len(path) > 12, !strings.HasPrefix(t.PkgPath(), "k8s.io/api/"),
		t == podSpec && path[0] != ".":
		return
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "status" {
			continue
		}
		next := slices.Clone(path)
		if name != "" {
			next = append(next, name)
		}
		visitFields(f.Type, next, found)
	}
}

// alternatives returns the paths of a row without |.
func (f field) alternatives() []string {
	all := []string{""}
	for _, key := range f.path {
		var next []string
		for _, path := range all {
			for one := range strings.SplitSeq(key, "|") {
				switch {
				case key == "":
					next = append(next, path+"[]")
				case path == "":
					next = append(next, one)
				default:
					next = append(next, path+"."+one)
				}
			}
		}
		all = next
	}
	return all
}
