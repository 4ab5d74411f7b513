//go:build e2e

// Package e2e runs Gatehouse in the cluster that KUBECONFIG names, as its users do.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// cluster is the cluster under test.
type cluster struct {
	*testing.T
	client.Client
	config *rest.Config
	pods   *kubernetes.Clientset
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, cachev1alpha1.AddToScheme, cnatv1alpha1.AddToScheme} {
		must(t, add(scheme))
	}
	config, err := ctrl.GetConfig()
	must(t, err)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	pods, err := kubernetes.NewForConfig(config)
	must(t, err)
	return &cluster{T: t, Client: c, config: config, pods: pods}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sync applies a rendered environment as Flux does, but for the controller's
// Deployment: the tests run the controller themselves.
func (c *cluster) sync(environment string) {
	c.Helper()
	var objects []*unstructured.Unstructured
	files, err := filepath.Glob(filepath.Join("../../rendered", environment, "*/*.yaml"))
	must(c.T, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(c.T, err)
		object, err := ssautils.ReadObject(bytes.NewReader(content))
		must(c.T, err)
		if object.GetKind() != "Deployment" || object.GetName() != "gatehouse-controller" {
			objects = append(objects, object)
		}
	}
	options := ssa.DefaultApplyOptions()
	options.IfNotPresentSelector = map[string]string{"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}
	poller := polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{})
	manager := ssa.NewResourceManager(c.Client, poller, ssa.Owner{Field: "e2e", Group: "gatehouse.example.com"})
	c.eventually("apply "+environment, time.Minute, func(ctx context.Context) error {
		// Once, the API server does not know the new kinds yet.
		_, err := manager.ApplyAllStaged(ctx, objects, options)
		return err
	})
}

// namespace makes a namespace for a test.
func (c *cluster) namespace(name string) {
	c.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	must(c.T, client.IgnoreAlreadyExists(c.Create(c.Context(), namespace)))
	c.Cleanup(func() { _ = c.Delete(context.Background(), namespace) })
}

// kubeconfig is a file with the identity that the controller has in a cluster.
func (c *cluster) kubeconfig() string {
	c.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "gatehouse-system", Name: "gatehouse-controller"}}
	token := &authenticationv1.TokenRequest{}
	must(c.T, c.SubResource("token").Create(c.Context(), account, token))
	ca := c.config.CAData
	if len(ca) == 0 {
		var err error
		ca, err = os.ReadFile(c.config.CAFile)
		must(c.T, err)
	}
	file := filepath.Join(c.TempDir(), "kubeconfig")
	must(c.T, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: c.config.Host, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file))
	return file
}

// controller starts a controller; the test ends it if it is not killed before.
func (c *cluster) controller(kubeconfig string) *exec.Cmd {
	c.Helper()
	program := os.Getenv("CONTROLLER")
	if program == "" {
		program = "../../bin/controller"
	}
	cmd := exec.Command(program, "--kubeconfig", kubeconfig, "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	must(c.T, cmd.Start())
	c.Cleanup(func() {
		if cmd.ProcessState != nil {
			return // killed by the test
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if c.Failed() {
			c.Logf("controller %d:\n%s", cmd.Process.Pid, log.String())
		}
	})
	return cmd
}

// eventually tries until it works.
func (c *cluster) eventually(what string, patience time.Duration, try func(context.Context) error) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			c.Fatalf("%s: not within %s: %v", what, patience, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// logs are the lines that a Pod printed.
func (c *cluster) logs(namespace, pod string) []string {
	c.Helper()
	stream, err := c.pods.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{}).Stream(c.Context())
	must(c.T, err)
	defer stream.Close()
	content, err := io.ReadAll(stream)
	must(c.T, err)
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// forward is a local address that reaches a port of a Pod.
func (c *cluster) forward(namespace, pod string, port int) string {
	c.Helper()
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	must(c.T, err)
	url := c.pods.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	stop, ready := make(chan struct{}), make(chan struct{})
	c.Cleanup(func() { close(stop) })
	forwarder, err := portforward.New(dialer, []string{fmt.Sprintf(":%d", port)}, stop, ready, io.Discard, io.Discard)
	must(c.T, err)
	failed := make(chan error, 1)
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case err := <-failed:
		c.Fatal(err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	must(c.T, err)
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
}

// memcached sends commands to a memcached and returns its answer.
func (c *cluster) memcached(address, commands string) string {
	c.Helper()
	connection, err := net.DialTimeout("tcp", address, 5*time.Second)
	must(c.T, err)
	defer connection.Close()
	must(c.T, connection.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(connection, commands+"quit\r\n")
	must(c.T, err)
	answer, err := io.ReadAll(connection)
	must(c.T, err)
	return string(answer)
}
