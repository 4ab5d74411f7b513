package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"example.com/gatehouse/render/object"
)

// builtinMerge says how the API server merges objects of built-in kinds. To read it takes a
// quarter of a second, so that is done for an object that seems to have an item twice.
var builtinMerge = sync.OnceValue(func() *schema.Schema {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace")) // all kinds have one schema
	typed, err := applyconfigurations.NewTypeConverter(scheme.Scheme).ObjectToTyped(u)
	if err != nil {
		panic(err)
	}
	return typed.Schema()
})

// builtinMergeErrors finds what cannot be merged in an object of a built-in kind.
func builtinMergeErrors(o object.Object) field.ErrorList {
	if !mayHaveTwins(o.Object) {
		return nil
	}
	name, err := scheme.Scheme.ToOpenAPIDefinitionName(o.GroupVersionKind())
	if err != nil {
		return nil // it is decoded as no such kind either
	}
	return mergeErrors(name, o.Object, nil)
}

// mergeErrors finds what cannot be merged in content of a type, which is at a path.
func mergeErrors(typ string, content any, path []string) field.ErrorList {
	w := mergeWalk{schema: builtinMerge()}
	w.visit(schema.TypeRef{NamedType: &typ}, content, path)
	return w.errs
}

// metadataMergeErrors finds what cannot be merged in the metadata of an object at a path.
func metadataMergeErrors(content map[string]any, path []string) field.ErrorList {
	metadata, _ := content["metadata"].(map[string]any)
	if !mayHaveTwins(metadata) {
		return nil
	}
	return mergeErrors("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", metadata, append(slices.Clone(path), "metadata"))
}

// definitionKeys are the keys of the lists of a CustomResourceDefinition that have one.
var definitionKeys = map[string]string{"conditions": "type", "x-kubernetes-validations": "rule"}

// definitionMergeErrors finds what cannot be merged in a CustomResourceDefinition.
func definitionMergeErrors(content any, path []string) (errs field.ErrorList) {
	switch content := content.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(content)) {
			path := append(path, key)
			if items, ok := content[key].([]any); ok && definitionKeys[key] != "" {
				w := mergeWalk{schema: &schema.Schema{}}
				w.visitKeys(&schema.List{Keys: []string{definitionKeys[key]}}, items, path)
				errs = append(errs, w.errs...)
				continue
			}
			errs = append(errs, definitionMergeErrors(content[key], path)...)
		}
	case []any:
		for i, item := range content {
			errs = append(errs, definitionMergeErrors(item, append(path, index(i)))...)
		}
	}
	return errs
}

// keyedLists are the fields of built-in kinds that may be lists in which each item has a key
// of its own, which is in these fields, or is the item itself.
var keyedLists = map[string][][]string{
	"addresses":                 {{}, {"type"}},
	"allocatedResourcesStatus":  {{"name"}},
	"apiGroups":                 {{}},
	"claims":                    {{"name"}},
	"conditions":                {{"type"}},
	"containers":                {{"name"}, {}},
	"decodableVersions":         {{}},
	"devices":                   {{"driver", "device", "pool", "shareID"}},
	"drivers":                   {{"name"}},
	"env":                       {{"name"}},
	"ephemeralContainers":       {{"name"}},
	"failed":                    {{}},
	"finalizers":                {{}},
	"hostAliases":               {{"ip"}},
	"imagePullSecrets":          {{"name"}},
	"initContainers":            {{"name"}},
	"matchConditions":           {{"name"}},
	"namespaces":                {{}},
	"nonResourceURLs":           {{}},
	"ownerReferences":           {{"uid"}},
	"podCIDRs":                  {{}},
	"podGroupTemplates":         {{"name"}},
	"podIPs":                    {{"ip"}},
	"ports":                     {{"containerPort", "protocol"}, {"port", "protocol"}},
	"reservedFor":               {{"uid"}},
	"resourceClaimStatuses":     {{"name"}},
	"resourceClaims":            {{"name"}},
	"resources":                 {{}, {"resourceID"}},
	"schedulingGates":           {{"name"}},
	"secrets":                   {{"name"}},
	"servedVersions":            {{}},
	"storageVersions":           {{"apiServerID"}},
	"succeeded":                 {{}},
	"topologySpreadConstraints": {{"topologyKey", "whenUnsatisfiable"}},
	"validationActions":         {{}},
	"values":                    {{}},
	"variables":                 {{"name"}},
	"verbs":                     {{}},
	"volumeDevices":             {{"devicePath"}},
	"volumeLifecycleModes":      {{}},
	"volumeMounts":              {{"mountPath"}},
	"volumes":                   {{"name"}},
	"webhooks":                  {{"name"}},
}

// keyDefaults are what keys are that are left out, where that is not nothing.
var keyDefaults = map[string]any{"protocol": "TCP"}

