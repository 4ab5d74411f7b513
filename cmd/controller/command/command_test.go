package command

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"example.com/gatehouse/controller"
	"example.com/gatehouse/controller/gatehouse"
	"example.com/gatehouse/controller/observe"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/test/testkind"
)

// output returns the output of the program.
func output(t *testing.T, controllers []setup.Controller, args ...string) (string, error) {
	t.Helper()
	kinds, err := controller.Kinds(controllers)
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	cmd := newCommand(controllers, kinds)
	cmd.SetArgs(args)
	cmd.SetOut(&printed)
	err = cmd.ExecuteContext(t.Context())
	return printed.String(), err
}

func TestHelpNamesTheKinds(t *testing.T) {
	help, err := output(t, gatehouse.Controllers, "--help")
	if err != nil || !strings.Contains(help, "an At or a Memcached") || !strings.Contains(help, "Open the scheduling gate cnat.programming-kubernetes.info/schedule") {
		t.Errorf("%v: %s", err, help)
	}
	help, err = output(t, []setup.Controller{observe.Controller(testkind.Kind)}, "--help")
	if err != nil || !strings.Contains(help, "a Fleet") || strings.Contains(help, "gate ") || strings.Contains(help, "Memcached") {
		t.Errorf("%v: %s", err, help)
	}
}

func TestRBACPrintsTheCommittedRoles(t *testing.T) {
	want, err := os.ReadFile("../../../environments/base/gatehouse/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := output(t, gatehouse.Controllers, "rbac"); err != nil || got != string(want) {
		t.Errorf("%v: %s", err, got)
	}
	if _, err := output(t, gatehouse.Controllers, "rbac", "At"); err == nil {
		t.Error("no error for an extra argument")
	}
}

func TestDuplicateKindIsAnError(t *testing.T) {
	if err := execute([]setup.Controller{gatehouse.Controllers[0], gatehouse.Controllers[0]}); err == nil {
		t.Error("no error for a duplicate kind")
	}
}
