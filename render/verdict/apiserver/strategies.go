package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	crdinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	aggregatorinstall "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	// adds the kinds of its group to legacyscheme.Scheme, as the others do
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/extensions/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"
)

func init() { // kube-apiserver installs these in separate servers
	crdinstall.Install(legacyscheme.Scheme)
	aggregatorinstall.Install(legacyscheme.Scheme)
}

// strategies are the strategies of kube-apiserver to create objects of all stored kinds, by group.
// https://kubernetes.io/docs/reference/kubernetes-api/
var strategies = map[string]map[string]rest.RESTCreateStrategy{
	"": {
		"ConfigMap":             configmap.Strategy,
		"Endpoints":             endpoint.Strategy,
		"Event":                 event.Strategy,
		"LimitRange":            limitrange.Strategy,
		"Namespace":             namespace.Strategy,
		"Node":                  node.Strategy,
		"PersistentVolume":      persistentvolume.Strategy,
		"PersistentVolumeClaim": persistentvolumeclaim.Strategy,
		"Pod":                   pod.Strategy,
		"PodTemplate":           podtemplate.Strategy,
		"ReplicationController": replicationcontroller.Strategy,
		"ResourceQuota":         resourcequota.Strategy,
		"Secret":                secret.Strategy,
		"Service":               service.Strategy,
		"ServiceAccount":        serviceaccount.Strategy,
	},
	"admissionregistration.k8s.io": {
		"MutatingAdmissionPolicy":          mutatingadmissionpolicy.NewStrategy(nil, unasked),
		"MutatingAdmissionPolicyBinding":   mutatingadmissionpolicybinding.NewStrategy(nil, nil, unasked),
		"MutatingWebhookConfiguration":     mutatingwebhookconfiguration.Strategy,
		"ValidatingAdmissionPolicy":        validatingadmissionpolicy.NewStrategy(nil, unasked),
		"ValidatingAdmissionPolicyBinding": validatingadmissionpolicybinding.NewStrategy(nil, nil, unasked),
		"ValidatingWebhookConfiguration":   validatingwebhookconfiguration.Strategy,
	},
	"apiextensions.k8s.io": {
		"CustomResourceDefinition": customresourcedefinition.NewStrategy(legacyscheme.Scheme),
	},
	"apiregistration.k8s.io": {
		"APIService": apiservice.NewStrategy(legacyscheme.Scheme),
	},
	"apps": {
		"ControllerRevision": controllerrevision.Strategy,
		"DaemonSet":          daemonset.Strategy,
		"Deployment":         deployment.Strategy,
		"ReplicaSet":         replicaset.Strategy,
		"StatefulSet":        statefulset.Strategy,
	},
	"autoscaling": {
		"HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy,
	},
	"batch": {
		"CronJob": cronjob.Strategy,
		"Job":     job.Strategy,
	},
	"certificates.k8s.io": {
		"CertificateSigningRequest": certificates.Strategy,
		"ClusterTrustBundle":        clustertrustbundle.Strategy,
		"PodCertificateRequest":     podcertificaterequest.NewStrategy(),
	},
	"coordination.k8s.io": {
		"Lease": lease.Strategy,
	},
	"discovery.k8s.io": {
		"EndpointSlice": endpointslice.Strategy,
	},
	"events.k8s.io": {
		"Event": event.Strategy,
	},
	"flowcontrol.apiserver.k8s.io": {
		"FlowSchema":                 flowschema.Strategy,
		"PriorityLevelConfiguration": prioritylevelconfiguration.Strategy,
	},
	"networking.k8s.io": {
		"Ingress":       ingress.Strategy,
		"IngressClass":  ingressclass.Strategy,
		"IPAddress":     ipaddress.Strategy,
		"NetworkPolicy": networkpolicy.Strategy,
		"ServiceCIDR":   servicecidr.Strategy,
	},
	"node.k8s.io": {
		"RuntimeClass": runtimeclass.Strategy,
	},
	"policy": {
		"PodDisruptionBudget": poddisruptionbudget.Strategy,
	},
	"rbac.authorization.k8s.io": {
		"ClusterRole":        clusterrole.Strategy,
		"ClusterRoleBinding": clusterrolebinding.Strategy,
		"Role":               role.Strategy,
		"RoleBinding":        rolebinding.Strategy,
	},
	"resource.k8s.io": {
		"DeviceClass":           deviceclass.Strategy,
		"DeviceTaintRule":       devicetaintrule.Strategy,
		"ResourceClaim":         resourceclaim.NewStrategy(adminNamespaces{}, nil),
		"ResourceClaimTemplate": resourceclaimtemplate.NewStrategy(adminNamespaces{}),
		"ResourceSlice":         resourceslice.Strategy,
	},
	"scheduling.k8s.io": {
		"PriorityClass": priorityclass.Strategy,
	},
	"storage.k8s.io": {
		"CSIDriver":             csidriver.Strategy,
		"CSINode":               csinode.Strategy,
		"CSIStorageCapacity":    csistoragecapacity.Strategy,
		"StorageClass":          storageclass.Strategy,
		"VolumeAttachment":      volumeattachment.Strategy,
		"VolumeAttributesClass": volumeattributesclass.Strategy,
	},
	"storagemigration.k8s.io": {
		"StorageVersionMigration": storagemigration.Strategy,
	},
}

// unasked is for strategies of policies. They resolve the parameters that a user may read, and no user
// is known.
var unasked = resolver.ResourceResolverFunc(func(schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	return schema.GroupVersionResource{}, nil
})

// adminNamespaces are namespaces whose ResourceClaims have access for administration. The cluster may
// have fewer of them.
type adminNamespaces struct{ typedcorev1.NamespaceInterface }

func (adminNamespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{"resource.kubernetes.io/admin-access": "true"}}}, nil
}
