package references

// A row is a field of a kind that names another object.
type row struct {
	// in is the kind with the field, with its group. The path of a field of pods begins in a Pod's spec.
	in string
	// path leads to the name. An element [] is each item of a list, and a|b is either key.
	path string
	// to is the kind that the field names, with its group, unless the fields kind and apiVersion, apiGroup or
	// group beside the name tell another.
	to string
	// parts are fields with the part of the target that is needed, from the mapping around the name.
	parts []string
	// part is the sort of part, and otherwise the part that is needed without such a field.
	part      Part
	otherwise string
}

// pods are all kinds with a Pod template.
const pods = "pods"

const containers = "containers|initContainers|ephemeralContainers[]"

const httpsPort = "443" // of webhooks, if none is set

// table has the fields of Kubernetes, and of widely used controllers, that name objects. A field that must
// not name a missing object to be accepted is not in it, such as a volumeMount.
var table = []row{
	{in: pods, path: "volumes[].configMap.name", to: "ConfigMap", parts: []string{"items[].key"}, part: Key},
	{in: pods, path: "volumes[].secret.secretName", to: "Secret", parts: []string{"items[].key"}, part: Key},
	{in: pods, path: "volumes[].projected.sources[].configMap.name", to: "ConfigMap",
		parts: []string{"items[].key"}, part: Key},
	{in: pods, path: "volumes[].projected.sources[].secret.name", to: "Secret",
		parts: []string{"items[].key"}, part: Key},
	{in: pods, path: "volumes[].persistentVolumeClaim.claimName", to: "PersistentVolumeClaim"},
	{in: pods, path: "volumes[].ephemeral.volumeClaimTemplate.spec.storageClassName",
		to: "StorageClass.storage.k8s.io"},
	{in: pods, path: "volumes[].ephemeral.volumeClaimTemplate.spec.volumeAttributesClassName",
		to: "VolumeAttributesClass.storage.k8s.io"},
	{in: pods, path: "volumes[].ephemeral.volumeClaimTemplate.spec.dataSource|dataSourceRef.name",
		to: "PersistentVolumeClaim"},
	{in: pods, path: "volumes[].csi.nodePublishSecretRef.name", to: "Secret"},
	{in: pods, path: "volumes[].csi.volumeAttributes.secretProviderClass",
		to: "SecretProviderClass.secrets-store.csi.x-k8s.io"},
	{in: pods, path: "volumes[].azureFile.secretName", to: "Secret"},
	{in: pods, path: "volumes[].cephfs|cinder|flexVolume|iscsi|rbd|scaleIO|storageos.secretRef.name", to: "Secret"},
	{in: pods, path: containers + ".env[].valueFrom.configMapKeyRef.name", to: "ConfigMap", parts: []string{"key"},
		part: Key},
	{in: pods, path: containers + ".env[].valueFrom.secretKeyRef.name", to: "Secret", parts: []string{"key"},
		part: Key},
	{in: pods, path: containers + ".envFrom[].configMapRef.name", to: "ConfigMap"},
	{in: pods, path: containers + ".envFrom[].secretRef.name", to: "Secret"},
	{in: pods, path: "imagePullSecrets[].name", to: "Secret"},
	{in: pods, path: "serviceAccountName|serviceAccount", to: "ServiceAccount"},
	{in: pods, path: "priorityClassName", to: "PriorityClass.scheduling.k8s.io"},
	{in: pods, path: "runtimeClassName", to: "RuntimeClass.node.k8s.io"},
	{in: pods, path: "resourceClaims[].resourceClaimName", to: "ResourceClaim.resource.k8s.io"},
	{in: pods, path: "resourceClaims[].resourceClaimTemplateName", to: "ResourceClaimTemplate.resource.k8s.io"},

	{in: "ServiceAccount", path: "secrets|imagePullSecrets[].name", to: "Secret"},
	{in: "StatefulSet.apps", path: "spec.serviceName", to: "Service"},
	{in: "StatefulSet.apps", path: "spec.volumeClaimTemplates[].spec.storageClassName",
		to: "StorageClass.storage.k8s.io"},
	{in: "StatefulSet.apps", path: "spec.volumeClaimTemplates[].spec.volumeAttributesClassName",
		to: "VolumeAttributesClass.storage.k8s.io"},
	{in: "StatefulSet.apps", path: "spec.volumeClaimTemplates[].spec.dataSource|dataSourceRef.name",
		to: "PersistentVolumeClaim"},
	{in: "PersistentVolumeClaim", path: "spec.storageClassName", to: "StorageClass.storage.k8s.io"},
	{in: "PersistentVolumeClaim", path: "spec.volumeAttributesClassName", to: "VolumeAttributesClass.storage.k8s.io"},
	{in: "PersistentVolumeClaim", path: "spec.volumeName", to: "PersistentVolume"},
	{in: "PersistentVolumeClaim", path: "spec.dataSource|dataSourceRef.name", to: "PersistentVolumeClaim"},
	{in: "PersistentVolume", path: "spec.storageClassName", to: "StorageClass.storage.k8s.io"},
	{in: "PersistentVolume", path: "spec.volumeAttributesClassName", to: "VolumeAttributesClass.storage.k8s.io"},
	{in: "PersistentVolume", path: "spec.claimRef.name", to: "PersistentVolumeClaim"},
	{in: "PersistentVolume", path: "spec.csi.controllerPublishSecretRef|nodeStageSecretRef|nodePublishSecretRef|" +
		"controllerExpandSecretRef|nodeExpandSecretRef.name", to: "Secret"},
	{in: "PersistentVolume", path: "spec.cephfs|cinder|flexVolume|iscsi|rbd|scaleIO|storageos.secretRef.name",
		to: "Secret"},

	{in: "PersistentVolume", path: "spec.azureFile.secretName", to: "Secret"},
	{in: "Job.batch", path: "spec.scheduling.resourceClaims[].resourceClaimName", to: "ResourceClaim.resource.k8s.io"},
	{in: "Job.batch", path: "spec.scheduling.resourceClaims[].resourceClaimTemplateName",
		to: "ResourceClaimTemplate.resource.k8s.io"},
	{in: "CronJob.batch", path: "spec.jobTemplate.spec.scheduling.resourceClaims[].resourceClaimName",
		to: "ResourceClaim.resource.k8s.io"},
	{in: "CronJob.batch", path: "spec.jobTemplate.spec.scheduling.resourceClaims[].resourceClaimTemplateName",
		to: "ResourceClaimTemplate.resource.k8s.io"},

	{in: "Ingress.networking.k8s.io", path: "spec.ingressClassName", to: "IngressClass.networking.k8s.io"},
	{in: "Ingress.networking.k8s.io", path: "spec.tls[].secretName", to: "Secret"},
	{in: "Ingress.networking.k8s.io", path: "spec.defaultBackend.service.name", to: "Service",
		parts: []string{"port.number", "port.name"}, part: Port},
	{in: "Ingress.networking.k8s.io", path: "spec.rules[].http.paths[].backend.service.name", to: "Service",
		parts: []string{"port.number", "port.name"}, part: Port},
	{in: "Ingress.networking.k8s.io", path: "spec.rules[].http.paths[].backend.resource.name"},
	{in: "Ingress.networking.k8s.io", path: "spec.defaultBackend.resource.name"},
	{in: "Ingress.networking.k8s.io", path: "metadata.annotations[cert-manager.io/issuer]",
		to: "Issuer.cert-manager.io"},
	{in: "Ingress.networking.k8s.io", path: "metadata.annotations[cert-manager.io/cluster-issuer]",
		to: "ClusterIssuer.cert-manager.io"},
	{in: "Ingress.networking.k8s.io", path: "metadata.annotations[nginx.ingress.kubernetes.io/auth-secret]",
		to: "Secret"},
	{in: "IngressClass.networking.k8s.io", path: "spec.parameters.name"},
	{in: "HorizontalPodAutoscaler.autoscaling", path: "spec.scaleTargetRef.name"},
	{in: "HorizontalPodAutoscaler.autoscaling", path: "spec.metrics[].object.describedObject.name"},
	{in: "RoleBinding.rbac.authorization.k8s.io", path: "roleRef.name", to: "Role.rbac.authorization.k8s.io"},
	{in: "RoleBinding.rbac.authorization.k8s.io", path: "subjects[].name", to: "ServiceAccount"},
	{in: "ClusterRoleBinding.rbac.authorization.k8s.io", path: "roleRef.name",
		to: "ClusterRole.rbac.authorization.k8s.io"},
	{in: "ClusterRoleBinding.rbac.authorization.k8s.io", path: "subjects[].name", to: "ServiceAccount"},
	{in: "ValidatingWebhookConfiguration.admissionregistration.k8s.io", path: "webhooks[].clientConfig.service.name",
		to: "Service", parts: []string{"port"}, part: Port, otherwise: httpsPort},
	{in: "MutatingWebhookConfiguration.admissionregistration.k8s.io", path: "webhooks[].clientConfig.service.name",
		to: "Service", parts: []string{"port"}, part: Port, otherwise: httpsPort},
	{in: "CustomResourceDefinition.apiextensions.k8s.io", path: "spec.conversion.webhook.clientConfig.service.name",
		to: "Service", parts: []string{"port"}, part: Port, otherwise: httpsPort},
	{in: "APIService.apiregistration.k8s.io", path: "spec.service.name", to: "Service", parts: []string{"port"},
		part: Port, otherwise: httpsPort},
	{in: "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io", path: "spec.policyName",
		to: "ValidatingAdmissionPolicy.admissionregistration.k8s.io"},
	{in: "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io", path: "spec.policyName",
		to: "MutatingAdmissionPolicy.admissionregistration.k8s.io"},
	{in: "FlowSchema.flowcontrol.apiserver.k8s.io", path: "spec.priorityLevelConfiguration.name",
		to: "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io"},
	{in: "ResourceClaim.resource.k8s.io", path: "spec.devices.requests[].exactly.deviceClassName",
		to: "DeviceClass.resource.k8s.io"},
	{in: "ResourceClaim.resource.k8s.io", path: "spec.devices.requests[].firstAvailable[].deviceClassName",
		to: "DeviceClass.resource.k8s.io"},
	{in: "ResourceClaimTemplate.resource.k8s.io", path: "spec.spec.devices.requests[].exactly.deviceClassName",
		to: "DeviceClass.resource.k8s.io"},
	{in: "ResourceClaimTemplate.resource.k8s.io", path: "spec.spec.devices.requests[].firstAvailable[].deviceClassName",
		to: "DeviceClass.resource.k8s.io"},

	{in: "Gateway.gateway.networking.k8s.io", path: "spec.gatewayClassName",
		to: "GatewayClass.gateway.networking.k8s.io"},
	{in: "Gateway.gateway.networking.k8s.io", path: "spec.listeners[].tls.certificateRefs[].name", to: "Secret"},
	{in: "Gateway.gateway.networking.k8s.io", path: "metadata.annotations[cert-manager.io/issuer]",
		to: "Issuer.cert-manager.io"},
	{in: "Gateway.gateway.networking.k8s.io", path: "metadata.annotations[cert-manager.io/cluster-issuer]",
		to: "ClusterIssuer.cert-manager.io"},
	{in: "HTTPRoute|GRPCRoute|TLSRoute|TCPRoute|UDPRoute.gateway.networking.k8s.io", path: "spec.parentRefs[].name",
		to: "Gateway.gateway.networking.k8s.io", parts: []string{"sectionName"}, part: Listener},
	{in: "HTTPRoute|GRPCRoute|TLSRoute|TCPRoute|UDPRoute.gateway.networking.k8s.io",
		path: "spec.rules[].backendRefs[].name", to: "Service", parts: []string{"port"}, part: Port},

	{in: "VerticalPodAutoscaler.autoscaling.k8s.io", path: "spec.targetRef.name"},
	{in: "ScaledObject.keda.sh", path: "spec.scaleTargetRef.name", to: "Deployment.apps"},
	{in: "ScaledObject|ScaledJob.keda.sh", path: "spec.triggers[].authenticationRef.name",
		to: "TriggerAuthentication.keda.sh"},
	{in: "TriggerAuthentication.keda.sh", path: "spec.secretTargetRef[].name", to: "Secret", parts: []string{"key"},
		part: Key},
	{in: "TriggerAuthentication.keda.sh", path: "spec.configMapTargetRef[].name", to: "ConfigMap",
		parts: []string{"key"}, part: Key},
	{in: "Rollout.argoproj.io", path: "spec.workloadRef.name"},
	{in: "Rollout.argoproj.io", path: "spec.strategy.canary.canaryService|stableService", to: "Service"},
	{in: "Rollout.argoproj.io", path: "spec.strategy.blueGreen.activeService|previewService", to: "Service"},
	{in: "Application.argoproj.io", path: "spec.project", to: "AppProject.argoproj.io"},
	{in: "IngressRoute.traefik.io", path: "spec.routes[].services[].name", to: "Service", parts: []string{"port"},
		part: Port},
	{in: "IngressRoute.traefik.io", path: "spec.routes[].middlewares[].name", to: "Middleware.traefik.io"},
	{in: "IngressRoute.traefik.io", path: "spec.tls.secretName", to: "Secret"},

	{in: "Certificate.cert-manager.io", path: "spec.issuerRef.name", to: "Issuer.cert-manager.io"},
	{in: "Issuer.cert-manager.io", path: "spec.ca.secretName", to: "Secret"},
	{in: "ExternalSecret|PushSecret.external-secrets.io", path: "spec.secretStoreRef.name",
		to: "SecretStore.external-secrets.io"},
	{in: "Prometheus|Alertmanager|ThanosRuler.monitoring.coreos.com", path: "spec.serviceAccountName",
		to: "ServiceAccount"},
	{in: "ServiceMonitor.monitoring.coreos.com", path: "spec.endpoints[].basicAuth.username|password.name",
		to: "Secret", parts: []string{"key"}, part: Key},
	{in: "ServiceMonitor.monitoring.coreos.com", path: "spec.endpoints[].bearerTokenSecret.name", to: "Secret",
		parts: []string{"key"}, part: Key},
	{in: "PodMonitor.monitoring.coreos.com", path: "spec.podMetricsEndpoints[].basicAuth.username|password.name",
		to: "Secret", parts: []string{"key"}, part: Key},

	{in: "Kustomization.kustomize.toolkit.fluxcd.io", path: "spec.sourceRef.name",
		to: "GitRepository.source.toolkit.fluxcd.io"},
	{in: "Kustomization.kustomize.toolkit.fluxcd.io", path: "spec.dependsOn[].name",
		to: "Kustomization.kustomize.toolkit.fluxcd.io"},
	{in: "Kustomization.kustomize.toolkit.fluxcd.io", path: "spec.decryption.secretRef.name", to: "Secret"},
	{in: "Kustomization.kustomize.toolkit.fluxcd.io", path: "spec.postBuild.substituteFrom[].name", to: "ConfigMap"},
	{in: "HelmRelease.helm.toolkit.fluxcd.io", path: "spec.chart.spec.sourceRef.name",
		to: "HelmRepository.source.toolkit.fluxcd.io"},
	{in: "HelmRelease.helm.toolkit.fluxcd.io", path: "spec.chartRef.name", to: "HelmChart.source.toolkit.fluxcd.io"},
	{in: "HelmRelease.helm.toolkit.fluxcd.io", path: "spec.dependsOn[].name", to: "HelmRelease.helm.toolkit.fluxcd.io"},
	{in: "HelmRelease.helm.toolkit.fluxcd.io", path: "spec.valuesFrom[].name", to: "ConfigMap",
		parts: []string{"valuesKey"}, part: Key, otherwise: "values.yaml"},
	{in: "GitRepository|HelmRepository|OCIRepository|Bucket.source.toolkit.fluxcd.io", path: "spec.secretRef.name",
		to: "Secret"},
	{in: "ImagePolicy.image.toolkit.fluxcd.io", path: "spec.imageRepositoryRef.name",
		to: "ImageRepository.image.toolkit.fluxcd.io"},
	{in: "ImageUpdateAutomation.image.toolkit.fluxcd.io", path: "spec.sourceRef.name",
		to: "GitRepository.source.toolkit.fluxcd.io"},
	{in: "Alert.notification.toolkit.fluxcd.io", path: "spec.providerRef.name",
		to: "Provider.notification.toolkit.fluxcd.io"},
	{in: "Provider.notification.toolkit.fluxcd.io", path: "spec.secretRef.name", to: "Secret"},
}

