package gatehouse

import "testing"

// Rendering expands every spec of an environment.
func BenchmarkExpand(b *testing.B) {
	kinds := newKinds(b)
	for _, owner := range []string{
		`{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: a, namespace: b}, spec: {schedule: "2027-01-01T00:00:00Z", command: date, image: "busybox:1.37", restartPolicy: OnFailure, resources: {limits: {memory: 32Mi}}}}`,
		`{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: a, namespace: b}, spec: {size: 2, image: "memcached:1", memoryLimit: 64Mi, maxConnections: 1024, threads: 4, port: 11211}}`,
	} {
		object := unstructuredOf(b, owner)
		b.Run(object.GetKind(), func(b *testing.B) {
			for b.Loop() {
				if _, err := kinds.Expand(object); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
