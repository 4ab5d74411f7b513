package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/test/cluster"
)

// BenchmarkOpening measures the delay of openings: all Pods are due at one instant, and a watch
// shows when each may be scheduled.
func BenchmarkOpening(b *testing.B) {
	for _, peer := range []struct {
		name string
		run  func(*bench) []time.Duration
	}{
		{"patches_alone", (*bench).patchAll},
		{"Gatehouse", (*bench).openAll},
		{"CronJob", (*bench).runCronJobs},
	} {
		b.Run(peer.name, func(b *testing.B) {
			delays := peer.run(newBench(b))
			slices.Sort(delays)
			b.ReportMetric(delays[len(delays)/2].Seconds(), "p50-sec")
			b.ReportMetric(delays[len(delays)*99/100].Seconds(), "p99-sec")
			b.ReportMetric(delays[len(delays)-1].Seconds(), "max-sec")
		})
	}
}

// patchAll opens the gates with only the patches of the controller: no controller can be faster.
func (b *bench) patchAll() []time.Duration {
	b.Helper()
	pods := make([]corev1.Pod, *due)
	b.each(*due, func(ctx context.Context, i int) error {
		pod, err := b.createPod(ctx, b.newAt(i, time.Now())) // the At is not created
		if err != nil {
			return err
		}
		return runtime.DefaultUnstructuredConverter.FromUnstructured(pod.Object, &pods[i])
	})
	opened := b.watch(&corev1.PodList{}, nameIfOpen)
	controller := b.newControllerClient()
	time.Sleep(5 * time.Second) // for the events of the new Pods
	instant := time.Now()
	b.each(*due, func(ctx context.Context, i int) error {
		patch, err := at.OpenPatch(&pods[i])
		if err != nil {
			return err
		}
		return controller.Patch(ctx, &pods[i], patch)
	})
	b.await(opened, "open gates", *due)
	return opened.since(instant)
}

// newControllerClient returns a client like the controller's: with its identity, and a connection
// for each request.
func (b *bench) newControllerClient() client.Client {
	b.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
	must(b, err)
	config.QPS = -1
	config.NextProtos = []string{"http/1.1"}
	httpClient, err := rest.HTTPClientFor(config)
	must(b, err)
	c, err := client.New(config, client.Options{HTTPClient: httpClient, Scheme: b.Scheme()})
	must(b, err)
	return c
}

// openAll has the controller open the gates of Ats, and reports the requests that it sends for that,
// from the creation of an At until it is DONE.
func (b *bench) openAll() []time.Duration {
	b.Helper()
	requests := b.requestsSince(b.start(*program, b.kubeconfig))
	opened := b.watch(&corev1.PodList{}, nameIfOpen)
	done := b.watch(&cnatv1alpha1.AtList{}, func(o client.Object) string {
		return nameIf(o, o.(*cnatv1alpha1.At).Status.Phase == cnatv1alpha1.AtDone)
	})
	instant := time.Now().Add(10*time.Second + time.Duration(*due)*20*time.Millisecond).Truncate(time.Second)
	b.createAts(0, *due, instant)
	if time.Until(instant) < time.Second {
		b.Fatalf("the cluster took too long to create %d Ats and their Pods", *due)
	}
	b.await(done, "Ats that are DONE", *due)
	time.Sleep(5 * time.Second) // events are written last
	sent, n := requests(), float64(*due)
	b.ReportMetric(sent["PATCH"]/n, "PATCH/At")
	b.ReportMetric(sent["POST"]/n, "POST/At")
	b.ReportMetric((sent["GET"]+sent["PUT"])/n, "others/At")
	return opened.since(instant)
}

// runCronJobs has Kubernetes itself run a CronJob for each At.
func (b *bench) runCronJobs() []time.Duration {
	b.Helper()
	instant := time.Now().Add(70*time.Second + time.Duration(*due)*10*time.Millisecond).Truncate(time.Minute)
	pods := b.watch(&corev1.PodList{}, func(o client.Object) string { return o.GetLabels()[batchv1.JobNameLabel] })
	b.each(*due, func(ctx context.Context, i int) error { return b.Create(ctx, b.newCronJob(i, instant.UTC())) })
	if time.Now().After(instant) {
		b.Fatalf("the cluster took too long to create %d CronJobs", *due)
	}
	b.await(pods, "Pods of CronJobs", *due)
	return pods.since(instant)
}

func (b *bench) newCronJob(i int, due time.Time) *batchv1.CronJob {
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name("cron", i)},
		Spec: batchv1.CronJobSpec{
			Schedule: fmt.Sprintf("%d %d * * *", due.Minute(), due.Hour()),
			TimeZone: ptr.To("Etc/UTC"),
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "command", Image: "busybox:1.37", Command: []string{"sh", "-c", "echo YAY"}}},
			}}}},
		},
	}
}

// createAts creates the Ats numbered from first to below n, and their Pods, in the order of a
// rendered kustomization.
func (b *bench) createAts(first, n int, due time.Time) {
	b.Helper()
	b.each(n-first, func(ctx context.Context, i int) error {
		at := b.newAt(first+i, due)
		if err := b.Create(ctx, at); err != nil {
			return err
		}
		_, err := b.createPod(ctx, at)
		return err
	})
}

// createPod creates the rendered Pod of an At.
func (b *bench) createPod(ctx context.Context, at *cnatv1alpha1.At) (*unstructured.Unstructured, error) {
	rendered, err := cluster.Rendered(at, b.Scheme(), gatehouse.Kinds)
	if err != nil {
		return nil, err
	}
	return rendered[0], b.Create(ctx, rendered[0])
}

func (b *bench) newAt(i int, due time.Time) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name("at", i)},
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