// makers are the fields in which kinds of controllers name an object that they make. Without a value it has
// the name of the maker.
var makers = []row{
	{in: "Certificate.cert-manager.io", path: "spec.secretName", to: "Secret"},
	{in: "Issuer.cert-manager.io", path: "spec.acme.privateKeySecretRef.name", to: "Secret"},
	{in: "ClusterIssuer.cert-manager.io", path: "spec.acme.privateKeySecretRef.name", to: "Secret"},
	{in: "ExternalSecret.external-secrets.io", path: "spec.target.name", to: "Secret"},
	{in: "ClusterExternalSecret.external-secrets.io", path: "spec.externalSecretName", to: "Secret"},
	{in: "SealedSecret.bitnami.com", path: "spec.template.metadata.name", to: "Secret"},
	{in: "OnePasswordItem.onepassword.com", path: "spec.name", to: "Secret"},
	{in: "VaultStaticSecret|VaultDynamicSecret|VaultPKISecret.secrets.hashicorp.com", path: "spec.destination.name",
		to: "Secret"},
	{in: "Ingress.networking.k8s.io", path: "spec.tls[].secretName", to: "Secret"},
	{in: "Gateway.gateway.networking.k8s.io", path: "spec.listeners[].tls.certificateRefs[].name", to: "Secret"},
	{in: "SecretProviderClass.secrets-store.csi.x-k8s.io", path: "spec.secretObjects[].secretName", to: "Secret"},
}
