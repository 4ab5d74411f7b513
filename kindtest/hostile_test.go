package kindtest

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/controller/observe"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/registry/testdata/everything"
)

// Hostile kinds are wrong, or mean harm. These tests need a rendering or a status. For mistakes in a
// Definition, or in the results of Expand and Convert, see the tests of kind/registry.

type definition = kind.Definition[everything.Everything, everything.ObservedStatus]

func hostile(change func(*definition)) kind.Kind {
	core := corev1.SchemeGroupVersion.WithKind
	d := definition{
		GVK: everything.GroupVersion.WithKind("Everything"), AddToScheme: everything.AddToScheme, CRD: everything.CRD,
		Children: []kind.Child{
			{GVK: core("ConfigMap")}, {GVK: core("Namespace"), Unobserved: true}, {GVK: core("Pod"), Immutable: true},
			{GVK: appsv1.SchemeGroupVersion.WithKind("Deployment")}, {GVK: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}},
		},
		Expand: func(*everything.Everything) ([]kind.Object, error) { return nil, nil },
	}
	change(&d)
	return kind.Define(d)
}

// minimal is a valid object of the kind.
const minimal = `{apiVersion: test.example.com/v1, kind: Everything, metadata: {name: web, namespace: team}, spec: {
  text: a, nullable: a, resources: {limits: {cpu: 1}}, time: "2026-01-01T00:00:00Z", microTime: "2026-01-01T00:00:00.000000Z"}}`

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

func untyped(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range fields {
		u.Object[key] = value
	}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	return u
}

// trap is an object whose methods panic.
type trap struct{ corev1.ConfigMap }

func (*trap) MarshalJSON() ([]byte, error)      { panic("written") }
func (*trap) DeepCopyObject() apiruntime.Object { panic("copied") }
func (*trap) GetObjectKind() schema.ObjectKind  { panic("asked") }

