package apply

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/object"
)

// Manager is the field manager of what is applied from an environment.
func Manager(environment string) string { return prefix + environment }

// Inventories are what was applied to a cluster from each environment, by its name.
func Inventories(ctx context.Context, c client.Reader) (map[string]map[object.ID]bool, error) {
	list := &corev1.ConfigMapList{}
	if err := c.List(ctx, list, client.InNamespace(homeNamespace), client.MatchingLabels(managedBy)); err != nil {
		return nil, err
	}
	inventories := map[string]map[object.ID]bool{}
	for i := range list.Items {
		environment, ok := strings.CutPrefix(list.Items[i].Name, prefix)
		if !ok {
			continue
		}
		var err error
		if inventories[environment], err = decodeInventory(&list.Items[i]); err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s: %w", homeNamespace, list.Items[i].Name, err)
		}
	}
	return inventories, nil
}
