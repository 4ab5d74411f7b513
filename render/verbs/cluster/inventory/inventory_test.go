package inventory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"example.com/gatehouse/render/manifest"
)

func TestDecodeRestoresEncodedIDs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, objects := range []int{0, 1, 10_000} {
		ids := map[manifest.ID]bool{}
		for i := range objects {
			switch i % 4 {
			case 0:
				ids[manifest.ID{Kind: "Pod", Namespace: fmt.Sprintf("team-%d", i/400), Name: fmt.Sprintf("report-%d-%010x", i, random.Uint64N(1<<40))}] = true
			case 1:
				ids[manifest.ID{Group: "cnat.programming-kubernetes.info", Kind: "At", Namespace: fmt.Sprintf("team-%d", i/400), Name: fmt.Sprintf("report-%d", i-1)}] = true
			case 2:
				ids[manifest.ID{Group: "apps", Kind: "Deployment", Namespace: fmt.Sprintf("team-%d", i/400), Name: fmt.Sprintf("cache-%d", i)}] = true
			default:
				ids[manifest.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: fmt.Sprintf("system:role-%d", i)}] = true
			}
		}
		lines := Encode(ids)
		t.Logf("%d objects: %d bytes", objects, len(lines))
		if got, err := Decode(lines); err != nil || !maps.Equal(got, ids) {
			t.Errorf("%d objects came back as %d: %v", objects, len(got), err)
		}
	}
}

func TestDecodeRefusesOtherLines(t *testing.T) {
	for _, lines := range []string{"Pod\n", " a/b\n", "shop_one__ConfigMap\n\n"} {
		if got, err := Decode(lines); err == nil {
			t.Errorf("%q is %v", lines, got)
		}
	}
}
