package verdict_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/client-go/dynamic"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
)

// The API server stores each object of the tables as render says, with the same fields dropped and set.
// So it does with one field more, of all fields of the kind in the newest version: an earlier version may
// refuse it, drop it or keep it.
func TestObjectsAreStoredAlike(t *testing.T) {
	judge, bases, number := newJudge(t), map[schema.GroupVersionKind]*unstructured.Unstructured{}, 0
	var written []*unstructured.Unstructured
	for _, file := range tables(t) {
		cases := readCases(t, file, number)
		number += len(cases)
		for _, c := range cases {
			if c.isOfCluster || isInvalid(t, c.Unstructured) {
				continue
			}
			if c.GetName() != "" && !isWithEffects(c.Unstructured) { // finalizers may keep it, and other tests have its name
				c.SetName(fmt.Sprintf("stored-%d", c.number))
			}
			written = append(written, c.Unstructured)
			if gvk := c.GroupVersionKind(); bases[gvk] == nil {
				bases[gvk] = c.Unstructured
			}
		}
	}
	for _, kind := range kubernetes(t).Kinds() {
		base := bases[kind.GroupVersionKind]
		if base == nil {
			t.Logf("no object of %s", kind.GroupVersionKind)
			continue
		}
		for _, path := range fieldsOf(kind.Type, nil, nil) {
			number++
			u := base.DeepCopy()
			if !isWithEffects(u) { // the names of others follow from their fields
				u.SetName(fmt.Sprintf("field-%d", number))
			}
			u.Object = setField(u.Object, kind.Type, path).(map[string]any)
			written = append(written, u)
		}
	}
	var counted sync.Mutex
	refused, stored := 0, 0
	judge.each(written, func(u *unstructured.Unstructured) {
		server, err := judge.store(t.Context(), u)
		isInvalid := isInvalid(t, u)
		counted.Lock()
		defer counted.Unlock()
		if isInvalid && err == nil { // only apply may refuse it
			err = refuses(t.Context(), judge, u)
		}
		if err != nil && !isInvalid && dependsOnCluster.MatchString(err.Error()) {
			return
		}
		if (err != nil) != isInvalid {
			t.Errorf("%s: render refuses: %t, the API server says: %v\n%s", u.GetKind(), isInvalid, err, jsonOf(u))
			return
		}
		if err != nil {
			refused++
			return
		}
		stored++
		checker, _ := verdict.New(nil, gatehouse.All(), kubernetes(t), nil)
		render := checker.Stored([]manifest.Object{{Unstructured: u, Written: u}})[0]
		if a, b := withoutCluster(t, render), withoutCluster(t, server); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: render (-) and the API server (+) store\n%s of\n%s", u.GetKind(), diff.Diff(a, b), jsonOf(u))
		}
	})
	t.Logf("%d refused, %d stored", refused, stored)
}

// dependsOnCluster matches the refusals of valid objects. Values of Secrets and labels of Namespaces have tests
// of their own.
var dependsOnCluster = regexp.MustCompile(`not found|was found|not configured on this cluster|admin-access|^Secret |^Namespace `)

// refuses returns the error of a dry run of server-side apply.
func refuses(ctx context.Context, judge *judge, u *unstructured.Unstructured) error {
	resource, err := judge.resource(u)
	if err != nil {
		return err
	}
	return apply(ctx, resource, u)
}

// each calls a function for each object, for eight of them at once.
func (j *judge) each(objects []*unstructured.Unstructured, do func(*unstructured.Unstructured)) {
	next := make(chan *unstructured.Unstructured)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for u := range next {
				do(u)
			}
		})
	}
	for _, u := range objects {
		next <- u
	}
	close(next)
	workers.Wait()
}

// withEffects has the groups and kinds whose objects change the verdicts on others. They are created by dry run.
var withEffects = []string{"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "flowcontrol.apiserver.k8s.io",
	"LimitRange", "Namespace", "PriorityClass", "ResourceQuota", "ServiceCIDR", "StorageClass", "IngressClass", "IPAddress"}

func isWithEffects(u *unstructured.Unstructured) bool {
	gvk := u.GroupVersionKind()
	return slices.Contains(withEffects, gvk.Group) || slices.Contains(withEffects, gvk.Kind)
}

// store creates an object, and returns it as it is read.
func (j *judge) store(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := j.resource(u)
	if err != nil {
		return nil, err
	}
	options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	if isWithEffects(u) {
		options.DryRun = []string{metav1.DryRunAll}
		return resource.Create(ctx, u.DeepCopy(), options)
	}
	created, err := resource.Create(ctx, u.DeepCopy(), options)
	if err != nil {
		return nil, err
	}
	return readAndDelete(ctx, resource, created.GetName())
}

func readAndDelete(ctx context.Context, resource dynamic.ResourceInterface, name string) (*unstructured.Unstructured, error) {
	stored, err := resource.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return stored, resource.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
}

