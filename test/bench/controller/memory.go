package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/condition"
)

// measureMemory prints the memory of a controller while Ats wait: none, a tenth of
// them, all; and that of one that starts when they are there.
func (b *bench) measureMemory(ctx context.Context) error {
	fmt.Println("Memory while Ats wait")
	return b.in(ctx, func(ctx context.Context, namespace string) error {
		p, err := start(ctx, b.program, "--kubeconfig", b.kubeconfig)
		if err != nil {
			return err
		}
		defer p.stop()
		for _, n := range []int{0, b.waiting / 10, b.waiting} {
			if err := b.createWaiting(ctx, namespace, n); err != nil {
				return err
			}
			if err := printMemory(p, fmt.Sprint(n)); err != nil {
				return err
			}
		}
		again, err := start(ctx, b.program, "--kubeconfig", b.kubeconfig)
		if err != nil {
			return err
		}
		defer again.stop()
		return printMemory(again, fmt.Sprintf("%d, restarted", b.waiting))
	})
}

// createWaiting brings the Ats of a namespace to n, all armed.
func (b *bench) createWaiting(ctx context.Context, namespace string, n int) error {
	var present cnatv1alpha1.AtList
	if err := b.List(ctx, &present, client.InNamespace(namespace)); err != nil {
		return err
	}
	armed, err := b.watch(ctx, &cnatv1alpha1.At{}, namespace, func(o client.Object) string {
		return nameIf(o, meta.IsStatusConditionTrue(o.(*cnatv1alpha1.At).Status.Conditions, condition.Ready))
	})
	if err != nil {
		return err
	}
	if err := b.createAts(ctx, namespace, len(present.Items), n, time.Now().AddDate(1, 0, 0)); err != nil {
		return err
	}
	return armed.await(ctx, "armed Ats", n)
}

func printMemory(p *process, waiting string) error {
	time.Sleep(10 * time.Second)
	resident, peak, err := p.memory()
	if err != nil {
		return err
	}
	fmt.Printf("  %-20s %4.0f MiB, peak %4.0f MiB\n", waiting, resident, peak)
	return nil
}
