package observe

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

// builtWith returns the kind Fleet of a build that gives Deployments so many seconds to progress.
func builtWith(seconds int32) kind.Kind {
	d := testkind.Definition()
	expand := d.Expand
	d.Expand = func(f *testkind.Fleet) ([]kind.Object, error) {
		objects, err := expand(f)
		for _, o := range objects {
			if deployment, ok := o.(*appsv1.Deployment); ok {
				deployment.Spec.ProgressDeadlineSeconds = ptr.To(seconds)
			}
		}
		return objects, err
	}
	return kind.Define(d)
}

// A controller of another build than render's says so, says which of them is older, and goes on
// saying whether the objects are ready.
func TestBuildsThatDiffer(t *testing.T) {
	older, newer := builtWith(60), builtWith(120)
	renderedBy := func(k kind.Kind, changes ...func(*testkind.Fleet)) *testkind.Fleet {
		f := newFleet(changes...)
		expanded, err := registry.Expand(&k, f)
		if err != nil {
			t.Fatal(err)
		}
		metav1.SetMetaDataAnnotation(&f.ObjectMeta, registry.RenderingAnnotation, expanded.Rendering.String())
		return f
	}
	agreed := func(k kind.Kind, changes ...func(*testkind.Fleet)) string {
		return registry.RenderingOf(renderedBy(k, changes...)).String()
	}
	edited := renderedBy(older)
	edited.Spec.Message = "edited in the cluster"
	for name, test := range map[string]struct {
		controller     kind.Kind
		fleet          *testkind.Fleet
		children       []kind.Object
		agreed         string
		synced, reason string
		says           string
		ready          string
		recorded       string
	}{
		"the same":                 {older, renderedBy(older), syncedBy(older, newFleet()), "", "True", ReasonSynced, "not observed: ConfigMap", ReasonReady, agreed(older)},
		"no annotation":            {older, newFleet(), syncedBy(older, newFleet()), "", "True", ReasonSynced, "", ReasonReady, ""},
		"a newer controller":       {newer, renderedBy(older), syncedBy(older, newFleet()), agreed(older), "True", ReasonControllerDiffers, "The rendering is older than", ReasonReady, agreed(older)},
		"an older controller":      {older, renderedBy(newer), syncedBy(newer, newFleet()), agreed(older), "True", ReasonControllerDiffers, "roll out the controller", ReasonReady, agreed(older)},
		"another spec as well":     {older, renderedBy(newer, says("bye")), syncedBy(newer, newFleet(says("bye"))), agreed(older), "True", ReasonControllerDiffers, "roll out the controller", ReasonReady, agreed(older)},
		"nothing known":            {newer, renderedBy(older), syncedBy(older, newFleet()), "", "True", ReasonControllerDiffers, "another build", ReasonReady, ""},
		"one that is not ready":    {newer, renderedBy(older), syncedBy(older, newFleet(), rollingOut(1)), agreed(older), "True", ReasonControllerDiffers, "", ReasonObjectsNotReady, agreed(older)},
		"one that is missing":      {newer, renderedBy(older), syncedBy(older, newFleet())[1:], agreed(older), "Unknown", ReasonControllerDiffers, "does not have what was rendered", ReasonControllerDiffers, agreed(older)},
		"edited in the cluster":    {older, edited, syncedBy(older, newFleet()), agreed(older), "Unknown", ReasonRenderingStale, "", ReasonRenderingStale, agreed(older)},
		"rendered again, in sync":  {newer, renderedBy(newer), syncedBy(newer, newFleet()), agreed(older), "True", ReasonSynced, "", ReasonReady, agreed(newer)},
		"rendered again, not sync": {newer, renderedBy(newer), syncedBy(older, newFleet()), agreed(older), "Unknown", ReasonRenderingStale, "", ReasonRenderingStale, agreed(newer)},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot{kind: test.controller, owner: test.fleet, agreed: test.agreed, children: test.children, now: now, grace: time.Minute}
			next, _, _ := decide(s)
			checkStatus(t, test.fleet, next)
			synced := meta.FindStatusCondition(next.Conditions, Synced)
			if string(synced.Status) != test.synced || synced.Reason != test.reason || !strings.Contains(synced.Message, test.says) {
				t.Errorf("Synced is %+v", synced)
			}
			if got := condition.FindReady(next.Conditions).Reason; got != test.ready {
				t.Errorf("Ready has the reason %s, want %s", got, test.ready)
			}
			if next.Rendering != test.recorded {
				t.Errorf("records %q, want %q", next.Rendering, test.recorded)
			}
		})
	}
}
