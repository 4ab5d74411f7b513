//go:build e2e

// Package e2e runs Gatehouse in the cluster that KUBECONFIG names, as its users do.
package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/test/cluster"
)

// world is the cluster under test. Its errors are repeated after all logs of controllers, which are
// long.
type world struct {
	*testing.T
	*cluster.Cluster
	clients *kubernetes.Clientset
}

// TestMain repeats the errors of all tests at the end.
func TestMain(m *testing.M) {
	status := m.Run()
	for _, e := range reported.errors {
		fmt.Fprintln(os.Stderr, "error: "+e)
	}
	os.Exit(status)
}

// reported has the errors of all tests.
var reported struct {
	sync.Mutex
	errors []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c, err := cluster.Connect()
	must(t, err)
	clients, err := kubernetes.NewForConfig(c.Config)
	must(t, err)
	return &world{T: t, Cluster: c, clients: clients}
}

// Errorf reports an error, and goes on.
func (w *world) Errorf(format string, args ...any) {
	w.Helper()
	w.report(fmt.Sprintf(format, args...))
	w.T.Errorf(format, args...)
}

// Fatalf reports an error, and ends the test.
func (w *world) Fatalf(format string, args ...any) {
	w.Helper()
	w.report(fmt.Sprintf(format, args...))
	w.T.Fatalf(format, args...)
}

func (w *world) report(text string) {
	reported.Lock()
	defer reported.Unlock()
	reported.errors = append(reported.errors, w.Name()+": "+text)
}

func must(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// sync applies a rendered environment.
func (w *world) sync(environment string) {
	w.Helper()
	w.eventually("apply "+environment, 5*time.Minute, func(ctx context.Context) error {
		// The API server may not know the new kinds yet. One try waits a minute for a namespace that
		// was being deleted when it was applied.
		return w.Sync(ctx, environment, "*")
	})
}

// namespace creates a namespace for a test, in which Pods may be created.
func (w *world) namespace(name string) {
	w.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	must(w, client.IgnoreAlreadyExists(w.Create(w.Context(), namespace)))
	w.Cleanup(func() { _ = w.Delete(context.Background(), namespace) })
	w.eventually("namespace "+name+" has its ServiceAccount", time.Minute, func(ctx context.Context) error {
		return w.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
	})
}

// kubeconfig returns a file with the identity that the controller has in a cluster.
func (w *world) kubeconfig() string {
	w.Helper()
	file := filepath.Join(w.TempDir(), "kubeconfig")
	must(w, w.ControllerKubeconfig(w.Context(), file, time.Hour))
	return file
}

// controller starts a controller of Gatehouse's kinds.
func (w *world) controller(kubeconfig string, args ...string) *exec.Cmd {
	w.Helper()
	return w.start(cmp.Or(os.Getenv("CONTROLLER"), "../../bin/controller"), kubeconfig, args...)
}

// start starts the program of a controller. It ends with the test, if not before.
func (w *world) start(program, kubeconfig string, args ...string) *exec.Cmd {
	w.Helper()
	cmd := exec.Command(program, append([]string{"--kubeconfig", kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0"}, args...)...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	must(w, cmd.Start())
	w.Cleanup(func() {
		if cmd.ProcessState == nil { // not killed by the test
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if w.Failed() {
			const most = 64 << 10
			w.Logf("controller %d:\n%s", cmd.Process.Pid, log.Bytes()[max(0, log.Len()-most):])
		}
	})
	return cmd
}

// eventually calls try until it returns no error.
func (w *world) eventually(name string, patience time.Duration, try func(context.Context) error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.Context()), patience) // works in a Cleanup, too
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			w.Fatalf("%s: not within %s: %v", name, patience, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// logs returns the lines that a Pod printed.
func (w *world) logs(namespace, pod string) []string {
	w.Helper()
	stream, err := w.clients.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{}).Stream(w.Context())
	must(w, err)
	defer stream.Close()
	content, err := io.ReadAll(stream)
	must(w, err)
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// forward returns a local address that reaches a port of a Pod.
func (w *world) forward(namespace, pod string, port int) (address string, err error) {
	w.Helper()
	transport, upgrader, err := spdy.RoundTripperFor(w.Config)
	must(w, err)
	url := w.clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	stop, ready := make(chan struct{}), make(chan struct{})
	w.Cleanup(func() { close(stop) })
	forwarder, err := portforward.New(dialer, []string{fmt.Sprintf(":%d", port)}, stop, ready, io.Discard, io.Discard)
	must(w, err)
	failed := make(chan error, 1)
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case err := <-failed:
		return "", fmt.Errorf("forward port %d of Pod %s/%s: %w", port, namespace, pod, err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	must(w, err)
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), nil
}

// memcachedIn returns a local address that reaches the memcached in a Pod, which answers.
func (w *world) memcachedIn(pod string) (address string) {
	w.Helper()
	w.eventually("the memcached in "+pod+" answers", time.Minute, func(context.Context) error {
		var err error
		if address, err = w.forward("shop", pod, 11211); err == nil {
			_, err = askMemcached(address, "version\r\n")
		}
		return err
	})
	return address
}

// memcached sends commands to a memcached and returns its answer.
func (w *world) memcached(address, commands string) string {
	w.Helper()
	answer, err := askMemcached(address, commands)
	must(w, err)
	return answer
}

// askMemcached sends commands to a memcached and returns its answer.
func askMemcached(address, commands string) (answer string, err error) {
	connection, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(connection, commands+"quit\r\n"); err != nil {
		return "", err
	}
	content, err := io.ReadAll(connection)
	return string(content), err
}
