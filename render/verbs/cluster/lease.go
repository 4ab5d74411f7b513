package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

const (
	leaseDuration = 15 * time.Second // how long the Lease of one that was killed holds others up
	renewDeadline = 10 * time.Second
	retryPeriod   = time.Second
)

// errLost is why a run stops that no longer holds its Lease.
var errLost = errors.New("the Lease that keeps others from applying was lost, as the API server did not answer, or somebody took it: apply again")

// hold keeps others from applying the environment, unless it is a dry run, reads the inventories
// and calls do, whose context ends with the Lease.
func (a *applier) hold(ctx context.Context, do func(held context.Context) ([]manifest.Problem, error)) ([]manifest.Problem, error) {
	held := ctx
	if !a.DryRun {
		a.Progress("waiting for others who apply " + a.Environment)
		var release func()
		var err error
		if held, release, err = a.acquireLease(ctx); err != nil {
			return nil, withWayOut(err)
		}
		defer release()
	}
	if err := a.readInventories(held); err != nil {
		return nil, stopReason(held, withWayOut(err))
	}
	problems, err := do(held)
	return problems, stopReason(held, err)
}

// stopReason returns why a run stopped: the Lease was lost, it was interrupted, or err.
func stopReason(held context.Context, err error) error {
	switch cause := context.Cause(held); {
	case cause == nil:
		return err
	case errors.Is(cause, errLost):
		return cause
	default:
		return fmt.Errorf("interrupted (%w): what was done stays: run this again to complete it", cause)
	}
}

// acquireLease waits until nobody else applies. The context that it returns ends with the
// Lease, and release lets others apply.
func (a *applier) acquireLease(ctx context.Context) (held context.Context, release func(), err error) {
	if err := a.checkLease(ctx); err != nil {
		return nil, nil, err
	}
	leases, err := coordinationclient.NewForConfig(a.cluster.Config)
	if err != nil {
		return nil, nil, err
	}
	lock := &resourcelock.LeaseLock{LeaseMeta: a.lease().ObjectMeta, Client: leases, LockConfig: resourcelock.ResourceLockConfig{Identity: identity()}}
	held, lose := context.WithCancelCause(ctx)
	electing, cancel := context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	started, ended := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() { lose(errLost); close(ended) },
			OnNewLeader: func(other string) {
				if other != lock.Identity() && other != "" {
					a.Progress("waiting for " + kind.Visible(other) + ", who applies it")
				}
			},
		},
	})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	release = func() { cancel(); <-ended }
	go elector.Run(electing)
	select {
	case <-started:
		return held, release, nil
	case <-ctx.Done():
	case <-time.After(a.Timeout):
		holder := cmp.Or(kind.Visible(elector.GetLeader()), "somebody")
		err = fmt.Errorf("%s still applies it after %s (Lease %s/%s): wait for that, or for longer with --timeout", holder, a.Timeout, homeNamespace, a.name)
	}
	release()
	return nil, nil, stopReason(ctx, err)
}

// lease returns the Lease of the environment, with nothing but its name.
func (a *applier) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: homeNamespace, Name: a.name}}
}

// checkLease returns an error if the user must not write the Lease: an election would only try
// again.
func (a *applier) checkLease(ctx context.Context) error {
	lease := a.lease()
	_, err := controllerutil.CreateOrUpdate(ctx, client.NewDryRunClient(a.cluster), lease, func() error {
		lease.Spec.HolderIdentity = ptr.To(identity())
		return nil
	})
	if err == nil || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("get Lease %s/%s, which keeps others from applying meanwhile: %w", homeNamespace, a.name, err)
}

// removeLease deletes the Lease, unless somebody else holds it by now. A Lease that nobody holds
// may stay: it keeps nobody off.
func (a *applier) removeLease(ctx context.Context) {
	lease := a.lease()
	if err := a.cluster.Get(ctx, client.ObjectKeyFromObject(lease), lease); err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") != "" {
		return
	}
	_ = a.cluster.Delete(ctx, lease, client.Preconditions{ResourceVersion: &lease.ResourceVersion})
}

// identity returns who applies, as people know them; each run has its own.
func identity() string {
	who := "somebody"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = u.Username
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("%s@%s (process %d, %s)", who, host, os.Getpid(), rand.String(5))
}