// fieldsOf returns the paths of the fields of a type that are no structs. A `[]` is an item of a list or a map.
func fieldsOf(of reflect.Type, path []string, within []reflect.Type) (paths [][]string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case slices.Contains(within, of) || len(path) == 1 && (path[0] == "apiVersion" || path[0] == "kind"):
		return nil
	case len(path) == 1 && path[0] == "metadata":
		return nil
	case decodesItself(of):
	case of.Kind() == reflect.Struct && len(decoding.Fields(of)) > 0:
		for _, f := range decoding.Fields(of) {
			paths = append(paths, fieldsOf(f.Type, append(slices.Clone(path), f.Name), append(slices.Clone(within), of))...)
		}
		return paths
	case of.Kind() == reflect.Map || of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8:
		return fieldsOf(of.Elem(), append(slices.Clone(path), "[]"), within)
	}
	return [][]string{path}
}

func decodesItself(of reflect.Type) bool {
	_, ok := reflect.New(of).Interface().(json.Unmarshaler)
	return ok
}

// setField returns content of a type with a value at a path, in the first item of a list. New items have
// names and keys.
func setField(content any, of reflect.Type, path []string) any {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if len(path) == 0 {
		return exampleOf(of)
	}
	if path[0] != "[]" {
		fields, ok := content.(map[string]any)
		if !ok {
			fields = map[string]any{}
			for _, f := range decoding.Fields(of) {
				if value, ok := keys[f.Name]; ok && f.Type.Kind() == reflect.String {
					fields[f.Name] = value
				}
			}
		}
		i := slices.IndexFunc(decoding.Fields(of), func(f decoding.Field) bool { return f.Name == path[0] })
		fields[path[0]] = setField(fields[path[0]], decoding.Fields(of)[i].Type, path[1:])
		return fields
	}
	if of.Kind() == reflect.Map {
		entries, ok := content.(map[string]any)
		if !ok {
			entries = map[string]any{}
		}
		key := "a"
		for key = range entries {
			break
		}
		entries[key] = setField(entries[key], of.Elem(), path[1:])
		return entries
	}
	items, _ := content.([]any)
	if len(items) == 0 {
		items = []any{nil}
	}
	items[0] = setField(items[0], of.Elem(), path[1:])
	return items
}

// keys are values of fields that most types require.
var keys = map[string]any{"name": "a", "key": "a", "image": "a", "driver": "a", "path": "/a", "mountPath": "/a"}

// exampleOf returns a value of a type.
func exampleOf(of reflect.Type) any {
	switch of.String() {
	case "resource.Quantity":
		return "1"
	case "v1.Time":
		return "2026-01-01T00:00:00Z"
	case "v1.MicroTime":
		return "2026-01-01T00:00:00.000000Z"
	case "v1.Duration":
		return "1s"
	case "v1.FieldsV1", "runtime.RawExtension":
		return map[string]any{}
	case "intstr.IntOrString":
		return int64(1)
	}
	switch of.Kind() {
	case reflect.Bool:
		return true
	case reflect.String:
		return "a"
	case reflect.Slice:
		return "YQ=="
	case reflect.Struct, reflect.Map:
		return map[string]any{}
	}
	return int64(1)
}

// ofCluster has the fields with values that only the cluster knows, by kind, and the fields of an admission
// plugin that test servers disable.
var ofCluster = map[string][]string{
	"": {"metadata.uid", "metadata.creationTimestamp", "metadata.resourceVersion", "metadata.managedFields",
		"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds"},
	"CertificateSigningRequest": {"spec.username", "spec.groups", "spec.extra"},
	"PersistentVolume":          {"status.lastPhaseTransitionTime"},
	"Pod":                       {"spec.serviceAccount", "spec.serviceAccountName"},
	"Service":                   {"spec.clusterIP", "spec.clusterIPs", "spec.healthCheckNodePort", "spec.ports"},
}

// now matches times that default to now.
var now = regexp.MustCompile(`"(timeAdded|lastTransitionTime)":"[^"]*"`)

// withoutCluster returns a stored object without the values of a cluster, and without empty lists and objects:
// protobuf does not keep them.
func withoutCluster(t *testing.T, u *unstructured.Unstructured) (content any) {
	t.Helper()
	encoded := now.ReplaceAllString(jsonOf(u), `"$1":"now"`)
	if uid := string(u.GetUID()); uid != "" { // a Job selects its Pods by it
		encoded = strings.ReplaceAll(encoded, uid, "00000000-0000-0000-0000-000000000000")
	}
	if err := json.Unmarshal([]byte(encoded), &content); err != nil {
		t.Fatal(err)
	}
	for _, field := range append(ofCluster[""], ofCluster[u.GetKind()]...) {
		unstructured.RemoveNestedField(content.(map[string]any), strings.Split(field, ".")...)
	}
	return withoutEmpty(content)
}

func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(key string, inner any) bool {
			value[key] = withoutEmpty(inner)
			return value[key] == nil
		})
		if len(value) == 0 {
			return nil
		}
	case []any:
		for i := range value {
			value[i] = withoutEmpty(value[i])
		}
		if len(value) == 0 {
			return nil
		}
	}
	return value
}
