package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/condition"
)

// BenchmarkMemory measures the memory of a controller as Ats accumulate, and of a controller that
// starts after them.
func BenchmarkMemory(b *testing.B) {
	e := newBench(b)
	p, created := e.start(*program, e.kubeconfig), 0
	for _, n := range []int{0, *waiting / 10, *waiting} {
		e.part(name("waiting", n), func(e *bench) {
			armed := e.watch(&cnatv1alpha1.AtList{}, func(o client.Object) string {
				return nameIf(o, meta.IsStatusConditionTrue(o.(*cnatv1alpha1.At).Status.Conditions, condition.Ready))
			})
			e.createAts(created, n, time.Now().AddDate(1, 0, 0))
			created = n
			e.await(armed, "armed Ats", n)
			e.reportMemory(p)
		})
	}
	e.part(name("restarted_waiting", created), func(e *bench) { e.reportMemory(e.start(*program, e.kubeconfig)) })
}

// reportMemory reports the memory that a process has, and the most that it ever had.
func (b *bench) reportMemory(p *process) {
	b.Helper()
	time.Sleep(10 * time.Second)
	resident, peak, err := p.memory()
	must(b, err)
	b.ReportMetric(resident, "MiB")
	b.ReportMetric(peak, "peak-MiB")
}
