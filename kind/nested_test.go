package kind_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/kind/memcached"
)

// A nested object has the defaults of its own kind, and its children have its name.
func TestNestedSetsDefaultsAndNames(t *testing.T) {
	cache := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "shop-cache"}, Spec: cachev1alpha1.MemcachedSpec{Size: 3}}
	objects, err := memcached.Kind.Nested(cache)
	if err != nil {
		t.Fatal(err)
	}
	if cache.Spec.MemoryLimit == nil || cache.Spec.Port != 11211 || cache.Spec.Size != 3 {
		t.Errorf("the spec is %+v", cache.Spec)
	}
	for _, o := range objects {
		if o.GetName() != "shop-cache" {
			t.Errorf("%T has the name %q", o, o.GetName())
		}
	}
	deployment, ok := objects[0].(*appsv1.Deployment)
	if !ok || *deployment.Spec.Replicas != 3 || deployment.Spec.Template.Spec.Containers[0].Image == "" {
		t.Errorf("the first object is %+v", objects[0])
	}
}
