package delivery

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/references"
)

// Unread is an annotation, a label or a sync option that its tool does not know, so that it has no effect.
type Unread struct {
	Tool
	// Keys are the path of the field, Text is the unknown part of the field and Meant the text that it may mean.
	Keys        []string
	Text, Meant string
}

const (
	argo           = "argocd.argoproj.io/"
	syncWave       = argo + "sync-wave"
	compareOptions = argo + "compare-options"
)

// switches are the values of Flux's annotations and labels.
var switches = map[string][]string{
	flux + "reconcile":  {"disabled", "enabled"},
	flux + "prune":      {"disabled", "enabled"},
	flux + "force":      {"enabled", "disabled"},
	flux + "substitute": {"disabled", "enabled"},
	flux + "ssa":        {"Override", "Merge", "IfNotPresent", "Ignore"},
}

// options are the values of the options of Argo CD that have some: see gitops-engine/pkg/sync/common/types.go and
// controller/sync.go there.
var options = map[string][]string{
	"ApplyOutOfSyncOnly": booleans, "ClientSideApplyMigration": booleans, "CreateNamespace": booleans,
	"FailOnSharedResource": booleans, "Force": booleans, "PruneLast": booleans, "Replace": booleans,
	"RespectIgnoreDifferences": booleans, "ServerSideApply": booleans, "SkipDryRunOnMissingResource": booleans,
	"Prune": {"false", "true", "confirm"}, "Delete": {"false", "true", "confirm"},
	"PrunePropagationPolicy": {"foreground", "background", "orphan"},
	"Validate":               {"false", "true"},
}

var booleans = []string{"true", "false"}

// lists are the items of the other annotations of Argo CD.
var lists = map[string][]string{
	ArgoHook:        append([]string{"Skip", "PreDelete", "PostDelete"}, argoHookTypes...),
	argoHookDeleted: {"HookSucceeded", "HookFailed", "BeforeHookCreation"},
}

// names are the names of the annotations above.
var names = append(slices.Sorted(maps.Keys(switches)), syncOptions, syncWave, compareOptions, ArgoHook, argoHookDeleted)

// FindUnread returns the settings of an object for Flux and Argo CD that these do not know: values, and names that are
// like known ones. Another name may be for a later release.
func FindUnread(o *unstructured.Unstructured) (found []Unread) {
	add := func(tool Tool, prefix, field string, entries map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			for text, meant := range meantEntry(key, entries[key]) {
				found = append(found, Unread{tool, []string{"metadata", field, key}, text, meant})
			}
		}
	}
	add(Flux, flux, "labels", o.GetLabels())
	add(Flux, flux, "annotations", o.GetAnnotations())
	add(Argo, argo, "annotations", o.GetAnnotations()) // it reads no labels
	given, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "syncPolicy", "syncOptions")
	for i, option := range given {
		if meant := meantOption(option); meant != "" && o.GetKind() == "Application" {
			keys := []string{"spec", "syncPolicy", "syncOptions", "[" + strconv.Itoa(i) + "]"}
			found = append(found, Unread{Argo, keys, option, meant})
		}
	}
	return found
}

// meantEntry returns the parts of an entry of metadata that its tool does not know, with the texts that they may mean.
func meantEntry(key, value string) iter.Seq2[string, string] {
	return func(yield func(text, meant string) bool) {
		parts := []string{value}
		meant := func(value string) string { return meantSwitch(value, switches[key]) }
		switch {
		case strings.Contains(value, "$"): // a variable
			return
		case switches[key] != nil:
		case key == syncWave:
			meant = meantWave
		case key == syncOptions:
			parts = items(value)
			meant = meantOption
		case lists[key] != nil:
			parts = items(value)
			meant = func(item string) string { return meantItem(item, lists[key]) }
		case slices.Contains(names, key):
			return
		default:
			parts = []string{key}
			meant = func(key string) string { return references.Misspelled(key, names) }
		}
		for _, part := range parts {
			if meant := meant(part); meant != "" && !yield(part, meant) {
				return
			}
		}
	}
}

// meantWave returns the form of a wave that is no number; nothing for a number.
func meantWave(wave string) string {
	if _, err := strconv.Atoi(wave); err == nil {
		return ""
	}
	return "a whole number"
}

// meantSwitch returns the value that a wrong one of a switch of Flux may mean; nothing if it is right. Flux compares
// without case.
func meantSwitch(value string, known []string) string {
	isKnown := func(k string) bool { return strings.EqualFold(k, value) }
	if len(known) == 0 || value == "" || slices.ContainsFunc(known, isKnown) {
		return ""
	}
	isOn, err := strconv.ParseBool(value)
	switch {
	case err == nil && isOn && slices.Contains(known, "enabled"):
		return "enabled"
	case err == nil && !isOn && slices.Contains(known, "disabled"):
		return "disabled"
	}
	return cmp.Or(references.Misspelled(value, known), strings.Join(known, " or "))
}

// meantOption returns the option that a wrong one may mean; nothing if it is right, or of another name.
func meantOption(option string) string {
	name, value, _ := strings.Cut(option, "=")
	switch values := options[name]; {
	case slices.Contains(values, value), option == "", strings.Contains(option, "$"):
		return ""
	case len(values) > 0:
		lower := strings.ToLower(value)
		if !slices.Contains(values, lower) {
			lower = values[0]
		}
		return name + "=" + lower
	}
	meant := references.Misspelled(name, slices.Collect(maps.Keys(options)))
	if meant == "" {
		return ""
	}
	return strings.TrimSuffix(meant+"="+value, "=")
}

// meantItem returns the item of a list that an unknown one may mean; nothing if it is known.
func meantItem(item string, known []string) string {
	if item == "" || slices.Contains(known, item) {
		return ""
	}
	return cmp.Or(references.Misspelled(item, known), strings.Join(known, " or "))
}
