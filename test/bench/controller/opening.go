package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/test/cluster"
)

// measureOpening prints how long after the instant at which they are all due Pods
// may be scheduled, as a watch sees it.
func (b *bench) measureOpening(ctx context.Context) error {
	fmt.Printf("%d due at one instant\n", b.due)
	for _, peer := range []struct {
		name  string
		delay func(ctx context.Context, namespace string) ([]time.Duration, error)
	}{
		{"the patches alone", b.patchAll},
		{"Gatehouse", b.openAll},
		{"CronJob", b.runCronJobs},
	} {
		err := b.in(ctx, func(ctx context.Context, namespace string) error {
			delays, err := peer.delay(ctx, namespace)
			if err != nil {
				return fmt.Errorf("%s: %w", peer.name, err)
			}
			slices.Sort(delays)
			fmt.Printf("  %-20s p50 %6.2f s, p99 %6.2f s, max %6.2f s\n", peer.name,
				delays[len(delays)/2].Seconds(), delays[len(delays)*99/100].Seconds(), delays[len(delays)-1].Seconds())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// patchAll opens the gates of Pods by nothing but the patches that the controller
// sends: the most that the API server lets anybody do.
func (b *bench) patchAll(ctx context.Context, namespace string) ([]time.Duration, error) {
	pods, err := b.createPods(ctx, namespace)
	if err != nil {
		return nil, err
	}
	opened, err := b.watch(ctx, &corev1.Pod{}, namespace, nameIfOpen)
	if err != nil {
		return nil, err
	}
	controller, err := b.controllerClient()
	if err != nil {
		return nil, err
	}
	time.Sleep(5 * time.Second) // what the Pods' creation set off is over
	instant := time.Now()
	err = b.each(ctx, b.due, func(ctx context.Context, i int) error {
		patch, err := at.OpenPatch(&pods[i])
		if err != nil {
			return err
		}
		return controller.Patch(ctx, &pods[i], patch)
	})
	if err != nil {
		return nil, err
	}
	if err := opened.await(ctx, "open gates", b.due); err != nil {
		return nil, err
	}
	return opened.after(instant), nil
}

// createPods creates the Pods of Ats that are not there, and returns them.
func (b *bench) createPods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	pods := make([]corev1.Pod, b.due)
	err := b.each(ctx, b.due, func(ctx context.Context, i int) error {
		rendered, err := cluster.Rendered(newAt(namespace, i, time.Now()), b.Scheme(), gatehouse.Kinds)
		if err != nil {
			return err
		}
		if err := b.Create(ctx, rendered[0]); err != nil {
			return err
		}
		return runtime.DefaultUnstructuredConverter.FromUnstructured(rendered[0].Object, &pods[i])
	})
	return pods, err
}

// controllerClient is a client like that of the controller: its identity, and a
// connection for each request.
func (b *bench) controllerClient() (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.NextProtos = []string{"http/1.1"}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{HTTPClient: httpClient, Scheme: b.Scheme()})
}

// openAll has the controller open the gates of Ats, and prints what it asked of the
// API server for that, from their creation until they are DONE.
func (b *bench) openAll(ctx context.Context, namespace string) ([]time.Duration, error) {
	p, err := start(ctx, b.program, "--kubeconfig", b.kubeconfig)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	before, err := p.requests(ctx)
	if err != nil {
		return nil, err
	}
	opened, err := b.watch(ctx, &corev1.Pod{}, namespace, nameIfOpen)
	if err != nil {
		return nil, err
	}
	done, err := b.watch(ctx, &cnatv1alpha1.At{}, namespace, func(o client.Object) string {
		return nameIf(o, o.(*cnatv1alpha1.At).Status.Phase == cnatv1alpha1.AtDone)
	})
	if err != nil {
		return nil, err
	}
	instant := time.Now().Add(10*time.Second + time.Duration(b.due)*20*time.Millisecond).Truncate(time.Second)
	if err := b.createAts(ctx, namespace, 0, b.due, instant); err != nil {
		return nil, err
	}
	if time.Until(instant) < time.Second {
		return nil, fmt.Errorf("the cluster took too long to create %d Ats and their Pods", b.due)
	}
	if err := done.await(ctx, "Ats that are DONE", b.due); err != nil {
		return nil, err
	}
	time.Sleep(5 * time.Second) // events are written last
	after, err := p.requests(ctx)
	if err != nil {
		return nil, err
	}
	n := float64(b.due)
	fmt.Printf("  requests per At, from creation to DONE: %.2f PATCH, %.2f POST (events), %.2f others\n",
		(after["PATCH"]-before["PATCH"])/n, (after["POST"]-before["POST"])/n, (after["GET"]+after["PUT"]-before["GET"]-before["PUT"])/n)
	return opened.after(instant), nil
}

// createAts creates the Ats of the numbers from first to below n, and their Pods, in
// the order of a rendered kustomization.
func (b *bench) createAts(ctx context.Context, namespace string, first, n int, due time.Time) error {
	return b.each(ctx, n-first, func(ctx context.Context, i int) error {
		at := newAt(namespace, first+i, due)
		if err := b.Create(ctx, at); err != nil {
			return err
		}
		rendered, err := cluster.Rendered(at, b.Scheme(), gatehouse.Kinds)
		if err != nil {
			return err
		}
		return b.Create(ctx, rendered[0])
	})
}

func newAt(namespace string, i int, due time.Time) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("at-%d", i)},
		Spec: cnatv1alpha1.AtSpec{
			Schedule:      due.UTC().Format(time.RFC3339Nano),
			Command:       "echo YAY",
			Image:         "busybox:1.37",
			RestartPolicy: corev1.RestartPolicyNever,
		},
	}
}

func nameIfOpen(o client.Object) string {
	return nameIf(o, len(o.(*corev1.Pod).Spec.SchedulingGates) == 0)
}
