// Package apiserver runs tests against a real API server with Gatehouse's kinds, RBAC and admission
// policies.
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

// Server is an API server with etcd. Tests take the part of the scheduler, kubelets and built-in
// controllers.
type Server struct {
	// Kubernetes is the server's minor version, such as 1.35.
	Kubernetes string
	// Admin has all rights.
	Admin *rest.Config
	// Controller has the identity and the rights of the controller.
	Controller *rest.Config
	// Kubeconfig is the content of a kubeconfig file with the identity of the controller.
	Kubeconfig []byte
}

// Run starts a Server, stores it in server, runs the tests of a package and exits. TestMain calls it. The
// programs are in $KUBEBUILDER_ASSETS, or in bin/ after `make controlplane`.
func Run(m *testing.M, server *Server) {
	code, err := run(m, server)
	if err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M, server *Server) (code int, err error) {
	stop, err := server.start(&envtest.Environment{CRDDirectoryPaths: []string{path("apis/crds")},
		ErrorIfCRDPathMissing: true})
	if err != nil {
		return 0, err
	}
	defer func() {
		stopErr := stop()
		if err == nil {
			err = stopErr
		}
	}()
	if err := install(server); err != nil {
		return 0, fmt.Errorf("install the controller's manifests: %w", err)
	}
	return m.Run(), nil
}

// Start starts a Server without Gatehouse. The data folder may be one of a stopped Server, or a copy. Options
// change its kube-apiserver.
func Start(data string, options ...func(*envtest.APIServer)) (server *Server, stop func() error, err error) {
	environment := &envtest.Environment{}
	environment.ControlPlane.Etcd = &envtest.Etcd{DataDir: data}
	for _, set := range options {
		set(environment.ControlPlane.GetAPIServer())
	}
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
