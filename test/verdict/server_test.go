package verdict_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// answer is a verdict on an object.
type answer struct {
	refused bool
	// fields are the sorted paths of wrong fields; empty for a problem of the whole object.
	fields []string
	// isPartial reports whether fields and indexes may be missing: decoding ends at the first error.
	isPartial bool
	// skipsRules reports whether validation rules were not checked, because of fields with a wrong
	// type. render checks time zones nevertheless.
	skipsRules bool
	// ofOthers are the fields that are wrong only for server-side apply, or for a rendered object.
	ofOthers []string
	// isUnknown reports whether the API server stores no such objects.
	isUnknown bool
	messages  []string
	warnings  []string
}

// clusterVerdicts are the verdicts of the API server.
type clusterVerdicts struct {
	create, apply answer
}

// merged returns the verdict on an object in git, for tools that create or apply. The errors of create
// are more precise.
func (v clusterVerdicts) merged() answer {
	merged := v.create
	if !v.create.refused && v.apply.refused || v.apply.isUnknown {
		merged = v.apply
	}
	return merged
}

// judge asks an API server for verdicts by dry run.
type judge struct {
	client dynamic.Interface
	mapper meta.RESTMapper
}

func newJudge(t *testing.T) *judge {
	t.Helper()
	return newJudgeOf(t, server.Admin)
}

func newJudgeOf(t *testing.T, admin *rest.Config) *judge {
	t.Helper()
	config := rest.CopyConfig(admin)
	config.WarningHandlerWithContext = warnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(discovery.NewDiscoveryClientForConfigOrDie(config))
	if err != nil {
		t.Fatal(err)
	}
	return &judge{client, restmapper.NewDiscoveryRESTMapper(groups)}
}

// ask returns the verdicts on objects, in their order.
func (j *judge) ask(ctx context.Context, objects []*unstructured.Unstructured) []clusterVerdicts {
	verdicts := make([]clusterVerdicts, len(objects))
	next := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range next {
				verdicts[i] = clusterVerdicts{j.request(ctx, objects[i], create), j.request(ctx, objects[i], apply)}
			}
		})
	}
	for i := range objects {
		next <- i
	}
	close(next)
	workers.Wait()
	return verdicts
}

func create(ctx context.Context, resource dynamic.ResourceInterface, u *unstructured.Unstructured) error {
	_, err := resource.Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	return err
}

func apply(ctx context.Context, resource dynamic.ResourceInterface, u *unstructured.Unstructured) error {
	encoded, err := u.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = resource.Patch(ctx, u.GetName(), types.ApplyPatchType, encoded, metav1.PatchOptions{
		DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict, FieldManager: "sync",
	})
	return err
}

func (j *judge) request(ctx context.Context, u *unstructured.Unstructured, send func(context.Context, dynamic.ResourceInterface, *unstructured.Unstructured) error) answer {
	resource, err := j.resource(u)
	if err != nil {
		return refusal(err)
	}
	var said []string
	ctx = context.WithValue(ctx, warnings{}, &said)
	if err := send(ctx, resource, u.DeepCopy()); err != nil {
		return refusal(err)
	}
	return answer{warnings: set(said)}
}

func (j *judge) resource(u *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := u.GroupVersionKind()
	mapping, err := j.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	resource := j.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, nil
	}
	namespace := u.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return resource.Namespace(namespace), nil
}

// warnings collects the warnings of the API server by request.
type warnings struct{}

func (warnings) HandleWarningHeaderWithContext(ctx context.Context, _ int, _ string, text string) {
	if said, ok := ctx.Value(warnings{}).(*[]string); ok {
		*said = append(*said, text)
	}
}

// refusal returns the verdict of an error of the API server.
func refusal(err error) answer {
	v := answer{refused: true, messages: []string{err.Error()}}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Field != "" && cause.Field != "<nil>" { // otherwise the whole object
				v.fields = append(v.fields, cause.Field)
			}
		}
	}
	if len(v.fields) == 0 {
		v.isPartial, v.fields = true, decodingFields(err.Error())
		v.isUnknown = apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err)
	}
	v.fields = set(v.fields)
	v.skipsRules = strings.Contains(err.Error(), "some validation rules were not checked")
	return v
}

var decodingField = []*regexp.Regexp{
	regexp.MustCompile(`unknown field "([^"]+)"`),
	regexp.MustCompile(`into Go struct field [A-Za-z0-9]+\.(\S+) of type`),
	regexp.MustCompile(`(?m)(?:Kind=[A-Za-z]+\): |^  )(\.[^:]+): (?:field not declared|expected|.* duplicate entries|element |list |invalid|associative)`),
}

// goName matches the name of an embedded Go type.
var goName = regexp.MustCompile(`\.[A-Z]\w*`)

// decodingFields returns the fields in the message of a decoding error.
func decodingFields(message string) (fields []string) {
	for _, pattern := range decodingField {
		for _, match := range pattern.FindAllStringSubmatch(message, -1) {
			fields = append(fields, strings.TrimPrefix(goName.ReplaceAllString(match[1], ""), "."))
		}
	}
	return fields
}
