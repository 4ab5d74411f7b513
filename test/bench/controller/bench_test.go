// Package controller measures the cost of Gatehouse's controller beside its peers, on the cluster
// of KUBECONFIG: the delay of openings, the requests to the API server, and memory.
//
// The cluster needs a scheduler, the built-in controllers, and nodes for some thousand Pods,
// simulated nodes at best.
package controller

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"example.com/gatehouse/test/cluster"
)

var (
	program    = flag.String("controller", "bin/controller", "the controller")
	operator   = flag.String("operator", "", "an operator that creates Deployments from Memcacheds, to compare with; none if empty")
	due        = flag.Int("due", 1000, "the number of Ats that are due at one instant")
	waiting    = flag.Int("waiting", 10000, "the number of Ats that wait while memory is measured")
	memcacheds = flag.Int("memcacheds", 500, "the number of Memcacheds")
	size       = flag.Int("size", 1, "the number of Pods of each Memcached")
)

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if err := os.Chdir("../../.."); err != nil { // flags and KUBECONFIG are relative to the repository
		panic(err)
	}
	os.Exit(m.Run())
}

// bench is a benchmark in a namespace of its own.
type bench struct {
	*testing.B
	*cluster.Cluster
	namespace  string
	kubeconfig string // of the controller's identity
}

// newBench installs the kinds and the rights of the controller, and creates a namespace that is
// deleted when the benchmark ends.
func newBench(b *testing.B) *bench {
	b.Helper()
	b.ReportMetric(0, "ns/op") // not printed
	c, err := cluster.Connect()
	must(b, err)
	for _, folder := range []string{"_cluster", "gatehouse-system"} {
		must(b, c.Sync(b.Context(), "dev", folder))
	}
	e := &bench{B: b, Cluster: c, namespace: "gatehouse-bench", kubeconfig: filepath.Join(b.TempDir(), "kubeconfig")}
	must(b, c.ControllerKubeconfig(b.Context(), e.kubeconfig, time.Hour))
	e.deleteNamespace() // that an interrupted benchmark left
	must(b, e.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}))
	b.Cleanup(e.deleteNamespace)
	account := client.ObjectKey{Namespace: e.namespace, Name: "default"}
	must(b, wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return e.Get(ctx, account, &corev1.ServiceAccount{}) == nil, nil
	}))
	return e
}

// part measures a part of the benchmark, in the same namespace.
func (b *bench) part(name string, measure func(*bench)) {
	b.Helper()
	b.Run(name, func(sub *testing.B) {
		sub.ReportMetric(0, "ns/op") // not printed
		part := *b
		part.B = sub
		measure(&part)
	})
}

// deleteNamespace deletes the namespace and waits until it is gone: deletions would disturb the
// next benchmark.
func (b *bench) deleteNamespace() {
	b.Helper()
	ctx := context.WithoutCancel(b.Context()) // works in a Cleanup, too
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
	must(b, client.IgnoreNotFound(b.Delete(ctx, namespace)))
	must(b, wait.PollUntilContextTimeout(ctx, time.Second, 10*time.Minute, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(b.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)), nil
	}))
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// concurrency is the number of requests that are sent at one time, by the controller too.
const concurrency = 20

// each calls do for every number below n, concurrently.
func (b *bench) each(n int, do func(ctx context.Context, i int) error) {
	b.Helper()
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(concurrency)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	must(b, group.Wait())
}

func name(prefix string, i int) string { return fmt.Sprintf("%s-%d", prefix, i) }