func TestHostileExpandIsAnError(t *testing.T) {
	t.Parallel()
	type object = *everything.Everything
	returns := func(objects ...kind.Object) func(object) ([]kind.Object, error) {
		return func(object) ([]kind.Object, error) { return objects, nil }
	}
	fails := func(err error) func(object) ([]kind.Object, error) {
		return func(object) ([]kind.Object, error) { return nil, err }
	}
	spec := field.NewPath("spec")
	several := field.ErrorList{field.Required(spec.Child("text"), "say it"), field.Invalid(spec.Child("int32"), 1, "is odd")}
	itself := untyped("v1", "ConfigMap", "a", nil)
	itself.Object["data"] = itself.Object
	var deep any = "end"
	var less any
	for i := range 20000 {
		deep = []any{deep}
		if i == 9000 {
			less = deep
		}
	}
	million := strings.Repeat("a", 1<<20)
	gigabyte := map[string]string{}
	for i := range 1 << 10 {
		gigabyte[fmt.Sprint(i)] = million
	}
	var none []string
	var chain error
	for range 1000 {
		chain = errors.Join(chain, errors.New("spec.text: no"))
	}
	for name, c := range map[string]struct {
		expand func(object) ([]kind.Object, error)
		want   []string // how each message begins
	}{
		"panics with an error":   {func(object) ([]kind.Object, error) { panic(errors.New("no")) }, []string{"Expand panics: no"}},
		"panics with nil":        {func(object) ([]kind.Object, error) { panic(nil) }, []string{"Expand panics: panic called with nil argument"}},
		"reads past an end":      {func(object) ([]kind.Object, error) { return nil, errors.New(none[1]) }, []string{"Expand panics: runtime error: index out of range [1] with length 0"}},
		"follows nil":            {func(o object) ([]kind.Object, error) { return make([]kind.Object, *o.Spec.Int32), nil }, []string{"Expand panics: runtime error: invalid memory address or nil pointer dereference"}},
		"ends its goroutine":     {func(object) ([]kind.Object, error) { runtime.Goexit(); return nil, nil }, []string{"Expand ends its goroutine: have it return"}},
		"never returns":          {func(object) ([]kind.Object, error) { select {} }, []string{"Expand does not return within 10s: it must return for every valid object"}},
		"a gigabyte":             {returns(configMap("a", gigabyte)), []string{"Expand returns more than 16 MiB: have it return less"}},
		"a gigabyte of objects":  {returns(slices.Repeat([]kind.Object{configMap("a", map[string]string{"a": million})}, 1000)...), []string{"Expand returns more than 16 MiB: have it return less"}},
		"100,000 objects":        {returns(slices.Repeat([]kind.Object{configMap("a", nil)}, 100_000)...), []string{"Expand returns 100000 objects: have it return at most 1000"}},
		"contains itself":        {returns(itself), []string{"Expand returns more than 16 MiB: have it return less"}},
		"deep":                   {returns(untyped("v1", "ConfigMap", "a", map[string]any{"data": deep})), []string{"object 1 of 1: write *unstructured.Unstructured: invalid character '[' exceeded max depth"}},
		"deep, as JSON may be":   {returns(untyped("v1", "ConfigMap", "a", map[string]any{"data": less})), []string{"is rendered to an invalid ConfigMap team/a: data: "}},
		"no number":              {returns(untyped("v1", "ConfigMap", "a", map[string]any{"data": math.NaN()})), []string{"object 1 of 1: write *unstructured.Unstructured: json: unsupported value: NaN"}},
		"methods that panic":     {returns(&trap{}), []string{"Expand panics: "}},
		"cluster-scoped":         {returns(untyped("v1", "Namespace", "a", nil)), []string{"Namespace a: it has no namespace in a cluster, and all that is rendered from kind Everything has that of its object: write it in the environment by itself"}},
		"another namespace":      {returns(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "other"}}), []string{`ConfigMap web: its namespace is "other", not the namespace of its source object: have Expand leave it empty`}},
		"not among the children": {returns(&corev1.Service{}), []string{"Service web: Children has no v1 Service: add it there"}},
		"no such version":        {returns(untyped("apps/v1beta9", "Deployment", "a", nil)), []string{"is rendered to an invalid Deployment team/a: apiVersion: Invalid value"}},
		"an invalid Pod":         {returns(&corev1.Pod{}), []string{"is rendered to an invalid Pod team/web-"}},
		"an unknown field":       {returns(untyped("v1", "ConfigMap", "a", map[string]any{"dat": map[string]any{}})), []string{"is rendered to an invalid ConfigMap team/a: unknown field \"dat\": did you mean \"data\"?"}},
		"a list for a mapping":   {returns(untyped("v1", "ConfigMap", "a", map[string]any{"data": []any{}})), []string{"is rendered to an invalid ConfigMap team/a: data: "}},
		"an invalid name":        {returns(configMap("A_b", nil)), []string{"is rendered to an invalid ConfigMap team/A_b: metadata.name: Invalid value"}},
		"a name of no end":       {returns(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", 250)}}), []string{"metadata.name: makes Pod team/aaaa", "is rendered to an invalid Pod team/aaaa"}},
		"no apiVersion":          {returns(untyped("", "ConfigMap", "a", nil)), []string{"object 1 of 1: *unstructured.Unstructured has no apiVersion and kind: set its TypeMeta"}},
		"a list":                 {returns(untyped("v1", "List", "a", map[string]any{"items": []any{}})), []string{"List a: Children has no v1 List: add it there"}},
		"text cut in a value":    {returns(configMap("a", map[string]string{"a": "Grüße"[:3]})), []string{"object 1 of 1: *v1.ConfigMap \"a\" has text that is not UTF-8: cut texts between characters"}},
		"text cut in a key":      {returns(configMap("a", map[string]string{"Grüße"[:3]: "a"})), []string{"object 1 of 1: *v1.ConfigMap \"a\" has text that is not UTF-8: cut texts between characters"}},
		"text cut, untyped":      {returns(untyped("v1", "ConfigMap", "a", map[string]any{"data": map[string]any{"a": "Grüße"[:3]}})), []string{"object 1 of 1: *unstructured.Unstructured \"a\" has text that is not UTF-8: cut texts between characters"}},
		"text cut in metadata":   {returns(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "Grüße"[:3]}}}), []string{"object 1 of 1: *v1.ConfigMap \"\" has text that is not UTF-8: cut texts between characters"}},
		"text cut in an error":   {fails(errors.New("spec.text: Grüße"[:15])), []string{"spec.text: Gr"}},
		"a wrapped panic":        {fails(fmt.Errorf("read: %w", errors.New("no"))), []string{"read: no"}},
		"joined errors":          {fails(errors.Join(errors.New("spec.text: no"), errors.New("spec.int32: no"))), []string{"spec.text: no", "spec.int32: no"}},
		"joined, and joined":     {fails(errors.Join(errors.Join(errors.New("a"), errors.New("b")), errors.New("c"))), []string{"a", "b", "c"}},
		"joined one by one":      {fails(chain), slices.Repeat([]string{"spec.text: no"}, 1000)},
		"a wrapped join":         {fails(fmt.Errorf("text: %w", errors.Join(errors.New("a"), errors.New("b")))), []string{"text: a", "text: b"}},
		"a list of fields":       {fails(several.ToAggregate()), []string{"spec.text: Required value: say it", "spec.int32: Invalid value: 1: is odd"}},
		"a wrapped list":         {fails(fmt.Errorf("check: %w", several.ToAggregate())), []string{"check: spec.text: Required value: say it", "check: spec.int32: Invalid value: 1: is odd"}},
		"an aggregate of one":    {fails(utilerrors.NewAggregate([]error{errors.New("a")})), []string{"a"}},
		"errors in a sentence":   {fails(fmt.Errorf("%w and %w", errors.New("a"), errors.New("b"))), []string{"a and b"}},
		"an error of no words":   {fails(errors.New("")), []string{""}},
		"an error that panics":   {fails(silent{}), []string{"Expand panics: "}},
		"a nil error of a type":  {fails((*field.Error)(nil)), []string{"Expand panics: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			got := Refusal(t, hostile(func(d *definition) { d.Expand = c.expand }), minimal)
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
			if took := time.Since(start); took > 5*time.Second && name != "never returns" {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// silent is an error whose message panics.
type silent struct{}

func (silent) Error() string { panic("speechless") }

func TestHostileStatusIsStalled(t *testing.T) {
	t.Parallel()
	type snapshot = kind.Snapshot[everything.Everything]
	type decision = kind.Decision[everything.ObservedStatus]
	for name, c := range map[string]struct {
		status func(snapshot) decision
		want   string
	}{
		"panics":             {func(snapshot) decision { panic("no") }, "Status panics: no"},
		"ends its goroutine": {func(snapshot) decision { runtime.Goexit(); return decision{} }, "Status ends its goroutine: have it return"},
		"never returns":      {func(snapshot) decision { select {} }, "Status does not return within 10s: it must return for every valid object"},
		"returns nothing":    {func(snapshot) decision { return decision{} }, "its Status returns no condition Ready: have it return the status of the snapshot, or conditions of its own"},
		"no Ready": {func(snapshot) decision {
			return decision{Status: everything.ObservedStatus{Status: kind.Status{Conditions: []metav1.Condition{{Type: "Happy", Status: metav1.ConditionTrue}}}}}
		}, "its Status returns no condition Ready: have it return the status of the snapshot, or conditions of its own"},
		"a large status": {func(s snapshot) decision {
			s.Status.Conditions[0].Message = strings.Repeat("a", 1<<20)
			return decision{Status: everything.ObservedStatus{Status: s.Status}}
		}, "its Status returns more than 64 KiB: have it return less"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := hostile(func(d *definition) { d.Status = c.status })
			object := Object[everything.Everything](t, k, minimal)
			decided, err := observe.Decide(k, object, nil, time.Now(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			var status kind.Status
			convert(t, decided.Status, &status)
			is := meta.FindStatusCondition(status.Conditions, condition.Stalled)
			if is == nil || is.Status != metav1.ConditionTrue || is.Reason != observe.ReasonStatusFailed || !strings.HasPrefix(is.Message, c.want) {
				t.Errorf("got %v, want %s", decided.Status, c.want)
			}
		})
	}
}
