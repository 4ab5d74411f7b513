// Package apiserver judges objects of built-in kinds with the code of kube-apiserver, from the bytes
// of a create request to the object in the store.
package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/deprecation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/capabilities"

	"example.com/gatehouse/kind"
)

// Kind is a served version of a built-in kind.
type Kind struct {
	schema.GroupVersionKind
	Type       reflect.Type // of the version
	kubernetes Version      // it is served by
	strategy   rest.RESTCreateStrategy
}

// kube-apiserver serves stable versions of built-in kinds by default, and beta versions by its
// --runtime-config. https://kubernetes.io/docs/reference/using-api/#enabling-or-disabling
var stable, beta = regexp.MustCompile(`^v[0-9]+$`), regexp.MustCompile(`^v[0-9]+beta[0-9]+$`)

// kinds are the kinds of the newest version, stable and beta.
var kinds = sync.OnceValue(func() map[schema.GroupVersionKind]Kind {
	// A flag of kube-apiserver, which clusters set.
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	// Logs of kube-apiserver do not help people who render.
	klog.SetLogger(klog.Logger{})
	all := map[schema.GroupVersionKind]Kind{}
	types := legacyscheme.Scheme.AllKnownTypes()
	for group, ofGroup := range strategies {
		for _, gv := range legacyscheme.Scheme.PrioritizedVersionsForGroup(group) {
			for kindName, strategy := range ofGroup {
				gvk := gv.WithKind(kindName)
				if goType, ok := types[gvk]; ok && (stable.MatchString(gv.Version) || beta.MatchString(gv.Version)) {
					all[gvk] = Kind{gvk, goType, Newest, strategy}
				}
			}
		}
	}
	return all
})

// Interpret implements json.MetaFactory: the JSON is known to be of the kind.
func (k Kind) Interpret([]byte) (*schema.GroupVersionKind, error) { return &k.GroupVersionKind, nil }

// decoder decodes JSON of the kind and refuses unknown fields.
func (k Kind) decoder() runtime.Decoder {
	scheme := legacyscheme.Scheme
	strict := kjson.NewSerializerWithOptions(k, scheme, scheme, kjson.SerializerOptions{Strict: true})
	return versioning.NewDefaultingCodecForScheme(scheme, nil, strict, nil, runtime.InternalGroupVersioner)
}

// Prepare loads all kinds.
func Prepare() { kinds() }

// Lookup returns a kind that the version serves by default.
func (v Version) Lookup(gvk schema.GroupVersionKind) (Kind, bool) {
	k, ok := kinds()[gvk]
	k.kubernetes = v
	return k, ok && stable.MatchString(gvk.Version) && v.hasKind(gvk)
}

// IsGroup reports whether a group belongs to Kubernetes, also if it is no longer served. Groups of
// CustomResourceDefinitions have a dot.
func IsGroup(name string) bool {
	_, ok := strategies[name]
	return ok || !strings.Contains(name, ".") || legacyscheme.Scheme.IsGroupRegistered(name) ||
		slices.Contains(formerGroups, name)
}

// APIVersions returns the apiVersions that serve a kind. If its group has no such kind, they are of
// other groups.
func (v Version) APIVersions(kind schema.GroupKind) []string {
	var ofGroup, ofOthers []string
	for gvk := range kinds() {
		apiVersion := gvk.GroupVersion().String()
		switch {
		case !v.hasKind(gvk) || !stable.MatchString(gvk.Version):
		case gvk.GroupKind() == kind:
			ofGroup = append(ofGroup, apiVersion)
		case gvk.Kind == kind.Kind:
			ofOthers = append(ofOthers, apiVersion)
		}
	}
	if len(ofGroup) == 0 {
		ofGroup = ofOthers
	}
	slices.Sort(ofGroup)
	return ofGroup
}

// KindNames returns the names of all kinds in a group.
func KindNames(group string) []string { return slices.Sorted(maps.Keys(strategies[group])) }

// IsNamespaced reports whether objects of the kind have a namespace.
func (k Kind) IsNamespaced() bool { return k.strategy.NamespaceScoped() }

