package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/controller/memcached"
	"example.com/gatehouse/test/cluster"
)

// measureMemcacheds prints what the status of Memcacheds costs, from their creation
// until all their Pods are ready, and whether it is true.
func (b *bench) measureMemcacheds(ctx context.Context) error {
	fmt.Printf("%d Memcacheds, Pods of each: %d\n", b.memcacheds, b.size)
	err := b.in(ctx, "gatehouse-bench", func(ctx context.Context, namespace string) error {
		return b.measureStatus(ctx, "Gatehouse", namespace, b.createRendered, b.program, "--kubeconfig", b.kubeconfig)
	})
	if err != nil || b.operator == "" {
		return err
	}
	return b.in(ctx, "gatehouse-bench", func(ctx context.Context, namespace string) error {
		return b.measureStatus(ctx, "operator", namespace, b.createAlone, b.operator, "--kubeconfig", os.Getenv("KUBECONFIG"))
	})
}

func (b *bench) measureStatus(ctx context.Context, name, namespace string, create func(context.Context, *cachev1alpha1.Memcached) error, program string, args ...string) error {
	p, err := start(ctx, program, args...)
	if err != nil {
		return err
	}
	defer p.stop()
	before, err := p.requests()
	if err != nil {
		return err
	}
	available, err := b.watch(ctx, &cachev1alpha1.Memcached{}, namespace, func(o client.Object) string {
		return nameIf(o, meta.IsStatusConditionTrue(o.(*cachev1alpha1.Memcached).Status.Conditions, memcached.Available))
	})
	if err != nil {
		return err
	}
	served, err := b.watch(ctx, &corev1.Pod{}, namespace, deploymentIfReady)
	if err != nil {
		return err
	}
	ready, err := b.watch(ctx, &corev1.Pod{}, namespace, func(o client.Object) string { return nameIf(o, deploymentIfReady(o) != "") })
	if err != nil {
		return err
	}

	began := time.Now()
	err = b.each(ctx, b.memcacheds, func(ctx context.Context, i int) error {
		return create(ctx, &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("cache-%d", i)},
			Spec:       cachev1alpha1.MemcachedSpec{Size: int32(b.size)},
		})
	})
	if err != nil {
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
	return b.printStatus(p, name, before, available, served, took)
}

func (b *bench) printStatus(p *process, name string, before map[string]float64, available, served *sightings, took time.Duration) error {
	after, err := p.requests()
	if err != nil {
		return err
	}
	memory, _, err := p.memory()
	if err != nil {
		return err
	}
	writes := after["PATCH"] + after["POST"] + after["PUT"] - before["PATCH"] - before["POST"] - before["PUT"]
	early, err := earlier(available, served)
	if err != nil {
		return err
	}
	n := float64(b.memcacheds)
	fmt.Printf("  %-20s %.2f status writes and %.2f requests that write per Memcached, %.0f MiB, available before a Pod was: %d, all in %.1f s\n",
		name, float64(available.modified.Load())/n, writes/n, memory, early, took.Seconds())
	return nil
}

// earlier counts what was in one state before it was in another, by the order in
// which the API server took the writes.
func earlier(one, other *sightings) (count int, err error) {
	for key, first := range one.first {
		order, err := resourceversion.CompareResourceVersion(first.version, other.first[key].version)
		if err != nil {
			return 0, err
		}
		if order < 0 {
			count++
		}
	}
	return count, nil
}

// createRendered creates a Memcached and what it renders to, in the order of a
// rendered kustomization.
func (b *bench) createRendered(ctx context.Context, m *cachev1alpha1.Memcached) error {
	defaulted := m.DeepCopy()
	if err := b.Create(ctx, defaulted, client.DryRunAll); err != nil {
		return err
	}
	rendered, err := cluster.Rendered(defaulted, b.Scheme())
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

// deploymentIfReady is the name of the Deployment of a Pod that is ready.
func deploymentIfReady(o client.Object) string {
	pod := o.(*corev1.Pod)
	isReady := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
	parts := strings.Split(pod.Name, "-")
	return map[bool]string{true: strings.Join(parts[:max(len(parts)-2, 0)], "-")}[isReady]
}
