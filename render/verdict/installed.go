package verdict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/problem"
	"example.com/gatehouse/render/verdict/secret"
)

// Installed judges objects that another program installs, each as a request to create it. The program
// may not use server-side apply, so its errors are warnings. Secrets may have values: they are not in git.
func (c *Checker) Installed(objects []manifest.Object) []manifest.Problem {
	defer c.kubernetes.Enter()()
	found := make([][]manifest.Problem, len(objects))
	tooLarge := checkExpressions(objects, admissionregistration.GroupName)
	parallel.For(len(objects), func(i int) {
		o := objects[i]
		if p, ok := tooLarge[i]; ok {
			found[i] = []manifest.Problem{p}
			return
		}
		if _, isCustom := c.custom[o.GroupVersionKind()]; !isCustom && secret.Is(o.Unstructured) {
			decrypted, _ := secret.Check(o.Unstructured) // without values, which a message may quote
			found[i] = c.checkBuiltin(manifest.Object{Unstructured: decrypted, Written: decrypted, Origin: o.Origin})
			return
		}
		if _, found[i] = c.check(o); manifest.HasErrors(found[i]) {
			return
		}
		for _, p := range problem.FromErrors(o, c.applyErrors(o)) {
			p.Warning = true
			found[i] = append(found[i], p)
		}
	})
	return slices.Concat(found...)
}

// WithNamespace returns an object with a namespace, unless it has one or its kind is in none.
func (c *Checker) WithNamespace(o manifest.Object, namespace string) manifest.Object {
	if isNamespaced, isKnown := c.IsNamespaced(o.GroupVersionKind()); o.GetNamespace() != "" || isKnown && !isNamespaced {
		return o
	}
	o.Unstructured = &unstructured.Unstructured{Object: o.DeepCopy().Object}
	o.SetNamespace(namespace)
	o.Written = o.Unstructured
	return o
}
