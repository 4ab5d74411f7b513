package delivery

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// merge returns the kustomization that Argo CD makes of the fields of an Application, or the field that it refuses.
func merge(t *testing.T, kustomization, fields string) string {
	t.Helper()
	var k types.Kustomization
	var o Overlay
	if err := errors.Join(yaml.Unmarshal([]byte(kustomization), &k), yaml.Unmarshal([]byte(fields), &o)); err != nil {
		t.Fatal(err)
	}
	if err := o.CheckEdit(k); err != nil {
		refused := new(RefusedError)
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		return refused.Field
	}
	content, err := yaml.Marshal(o.MergeInto(k, false, func(string) []string { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(content)), "\n", "; ")
}

// As kustomize edit set image, set replicas, add label and add annotation.
func TestEditRefusesAsKustomize(t *testing.T) {
	for _, test := range []struct{ kustomization, fields, want string }{
		{"{}", "{images: [nginx]}", "images[0]"},
		{"{}", "{images: ['a:1', 'b=']}", "images[1]"},
		{"{}", "{replicas: [{name: a, count: two}]}", "replicas[0].count"},
		{"{}", "{replicas: [{name: a, count: '2'}]}", "replicas:; - count: 2;   name: a"},
		{"{commonLabels: {app: a}}", "{commonLabels: {app: b}}", "commonLabels.app"},
		{"{commonLabels: {app: a}}", "{commonLabels: {app: b}, forceCommonLabels: true}", "commonLabels:;   app: b"},
		{"{commonLabels: {app: a}}", "{commonLabels: {app: b}, labelWithoutSelector: true}", "commonLabels:;   app: a; labels:; - pairs:;     app: b"},
		{"{labels: [{pairs: {app: a}}]}", "{commonLabels: {app: b}, labelWithoutSelector: true}", "commonLabels.app"},
		{"{labels: [{pairs: {app: a}}]}", "{commonLabels: {x: b}, labelWithoutSelector: true}", "labels:; - pairs:;     app: a;     x: b"},
		{"{labels: [{pairs: {app: a}, includeSelectors: true}]}", "{commonLabels: {app: b}, labelWithoutSelector: true}", "labels:; - includeSelectors: true;   pairs:;     app: a; - pairs:;     app: b"},
		{"{}", "{commonLabels: {app: b}, labelIncludeTemplates: true}", "labelIncludeTemplates"},
		{"{}", "{labelIncludeTemplates: true}", "{}"},
		{"{commonAnnotations: {a/b.c: a}}", "{commonAnnotations: {a/b.c: b}}", "commonAnnotations[a/b.c]"},
		{"{images: [{name: a, newTag: '1', newName: x}]}", "{images: ['a=*:2']}", "images:; - name: a;   newName: x;   newTag: \"2\""},
		{"{images: [{name: a, newTag: '1', newName: x}]}", "{images: ['a=b:*']}", "images:; - name: a;   newName: b;   newTag: \"1\""},
		{"{}", "{images: ['a=b:*']}", "images:; - name: a;   newName: b"},
	} {
		if got := merge(t, test.kustomization, test.fields); got != test.want {
			t.Errorf("%s and %s: %s, want %s", test.kustomization, test.fields, got, test.want)
		}
	}
}
