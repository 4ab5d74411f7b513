package apiserver

import (
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/scheduling"
)

// admit returns the errors of the admission plugins that every kube-apiserver has enabled, unless they
// depend on the cluster.
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
func admit(decoded runtime.Object) field.ErrorList {
	switch object := decoded.(type) {
	case *core.Pod:
		return append(admitPriority(&object.Spec), admitOverhead(&object.Spec)...)
	case *core.Service:
		return admitFamilies(&object.Spec)
	case *certificates.CertificateSigningRequest:
		return admitSubject(&object.Spec)
	}
	return nil
}

// admitPriority returns the errors of the plugin Priority: the priority class decides about these
// fields.
func admitPriority(spec *core.PodSpec) (errs field.ErrorList) {
	priority, ok := classPriorities[spec.PriorityClassName]
	if !ok {
		return nil
	}
	if spec.Priority != nil && *spec.Priority != priority {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "priority"),
			"remove it: it is set by the class in spec.priorityClassName"))
	}
	if spec.PreemptionPolicy != nil && *spec.PreemptionPolicy != core.PreemptLowerPriority {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "preemptionPolicy"),
			"remove it: it is set by the class in spec.priorityClassName"))
	}
	return errs
}

// classPriorities are the priorities of the classes in every cluster, and of Pods without a class.
var classPriorities = map[string]int32{
	"":                               scheduling.DefaultPriorityWhenNoDefaultClassExists,
	scheduling.SystemClusterCritical: scheduling.SystemCriticalPriority,
	scheduling.SystemNodeCritical:    scheduling.SystemCriticalPriority + 1000,
}

// admitOverhead returns the error of the plugin RuntimeClass.
func admitOverhead(spec *core.PodSpec) field.ErrorList {
	if len(spec.Overhead) == 0 || spec.RuntimeClassName != nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "overhead"),
		"remove it: it is set by the class in spec.runtimeClassName")}
}

// admitFamilies returns the errors of a Service from the allocation of its addresses.
func admitFamilies(spec *core.ServiceSpec) (errs field.ErrorList) {
	isHeadless := spec.ClusterIP == core.ClusterIPNone && len(spec.Selector) == 0
	switch policy := spec.IPFamilyPolicy; {
	case spec.Type == core.ServiceTypeExternalName, policy == nil && isHeadless,
		policy != nil && *policy != core.IPFamilyPolicySingleStack:
		return nil
	}
	path := field.NewPath("spec", "ipFamilyPolicy")
	const instead = "must be RequireDualStack or PreferDualStack when there is more than one of "
	if len(spec.ClusterIPs) == 2 {
		errs = append(errs, field.Invalid(path, core.IPFamilyPolicySingleStack, instead+"spec.clusterIPs"))
	}
	if len(spec.IPFamilies) == 2 {
		errs = append(errs, field.Invalid(path, core.IPFamilyPolicySingleStack, instead+"spec.ipFamilies"))
	}
	return errs
}

// admitSubject returns the error of the plugin CertificateSubjectRestriction.
func admitSubject(spec *certificates.CertificateSigningRequestSpec) field.ErrorList {
	if spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	path := field.NewPath("spec", "request")
	request, err := certificates.ParseCSR(spec.Request)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, err.Error())}
	case slices.Contains(request.Subject.Organization, "system:masters"):
		return field.ErrorList{field.Forbidden(path, "must not be for the group system:masters")}
	}
	return nil
}
