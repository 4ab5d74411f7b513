package render

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// named are the objects that referrers name: each <word> is a name, or a part.
const named = `
apiVersion: v1
kind: ConfigMap
metadata: {name: <configmap>}
data: {<key>: a}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: any}
spec: {target: {name: <secret>}, dataFrom: []}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: <account>}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: <claim>}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: <deployment>}
spec:
  selector: {matchLabels: {app: <label>}}
  template:
    metadata: {labels: {app: <label>}}
    spec: {containers: [{name: <container>, image: a, ports: [{name: <containerport>, containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: <service>, labels: {app: <label>}}
spec: {ports: [{name: <port>, port: 80}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: <role>}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: <clusterrole>}
rules: []
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: <priorityclass>}
value: 1
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: <runtimeclass>}
handler: a
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: <storageclass>}
provisioner: a
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: <ingressclass>}
spec: {controller: example.com/a}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: <policy>}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [a]}]}
  validations: [{expression: "true"}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: <gatewayclass>}
spec: {controllerName: example.com/a}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: <gateway>}
spec: {gatewayClassName: "", listeners: [{name: <listener>, port: 80, protocol: HTTP}]}
---
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: <issuer>}
spec: {selfSigned: {}}
---
apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata: {name: <store>}
spec: {provider: {}}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: <authentication>}
spec: {}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: <project>}
spec: {sourceRepos: ["*"], destinations: [{server: "*", name: "*", namespace: "*"}]}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: <repository>}
spec: {interval: 1h, url: "oci://example.com/a"}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: <provider>}
spec: {type: slack}
---
`

// referrers are objects with each sort of reference.
const referrers = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: all}
spec:
  serviceName: <service>
  selector: {matchLabels: {app: all}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      storageClassName: <storageclass>
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Gi}}
  template:
    metadata: {labels: {app: all}}
    spec:
      serviceAccountName: <account>
      priorityClassName: <priorityclass>
      runtimeClassName: <runtimeclass>
      imagePullSecrets:
      - name: <secret>
      initContainers:
      - name: first
        image: a
        envFrom:
        - prefix: A_
          configMapRef:
            name: <configmap>
      containers:
      - name: all
        image: a
        env:
        - name: A
          valueFrom:
            configMapKeyRef:
              name: <configmap>
              key: <key>
        - name: B
          valueFrom:
            secretKeyRef:
              key: any
              name: <secret>
        volumeMounts:
        - {name: a, mountPath: /a}
        - name: b
          mountPath: /b
          subPath: <key>
      volumes:
      - name: a
        configMap:
          name: <configmap>
          items:
          - path: a
            key: <key>
      - name: b
        configMap: {name: <configmap>}
      - name: c
        projected:
          sources:
          - secret:
              name: <secret>
          - configMap:
              name: <configmap>
              items:
              - path: a
                key: <key>
      - name: d
        persistentVolumeClaim:
          claimName: <claim>
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: all
  annotations:
    nginx.ingress.kubernetes.io/auth-secret: <secret>
spec:
  ingressClassName: <ingressclass>
  defaultBackend:
    service:
      name: <service>
      port:
        name: <port>
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: all}
spec:
  maxReplicas: 3
  scaleTargetRef:
    kind: Deployment
    apiVersion: apps/v1
    name: <deployment>
  metrics:
  - type: ContainerResource
    containerResource:
      name: cpu
      target: {type: Utilization, averageUtilization: 50}
      container: <container>
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: all}
spec:
  targetRef:
    kind: Deployment
    apiVersion: apps/v1
    name: <deployment>
  resourcePolicy:
    containerPolicies:
    - containerName: <container>
    - {containerName: "*", mode: "Off"}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: all}
spec:
  jobTargetRef:
    template:
      spec:
        serviceAccountName: <account>
        containers: [{name: a, image: a}]
  triggers:
  - type: kafka
    authenticationRef:
      name: <authentication>
