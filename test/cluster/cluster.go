// Package cluster prepares a cluster for end-to-end tests and benchmarks of Gatehouse.
package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/controller"
	"example.com/gatehouse/controller/gatehouse"
	"example.com/gatehouse/test/network"
)

// Cluster is a cluster, with the rights of a kubeconfig.
type Cluster struct {
	client.WithWatch
	Config *rest.Config
}

// Connect connects to the cluster of KUBECONFIG. Without KUBECONFIG it returns an error, so that
// thousands of objects cannot get into another cluster by accident.
func Connect() (*Cluster, error) {
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return nil, errors.New("set KUBECONFIG to a test cluster: the tests fill it with objects")
	}
	scheme, err := controller.Scheme(gatehouse.Controllers)
	if err != nil {
		return nil, err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	return &Cluster{WithWatch: c, Config: config}, err
}

// Sync applies folders of a rendered environment as Flux does, except the Deployment of the
// controller: the caller runs the controller.
func (c *Cluster) Sync(ctx context.Context, environment, folders string) error {
	objects, err := readObjects(filepath.Join(repository(), "rendered", environment, folders, "*.yaml"))
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "Deployment" && object.GetName() == "gatehouse-controller"
	})
	return c.ApplyAll(ctx, objects)
}

// readObjects reads the objects in the files that match a pattern, one from each file.
func readObjects(pattern string) (objects []*unstructured.Unstructured, _ error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file) // #nosec G304 -- a file of this repository, or rendered by a test
		if err != nil {
			return nil, err
		}
		object, err := ssautils.ReadObject(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// ApplyAll applies objects as Flux does.
func (c *Cluster) ApplyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	options := ssa.DefaultApplyOptions()
	options.IfNotPresentSelector = map[string]string{"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}
	_, err := c.manager().ApplyAllStaged(ctx, objects, options)
	return err
}

// Remove deletes the cluster-scoped objects of a rendered environment, such as namespaces and
// definitions, and waits until they are gone.
func (c *Cluster) Remove(ctx context.Context, environment string) error {
	objects, err := readObjects(filepath.Join(repository(), "rendered", environment, "_cluster", "*.yaml"))
	if err != nil {
		return err
	}
	return c.RemoveObjects(ctx, objects...)
}

// RemoveObjects deletes objects and waits until they are gone.
func (c *Cluster) RemoveObjects(ctx context.Context, objects ...*unstructured.Unstructured) error {
	if _, err := c.manager().DeleteAll(ctx, objects, ssa.DefaultDeleteOptions()); err != nil {
		return err
	}
	return c.manager().WaitForTermination(objects, ssa.WaitOptions{Interval: 200 * time.Millisecond,
		Timeout: time.Minute})
}

func (c *Cluster) manager() *ssa.ResourceManager {
	poller := polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{})
	return ssa.NewResourceManager(c, poller, ssa.Owner{Field: "gatehouse-test", Group: "gatehouse.example.com"})
}

// ControllerKubeconfig writes a kubeconfig file with the controller's identity and a temporary token.
func (c *Cluster) ControllerKubeconfig(ctx context.Context, file string, valid time.Duration) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "gatehouse-system",
		Name: "gatehouse-controller"}}
	token := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(valid.Seconds()))},
	}
	if err := c.SubResource("token").Create(ctx, account, token); err != nil {
		return err
	}
	config := rest.CopyConfig(c.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: config.Host,
			CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file)
}

// Reroute edits a kubeconfig file to reach its API server through a network, and returns the network.
func Reroute(ctx context.Context, file string) (*network.Network, error) {
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, err
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	server, err := url.Parse(cluster.Server)
	if err != nil {
		return nil, err
	}
	route, err := network.New(ctx, net.JoinHostPort(server.Hostname(), cmp.Or(server.Port(), "443")))
	if err != nil {
		return nil, err
	}
	cluster.Server, cluster.TLSServerName = "https://"+route.Address(), server.Hostname()
	return route, clientcmd.WriteToFile(*config, file)
}

// repository returns the folder of the repository.
func repository() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}
