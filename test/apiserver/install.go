package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/at"
)

// installed lists the manifests that grant and limit the rights of the controller.
var installed = []string{"service-account.yaml", "role.yaml", "role-bindings.yaml", "admission-policy.yaml",
	"gate-policy.yaml"}

// install creates the objects that the controller needs.
func install(server *Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	admin, err := client.New(server.Admin, client.Options{})
	if err != nil {
		return err
	}
	if err := admin.Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gatehouse-system"}}); err != nil {
		return err
	}
	for _, file := range installed {
		if err := create(ctx, admin, path("environments/base/gatehouse/"+file)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return awaitPolicy(ctx, server, admin)
}

// InstallAppliedAgain creates the policy that ignores a second apply of an At's Pod. It requires
// Kubernetes 1.36.
func (s *Server) InstallAppliedAgain(ctx context.Context) error {
	admin, err := client.New(s.Admin, client.Options{})
	if err != nil {
		return err
	}
	return create(ctx, admin, path("environments/base/gatehouse/applied-again/policy.yaml"))
}

// create creates the objects in a file.
func create(ctx context.Context, admin client.Client, file string) error {
	content, err := os.ReadFile(file) // #nosec G304 -- a file of this repository
	if err != nil {
		return err
	}
	objects, err := ssautils.ReadObjects(bytes.NewReader(content))
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := admin.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// awaitPolicy waits until the API server has compiled the policy and enforces it.
func awaitPolicy(ctx context.Context, server *Server, admin client.Client) error {
	controller, err := client.New(server.Controller, client.Options{})
	if err != nil {
		return err
	}
	probe := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gatehouse-system", Name: "probe"},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: at.Gate}},
			Containers:      []corev1.Container{{Name: "c", Image: "i"}},
		},
	}
	if err := admin.Create(ctx, probe); err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		err := controller.Patch(ctx, probe.DeepCopy(), patch, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"), nil
	})
	if err != nil {
		return fmt.Errorf("await the admission policy: %w", err)
	}
	return admin.Delete(ctx, probe)
}