---
apiVersion: v1
kind: Service
metadata: {name: all}
spec:
  selector:
    app: <label>
  ports:
  - port: 80
    targetPort: <containerport>
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app: <label>
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: all}
spec:
  podSelector:
    matchLabels:
      app: <label>
  ingress:
  - from:
    - podSelector:
        matchLabels:
          app: <label>
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: all}
spec:
  selector:
    matchLabels:
      app: <label>
  endpoints:
  - port: <port>
    tlsConfig:
      ca:
        configMap:
          name: <configmap>
          key: <key>
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: all}
spec:
  namespaceSelector: {matchNames: [shop]}
  selector:
    matchLabels:
      app: <label>
  podMetricsEndpoints:
  - port: <containerport>
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: all}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: <role>
subjects:
- kind: ServiceAccount
  namespace: shop
  name: <account>
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: all}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: <clusterrole>
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: team}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: all}
spec:
  policyName: <policy>
  validationActions: [Deny]
  paramRef:
    parameterNotFoundAction: Allow
    namespace: shop
    name: <configmap>
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: all}
webhooks:
- name: a.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig:
    service:
      namespace: shop
      port: 80
      name: <service>
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: all}
spec:
  gatewayClassName: <gatewayclass>
  listeners:
  - name: a
    port: 443
    protocol: HTTPS
    tls:
      certificateRefs:
      - name: <secret>
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: all}
spec:
  parentRefs:
  - name: <gateway>
    sectionName: <listener>
  rules:
  - backendRefs:
    - port: 80
      name: <service>
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: all}
spec:
  secretName: all
  dnsNames: [a.example.com]
  issuerRef:
    kind: ClusterIssuer
    name: <issuer>
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: all}
spec:
  target: {name: made}
  secretStoreRef:
    kind: ClusterSecretStore
    name: <store>
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: all}
spec:
  project: <project>
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
  source: {repoURL: "https://charts.example.com", chart: app, targetRevision: 1.0.0}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all}
spec:
  providerRef:
    name: <provider>
  eventSources:
  - kind: OCIRepository
    name: <repository>
---
`

var placeholder = regexp.MustCompile(`<\w+>`)

// Each mutated reference is found at its line, and no other one.
func TestMutatedReferencesAreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	environments, found, all := 3, 0, 0
	if testing.Short() {
		environments = 1
	}
	for range environments {
		words := map[string]string{}
		fill := func(text string) string {
			return placeholder.ReplaceAllStringFunc(text, func(p string) string {
				if words[p] == "" {
					words[p] = drawName(random)
				}
				return words[p]
			})
		}
		targets := fill(named)
		documents := strings.SplitAfter(referrers, "\n---\n")
		random.Shuffle(len(documents)-1, func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
		text := strings.Join(documents, "")
		if got := referenceWarnings(t, targets+fill(text)); len(got) > 0 {
			t.Fatalf("nothing is mutated: %s", strings.Join(got, "\n"))
		}
		for _, at := range placeholder.FindAllStringIndex(text, -1) {
			all++
			mutated := targets + fill(text[:at[0]]) + mistype(random, words[text[at[0]:at[1]]])
			line := fmt.Sprintf("environments/prod/all.yaml:%d: ", strings.Count(mutated, "\n")+1)
			got := referenceWarnings(t, mutated+fill(text[at[1]:]))
			isFound := slices.ContainsFunc(got, func(w string) bool { return strings.HasPrefix(w, line) })
			if isFound {
				found++
			}
			if !isFound || len(got) > 1 {
				before := strings.Split(text[:at[0]], "\n")
				t.Logf("%s after %q: %q", text[at[0]:at[1]], before[len(before)-2:], got)
			}
		}
	}
	if found*100 < all*95 || all < 50*environments {
		t.Errorf("%d of %d are found", found, all)
	}
}

// referenceWarnings returns the warnings of an environment with some objects.
func referenceWarnings(t *testing.T, objects string) []string {
	t.Helper()
	root := write(t, "-- environments/prod/kustomization.yaml --\nresources: [all.yaml]\nnamespace: shop\n"+
		"-- environments/prod/all.yaml --\n"+objects)
	warnings, update := warningsAt(t, root, time.Time{})
	for _, p := range problemsOf(update) {
		t.Fatal(p)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(warnings), "\n"), func(w string) bool {
		return w == "" || strings.Contains(w, "if the cluster has another version") // the objects are not whole
	})
}

// drawName draws a name of two long words.
func drawName(random *rand.Rand) string {
	var b strings.Builder
	for range 2 {
		for range 4 {
			b.WriteByte("bcdfghjklmnprstvz"[random.IntN(17)])
			b.WriteByte("aeiou"[random.IntN(5)])
		}
	}
	return b.String()[:7] + "-" + b.String()[7:14]
}

// mistype leaves out a letter of a name, or swaps or replaces one.
func mistype(random *rand.Rand, name string) string {
	i := 1 + random.IntN(4)
	switch random.IntN(3) {
	case 0:
		return name[:i] + name[i+1:]
	case 1:
		return name[:i] + string(name[i+1]) + string(name[i]) + name[i+2:]
	}
	return name[:i] + "x" + name[i+1:]
}
