// Command controller prints what Gatehouse's controller costs beside its peers, one
// after the other on the cluster that KUBECONFIG names: how late it opens gates,
// how much it asks of the API server, and its memory.
//
// The cluster needs a scheduler, the built-in controllers and nodes, best simulated
// ones, that run some thousand Pods.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
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

func main() {
	b := &bench{}
	flag.StringVar(&b.program, "controller", "bin/controller", "the controller")
	flag.StringVar(&b.operator, "operator", "", "an operator that creates Deployments from Memcacheds, to compare with; none if empty")
	flag.IntVar(&b.due, "due", 1000, "how many Ats are due at one instant")
	flag.IntVar(&b.waiting, "waiting", 10000, "how many Ats wait while memory is measured")
	flag.IntVar(&b.memcacheds, "memcacheds", 500, "how many Memcacheds there are")
	flag.IntVar(&b.size, "size", 1, "how many Pods a Memcached has")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "Usage: controller [flags] [opening | memory | memcacheds]...")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := b.run(ctx, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// bench is a cluster and what is measured there.
type bench struct {
	*cluster.Cluster
	program, operator        string
	due, waiting, memcacheds int
	size                     int

	kubeconfig string // of the controller's identity
}

func (b *bench) run(ctx context.Context, names []string) error {
	var err error
	if b.Cluster, err = cluster.Connect(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := b.install(ctx); err != nil {
		return fmt.Errorf("install Gatehouse: %w", err)
	}
	for _, m := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{"opening", b.measureOpening},
		{"memory", b.measureMemory},
		{"memcacheds", b.measureMemcacheds},
	} {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		if err := m.measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// install brings the kinds, and the identity of the controller with its rights.
func (b *bench) install(ctx context.Context) error {
	for _, folder := range []string{"_cluster", "gatehouse-system"} {
		if err := b.Sync(ctx, "dev", folder); err != nil {
			return err
		}
	}
	return b.ControllerKubeconfig(ctx, b.kubeconfig)
}

// in runs a measurement in a namespace of its own, that is gone afterwards.
func (b *bench) in(ctx context.Context, measure func(ctx context.Context, namespace string) error) (err error) {
	ctx, cancel := context.WithCancel(ctx) // what was watched there is watched no more
	defer cancel()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gatehouse-bench"}}
	if err := b.Create(ctx, object); err != nil {
		return err
	}
	defer func() {
		if deleteErr := b.deleteNamespace(object); err == nil {
			err = deleteErr
		}
	}()
	account := client.ObjectKey{Namespace: object.Name, Name: "default"}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return b.Get(ctx, account, &corev1.ServiceAccount{}) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("await the ServiceAccount of namespace %s: %w", object.Name, err)
	}
	return measure(ctx, object.Name)
}

// deleteNamespace waits until a namespace is gone: what is deleted there would
// disturb what is measured next. It also does when the user interrupts.
func (b *bench) deleteNamespace(namespace *corev1.Namespace) error {
	ctx := context.Background()
	if err := b.Delete(ctx, namespace); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, time.Second, 10*time.Minute, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(b.Get(ctx, client.ObjectKeyFromObject(namespace), &corev1.Namespace{})), nil
	})
}

// atOnce is how many requests are sent at one time, by the controller too.
const atOnce = 20

// each calls a function for every number below n, atOnce at a time.
func (b *bench) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
