package registry_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/kind/registry/testdata/everything"
)

type definition = kind.Definition[everything.Everything, everything.ObservedStatus]

func valid() definition {
	return definition{
		GVK:         everything.GroupVersion.WithKind("Everything"),
		AddToScheme: everything.AddToScheme,
		CRD:         everything.CRD,
		Children:    []kind.Child{{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap")}},
		Expand:      func(*everything.Everything) ([]kind.Object, error) { return nil, nil },
	}
}

// New accepts the output of controller-gen for every Go type.
func TestNewAcceptsValidKinds(t *testing.T) {
	fields := valid()
	fields.KeepDefaults = []string{"spec.int32", "spec.map.key", "spec.json.anything"}
	fields.TimeField = "spec.time"
	fields.Fields = kind.Fields{
		Images:   []string{"spec.env.value", "spec.map.key"},
		Replicas: []string{"spec.int32", "spec.second.third.key"},
		References: []kind.Reference{
			{Field: "spec.env.valueFrom.secretKeyRef.name", To: corev1.SchemeGroupVersion.WithKind("Secret")},
			{Field: "spec.of.another", In: schema.GroupKind{Kind: "Other"}},
		},
	}
	for name, kinds := range map[string][]kind.Kind{
		"Gatehouse's": gatehouse.Kinds,
		"every type":  append([]kind.Kind{kind.Define(valid())}, gatehouse.Kinds...),
		"fields":      {kind.Define(fields)},
		"versions":    {ofVersions("v1", converts), ofVersions("v2")},
		"none":        nil,
	} {
		if _, err := registry.New(kinds...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ofVersions returns one version of a kind with two.
func ofVersions(version string, change ...func(*definition)) kind.Kind {
	d := valid()
	_, v1, _ := strings.Cut(string(d.CRD), "  versions:\n")
	d.CRD = append(d.CRD[:len(d.CRD):len(d.CRD)], strings.Replace(v1, "name: v1\n", "name: v2\n", 1)...)
	d.GVK.Version = version
	d.AddToScheme = func(s *runtime.Scheme) error {
		gv := schema.GroupVersion{Group: d.GVK.Group, Version: version}
		s.AddKnownTypes(gv, &everything.Everything{}, &everything.EverythingList{})
		metav1.AddToGroupVersion(s, gv)
		return nil
	}
	for _, f := range change {
		f(&d)
	}
	return kind.Define(d)
}

// S of a Definition must be the status type of T.
func TestNewChecksStatusTypes(t *testing.T) {
	d := valid()
	other := kind.Define(kind.Definition[everything.Everything, kind.Status]{GVK: d.GVK, AddToScheme: d.AddToScheme, CRD: d.CRD, Children: d.Children, Expand: d.Expand})
	checkErrors(t, "Everything", []string{`S of its Definition is kind.Status: write everything.ObservedStatus, the type of the field Status of Everything`}, other)
	pod := kind.Define(kind.Definition[corev1.Pod, corev1.PodStatus]{GVK: d.GVK, AddToScheme: d.AddToScheme, CRD: d.CRD, Children: d.Children, Expand: func(*corev1.Pod) ([]kind.Object, error) { return nil, nil }})
	checkErrors(t, "Everything", []string{
		`AddToScheme does not add v1.Pod as test.example.com/v1 Everything: have it add &v1.Pod{} to the scheme`,
		`the type v1.PodStatus of its status has no conditions: embed kind.Status, or give it a field Conditions []metav1.Condition`,
	}, pod)
}

// converts makes a version an older one.
func converts(d *definition) {
	d.Convert = func(e *everything.Everything) (kind.Object, error) { return e, nil }
	d.Expand = nil
	d.Children = nil
}

// edit returns the CustomResourceDefinition with some texts replaced.
func edit(t *testing.T, oldnew ...string) []byte {
	t.Helper()
	text := string(everything.CRD)
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(text, oldnew[i]) {
			t.Fatalf("the CustomResourceDefinition has no %q", oldnew[i])
		}
		text = strings.Replace(text, oldnew[i], oldnew[i+1], 1)
	}
	return []byte(text)
}

func TestNewReportsEveryMistake(t *testing.T) {
	child := func(group, version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	}
	for name, c := range map[string]struct {
		change func(*definition)
		want   []string // without the name of the kind
	}{
		"names": {
			func(d *definition) { d.GVK = child("Test", "1", "Every-Thing!") },
			[]string{
				`AddToScheme does not add everything.Everything as Test/1 Every-Thing!: have it add &everything.Everything{} to the scheme`,
				`AddToScheme does not add Test/1 Every-Thing!List: have it add &everything.EverythingList{} to the scheme`,
				`AddToScheme does not add the types of all groups: have it call metav1.AddToGroupVersion(scheme, Test/1)`,
				`CRD defines Everything in group "test.example.com", not Every-Thing! in group "Test": embed the file of this kind, or correct GVK`,
			},
		},
		"no functions": {
			func(d *definition) {
				d.AddToScheme = nil
				d.Expand = nil
			},
			[]string{
				`AddToScheme: it is nil: set it to AddToScheme of the package of the Go type`,
				`Expand is nil: set it to the function that returns the children`,
			},
		},
		"another type in the scheme": {
			func(d *definition) {
				d.AddToScheme = func(s *runtime.Scheme) error {
					s.AddKnownTypeWithName(d.GVK, &corev1.Pod{})
					metav1.AddToGroupVersion(s, d.GVK.GroupVersion())
					return nil
				}
			},
			[]string{
				`AddToScheme does not add everything.Everything as test.example.com/v1 Everything: have it add &everything.Everything{} to the scheme`,
				`AddToScheme does not add test.example.com/v1 EverythingList: have it add &everything.EverythingList{} to the scheme`,
			},
		},
		"the scheme": {
			func(d *definition) { d.AddToScheme = func(*runtime.Scheme) error { return errors.New("no") } },
			[]string{`AddToScheme: no`},
		},
		"the scheme panics": {
			func(d *definition) { d.AddToScheme = func(*runtime.Scheme) error { panic("no") } },
			[]string{`AddToScheme: it panics: no`},
		},
		"no YAML":     {func(d *definition) { d.CRD = []byte("a: b: c") }, []string{`CRD: embed the file that controller-gen writes: error converting YAML to JSON: yaml: mapping values are not allowed in this context`}},
		"a list":      {func(d *definition) { d.CRD = []byte("[a]") }, []string{`CRD: embed the file that controller-gen writes: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type v1.CustomResourceDefinition`}},
		"a field":     {func(d *definition) { d.CRD = edit(t, "scope: Namespaced", "scopes: Namespaced") }, []string{`CRD: embed the file that controller-gen writes: error unmarshaling JSON: while decoding JSON: json: unknown field "scopes"`}},
		"no kind":     {func(d *definition) { d.CRD = []byte("{}") }, []string{`CRD: it is "/, Kind=", not apiextensions.k8s.io/v1, Kind=CustomResourceDefinition: embed the file that controller-gen writes`}},
		"a Pod":       {func(d *definition) { d.CRD = []byte("{apiVersion: v1, kind: Pod}") }, []string{`CRD: it is "/v1, Kind=Pod", not apiextensions.k8s.io/v1, Kind=CustomResourceDefinition: embed the file that controller-gen writes`}},
		"v1beta1":     {func(d *definition) { d.CRD = edit(t, "k8s.io/v1", "k8s.io/v1beta1") }, []string{`CRD: it is "apiextensions.k8s.io/v1beta1, Kind=CustomResourceDefinition", not apiextensions.k8s.io/v1, Kind=CustomResourceDefinition: embed the file that controller-gen writes`}},
		"malformed":   {func(d *definition) { d.CRD = edit(t, "scope: Namespaced", "scope: [1]") }, []string{`CRD: embed the file that controller-gen writes: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field CustomResourceDefinitionSpec.spec.scope of type v1.ResourceScope`}},
		"another one": {func(d *definition) { d.CRD = at.Kind.CRD() }, []string{`CRD defines At in group "cnat.programming-kubernetes.info", not Everything in group "test.example.com": embed the file of this kind, or correct GVK`}},
		"scope": {
			func(d *definition) { d.CRD = edit(t, "scope: Namespaced", "scope: Cluster") },
			[]string{
				`CRD: spec.scope is "Cluster", but rendered objects are in a namespace: write // +kubebuilder:resource:scope=Namespaced and run controller-gen`,
			},
		},
		"another version": {func(d *definition) { d.CRD = edit(t, "name: v1\n", "name: v1beta1\n") }, []string{`CRD has no schema of version v1: run controller-gen, or correct the version of GVK`}},
		"the version": {
			func(d *definition) {
				d.CRD = edit(t, "served: true", "served: false", "    subresources:\n      status: {}\n", "")
			},
			[]string{
				`CRD: version v1 is not served: leave out // +kubebuilder:unservedversion and run controller-gen`,
				`CRD: version v1 has no status subresource, the only part that the controller writes: write // +kubebuilder:subresource:status above the Go type and run controller-gen`,
			},
		},
		"no schema": {
			func(d *definition) {
				head, _, _ := strings.Cut(string(d.CRD), "    schema:")
				d.CRD = []byte(head + "    served: true\n    subresources: {status: {}}\n")
			},
			[]string{`CRD has no schema of version v1: run controller-gen, or correct the version of GVK`},
		},
		"status": {
			func(d *definition) {
				d.CRD = edit(t, "            default:\n              observedGeneration: -1\n", "            default:\n              observedGeneration: 0\n")
			},
			[]string{`status: without a default, kubectl wait, Flux and Argo CD take a new object for ready: write // +kubebuilder:default:={"observedGeneration":-1} above the field Status and run controller-gen`},
		},
		"no status": {
			func(d *definition) {
				head, status, _ := strings.Cut(string(d.CRD), "          status:\n            default:")
				_, tail, _ := strings.Cut(status, "        required:\n        - spec\n")
				d.CRD = []byte(head + "        required:\n        - spec\n" + tail)
			},
			[]string{
				`status: without a default, kubectl wait, Flux and Argo CD take a new object for ready: write // +kubebuilder:default:={"observedGeneration":-1} above the field Status and run controller-gen`,
				`status: the CustomResourceDefinition has no integer observedGeneration: give the Go type a field Status, which embeds kind.Status, and run controller-gen`,
				`status: the CustomResourceDefinition has no rendering: run controller-gen`,
			},
		},
		"status fields": {
			func(d *definition) {
				d.CRD = edit(t,
					"              observedGeneration:\n                format: int64\n                type: integer\n", "")
			},
			[]string{
				`status: the CustomResourceDefinition has no integer observedGeneration: give the Go type a field Status, which embeds kind.Status, and run controller-gen`,
			},
		},
		"a required status": {
			func(d *definition) {
				d.CRD = edit(t, "        required:\n        - spec\n        type", "        required:\n        - spec\n        - status\n        type")
			},
			[]string{`status: it is required, and the API server drops the status of an object that is created: write // +optional above the field Status and run controller-gen`},
		},
		"an older status": {
			func(d *definition) {
				d.CRD = edit(t, "              rendering:\n                maxLength: 100\n                type: string\n", "")
			},
			[]string{`status: the CustomResourceDefinition has no rendering: run controller-gen`},
		},
		"no children": {func(d *definition) { d.Children = nil }, []string{`Children is empty: list the kinds of the objects that Expand returns`}},
		"children": {
			func(d *definition) {
				d.Children = []kind.Child{
					{GVK: child("", "v1", "Pod")}, {GVK: child("", "v1", "")}, {GVK: child("apps", "", "Deployment")},
					{GVK: child("", "v1", "Pod"), Immutable: true}, {GVK: child("apps", "v1", "Deployment")}, {GVK: child("apps", "v1beta1", "Deployment")},
					{GVK: d.GVK}, {GVK: at.Kind.GVK()}, {GVK: child("", "v1", "Secret")}, {GVK: child("", "v1", "ConfigMap"), Unobserved: true},
				}
			},
			[]string{
				`Children[1], v1: it has no kind or no version: set its GVK, like v1 Pod`,
				`Children[2], apps/ Deployment: it has no kind or no version: set its GVK, like v1 Pod`,
				`Children[3], v1 Pod: it is listed twice: leave one out`,
				`Children[4], apps/v1 Deployment: it is listed twice: leave one out`,
				`Children[5], apps/v1beta1 Deployment: it is listed twice: leave one out`,
				`Children[6], test.example.com/v1 Everything: it is a source kind: have Expand return its children`,
				`Children[7], cnat.programming-kubernetes.info/v1alpha1 At: it is a source kind: have Expand return its children`,
				`Children[8], v1 Secret: the controller is not to read Secrets: set Unobserved`,
			},
		},
		"a plural": {
			func(d *definition) {
				d.Children = []kind.Child{{GVK: child("", "v1", "ConfigMap"), Resource: "Config Maps"}}
			},
			[]string{`Children[0], v1 ConfigMap: "Config Maps" is not its plural: write the NAME in kubectl api-resources, like networkpolicies`},
		},
		"a Secret that is not observed": {
			func(d *definition) {
				d.Children = []kind.Child{{GVK: child("", "v1", "Secret"), Unobserved: true}}
				d.TimeField = "spec.none"
			},
			[]string{`TimeField: the CustomResourceDefinition has no string field "spec.none": write the path of one`},
		},
		"a gate": {
			func(d *definition) { d.Gate = "a b" },
			[]string{
				`Gate is set, and the controller has to read the Pods that wait behind it: list v1 Pod in Children, without Unobserved`,
			},
		},
		"a gate of Pods that are not observed": {
			func(d *definition) {
				d.Gate = "example.com/gate"
				d.Children = []kind.Child{{GVK: child("", "v1", "Pod"), Immutable: true, Unobserved: true}}
			},
			[]string{`Gate is set, and the controller has to read the Pods that wait behind it: list v1 Pod in Children, without Unobserved`},
		},
		"paths": {
			func(d *definition) {
				d.KeepDefaults = []string{"spec.int", "spec.env.name", "spec.none", "", "text"}
				d.TimeField = "spec.int"
			},
			[]string{
				`KeepDefaults[1]: the CustomResourceDefinition has no field "spec.env.name": write the path of one`,
				`KeepDefaults[2]: the CustomResourceDefinition has no field "spec.none": write the path of one`,
				`KeepDefaults[3]: the CustomResourceDefinition has no field "": write the path of one`,
				`KeepDefaults[4]: the CustomResourceDefinition has no field "text": write the path of one`,
				`TimeField: the CustomResourceDefinition has no string field "spec.int": write the path of one`,
			},
		},
		"fields": {
			func(d *definition) {
				d.Fields = kind.Fields{
					Images:   []string{"spec.image", "", "spec.text.more", "spec.int32"},
					Replicas: []string{"spec.env", "spec.text"},
					References: []kind.Reference{
						{Field: "spec.env.secret", To: corev1.SchemeGroupVersion.WithKind("Secret")},
						{Field: "spec.text"},
						{In: schema.GroupKind{Kind: "Other"}},
						{Field: "spec.name", In: schema.GroupKind{Kind: "Other"}, To: corev1.SchemeGroupVersion.WithKind("Secret")},
					},
				}
			},
			[]string{
				`Fields.Images[0]: the CustomResourceDefinition has no string field "spec.image": write the path of one`,
				`Fields.Images[1]: the CustomResourceDefinition has no string field "": write the path of one`,
				`Fields.Images[2]: the CustomResourceDefinition has no string field "spec.text.more": write the path of one`,
				`Fields.Images[3]: the CustomResourceDefinition has no string field "spec.int32": write the path of one`,
				`Fields.Replicas[0]: the CustomResourceDefinition has no integer field "spec.env": write the path of one`,
				`Fields.Replicas[1]: the CustomResourceDefinition has no integer field "spec.text": write the path of one`,
				`Fields.References[0]: the CustomResourceDefinition has no field "spec.env.secret": write the path of one`,
				`Fields.References[1]: set To to the kind that the field names, like v1 ConfigMap`,
				`Fields.References[2] has no path: write the path of a field, like spec.service.name`,
				`Fields.References[3] is neither a field of Everything nor names one: leave out In, or To`,
			},
		},
		"children that cannot be": {
			func(d *definition) {
				d.Children = []kind.Child{
					{GVK: child("apps", "v1", "Deploymnt")}, {GVK: child("", "v2", "ConfigMap")},
					{GVK: child("", "v1", "Service"), Resource: "svc"}, {GVK: child("example.org", "v1", "Sheep"), Resource: "sheep"},
				}
			},
			[]string{
				`Children[0], apps/v1 Deploymnt: Kubernetes has no such kind: write one that kubectl api-resources lists`,
				`Children[1], v2 ConfigMap: Kubernetes has no such kind: write one that kubectl api-resources lists`,
				`Children[2], v1 Service: "svc" is not its plural: write the NAME in kubectl api-resources, like networkpolicies`,
			},
		},
		"a Pod that can be changed": {
			func(d *definition) {
				d.Children = []kind.Child{{GVK: child("", "v1", "Pod")}, {GVK: child("", "v1", "Service")}}
			},
			[]string{`Children[0], v1 Pod: the API server refuses changes of it: set Immutable, so that a change makes a new object`},
		},
		"a Job that can be changed": {
			func(d *definition) { d.Children = []kind.Child{{GVK: child("batch", "v1", "Job")}} },
			[]string{`Children[0], batch/v1 Job: the API server refuses changes of it: set Immutable, so that a change makes a new object`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := valid()
			c.change(&d)
			checkErrors(t, d.GVK.Kind, c.want, kind.Define(d), at.Kind)
		})
	}
}

// checkErrors checks the lines of the error of New, each with a prefix.
func checkErrors(t *testing.T, prefix string, want []string, kinds ...kind.Kind) {
	t.Helper()
	_, err := registry.New(kinds...)
	if err == nil {
		t.Fatal("no error")
	}
	all := prefix + ": " + strings.Join(want, "\n"+prefix+": ")
	if got := err.Error(); got != all {
		t.Errorf("got:\n%s\nwant:\n%s", got, all)
	}
}

func TestNewRefusesSharedNames(t *testing.T) {
	everythings := func(change ...func(*definition)) kind.Kind {
		d := valid()
		for _, f := range change {
			f(&d)
		}
		return kind.Define(d)
	}
	renamed := func(group, name, plural, short string, change ...func(*definition)) kind.Kind {
		return everythings(func(d *definition) {
			d.GVK.Group = group
			d.GVK.Kind = name
			text := strings.NewReplacer("kind: Everything\n", "kind: "+name+"\n    shortNames: ["+short+"]\n", "plural: everythings", "plural: "+plural,
				"name: everythings.test.example.com", "name: "+plural+"."+group, "group: test.example.com", "group: "+group,
				"singular: everything\n", "singular: "+strings.ToLower(name)+"\n", "listKind: EverythingList", "listKind: "+name+"List").Replace(string(d.CRD))
			d.CRD = []byte(text)
			d.AddToScheme = func(s *runtime.Scheme) error {
				gv := d.GVK.GroupVersion()
				s.AddKnownTypeWithName(gv.WithKind(name), &everything.Everything{})
				s.AddKnownTypeWithName(gv.WithKind(name+"List"), &everything.EverythingList{})
				metav1.AddToGroupVersion(s, gv)
				return nil
			}
			for _, f := range change {
				f(d)
			}
		})
	}
	gated := func(d *definition) {
		d.Gate = "example.com/gate"
		d.Children = []kind.Child{{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Immutable: true}}
	}
	const one = "test.example.com/v1 Everything"
	for name, c := range map[string]struct {
		kinds []kind.Kind
		want  string // empty for none
	}{
		"twice":             {[]kind.Kind{everythings(), everythings()}, `Everything: the list has ` + one + ` twice: leave one out`},
		"another group":     {[]kind.Kind{everythings(), renamed("a.b", "EveryThing", "every", "")}, `EveryThing: ` + one + ` has the same name everything: change one of them`},
		"another case":      {[]kind.Kind{everythings(), renamed("test.example.com", "EveryThing", "every", "")}, `EveryThing: ` + one + ` has the same name everything: change one of them`},
		"plural":            {[]kind.Kind{everythings(), renamed("a.b", "Every", "everythings", "")}, `Every: ` + one + ` has the same plural everythings (// +kubebuilder:resource:path=): change one of them`},
		"gate":              {[]kind.Kind{everythings(gated), renamed("a.b", "Other", "others", "", gated)}, `Other: ` + one + ` has the same Gate example.com/gate: change one of them`},
		"short name":        {[]kind.Kind{renamed("a.b", "One", "ones", "x, o"), renamed("a.b", "Other", "others", "p, o")}, `Other: a.b/v1 One has the same short name o in group a.b (// +kubebuilder:resource:shortName=): change one of them`},
		"short name, group": {[]kind.Kind{renamed("a.b", "One", "ones", "o"), renamed("a.c", "Other", "others", "o")}, ""},
		"versions":          {[]kind.Kind{ofVersions("v1", converts), ofVersions("v2")}, ""},
		"versions, CRD":     {[]kind.Kind{everythings(), ofVersions("v2")}, `Everything: ` + one + ` has another CustomResourceDefinition: give both the one that has both versions`},
		"versions, both":    {[]kind.Kind{ofVersions("v1"), ofVersions("v2")}, `Everything: ` + one + ` is rendered, too: give the older one Convert, instead of Expand, Children and Status`},
		"versions, neither": {[]kind.Kind{ofVersions("v1", converts)}, `Everything: Convert is set, and the list has no version of the kind that is rendered: add it`},
		"converted":         {[]kind.Kind{ofVersions("v1", converts, func(d *definition) { d.Expand = valid().Expand }), ofVersions("v2")}, `Everything: Convert is set, so another version is rendered: leave out Convert, or Expand, Children, Status, Digest and Gate`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := registry.New(c.kinds...)
			if got := fmt.Sprint(err); got != cmp.Or(c.want, "<nil>") {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// The errors of all kinds come at once, including kinds without a name.
func TestNewReportsAllKinds(t *testing.T) {
	nameless := valid()
	childless := valid()
	nameless.GVK = schema.GroupVersionKind{}
	childless.Children = nil
	_, err := registry.New(kind.Kind{}, kind.Define(nameless), kind.Define(childless))
	for _, want := range []string{
		"kind 1 of the list: it is not from kind.Define: pass the result of kind.Define\n",
		"kind 2 of the list: CRD defines Everything in group \"test.example.com\", not  in group \"\": embed the file of this kind, or correct GVK\n",
		"Everything: Children is empty: list the kinds of the objects that Expand returns",
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got:\n%v\nwithout:\n%s", err, want)
		}
	}
}
