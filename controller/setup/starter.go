package setup

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind"
)

// starter adds each controller to a manager once all types that it reads can be listed. A kind
// without its CustomResourceDefinition or RBAC rights does not delay the other kinds: its types are
// not in the cache, and the manager waits for the cache as a whole.
type starter struct {
	mgr     ctrl.Manager
	options Options

	controllers []Controller
}

const (
	// retryStart is the interval between attempts to start a controller.
	retryStart = 5 * time.Second
	// readTimeout limits the check of one type, since other kinds may be ready to start.
	readTimeout = 5 * time.Second
)

// NeedLeaderElection returns false: a standby replica fills its caches in advance.
func (s *starter) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s *starter) Start(ctx context.Context) error {
	waiting := s.controllers
	reported := map[string]string{}
	err := wait.PollUntilContextCancel(ctx, retryStart, true, func(ctx context.Context) (bool, error) {
		var still []Controller
		for _, c := range waiting {
			if err := s.checkReadable(ctx, c.Kind); err != nil {
				still = append(still, c)
				if name := c.Kind.GVK().Kind; reported[name] != err.Error() {
					reported[name] = err.Error()
					s.mgr.GetLogger().Info("The controller of "+name+" waits until it can read what it needs", "error",
						err.Error())
				}
				continue
			}
			if err := s.start(ctx, c); err != nil {
				return false, fmt.Errorf("set up the controller of %s: %w", c.Kind.GVK().Kind, err)
			}
		}
		waiting = still
		return len(waiting) == 0, nil
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// checkReadable returns an error if the objects of a kind, or of a type that its status depends on,
// cannot be listed.
func (s *starter) checkReadable(ctx context.Context, k kind.Kind) error {
	namespaces := s.options.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, gvk := range append(ObservedTypes(k), k.GVK()) {
		for _, namespace := range namespaces {
			if err := s.checkList(ctx, gvk, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *starter) checkList(ctx context.Context, gvk schema.GroupVersionKind, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{} // works for objects of any type
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return s.mgr.GetAPIReader().List(ctx, list, client.InNamespace(namespace), client.Limit(1))
}

func (s *starter) start(ctx context.Context, c Controller) error {
	cached := Cached{
		objects: s.mgr.GetCache().(*objects), kind: c.Kind, label: c.Kind.Label(),
		client: s.mgr.GetClient(), live: s.options.Live, clock: s.options.Clock,
	}
	if err := s.mgr.Add(c.leftOutGauge(cached.objects)); err != nil {
		return err
	}
	return c.Setup(ctx, s.mgr, cached, s.options)
}