// mayHaveTwins says whether content may have a list with an item that has no key, or that
// of another. It is right where it says no, and mostly where it says yes.
func mayHaveTwins(content any) bool {
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			items, _ := value.([]any)
			if keys := keyedLists[key]; len(keys) > 0 && haveTwins(items, keys) || mayHaveTwins(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(content, mayHaveTwins)
	}
	return false
}

// haveTwins says whether an item has no key, or that of another, by one of several sets of
// fields.
func haveTwins(items []any, alternatives [][]string) bool {
	seen := map[string]bool{}
	for _, item := range items {
		fields, isMapping := item.(map[string]any)
		hasKey := false
		for _, keys := range alternatives {
			if isMapping != (len(keys) > 0) || isMapping && fields[keys[0]] == nil {
				continue // this is a list of another kind, of the same name
			}
			hasKey = true
			key := itemKey(item, keys, keyDefaults)
			if seen[key] {
				return true
			}
			seen[key] = true
		}
		if item == nil || isMapping && !hasKey {
			return true
		}
	}
	return false
}

// itemKey is the key of an item, as text; empty where it has none. Null is no default.
func itemKey(item any, keys []string, defaults map[string]any) string {
	var key strings.Builder
	write := func(name string, value any) {
		if text, ok := value.(string); ok { // as most are
			fmt.Fprintf(&key, "%s%q", name, text)
		} else {
			encoded, _ := json.Marshal(value) // it was JSON
			key.WriteString(name)
			key.Write(encoded)
		}
	}
	if len(keys) == 0 {
		write("", item)
	}
	for _, name := range keys {
		value, ok := item.(map[string]any)[name]
		if !ok {
			value, ok = defaults[name]
		}
		if ok {
			write(name, value)
		}
	}
	return key.String()
}

// mergeWalk walks over an object along the schema by which it is merged.
type mergeWalk struct {
	schema *schema.Schema
	errs   field.ErrorList
}

// visit finds what cannot be merged in content of a type, which is at a path.
func (w *mergeWalk) visit(typ schema.TypeRef, content any, path []string) {
	atom, ok := w.schema.Resolve(typ)
	if !ok {
		return
	}
	switch content := content.(type) {
	case map[string]any:
		if atom.Map == nil {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(content)) {
			typ := atom.Map.ElementType
			if f, ok := atom.FindField(key); ok {
				typ = f.Type
			}
			w.visit(typ, content[key], append(path, key))
		}
	case []any:
		if atom.List == nil {
			return
		}
		if atom.List.ElementRelationship == schema.Associative {
			w.visitKeys(atom.List, content, path)
		}
		for i, item := range content {
			w.visit(atom.List.ElementType, item, append(path, index(i)))
		}
	}
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

const (
	serverSideApply = "server-side apply (Flux, Argo CD)"
	nullItem        = "must not be null: " + serverSideApply + " tells items from each other by what they are: remove it"
)

// visitKeys finds the items of a list that have no key, or that of another.
func (w *mergeWalk) visitKeys(list *schema.List, items []any, path []string) {
	defaults := w.defaults(list)
	first := map[string]int{}
	for i, item := range items {
		at := object.JoinField(append(path, index(i)))
		fields, isMapping := item.(map[string]any)
		if item == nil {
			w.errs = append(w.errs, &field.Error{Type: field.ErrorTypeInvalid, Field: at, Detail: nullItem})
		}
		if isMapping != (len(list.Keys) > 0) {
			continue // it is null, or decoding says what it should be
		}
		key := itemKey(item, list.Keys, defaults)
		if key == "" {
			w.errs = append(w.errs, &field.Error{Type: field.ErrorTypeRequired, Field: at + "." + list.Keys[0], Detail: serverSideApply + " tells items from each other by it"})
			continue
		}
		if twin, ok := first[key]; ok {
			w.errs = append(w.errs, duplicate(at, fields, item, list.Keys, object.JoinField(append(path, index(twin)))))
			continue
		}
		first[key] = i
	}
}

// defaults are those of the keys of the items of a list.
func (w *mergeWalk) defaults(list *schema.List) map[string]any {
	defaults := map[string]any{}
	item, ok := w.schema.Resolve(list.ElementType)
	if !ok || item.Map == nil {
		return defaults
	}
	for _, key := range list.Keys {
		if f, ok := item.FindField(key); ok && f.Default != nil {
			defaults[key] = f.Default
		}
	}
	return defaults
}

// duplicate is the error of an item with the key of another.
func duplicate(at string, fields map[string]any, item any, keys []string, twin string) *field.Error {
	if len(keys) > 0 {
		key := map[string]any{}
		for _, name := range keys {
			if fields[name] != nil {
				key[name] = fields[name]
			}
		}
		item = key
	}
	return &field.Error{
		Type: field.ErrorTypeDuplicate, Field: at, BadValue: item,
		Detail: fmt.Sprintf("%s is the same, and %s refuses both: remove one", twin, serverSideApply),
	}
}