// Decode returns the internal form of an object, with defaults. Unknown fields are a strict error,
// except fields for DropsField.
func (k Kind) Decode(content map[string]any) (kind.Object, error) {
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	decoded, _, err := k.decoder().Decode(encoded, nil, nil)
	if err != nil && (k.kubernetes == Newest || decoded == nil || !runtime.IsStrictDecodingError(err)) {
		return nil, err
	}
	return decoded.(kind.Object), nil // all stored kinds have metadata
}

// Create returns the errors of kube-apiserver for a decoded object, or without errors its warnings. It
// may change the object.
func (k Kind) Create(decoded kind.Object) (errs field.ErrorList, warnings []string) {
	defer k.kubernetes.recoverAsError(&errs)
	var recorded recorder
	ctx := warning.WithWarningRecorder(k.begin(decoded), &recorded)
	if service, ok := decoded.(*core.Service); ok {
		synchronize(&service.Spec)
	}
	k.prepare(ctx, decoded)
	errs = k.kubernetes.addExpressionErrors(rest.ValidateCreate(ctx, k.kubernetes.WithoutFormats(decoded),
		k.strategy), decoded)
	if errs = k.kubernetes.errors(append(errs, admit(decoded)...)); len(errs) > 0 {
		return errs, nil
	}
	return nil, k.kubernetes.warnings(decoded,
		slices.Concat(k.deprecation(), recorded, k.strategy.WarningsOnCreate(ctx, decoded)))
}

// prepare drops and sets fields as kube-apiserver does before validation.
func (k Kind) prepare(ctx context.Context, decoded kind.Object) {
	restore := k.kubernetes.keep(decoded)
	k.strategy.PrepareForCreate(ctx, decoded)
	restore()
}

// recoverAsError turns a panic into an error, as kube-apiserver does for each request.
func (v Version) recoverAsError(errs *field.ErrorList) {
	if recover() != nil {
		*errs = field.ErrorList{field.InternalError(nil,
			fmt.Errorf("kube-apiserver %s answers with an internal error", v))}
	}
}

// synchronize sets fields of a Service that are validated but optional: the address in both of its
// fields, and the port for health checks.
func synchronize(spec *core.ServiceSpec) {
	if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if spec.Type == core.ServiceTypeLoadBalancer &&
		spec.ExternalTrafficPolicy == core.ServiceExternalTrafficPolicyLocal {
		spec.HealthCheckNodePort = cmp.Or(spec.HealthCheckNodePort, 32767)
	}
}

// recorder records warnings.
type recorder []string

// AddWarning implements warning.Recorder.
func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }

// uid is the UID of an object that is not in a cluster.
const uid = "00000000-0000-0000-0000-000000000000"

// begin completes the metadata of an object as a create request does, and returns the context of
// the request.
func (k Kind) begin(object metav1.Object) context.Context {
	SetNamespace(object, k.IsNamespaced())
	rest.WipeObjectMetaSystemFields(object)
	rest.FillObjectMetaSystemFields(object)
	object.SetUID(uid) // messages may have it
	return request.WithRequestInfo(request.WithNamespace(context.Background(), object.GetNamespace()),
		&request.RequestInfo{
			IsResourceRequest: true,
			Verb:              "create",
			APIGroup:          k.Group,
			APIVersion:        k.Version,
			Namespace:         object.GetNamespace(),
			Name:              object.GetName(),
		})
}

// ValidateMetadata returns the errors of metadata that do not depend on the kind.
func ValidateMetadata(object metav1.Object, isNamespaced bool) field.ErrorList {
	isPathSegment := func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	return apivalidation.ValidateObjectMetaAccessor(object, isNamespaced, isPathSegment, field.NewPath("metadata"))
}

// SetNamespace sets or removes the namespace of an object as a create request does.
func SetNamespace(object metav1.Object, isNamespaced bool) {
	switch {
	case !isNamespaced:
		object.SetNamespace("")
	case object.GetNamespace() == "":
		object.SetNamespace(metav1.NamespaceDefault)
	}
}

// deprecation returns the warning for a deprecated version.
func (k Kind) deprecation() []string {
	versioned, err := legacyscheme.Scheme.New(k.GroupVersionKind)
	if err != nil {
		return nil
	}
	versioned.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	if !deprecation.IsDeprecated(versioned, 1, int(k.kubernetes)) {
		return nil
	}
	return []string{deprecation.WarningMessage(versioned)}
}
