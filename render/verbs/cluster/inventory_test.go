package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/gatehouse/render/manifest"
)

// An inventory comes back as it was written, readable where it is small.
func TestInventoryRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		objects    int
		isReadable bool
	}{{0, true}, {1, true}, {1000, true}, {100_000, false}} {
		ids := map[manifest.ID]bool{}
		for i := range test.objects {
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
		c := &corev1.ConfigMap{}
		if err := encodeInventory(ids, c); err != nil {
			t.Fatal(err)
		}
		if isReadable := c.BinaryData == nil; isReadable != test.isReadable {
			t.Errorf("%d objects: readable %v", test.objects, isReadable)
		}
		t.Logf("%d objects: %d bytes compressed", test.objects, len(c.BinaryData[compressedKey]))
		if got, err := decodeInventory(c); err != nil || !maps.Equal(got, ids) {
			t.Errorf("%d objects came back as %d: %v", test.objects, len(got), err)
		}
	}
}

// What no ConfigMap can hold is an error, and so is what render did not write.
func TestInventoryLimits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ids := map[manifest.ID]bool{}
	for range 60_000 {
		ids[manifest.ID{Kind: "Secret", Namespace: "n", Name: fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())}] = true
	}
	if err := encodeInventory(ids, &corev1.ConfigMap{}); err == nil || !strings.Contains(err.Error(), "60000 objects does not fit") {
		t.Error(err)
	}
	for _, c := range []*corev1.ConfigMap{
		{Data: map[string]string{plainKey: "Pod\n"}},
		{Data: map[string]string{plainKey: " a/b\n"}},
		{BinaryData: map[string][]byte{compressedKey: []byte("no gzip")}},
	} {
		if got, err := decodeInventory(c); err == nil {
			t.Errorf("%v is %v", c, got)
		}
	}
}
