package warn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/warn"
	"example.com/gatehouse/test/changes"
)

// workload is a Deployment whose Pods have a field.
const workload = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: ns}, spec: {template: {spec: {%s}}}}`

// named is a row of a table: an object that names another one, and the field with the name.
type named struct {
	object, field, target string
}

// groups have a table for each group of references. In an object NAME is the name of the target, and PART that of a
// part that the target has.
var groups = map[string][]named{
	"Pods": {
		{fmt.Sprintf(workload, `volumes: [{name: v, configMap: {name: NAME}}]`), "spec.template.spec.volumes[0].configMap.name", config},
		{fmt.Sprintf(workload, `volumes: [{name: v, configMap: {name: settings, items: [{key: PART, path: a}]}}]`), "spec.template.spec.volumes[0].configMap.items[0].key", config},
		{fmt.Sprintf(workload, `volumes: [{name: v, secret: {secretName: NAME}}]`), "spec.template.spec.volumes[0].secret.secretName", secret},
		{fmt.Sprintf(workload, `volumes: [{name: v, persistentVolumeClaim: {claimName: NAME}}]`), "spec.template.spec.volumes[0].persistentVolumeClaim.claimName", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: settings, namespace: ns}}`},
		{fmt.Sprintf(workload, `initContainers: [{name: c, envFrom: [{secretRef: {name: NAME}}]}]`), "spec.template.spec.initContainers[0].envFrom[0].secretRef.name", secret},
		{fmt.Sprintf(workload, `containers: [{name: c, env: [{name: E, valueFrom: {configMapKeyRef: {name: settings, key: PART}}}]}]`), "spec.template.spec.containers[0].env[0].valueFrom.configMapKeyRef.key", config},
		{fmt.Sprintf(workload, `serviceAccountName: NAME`), "spec.template.spec.serviceAccountName", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: settings, namespace: ns}}`},
		{fmt.Sprintf(workload, `priorityClassName: NAME`), "spec.template.spec.priorityClassName", `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: settings}}`},
	},
	"Services and routes": {
		{`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, namespace: ns}, spec: {rules: [{http: {paths: [{backend: {service: {name: NAME}}}]}}]}}`, "spec.rules[0].http.paths[0].backend.service.name", service},
		{`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, namespace: ns}, spec: {defaultBackend: {service: {name: settings, port: {name: PART}}}}}`, "spec.defaultBackend.service.port.name", service},
		{`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: ns}, spec: {serviceName: NAME}}`, "spec.serviceName", service},
		{`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: ns}, spec: {rules: [{backendRefs: [{name: NAME}]}]}}`, "spec.rules[0].backendRefs[0].name", service},
		{`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: ns}, spec: {parentRefs: [{name: settings, sectionName: PART}]}}`, "spec.parentRefs[0].sectionName", `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: settings, namespace: ns}, spec: {listeners: [{name: metrics, port: 80}]}}`},
	},
	"autoscalers and budgets": {
		{`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}}}`, "spec.scaleTargetRef.name", deployed},
		{`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: settings}, metrics: [{containerResource: {container: PART}}]}}`, "spec.metrics[0].containerResource.container", deployed},
		{`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: a, namespace: ns}, spec: {scaleTargetRef: {name: NAME}}}`, "spec.scaleTargetRef.name", deployed},
		{`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a, namespace: ns}, spec: {selector: {matchLabels: {app: NAME}}}}`, "spec.selector.matchLabels.app", deployed},
	},
	"webhooks, APIServices and definitions": {
		{`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{clientConfig: {service: {name: NAME, namespace: ns, port: 80}}}]}`, "webhooks[0].clientConfig.service.name", service},
		{`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {service: {name: NAME, namespace: ns, port: 80}}}`, "spec.service.name", service},
		{`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {conversion: {webhook: {clientConfig: {service: {name: NAME, namespace: ns, port: 80}}}}}}`, "spec.conversion.webhook.clientConfig.service.name", service},
	},
	"roles and bindings": {
		{`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: ns}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: NAME}}`, "roleRef.name", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: settings, namespace: ns}}`},
		{`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, subjects: [{kind: ServiceAccount, name: NAME, namespace: ns}]}`, "subjects[0].name", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: settings, namespace: ns}}`},
	},
	"storage": {
		{`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: ns}, spec: {storageClassName: NAME}}`, "spec.storageClassName", `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: settings}}`},
		{`{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {claimRef: {name: NAME, namespace: ns}}}`, "spec.claimRef.name", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: settings, namespace: ns}}`},
	},
	"admission policies": {
		{`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: a}, spec: {policyName: NAME}}`, "spec.policyName", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: settings}}`},
	},
	"Flux": {
		{`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: a, namespace: ns}, spec: {sourceRef: {kind: GitRepository, name: NAME}}}`, "spec.sourceRef.name", `{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: settings, namespace: ns}}`},
		{`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: a, namespace: ns}, spec: {healthChecks: [{apiVersion: apps/v1, kind: Deployment, name: NAME, namespace: ns}]}}`, "spec.healthChecks[0].name", deployed},
		{`{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: a, namespace: ns}, spec: {valuesFrom: [{kind: ConfigMap, name: settings, valuesKey: PART}]}}`, "spec.valuesFrom[0].valuesKey", config},
		{`{apiVersion: notification.toolkit.fluxcd.io/v1beta3, kind: Alert, metadata: {name: a, namespace: ns}, spec: {providerRef: {name: NAME}}}`, "spec.providerRef.name", `{apiVersion: notification.toolkit.fluxcd.io/v1beta3, kind: Provider, metadata: {name: settings, namespace: ns}}`},
	},
	"Argo CD": {
		{`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, namespace: ns}, spec: {project: NAME}}`, "spec.project", `{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: settings, namespace: ns}}`},
		{`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: a, namespace: ns}, spec: {strategy: {canary: {stableService: NAME}}}}`, "spec.strategy.canary.stableService", service},
	},
	"cert-manager, External Secrets and the Prometheus Operator": {
		{`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a, namespace: ns}, spec: {issuerRef: {name: NAME}}}`, "spec.issuerRef.name", `{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: settings, namespace: ns}}`},
		{`{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: a, namespace: ns}, spec: {secretStoreRef: {kind: ClusterSecretStore, name: NAME}}}`, "spec.secretStoreRef.name", `{apiVersion: external-secrets.io/v1, kind: ClusterSecretStore, metadata: {name: settings}}`},
		{`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: a, namespace: ns}, spec: {selector: {matchLabels: {app: settings}}, endpoints: [{port: PART}]}}`, "spec.endpoints[0].port", service},
		{`{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: a, namespace: ns}, spec: {podMetricsEndpoints: [{basicAuth: {username: {name: settings, key: PART}}}]}}`, "spec.podMetricsEndpoints[0].basicAuth.username.key", secret},
	},
}

const (
	config   = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: ns}, data: {metrics: a}}`
	secret   = `{apiVersion: v1, kind: Secret, metadata: {name: settings, namespace: ns}, stringData: {metrics: a}}`
	service  = `{apiVersion: v1, kind: Service, metadata: {name: settings, namespace: ns, labels: {app: settings}}, spec: {ports: [{name: metrics, port: 80}]}}`
	deployed = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: settings, namespace: ns}, spec: {template: {metadata: {labels: {app: settings}}, spec: {containers: [{name: metrics, image: a}]}}}}`
)

// A name that leads nowhere is at its field, and a right one, or one with a variable, is no warning.
func TestReferencesOfEachGroupAreFound(t *testing.T) {
	for group, table := range groups {
		for _, row := range table {
			for spelling, want := range map[[2]string]string{
				{"settings", "metrics"}: "", {"settingz", "metricz"}: row.field, {`"${NAME}"`, `"${PART}"`}: "",
			} {
				text := strings.NewReplacer("NAME", spelling[0], "PART", spelling[1]).Replace(row.object)
				in := warn.Input{Kinds: &registry.Kinds{}, Objects: changes.Objects(t, text+"\n---\n"+row.target),
					Renamed: func(manifest.Object, manifest.ID) (now manifest.ID, ok bool) { return now, false }}
				var fields []string
				for _, w := range in.Warnings() {
					if w.Field != "metadata.namespace" {
						fields = append(fields, w.Field)
					}
				}
				if got := strings.Join(slices.Compact(fields), " "); got != want {
					t.Errorf("%s: %s: warnings of %q, want %q", group, text, got, want)
				}
			}
		}
	}
}

// A source of Flux in another namespace is most likely meant.
func TestSourcesInOtherNamespacesAreNamed(t *testing.T) {
	const release = `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: a, namespace: apps}, spec: {chart: {spec: {chart: c, sourceRef: {kind: HelmRepository, name: r}}}}}`
	const repository = "\n---\n{apiVersion: source.toolkit.fluxcd.io/v1, kind: HelmRepository, metadata: {name: r, namespace: flux-system}}"
	for objects, want := range map[string]string{
		release + repository: "there is no HelmRepository apps/r here, but HelmRepository flux-system/r: write namespace: flux-system. ",
		release:              "",
		strings.Replace(release, "name: r}", "name: r, namespace: flux-system}", 1) + repository: "",
	} {
		in := warn.Input{Kinds: &registry.Kinds{}, Objects: changes.Objects(t, objects),
			Renamed: func(manifest.Object, manifest.ID) (now manifest.ID, ok bool) { return now, false }}
		got := ""
		for _, w := range in.Warnings() {
			if w.Field == "spec.chart.spec.sourceRef.name" {
				got += w.Message
			}
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", objects, got, want)
		}
	}
}
