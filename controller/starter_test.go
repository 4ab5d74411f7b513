package controller_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"example.com/gatehouse/controller"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/controller/gatehouse"
	"example.com/gatehouse/controller/observe"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/rbac"
	"example.com/gatehouse/test/testkind"
)

// widget is the definition of a child type of this test's Fleets.
var widget = &apiextensionsv1.CustomResourceDefinition{
	ObjectMeta: metav1.ObjectMeta{Name: "widgets.late.example.com"},
	Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "late.example.com",
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
		Scope: apiextensionsv1.NamespaceScoped,
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", XPreserveUnknownFields: ptr.To(true),
			}},
		}},
	},
}

// lateFleet is a kind like testkind.Kind with Widgets as children, in a group that no cluster knows
// yet.
func lateFleet() kind.Kind {
	late := testkind.Definition()
	group := schema.GroupVersion{Group: "late.example.com", Version: late.GVK.Version}
	late.CRD = []byte(strings.NewReplacer(late.GVK.Group, group.Group, testkind.Kind.Plural(), "latefleets").Replace(string(late.CRD)))
	late.GVK = group.WithKind(late.GVK.Kind)
	late.AddToScheme = func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(group, &testkind.Fleet{}, &testkind.FleetList{})
		metav1.AddToGroupVersion(scheme, group)
		return nil
	}
	late.Children = append(late.Children, kind.Child{GVK: schema.GroupVersionKind{Group: group.Group, Version: "v1", Kind: "Widget"}})
	return kind.Define(late)
}

// A controller waits until the cluster knows its kind and children, and until it may read them. It
// delays no other controller.
func TestUnreadableKindDelaysNoOther(t *testing.T) {
	t.Parallel()
	late := lateFleet()
	w := newWorldOf(t, gatehouse.Controllers)
	w.controllers = slices.Concat([]setup.Controller{observe.Controller(late)}, gatehouse.Controllers)
	w.must(late.AddToScheme(w.Scheme()))
	const user = "late-controller"
	w.config = rest.CopyConfig(server.Admin)
	w.config.Impersonate = rest.ImpersonationConfig{UserName: user}
	own, err := controller.Kinds(gatehouse.Controllers)
	w.must(err)
	w.allow("ats", user, rbac.ClusterRole(own))
	w.start()
	yay := w.createAt("yay", time.Hour) // the policy on gates lets this user open none
	w.syncPod(yay)
	w.awaitAt(yay, pending, at.ReasonArmed)

	definition, _, err := late.ReadCRD()
	w.must(err)
	_, err = envtest.InstallCRDs(server.Admin, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition}})
	w.must(err)
	s := &testkind.Fleet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s"}, Spec: testkind.Spec{Pods: 1, Message: "hello"}}
	w.must(w.Create(w.ctx, s))
	w.allow("fleets", user, rbac.ClusterRole(w.kinds()))
	_, err = envtest.InstallCRDs(server.Admin, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{widget}})
	w.must(err)
	w.awaitFleet(s, observe.ReasonObjectsMissing, condition.Reconciling)

	next := w.createAt("next", time.Hour)
	w.syncPod(next)
	w.awaitAt(next, pending, at.ReasonArmed)
}

// allow gives a user the rights of a role.
func (w *world) allow(name, user string, role *rbacv1.ClusterRole) {
	w.Helper()
	role.Name = w.namespace + "-" + name
	w.must(w.Create(w.ctx, role))
	w.must(w.Create(w.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
}
