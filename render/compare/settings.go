package compare

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/delivery"
)

// Settings returns the annotations and labels of an object of a change, before or after, by which its tool treats it.
func Settings(c Change, o *unstructured.Unstructured) []delivery.Setting {
	switch c.InstalledBy.Kind {
	case "HelmRelease":
		return delivery.Settings(o, delivery.Helm)
	case "Application":
		found := delivery.Settings(o, delivery.Argo)
		if c.isReplaced {
			return delivery.Replacing(o, found)
		}
		return found
	}
	return delivery.Settings(o, delivery.Flux, delivery.Argo)
}

// KeptBy returns the setting that keeps a removed object in the cluster, or nil.
func KeptBy(c Change) *delivery.Setting {
	if c.After != nil {
		return nil
	}
	settings := Settings(c, c.Before)
	if hook := delivery.Find(settings, delivery.Hooked); hook != nil {
		return hook
	}
	return cmp.Or(delivery.Keeping(settings), c.keptBy)
}

// LeftBy returns the setting by which the tool of an added or changed object does not apply the change, or nil.
func LeftBy(c Change) *delivery.Setting {
	settings := Settings(c, c.After)
	if ignored := delivery.Find(settings, delivery.Ignored); ignored != nil || c.Action() != Changed {
		return ignored
	}
	return cmp.Or(delivery.Find(settings, delivery.CreatedOnce), c.leftBy)
}

// Live returns the object of a change in the cluster afterwards, or nil. A removed object may stay, and a changed one
// may stay as it is.
func Live(c Change) *unstructured.Unstructured {
	if KeptBy(c) != nil || LeftBy(c) != nil {
		return c.Before
	}
	return c.After
}
