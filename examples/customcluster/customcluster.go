// Package customcluster defines the kind Customcluster.
package customcluster

import (
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/customcluster/apis/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
)

//go:embed crd/samplecontroller.k8s.io_customclusters.yaml
var definition []byte

// Kind is the kind Customcluster.
var Kind = kind.Define(kind.Definition[v1alpha1.Customcluster, v1alpha1.CustomclusterStatus]{
	GVK:         schema.GroupVersionKind{Group: v1alpha1.GroupName, Version: "v1alpha1", Kind: "Customcluster"},
	AddToScheme: v1alpha1.Install,
	CRD:         definition,
	Fields:      kind.Fields{Replicas: []string{"spec.count"}},
	Children:    []kind.Child{{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Immutable: true}},
	Expand:      expand,
	Status:      status,
})

// expand returns the Pods. No Pod depends on the count, so that another count keeps the others. A
// stopped Pod has failed. The annotation is for Argo CD: it takes a Pod that is never restarted for
// healthy only after it ended.
func expand(c *v1alpha1.Customcluster) (pods []kind.Object, _ error) {
	for i := range *c.Spec.Count {
		pods = append(pods, &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", c.Name, i),
				Annotations: map[string]string{"argocd.argoproj.io/ignore-healthcheck": "true"}},
			Spec: corev1.PodSpec{
				RestartPolicy:                corev1.RestartPolicyNever,
				AutomountServiceAccountToken: new(false),
				SecurityContext:              pod.Security(65534), // the user "nobody" of Linux
				Containers: []corev1.Container{{
					Name:  "echo",
					Image: "busybox:1.37",
					Command: []string{"sh", "-c",
						`printf '%s\n' "$MESSAGE"; trap 'exit 143' TERM; sleep infinity & wait`},
					Env:             []corev1.EnvVar{{Name: "MESSAGE", Value: pod.Literal(c.Spec.Message)}},
					SecurityContext: pod.ContainerSecurity(),
				}},
			},
		})
	}
	return pods, nil
}

// status extends the default status with the number of running Pods and their message.
func status(s kind.Snapshot[v1alpha1.Customcluster]) kind.Decision[v1alpha1.CustomclusterStatus] {
	next := v1alpha1.CustomclusterStatus{Status: s.Status, Count: new(int32), Message: s.Object.Status.Message}
	for _, child := range s.Children {
		if p := child.(*corev1.Pod); p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			*next.Count++
		}
	}
	if len(s.Status.NotReady) == 0 {
		next.Message = s.Object.Spec.Message
	}
	return kind.Decision[v1alpha1.CustomclusterStatus]{Status: next, Wake: s.Wake}
}
