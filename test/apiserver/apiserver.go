// Package apiserver runs tests against a real API server that has Gatehouse's kinds, its RBAC and its
// admission policies.
package apiserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Server is an API server with etcd, and without a scheduler, kubelets and built-in controllers:
// tests write what those would.
type Server struct {
	// Kubernetes is its minor version, such as 1.35.
	Kubernetes string
	// Admin may do everything.
	Admin *rest.Config
	// Controller is the identity that the controller has in a cluster.
	Controller *rest.Config
	// Kubeconfig is the content of a kubeconfig file with that identity.
	Kubeconfig []byte
}

// Run starts a Server, runs the tests of a package and exits. TestMain of the package calls it. Run
// sets server before the tests run. The programs are in the folder that KUBEBUILDER_ASSETS names, or
// `make controlplane` built them.
func Run(m *testing.M, server *Server) {
	code, err := run(m, server)
	if err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M, server *Server) (code int, err error) {
	stop, err := server.start(&envtest.Environment{CRDDirectoryPaths: []string{path("apis/crds")}, ErrorIfCRDPathMissing: true})
	if err != nil {
		return 0, err
	}
	defer func() {
		if stopErr := stop(); err == nil {
			err = stopErr
		}
	}()
	if err := install(server); err != nil {
		return 0, fmt.Errorf("install the controller's manifests: %w", err)
	}
	return m.Run(), nil
}

// Start starts a Server without anything of Gatehouse. Its data is in a folder, which may be that of
// a Server that was stopped, or a copy.
func Start(data string) (server *Server, stop func() error, err error) {
	environment := &envtest.Environment{}
	environment.ControlPlane.Etcd = &envtest.Etcd{DataDir: data}
	server = &Server{}
	stop, err = server.start(environment)
	return server, stop, err
}

func (s *Server) start(environment *envtest.Environment) (stop func() error, err error) {
	environment.BinaryAssetsDirectory = assets()
	s.Admin, err = environment.Start()
	if err != nil {
		return nil, fmt.Errorf("start the API server: %w (run `make controlplane`, or set KUBEBUILDER_ASSETS)", err)
	}
	stop = func() error {
		if err := environment.Stop(); err != nil {
			return fmt.Errorf("stop the API server: %w", err)
		}
		return nil
	}
	s.Admin.QPS = -1
	if s.Kubernetes, err = minorVersion(s.Admin); err != nil {
		return nil, errors.Join(fmt.Errorf("ask for the version: %w", err), stop())
	}

	user, err := environment.AddUser(envtest.User{
		Name:   "system:serviceaccount:gatehouse-system:gatehouse-controller",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:gatehouse-system"},
	}, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("add the controller's user: %w", err), stop())
	}
	s.Controller = user.Config()
	if s.Kubeconfig, err = user.KubeConfig(); err != nil {
		return nil, errors.Join(fmt.Errorf("write the controller's kubeconfig: %w", err), stop())
	}
	return stop, nil
}

// minorVersion returns the minor version of an API server.
func minorVersion(config *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", err
	}
	info, err := client.ServerVersion()
	if err != nil {
		return "", err
	}
	parts := strings.SplitN(strings.TrimPrefix(info.GitVersion, "v"), ".", 3)
	return strings.Join(parts[:2], "."), nil
}

// assets returns the folder of the programs.
func assets() string {
	if folder := os.Getenv("KUBEBUILDER_ASSETS"); folder != "" {
		return folder
	}
	return path("bin")
}

// path returns a path of the repository.
func path(name string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", filepath.FromSlash(name))
}
