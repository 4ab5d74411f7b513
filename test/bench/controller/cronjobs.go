package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// runCronJobs has Kubernetes itself run a CronJob for each At.
func (b *bench) runCronJobs(ctx context.Context, namespace string) ([]time.Duration, error) {
	instant := time.Now().Add(70*time.Second + time.Duration(b.due)*10*time.Millisecond).Truncate(time.Minute)
	pods, err := b.watch(ctx, &corev1.Pod{}, namespace, func(o client.Object) string { return o.GetLabels()[batchv1.JobNameLabel] })
	if err != nil {
		return nil, err
	}
	err = b.each(ctx, b.due, func(ctx context.Context, i int) error { return b.Create(ctx, newCronJob(namespace, i, instant)) })
	if err != nil {
		return nil, err
	}
	if time.Now().After(instant) {
		return nil, fmt.Errorf("the cluster took too long to create %d CronJobs", b.due)
	}
	if err := pods.await(ctx, "Pods of CronJobs", b.due); err != nil {
		return nil, err
	}
	return pods.after(instant), nil
}

func newCronJob(namespace string, i int, due time.Time) *batchv1.CronJob {
	due = due.UTC()
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("cron-%d", i)},
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
