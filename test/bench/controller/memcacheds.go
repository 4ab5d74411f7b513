package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/test/cluster"
)

// manager is a program that writes the status of Memcacheds.
type manager struct {
	name   string
	create func(context.Context, *cachev1alpha1.Memcached) error // a Memcached and what must be there for it
	run    []string
}

// measureMemcacheds prints what the status of Memcacheds costs, from their creation
// until their Pods are ready, and what it says where there can be none.
func (b *bench) measureMemcacheds(ctx context.Context) error {
	managers := []manager{{"Gatehouse", b.createRendered, []string{b.program, "--kubeconfig", b.kubeconfig}}}
	if b.operator != "" {
		managers = append(managers, manager{"operator", b.createAlone, []string{b.operator, "--kubeconfig", os.Getenv("KUBECONFIG")}})
	}
	fmt.Printf("%d Memcacheds, Pods of each: %d\n", b.memcacheds, b.size)
	for _, m := range managers {
		for _, measure := range []func(context.Context, string, manager) error{b.measureStatus, b.measureTruth} {
			err := b.in(ctx, func(ctx context.Context, namespace string) error { return measure(ctx, namespace, m) })
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}

// measureTruth prints how many of some Memcacheds are said to be available where a
// quota lets no Pod be.
func (b *bench) measureTruth(ctx context.Context, namespace string, m manager) error {
	const some = 20
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	if err := b.Create(ctx, quota); err != nil {
		return err
	}
	available, err := b.watchAvailable(ctx, namespace)
	if err != nil {
		return err
	}
	p, err := start(ctx, m.run[0], m.run[1:]...)
	if err != nil {
		return err
	}
	defer p.stop()
	if err := b.createMemcacheds(ctx, namespace, some, m); err != nil {
		return err
	}
	time.Sleep(10 * time.Second)
	fmt.Printf("  %-20s says available without a Pod: %d of %d\n", m.name, available.count(), some)
	return nil
}

func (b *bench) measureStatus(ctx context.Context, namespace string, m manager) error {
	p, err := start(ctx, m.run[0], m.run[1:]...)
	if err != nil {
		return err
	}
	defer p.stop()
	before, err := p.requests(ctx)
	if err != nil {
		return err
	}
	available, err := b.watchAvailable(ctx, namespace)
	if err != nil {
		return err
	}
	ready, err := b.watch(ctx, &corev1.Pod{}, namespace, func(o client.Object) string { return nameIf(o, isReady(o.(*corev1.Pod))) })
	if err != nil {
		return err
	}

	began := time.Now()
	if err := b.createMemcacheds(ctx, namespace, b.memcacheds, m); err != nil {
		return err
	}
	if err := ready.await(ctx, "ready Pods", b.memcacheds*b.size); err != nil {
		return err
	}
	if err := available.await(ctx, "available Memcacheds", b.memcacheds); err != nil {
		return err
	}
	took := time.Since(began)
	time.Sleep(10 * time.Second) // what is written last
	return b.printStatus(ctx, p, m.name, before, available, took)
}

func (b *bench) printStatus(ctx context.Context, p *process, name string, before map[string]float64, available *sightings, took time.Duration) error {
	after, err := p.requests(ctx)
	if err != nil {
		return err
	}
	memory, _, err := p.memory()
	if err != nil {
		return err
	}
	writes := after["PATCH"] + after["POST"] + after["PUT"] - before["PATCH"] - before["POST"] - before["PUT"]
	n := float64(b.memcacheds)
	fmt.Printf("  %-20s %.2f status writes and %.2f requests that write per Memcached, %.0f MiB, all available in %.1f s\n",
		name, float64(available.modified.Load())/n, writes/n, memory, took.Seconds())
	return nil
}

func (b *bench) watchAvailable(ctx context.Context, namespace string) (*sightings, error) {
	return b.watch(ctx, &cachev1alpha1.Memcached{}, namespace, func(o client.Object) string {
		return nameIf(o, meta.IsStatusConditionTrue(o.(*cachev1alpha1.Memcached).Status.Conditions, memcached.Available))
	})
}

func (b *bench) createMemcacheds(ctx context.Context, namespace string, n int, m manager) error {
	return b.each(ctx, n, func(ctx context.Context, i int) error {
		return m.create(ctx, &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("cache-%d", i)},
			Spec:       cachev1alpha1.MemcachedSpec{Size: int32(b.size)}, // #nosec G115 -- few
		})
	})
}

// createRendered creates a Memcached and what it renders to, in the order of a
// rendered kustomization.
func (b *bench) createRendered(ctx context.Context, m *cachev1alpha1.Memcached) error {
	defaulted := m.DeepCopy()
	if err := b.Create(ctx, defaulted, client.DryRunAll); err != nil {
		return err
	}
	rendered, err := cluster.Rendered(defaulted, b.Scheme(), gatehouse.Kinds)
	if err != nil {
		return err
	}
	for _, object := range rendered {
		object.SetUID("")
		object.SetResourceVersion("")
		if err := b.Create(ctx, object); err != nil {
			return err
		}
	}
	return b.Create(ctx, m)
}

func (b *bench) createAlone(ctx context.Context, m *cachev1alpha1.Memcached) error {
	return b.Create(ctx, m)
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
