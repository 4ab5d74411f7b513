package controller

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/controller/status"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
)

// BenchmarkArming measures the status writes of arming many Ats, without a controller.
func BenchmarkArming(b *testing.B) {
	e := newBench(b)
	e.createAts(0, *waiting, time.Now().AddDate(1, 0, 0))
	var ats cnatv1alpha1.AtList
	must(b, e.List(b.Context(), &ats, client.InNamespace(e.namespace)))
	controller := e.newControllerClient()
	start := time.Now()
	e.each(len(ats.Items), func(ctx context.Context, i int) error {
		armed := condition.New(nil, 1, start)
		armed.Add(at.Armed, metav1.ConditionTrue, at.ReasonArmed, "Pod "+ats.Items[i].Name+"-0123456789 is the one that runs the command")
		armed.Ready(at.ReasonArmed, "Pod "+ats.Items[i].Name+"-0123456789 starts at 2027-01-01T00:00:00Z")
		content, err := status.Content(cnatv1alpha1.AtStatus{ObservedGeneration: 1, Phase: cnatv1alpha1.AtPending, Conditions: armed.Sorted(), Run: &cnatv1alpha1.AtRun{
			Digest: "sha256:0123456789012345678901234567890123456789012345678901234567890123", PodName: ats.Items[i].Name + "-0123456789", PodUID: ats.Items[i].UID,
		}})
		if err != nil {
			return err
		}
		_, err = status.Apply(ctx, controller, kindat.Kind.GVK(), &ats.Items[i], content)
		return err
	})
	b.ReportMetric(time.Since(start).Seconds(), "arming-sec")
}

// BenchmarkMemory measures the memory of a controller without Ats, of one that arms many Ats when it
// starts, and of one that finds them armed.
func BenchmarkMemory(b *testing.B) {
	e := newBench(b)
	e.part("none", func(e *bench) { e.reportMemory(e.start(*program, e.kubeconfig)) })
	e.createAts(0, *waiting, time.Now().AddDate(1, 0, 0))
	e.part(name("arming", *waiting), func(e *bench) {
		armed := e.watch(&cnatv1alpha1.AtList{}, func(o client.Object) string {
			return nameIf(o, meta.IsStatusConditionTrue(o.(*cnatv1alpha1.At).Status.Conditions, condition.Ready))
		})
		start := time.Now()
		p := e.start(*program, e.kubeconfig)
		e.await(armed, "armed Ats", *waiting)
		e.ReportMetric(time.Since(start).Seconds(), "arming-sec")
		e.reportMemory(p)
	})
	e.part(name("armed", *waiting), func(e *bench) { e.reportMemory(e.start(*program, e.kubeconfig)) })
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
