package controller_test

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/gatehouse/controller"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/controller/gatehouse"
)

// Two controllers with one name would report the same metrics.
func TestNamesAreUnique(t *testing.T) {
	options := controller.Options{MetricsAddress: "0", ProbeAddress: "0"}
	ended := make(chan error, 2)
	for range 2 {
		mgr, err := controller.New(server.Controller, gatehouse.Controllers, options)
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- mgr.Start(t.Context()) }()
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second manager has controllers of the same names: %v", err)
	}
}

// A standby replica keeps its caches filled, however long another leads. It starts Ats that their
// leader has left for some seconds, and writes statuses once it is elected.
func TestStandbyTakesOver(t *testing.T) {
	w := newWorld(t)
	clients, err := kubernetes.NewForConfig(server.Admin)
	w.must(err)
	leases := clients.CoordinationV1().Leases("gatehouse-system")
	_, err = leases.Create(w.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "gatehouse-controller"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("another"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}, metav1.CreateOptions{})
	w.must(err)
	w.Cleanup(func() { _ = leases.Delete(context.Background(), "gatehouse-controller", metav1.DeleteOptions{}) })

	const syncTimeout = 5 * time.Second
	w.options.LeaderElect = true
	w.options.LeaderElectNamespace = "gatehouse-system"
	w.start(func(o *ctrl.Options) { o.Controller.CacheSyncTimeout = syncTimeout })
	yay := w.createAt("yay", 3*time.Second)
	pod := w.syncPod(yay)
	time.Sleep(syncTimeout)
	w.checkGate(pod, true)
	w.checkGate(pod, false)
	w.awaitAt(yay, running, at.ReasonRunning)
	w.writePodStatus(pod, exited(0))
	time.Sleep(time.Second)
	w.awaitAt(yay, running, at.ReasonRunning)
	w.must(leases.Delete(w.ctx, "gatehouse-controller", metav1.DeleteOptions{}))
	w.awaitAt(yay, done, at.ReasonComplete)
}
