package health

import (
	"fmt"
	"sync"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/verbs/sync/health"
)

// Flux returns the status of an object by the expressions of its kind or, without any, by kstatus. It
// evaluates them as Flux does in its package runtime/cel.
func Flux(object *unstructured.Unstructured) (status.Status, error) {
	checks, err := fluxChecks()
	if err != nil {
		return "", err
	}
	for _, c := range checks {
		if c.Kind == object.GetKind() && c.APIVersion == object.GetAPIVersion() {
			return c.status(object)
		}
	}
	computed, err := status.Compute(object)
	if err != nil {
		return "", err
	}
	return computed.Status, nil
}

// fluxCheck is an entry of healthCheckExprs.
type fluxCheck struct {
	APIVersion, Kind string
	Failed, Current  string

	failed, current cel.Program
}

var fluxChecks = sync.OnceValues(func() (checks []fluxCheck, err error) {
	if err := yaml.UnmarshalStrict([]byte(health.Flux(kinds)), &checks); err != nil {
		return nil, err
	}
	for i := range checks {
		if checks[i].failed, err = program(checks[i].Failed); err != nil {
			return nil, err
		}
		if checks[i].current, err = program(checks[i].Current); err != nil {
			return nil, err
		}
	}
	return checks, nil
})

// program compiles an expression.
func program(expression string) (cel.Program, error) {
	env, err := cel.NewEnv(
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), ext.Strings(), ext.Sets(), ext.Encoders(),
	)
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(parsed)
}

func (c fluxCheck) status(object *unstructured.Unstructured) (status.Status, error) {
	observed, ok, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if err != nil || ok && observed != object.GetGeneration() {
		return status.InProgressStatus, err
	}
	for _, one := range []struct {
		program cel.Program
		status  status.Status
	}{{c.failed, status.FailedStatus}, {c.current, status.CurrentStatus}} {
		value, _, err := one.program.Eval(object.Object)
		if err != nil {
			return "", fmt.Errorf("%s expression of %s: %w", one.status, c.Kind, err)
		}
		if value.Value() == true {
			return one.status, nil
		}
	}
	return status.InProgressStatus, nil
}
