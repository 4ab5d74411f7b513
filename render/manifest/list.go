package manifest

import "strings"

// IsListKind reports whether an object of a kind that has items is a list of objects, as
// kustomize and kubectl take it: a List, or one of a kind like ConfigMapList.
func IsListKind(kind string) bool { return strings.HasSuffix(kind, "List") }
