package observe

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
)

// stateGauge counts the objects of a kind by state, from a cache.
func stateGauge(k kind.Kind, scheme *runtime.Scheme, objects client.Reader) (status.Gauge, error) {
	empty, err := scheme.New(k.GVK().GroupVersion().WithKind(k.GVK().Kind + "List"))
	if err != nil {
		return status.Gauge{}, err
	}
	plural := k.Plural()
	desc := prometheus.NewDesc("gatehouse_"+strings.ReplaceAll(plural, "-", "_"),
		fmt.Sprintf("Objects of %s.%s by which of the conditions Ready, Reconciling and Stalled is True.", plural,
			k.GVK().Group), []string{"state"}, nil)
	trueConditions := func(o runtime.Object) (types []string) {
		for _, c := range conditionsOf(o.(kind.Object)) {
			if c.Status == metav1.ConditionTrue {
				types = append(types, c.Type)
			}
		}
		return types
	}
	return status.StateGauge(desc, objects, empty.(client.ObjectList), trueConditions, condition.Ready,
		condition.Reconciling, condition.Stalled), nil
}
