package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// Each merged list of a built-in kind has one of mergeKeys as its first key, and only keys with a
// default.
func TestMergeKeysAreComplete(t *testing.T) {
	all := metadataType().Schema
	lists := 0
	for _, named := range all.Types {
		if named.Map == nil || strings.Contains(named.Name, "Status") || strings.HasSuffix(named.Name, "Health") { // part of a status
			continue
		}
		for _, f := range named.Fields {
			list := f.Type.Inlined.List
			if list == nil || list.ElementRelationship != schema.Associative || len(list.Keys) == 0 {
				continue
			}
			lists++
			place := named.Name + "." + f.Name
			if second, ok := mergeKeys[list.Keys[0]]; !ok || second != strings.Join(list.Keys[1:], ",") {
				t.Errorf("%s has the keys %v, which are not in mergeKeys", place, list.Keys)
			}
			item, ok := all.Resolve(list.ElementType)
			for _, key := range list.Keys {
				if keyField, found := item.FindField(key); !ok || !found || keyField.Default == nil && f.Name != "secrets" {
					t.Errorf("%s: the key %s has no default", place, key)
				}
			}
		}
	}
	if lists < 30 {
		t.Errorf("%d lists", lists)
	}
}

func TestMayHaveTwinsFindsEqualItems(t *testing.T) {
	for text, want := range map[string]bool{
		`{"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 1}, {"containerPort": 2}]}, {"name": "b"}]}}`: false,
		`{"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}`:                                                        true,
		`{"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 80.0, "name": "b"}]}}`:                                   true,
		`{"spec": {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 81, "protocol": "TCP"}]}}`:                         false,
		`{"spec": {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]}}`:                                            false,
		`{"spec": {"ports": [{"port": 53, "protocol": "TCP"}, {"port": 53}]}}`:                                            true,
		`{"metadata": {"finalizers": ["a/b", "a/b"]}}`:                                                                    true,
		`{"metadata": {"finalizers": ["a/b", null]}}`:                                                                     true,
		`{"imagePullSecrets": [{}]}`:                                                                                      false,
		`{"imagePullSecrets": [{}, {"name": ""}]}`:                                                                        true,
		`{"imagePullSecrets": [{}, {}]}`:                                                                                  true,
		`{"secrets": [{"namespace": "a"}]}`:                                                                               true,
		`{"deep": [[{"name": {"a": "b"}}, {"name": {"a": "b"}}]]}`:                                                        true,
	} {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		if err := u.UnmarshalJSON([]byte(`{"apiVersion": "v1", "kind": "Any", "content": ` + text + `}`)); err != nil {
			t.Fatal(err)
		}
		if got := mayHaveTwins(u.Object); got != want {
			t.Errorf("mayHaveTwins(%s) = %t", text, got)
		}
	}
}
