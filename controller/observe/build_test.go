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

// builtWith returns the kind Fleet of a build that gives Deployments this many seconds to progress.
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

// The status names the older of two builds that differ, and still reports whether the objects are
// ready.
func TestStatusNamesTheOlderBuild(t *testing.T) {
	older := builtWith(60)
	newer := builtWith(120)
	renderedBy := func(k kind.Kind, changes ...func(*testkind.Fleet)) *testkind.Fleet {
		f := newFleet(changes...)
		expanded, err := registry.Expand(&k, f)
		if err != nil {
			t.Fatal(err)
		}
		metav1.SetMetaDataAnnotation(&f.ObjectMeta, registry.RenderingAnnotation, expanded.Rendering.String())
		return f
	}
	lastMatch := func(k kind.Kind, changes ...func(*testkind.Fleet)) string {
		return registry.RenderingOf(renderedBy(k, changes...)).String()
	}
	edited := renderedBy(older)
	edited.Spec.Message = "edited in the cluster"
	for name, test := range map[string]struct {
		controller     kind.Kind
		fleet          *testkind.Fleet
		children       []kind.Object
		lastMatch      string
		synced, reason string
		says           string
		ready          string
		recorded       string
	}{
		"the same":                 {older, renderedBy(older), syncedBy(older, newFleet()), "", "True", ReasonSynced, "not observed: ConfigMap", ReasonReady, lastMatch(older)},
		"no annotation":            {older, newFleet(), syncedBy(older, newFleet()), "", "True", ReasonSynced, "", ReasonReady, ""},
		"a newer controller":       {newer, renderedBy(older), syncedBy(older, newFleet()), lastMatch(older), "True", ReasonControllerDiffers, "The rendering is older than", ReasonReady, lastMatch(older)},
		"an older controller":      {older, renderedBy(newer), syncedBy(newer, newFleet()), lastMatch(older), "True", ReasonControllerDiffers, "roll out the controller", ReasonReady, lastMatch(older)},
		"another spec as well":     {older, renderedBy(newer, says("bye")), syncedBy(newer, newFleet(says("bye"))), lastMatch(older), "True", ReasonControllerDiffers, "roll out the controller", ReasonReady, lastMatch(older)},
		"nothing known":            {newer, renderedBy(older), syncedBy(older, newFleet()), "", "True", ReasonControllerDiffers, "another build", ReasonReady, ""},
		"an object not ready":      {newer, renderedBy(older), syncedBy(older, newFleet(), rollingOut(1)), lastMatch(older), "True", ReasonControllerDiffers, "", ReasonObjectsNotReady, lastMatch(older)},
		"an object missing":        {newer, renderedBy(older), syncedBy(older, newFleet())[1:], lastMatch(older), "Unknown", ReasonControllerDiffers, "does not have what was rendered", ReasonControllerDiffers, lastMatch(older)},
		"edited in the cluster":    {older, edited, syncedBy(older, newFleet()), lastMatch(older), "Unknown", ReasonRenderingStale, "", ReasonRenderingStale, lastMatch(older)},
		"rendered again, in sync":  {newer, renderedBy(newer), syncedBy(newer, newFleet()), lastMatch(older), "True", ReasonSynced, "", ReasonReady, lastMatch(newer)},
		"rendered again, not sync": {newer, renderedBy(newer), syncedBy(older, newFleet()), lastMatch(older), "Unknown", ReasonRenderingStale, "", ReasonRenderingStale, lastMatch(newer)},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot{kind: test.controller, owner: test.fleet, lastMatch: test.lastMatch, children: test.children, now: now, grace: time.Minute}
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
