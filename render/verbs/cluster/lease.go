package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"example.com/gatehouse/render/manifest"
)

const (
	leaseDuration = 15 * time.Second // how long the Lease of one that was killed holds others up
	renewDeadline = 10 * time.Second
	retryPeriod   = time.Second
)

// errLost is why a run stops that no longer holds its Lease.
var errLost = errors.New("the Lease that keeps others from applying was lost, as the API server did not answer, or somebody took it: apply again")

// lease keeps others from applying an environment.
type lease struct {
	client coordinationclient.LeaseInterface
	name   string
	cancel context.CancelFunc
	ended  chan struct{}
}

// begin keeps others from applying the environment, unless it is a dry run, and reads the
// inventories. The caller has to call release, which may remove the Lease.
func (a *applier) begin(ctx context.Context) (held context.Context, release func(remove bool), err error) {
	held, release = ctx, func(bool) {}
	if !a.DryRun {
		a.Progress("waiting for others who apply " + a.Environment)
		var l *lease
		if l, held, err = acquireLease(ctx, a.cluster.Config, a.name, a.Timeout, a.Progress); err != nil {
			return nil, nil, err
		}
		var once sync.Once
		release = func(remove bool) {
			once.Do(func() {
				l.release()
				if remove {
					l.remove(context.WithoutCancel(ctx))
				}
			})
		}
	}
	if err := a.readInventories(held); err != nil {
		err = stopReason(held, err)
		release(false)
		return nil, nil, err
	}
	return held, release, nil
}

// acquireLease waits until nobody else applies. The context that it returns ends with the
// Lease.
func acquireLease(ctx context.Context, config *rest.Config, name string, timeout time.Duration, progress func(step string)) (*lease, context.Context, error) {
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	l := &lease{client: leases.Leases(homeNamespace), name: name, ended: make(chan struct{})}
	if err := l.check(ctx); err != nil {
		return nil, nil, err
	}
	held, lose := context.WithCancelCause(ctx)
	electing, cancel := context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	l.cancel = cancel
	me, started := identity(), make(chan struct{})
	var holder atomic.Value
	holder.Store("")
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: homeNamespace, Name: name},
			Client:     leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: me},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() { lose(errLost); close(l.ended) },
			OnNewLeader: func(other string) {
				if other != me && other != "" {
					holder.Store(manifest.EscapeControls(other))
					progress("waiting for " + manifest.EscapeControls(other) + ", who applies it")
				}
			},
		},
	})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	go elector.Run(electing)
	select {
	case <-started:
		return l, held, nil
	case <-ctx.Done():
		err = stopReason(ctx, nil)
	case <-time.After(timeout):
		err = fmt.Errorf("get Lease %s/%s within %s: nobody holds it, and it was not granted: run this again", homeNamespace, name, timeout)
		if other := holder.Load().(string); other != "" {
			err = fmt.Errorf("%s still applies it after %s (Lease %s/%s): wait for that, or for longer with --timeout", other, timeout, homeNamespace, name)
		}
	}
	l.release()
	return nil, nil, err
}

// check returns an error if the Lease must not be written.
func (l *lease) check(ctx context.Context) error {
	there, err := l.client.Get(ctx, l.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		empty := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.name}}
		_, err = l.client.Create(ctx, empty, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	case err == nil:
		_, err = l.client.Update(ctx, there, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	if err == nil || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("get Lease %s/%s, which keeps others from applying meanwhile: %w", homeNamespace, l.name, err)
}

// release lets others apply.
func (l *lease) release() {
	l.cancel()
	<-l.ended
}

// remove deletes the Lease, unless somebody else holds it by now.
func (l *lease) remove(ctx context.Context) {
	there, err := l.client.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil || there.Spec.HolderIdentity != nil && *there.Spec.HolderIdentity != "" {
		return
	}
	// A Lease that nobody holds may stay: it keeps nobody off.
	_ = l.client.Delete(ctx, l.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &there.ResourceVersion}})
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
