package verdict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/problem"
	"example.com/gatehouse/render/verdict/secret"
)

// Installed judges objects that another program installs, each as a request to create it. The program
// may not use server-side apply, so its errors are warnings. Secrets may have values: they are not in git. Values of
// variables that only the cluster has are not judged.
func (c *Checker) Installed(objects []manifest.Object) []manifest.Problem {
	leave := c.kubernetes.Enter()
	isUnknown := c.PostBuild != nil && c.PostBuild.Values == nil
	judge := func(by *Checker, i int) []manifest.Problem {
		return slices.DeleteFunc(by.installed(objects[i]), func(p manifest.Problem) bool {
			return isUnknown && isOfVariable(p, objects[i])
		})
	}
	found := judgeEach(objects, func(i int) []manifest.Problem { return judge(c, i) })
	leave()
	c.tolerate(objects, found, judge)
	return slices.Concat(found...)
}

// installed judges an object that another program installs.
func (c *Checker) installed(o manifest.Object) []manifest.Problem {
	if _, isCustom := c.custom[o.GroupVersionKind()]; !isCustom && manifest.IsSecret(o.Unstructured) {
		decrypted, _ := secret.Check(o.Unstructured) // without values, which a message may quote
		o.Written = decrypted
		return c.checkDecrypted(o, decrypted)
	}
	_, problems := c.check(o)
	if manifest.HasErrors(problems) {
		return problems
	}
	refused := problem.FromErrors(o, c.applyErrors(o))
	for i := range refused {
		refused[i].Warning = true
	}
	repeats := func(p manifest.Problem) bool {
		return slices.ContainsFunc(refused, func(other manifest.Problem) bool { return other.Field == p.Field })
	}
	return append(slices.DeleteFunc(problems, repeats), refused...)
}

// WithNamespace returns an object with a namespace, unless it has one or its kind is in none.
func (c *Checker) WithNamespace(o manifest.Object, namespace string) manifest.Object {
	isNamespaced, isKnown := c.IsNamespaced(o.GroupVersionKind())
	if namespace == "" || o.GetNamespace() != "" || isKnown && !isNamespaced {
		return o
	}
	o.Unstructured = &unstructured.Unstructured{Object: o.DeepCopy().Object}
	o.SetNamespace(namespace)
	o.Written = o.Unstructured
	return o
}
