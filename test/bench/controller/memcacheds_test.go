package controller

import (
	"context"
	"os"
	"slices"
	"testing"
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
	*bench
	start  func() *process
	create func(context.Context, *cachev1alpha1.Memcached) error // a Memcached with the objects that it needs to get Pods
}

// BenchmarkMemcacheds measures the cost of the status of Memcacheds, from their creation until
// their Pods are ready. It also counts Memcacheds that claim to be available although they can have
// no Pod.
func BenchmarkMemcacheds(b *testing.B) {
	b.Run("Gatehouse/status", func(b *testing.B) { newGatehouse(newBench(b)).measureStatus() })
	b.Run("Gatehouse/no_Pods", func(b *testing.B) { newGatehouse(newBench(b)).measureTruth() })
	if *operator != "" {
		b.Run("operator/status", func(b *testing.B) { newOperator(newBench(b)).measureStatus() })
		b.Run("operator/no_Pods", func(b *testing.B) { newOperator(newBench(b)).measureTruth() })
	}
}

func newGatehouse(b *bench) manager {
	return manager{b, func() *process { return b.start(*program, b.kubeconfig) }, b.createRendered}
}

func newOperator(b *bench) manager {
	return manager{b, func() *process { return b.start(*operator, os.Getenv("KUBECONFIG")) }, func(ctx context.Context, m *cachev1alpha1.Memcached) error { return b.Create(ctx, m) }}
}

func (m manager) measureStatus() {
	m.Helper()
	p := m.start()
	requests := m.requestsSince(p)
	available := m.watchAvailable()
	ready := m.watch(&corev1.PodList{}, func(o client.Object) string { return nameIf(o, isReady(o.(*corev1.Pod))) })

	began := time.Now()
	m.createMemcacheds(*memcacheds)
	m.await(ready, "ready Pods", *memcacheds**size)
	m.await(available, "available Memcacheds", *memcacheds)
	took := time.Since(began)
	time.Sleep(10 * time.Second) // for the last writes

	sent := requests()
	resident, _, err := p.memory()
	must(m, err)
	n := float64(*memcacheds)
	m.ReportMetric(float64(available.modified.Load())/n, "status-writes/Memcached")
	m.ReportMetric((sent["PATCH"]+sent["POST"]+sent["PUT"])/n, "writes/Memcached")
	m.ReportMetric(resident, "MiB")
	m.ReportMetric(took.Seconds(), "sec-to-available")
}

// measureTruth creates Memcacheds in a namespace with a quota of no Pods.
func (m manager) measureTruth() {
	m.Helper()
	const n = 20
	must(m, m.Create(m.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "no-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}))
	available := m.watchAvailable()
	m.start()
	m.createMemcacheds(n)
	time.Sleep(10 * time.Second)
	m.ReportMetric(float64(available.count())/n, "said-available/Memcached")
}

func (b *bench) watchAvailable() *sightings {
	b.Helper()
	return b.watch(&cachev1alpha1.MemcachedList{}, func(o client.Object) string {
		return nameIf(o, meta.IsStatusConditionTrue(o.(*cachev1alpha1.Memcached).Status.Conditions, memcached.Available))
	})
}

func (m manager) createMemcacheds(n int) {
	m.Helper()
	m.each(n, func(ctx context.Context, i int) error {
		return m.create(ctx, &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name("cache", i)},
			Spec:       cachev1alpha1.MemcachedSpec{Size: int32(*size)},
		})
	})
}

// createRendered creates a Memcached and its rendered objects, in the order of a rendered
// kustomization.
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

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
