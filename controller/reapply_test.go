package controller_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/test/cluster"
)

// With the policy for repeated applies, a second apply of an At's Pod changes nothing once it has
// started. It even keeps an image that was changed, since restoring it would restart the container.
func TestPodsMayBeAppliedAgain(t *testing.T) {
	if server.Kubernetes < "1.36" {
		t.Skip("Kubernetes " + server.Kubernetes + " has no such policies")
	}
	if err := server.InstallAppliedAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	const image = `[{"op": "replace", "path": "/spec/containers/0/image", "value": "mirror.example/busybox"}]`
	for name, test := range map[string]struct{ opened, changed bool }{
		"gated":              {},
		"opened":             {opened: true},
		"opened-and-changed": {opened: true, changed: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			rendered, err := cluster.Rendered(w.createAt("again", time.Hour), w.Scheme(), w.kinds().All)
			w.must(err)
			apply := func() error {
				manifest := client.ApplyConfigurationFromUnstructured(rendered[0].DeepCopy())
				return w.Apply(w.ctx, manifest, client.FieldOwner("sync"), client.ForceOwnership)
			}
			w.must(apply())
			pod := &corev1.Pod{}
			again := &corev1.Pod{}
			w.must(w.Get(w.ctx, client.ObjectKeyFromObject(rendered[0]), pod))
			if test.opened {
				w.openGate(pod)
			}
			if test.changed {
				w.must(w.Patch(w.ctx, pod, client.RawPatch(types.JSONPatchType, []byte(image))))
			}

			w.eventually("apply again", apply) // until the API server knows the policy
			w.must(w.Get(w.ctx, client.ObjectKeyFromObject(pod), again))
			if !equality.Semantic.DeepEqual(pod.Spec, again.Spec) {
				t.Errorf("was\n%+v, is\n%+v", pod.Spec, again.Spec)
			}
			w.must(apply())
			w.must(w.Get(w.ctx, client.ObjectKeyFromObject(pod), pod))
			if pod.ResourceVersion != again.ResourceVersion {
				t.Errorf("versions %s and %s: applied again it was written", again.ResourceVersion, pod.ResourceVersion)
			}
		})
	}
}
