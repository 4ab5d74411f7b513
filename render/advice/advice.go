// Package advice finds what the API server accepts and that may yet not be what was
// meant. Each rule has a file. A rule says nothing where it cannot be sure: advice that
// is often wrong is read by nobody.
package advice

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/object"
)

// ElsewhereAnnotation is on kustomizations; its value lists objects that an environment
// needs and something else brings, as problems name them: "Namespace monitoring, Secret
// shop/registry".
const ElsewhereAnnotation = "gatehouse.example.com/elsewhere"

// Environment is what there is to advise on.
type Environment struct {
	// Kinds are those that people may write.
	Kinds *registry.Kinds
	// Objects are all: those that were written and what was rendered from them.
	Objects []object.Object
	// Local are CustomResourceDefinitions that are known and that something else brings.
	Local []object.Object
	// IsNamespaced says whether objects of a kind are in a namespace, and whether the
	// kind is known.
	IsNamespaced func(schema.GroupVersionKind) (namespaced, known bool)
	// Elsewhere are the values of ElsewhereAnnotation.
	Elsewhere []string
	// Now is when the environment is rendered; zero where that is not to matter.
	Now time.Time
}

// Warnings are those of all rules, to be located.
func (e Environment) Warnings() (warnings []object.Problem) {
	for _, rule := range []func(Environment) []object.Problem{
		missingNamespaces, missingConfiguration, missingController, missingGatePolicy, unpinnedController, lateRuns,
	} {
		warnings = append(warnings, rule(e)...)
	}
	return warnings
}

// warning is a warning about a field of an object that has a value.
func warning(o object.Object, field string, value any, format string, args ...any) object.Problem {
	message := fmt.Sprintf(format, args...)
	if field != "" {
		message = field + ": " + message
	}
	w := object.NewProblem(o, field, object.Value{Is: value}, message)
	w.Warning = true
	return w
}

// isElsewhere says whether something else is said to bring an object.
func (e Environment) isElsewhere(id object.ID) bool {
	for _, list := range e.Elsewhere {
		for entry := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == '\n' }) {
			if strings.Join(strings.Fields(entry), " ") == id.String() {
				return true
			}
		}
	}
	return false
}

// whatToDo is the end of a warning about an object that is missing, and of which so many
// objects are in need.
func whatToDo(id object.ID, known []string, inNeed int) string {
	what := object.DidYouMean(id.Name, known)
	if what == "" {
		what = ":"
	}
	what += " add it or, where something else brings it, annotate the kustomization with " + ElsewhereAnnotation + ": " + id.String()
	if inNeed > 1 {
		what += fmt.Sprintf(" (%d objects need it)", inNeed)
	}
	return what
}
