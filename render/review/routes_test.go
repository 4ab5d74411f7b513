package review

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/test/changes"
)

// object returns a manifest of an object in the Namespace ns.
func object(version, kind, metadata, rest string) string {
	return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: o, namespace: ns, " + metadata + "}, " + rest + "}\n---\n"
}

func annotated(annotations string) string { return "annotations: {" + annotations + "}" }

func TestRoutesAndGuardsAreReviewed(t *testing.T) {
	const (
		connects       = "it changes who can connect to Pods, where their connections go, or who can read them"
		clients        = "it decides which clients may connect or send requests"
		admits         = "it decides which objects the cluster admits, or changes them: it may read and change all of them"
		syncs          = "it decides which objects are applied to the cluster, from which source, and with which rights"
		schedules      = "it decides where Pods run, and which of them stop for others"
		inCloud        = " | its Pods get these rights in the cloud"
		losesData      = "data is lost as soon as its claim or object is deleted"
		outside        = " | its Pods are reachable from outside of the cluster"
		balancer       = "type: LoadBalancer, selector: {app: a}, ports: [{port: 80}]"
		web            = "rules: [{host: a.org, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]"
		gateway        = "gateway.networking.k8s.io/v1"
		internalScheme = "service.beta.kubernetes.io/aws-load-balancer-scheme: internal"
	)
	service := func(spec string, metadata ...string) string {
		return object("v1", "Service", strings.Join(metadata, ""), "spec: {"+spec+"}")
	}
	ingressOf := func(spec string, metadata ...string) string {
		return object("networking.k8s.io/v1", "Ingress", strings.Join(metadata, ""), "spec: {"+spec+"}")
	}
	account := func(annotations string) string { return object("v1", "ServiceAccount", annotated(annotations), "") }
	route := func(kind, spec string) string { return object(gateway, kind, "", "spec: {"+spec+"}") }
	for _, test := range []struct {
		name, before, after string
		want                []string // the effects among others
	}{
		{"wider sources", service(balancer + ", loadBalancerSourceRanges: [10.1.0.0/16]"), service(balancer + ", loadBalancerSourceRanges: [10.0.0.0/8]"), []string{"Service ns/o: changes spec.loadBalancerSourceRanges[0]: 10.1.0.0/16 → 10.0.0.0/8 | " + connects}},
		{"no sources", service(balancer + ", loadBalancerSourceRanges: [10.1.0.0/16]"), service(balancer), []string{`Service ns/o: changes spec.loadBalancerSourceRanges: ["10.1.0.0/16"] → unset | ` + connects}},
		{"narrower sources", service(balancer), service(balancer + ", loadBalancerSourceRanges: [10.1.0.0/16]"), []string{"Service ns/o: changes spec.loadBalancerSourceRanges[0]: unset → 10.1.0.0/16 | " + connects}},
		{"no longer internal on AWS", service(balancer, annotated(internalScheme)), service(balancer), []string{`Service ns/o: changes metadata.annotations: {"service.beta.kubernetes.io/aws-load-balancer-scheme":"internal"} → unset | ` + clients}},
		{"facing the internet on AWS", service(balancer, annotated(internalScheme)), service(balancer, annotated("service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing")), []string{"Service ns/o: changes metadata.annotations[service.beta.kubernetes.io/aws-load-balancer-scheme]: internal → internet-facing | " + clients}},
		{"no longer internal on AWS, in tree", service(balancer, annotated(`service.beta.kubernetes.io/aws-load-balancer-internal: "true"`)), service(balancer, annotated(`service.beta.kubernetes.io/aws-load-balancer-internal: "false"`)), []string{"Service ns/o: changes metadata.annotations[service.beta.kubernetes.io/aws-load-balancer-internal]: true → false | " + clients}},
		{"no longer internal on Azure", service(balancer, annotated(`service.beta.kubernetes.io/azure-load-balancer-internal: "true"`)), service(balancer), []string{`Service ns/o: changes metadata.annotations: {"service.beta.kubernetes.io/azure-load-balancer-internal":"true"} → unset | ` + clients}},
		{"no longer internal on Google Cloud", service(balancer, annotated("networking.gke.io/load-balancer-type: Internal")), service(balancer), []string{`Service ns/o: changes metadata.annotations: {"networking.gke.io/load-balancer-type":"Internal"} → unset | ` + clients}},
		{"no longer internal on old Google Cloud", service(balancer, annotated("cloud.google.com/load-balancer-type: Internal")), service(balancer), []string{`Service ns/o: changes metadata.annotations: {"cloud.google.com/load-balancer-type":"Internal"} → unset | ` + clients}},
		{"another annotation of a cloud", service(balancer), service(balancer, annotated("service.beta.kubernetes.io/aws-load-balancer-type: nlb")), []string{"Service ns/o: changes metadata.annotations[service.beta.kubernetes.io/aws-load-balancer-type]: unset → nlb | " + clients}},
		{"no selector", service("selector: {app: a}, ports: [{port: 80}]"), service("ports: [{port: 80}]"), []string{`Service ns/o: changes spec.selector: {"app":"a"} → unset | ` + connects}},
		{"another target", service("selector: {app: a}, ports: [{port: 80}]"), service("selector: {app: a}, ports: [{port: 80, targetPort: 81}]"), []string{"Service ns/o: changes spec.ports[0].targetPort: unset → 81 | " + connects}},
		{"an external address", service("ports: [{port: 80}]"), service("ports: [{port: 80}], externalIPs: [1.2.3.4]"), []string{"Service ns/o: changes spec.externalIPs[0]: unset → 1.2.3.4 | it receives all connections to these addresses, also if they belong to other servers"}},
		{"an external name", "", service("type: ExternalName, externalName: a.org"), []string{"Service ns/o: is added with spec.externalName: a.org; spec.type: ExternalName | its clients connect to this host: spec.externalName"}},
		{"another external name", service("type: ExternalName, externalName: a.org"), service("type: ExternalName, externalName: b.org"), []string{"Service ns/o: changes spec.externalName: a.org → b.org | its clients connect to this host"}},
		{"Pods that are not ready", service("ports: [{port: 80}]"), service("ports: [{port: 80}], publishNotReadyAddresses: true"), []string{"Service ns/o: changes spec.publishNotReadyAddresses: unset → true | requests reach Pods that are not ready"}},
		{"one more open port", service("type: NodePort, ports: [{port: 80}]"), service("type: NodePort, ports: [{port: 80, name: a}, {port: 81, name: b}]"), []string{`Service ns/o: changes spec.ports[0]: {"port":80} → unset; spec.ports[0].name: unset → a; spec.ports[0].port: unset → 80; spec.ports[1].name: unset → b; spec.ports[1].port: unset → 81 | ` + connects}},
		{"a label for a Service", service(balancer) + changes.Deployment("x", "b"), service(balancer) + changes.Deployment("x", "a"), []string{"Deployment ns/x: Service ns/o routes to its Pods" + outside}},
		{"no label for a Service", service(balancer) + changes.Deployment("x", "a"), service(balancer) + changes.Deployment("x", "b"), []string{"Deployment ns/x: Service ns/o no longer routes to its Pods | clients of this Service cannot reach them"}},
		{"Pods for a Service", service("selector: {app: a}"), service("selector: {app: a}") + changes.Deployment("x", "a"), []string{"Deployment ns/x: Service ns/o routes to its Pods | clients of this Service reach them"}},

		{"an Ingress", "", ingressOf(web), []string{"Ingress ns/o: is added with spec.rules[0].host: a.org; spec.rules[0].http.paths[0].backend.service.name: s; spec.rules[0].http.paths[0].backend.service.port.number: 80; spec.rules[0].http.paths[0].path: /; spec.rules[0].http.paths[0].pathType: Prefix | " + connects}},
		{"another backend", ingressOf(web), ingressOf(strings.Replace(web, "name: s", "name: admin", 1)), []string{"Ingress ns/o: changes spec.rules[0].http.paths[0].backend.service.name: s → admin | " + connects}},
		{"a default backend", ingressOf(web), ingressOf(web + ", defaultBackend: {service: {name: d, port: {name: web}}}"), []string{"Ingress ns/o: changes spec.defaultBackend.service.name: unset → d; spec.defaultBackend.service.port.name: unset → web | " + connects}},
		{"no TLS", ingressOf(web + ", tls: [{hosts: [a.org], secretName: t}]"), ingressOf(web), []string{`Ingress ns/o: changes spec.tls: [{"hosts":["a.org"],"secretName":"t"}] → unset | ` + connects}},
		{"another class", ingressOf(web + ", ingressClassName: internal"), ingressOf(web + ", ingressClassName: public"), []string{"Ingress ns/o: changes spec.ingressClassName: internal → public | " + connects}},
		{"no authentication", ingressOf(web, annotated("nginx.ingress.kubernetes.io/auth-url: https://a.org")), ingressOf(web), []string{`Ingress ns/o: changes metadata.annotations: {"nginx.ingress.kubernetes.io/auth-url":"https://a.org"} → unset | ` + clients}},
		{"more clients", ingressOf(web, annotated("nginx.ingress.kubernetes.io/whitelist-source-range: 10.0.0.0/8")), ingressOf(web, annotated("nginx.ingress.kubernetes.io/whitelist-source-range: 0.0.0.0/0")), []string{"Ingress ns/o: changes metadata.annotations[nginx.ingress.kubernetes.io/whitelist-source-range]: 10.0.0.0/8 → 0.0.0.0/0 | " + clients}},
		{"a snippet", "", ingressOf(web, annotated("nginx.ingress.kubernetes.io/configuration-snippet: a")), []string{"Ingress ns/o: is added with metadata.annotations[nginx.ingress.kubernetes.io/configuration-snippet]: a; spec.rules[0].host: a.org; spec.rules[0].http.paths[0].backend.service.name: s; spec.rules[0].http.paths[0].backend.service.port.number: 80; spec.rules[0].http.paths[0].path: /; spec.rules[0].http.paths[0].pathType: Prefix | it is code in the proxy: its author may read all requests and the keys of all routes: metadata.annotations[nginx.ingress.kubernetes.io/configuration-snippet]; " + connects}},

		{"another backend of a route", route("HTTPRoute", "rules: [{backendRefs: [{name: s, port: 80}]}]"), route("HTTPRoute", "rules: [{backendRefs: [{name: s, namespace: x, port: 80}]}]"), []string{"HTTPRoute ns/o: changes spec.rules[0].backendRefs[s].namespace: unset → x | " + connects}},
		{"another Gateway", route("GRPCRoute", "parentRefs: [{name: internal}]"), route("GRPCRoute", "parentRefs: [{name: public, sectionName: web}]"), []string{`GRPCRoute ns/o: changes spec.parentRefs[internal]: {"name":"internal"} → unset; spec.parentRefs[public].name: unset → public; spec.parentRefs[public].sectionName: unset → web | ` + connects}},
		{"no hosts", route("TLSRoute", "hostnames: [a.org]"), route("TLSRoute", ""), []string{`TLSRoute ns/o: changes spec.hostnames: ["a.org"] → unset | ` + connects}},
		{"a path", route("HTTPRoute", "rules: []"), route("HTTPRoute", "rules: [{matches: [{path: {type: PathPrefix, value: /admin}}], backendRefs: [{name: s, port: 80}]}]"), []string{"HTTPRoute ns/o: changes spec.rules[0].backendRefs[s].name: unset → s; spec.rules[0].backendRefs[s].port: unset → 80; spec.rules[0].matches[0].path.type: unset → PathPrefix; spec.rules[0].matches[0].path.value: unset → /admin | " + connects}},
		{"a listener", route("Gateway", "listeners: []"), route("Gateway", "listeners: [{name: a, port: 80}]"), []string{"Gateway ns/o: changes spec.listeners[a].name: unset → a; spec.listeners[a].port: unset → 80 | " + connects}},
		{"a Gateway that goes", route("Gateway", "listeners: [{name: a, port: 80}]"), "", []string{"Gateway ns/o: is removed | " + connects}},
		{"a grant of references", "", object(gateway, "ReferenceGrant", "", "spec: {from: []}"), []string{"ReferenceGrant ns/o: is added with spec.from: [] | " + connects}},

		{"a policy of Cilium", "", object("cilium.io/v2", "CiliumNetworkPolicy", "", "spec: {}"), []string{"CiliumNetworkPolicy ns/o: is added with spec: {} | " + connects}},
		{"a policy of Calico", object("crd.projectcalico.org/v1", "NetworkPolicy", "", "spec: {order: 1}"), object("crd.projectcalico.org/v1", "NetworkPolicy", "", "spec: {order: 2}"), []string{"NetworkPolicy ns/o: changes spec.order: 1 → 2 | " + connects}},
		{"a policy of Istio", object("security.istio.io/v1", "PeerAuthentication", "", "spec: {mtls: {mode: STRICT}}"), "", []string{"PeerAuthentication ns/o: is removed | " + connects}},
		{"a source of Flux", object("source.toolkit.fluxcd.io/v1", "GitRepository", "", "spec: {url: a}"), object("source.toolkit.fluxcd.io/v1", "GitRepository", "", "spec: {url: b}"), []string{"GitRepository ns/o: changes spec.url: a → b | " + syncs}},
		{"a project of Argo CD", object("argoproj.io/v1alpha1", "AppProject", "", "spec: {sourceRepos: [a]}"), object("argoproj.io/v1alpha1", "AppProject", "", `spec: {sourceRepos: ["*"]}`), []string{"AppProject ns/o: changes spec.sourceRepos[0]: a → * | " + syncs}},
		{"parameters", object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "spec: {paramKind: {apiVersion: a.org/v1, kind: Limit}}") + object("a.org/v1", "Limit", "", "max: 1"), object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "spec: {paramKind: {apiVersion: a.org/v1, kind: Limit}}") + object("a.org/v1", "Limit", "", "max: 9"), []string{"Limit ns/o: changes max: 1 → 9 | admission policies take their parameters from it: " + admits}},
		{"a public Secret", object("v1", "Secret", "", "type: Opaque"), object("v1", "Secret", annotated("gatehouse.example.com/public-because: all may know"), "type: Opaque"), []string{"Secret ns/o: changes metadata.annotations[gatehouse.example.com/public-because]: unset → all may know | its values are public: everyone who reads this repository has them"}},
		{"a volume", object("v1", "PersistentVolume", "", "spec: {persistentVolumeReclaimPolicy: Retain}"), object("v1", "PersistentVolume", "", "spec: {persistentVolumeReclaimPolicy: Delete}"), []string{"PersistentVolume ns/o: changes spec.persistentVolumeReclaimPolicy: Retain → Delete | " + losesData}},
		{"a taint", object("v1", "Node", "", "spec: {taints: [{key: a}]}"), object("v1", "Node", "", "spec: {}"), []string{"Node ns/o: changes spec.taints: " + `[{"key":"a"}] → unset | ` + schedules}},

		{"a cloud role", account(""), account("iam.gke.io/gcp-service-account: a@b"), []string{"ServiceAccount ns/o: changes metadata.annotations[iam.gke.io/gcp-service-account]: unset → a@b" + inCloud}},
		{"another cloud role", account("azure.workload.identity/client-id: a"), account("azure.workload.identity/client-id: b"), []string{"ServiceAccount ns/o: changes metadata.annotations[azure.workload.identity/client-id]: a → b" + inCloud}},
		{"a new account with a cloud role", "", account("eks.amazonaws.com/role-arn: 'arn:a'"), []string{"ServiceAccount ns/o: is added with metadata.annotations[eks.amazonaws.com/role-arn]: arn:a" + inCloud}},
		{"an account that goes", account(""), "", []string{"ServiceAccount ns/o: is removed | its new Pods are refused; a cluster creates the ServiceAccount default again, and mounts its token"}},

		{"a version of Pod Security", fill(namespace, "LABEL=pod-security.kubernetes.io/enforce: restricted"), fill(namespace, "LABEL=pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: v1.20"), []string{"Namespace ns: changes metadata.labels[pod-security.kubernetes.io/enforce-version]: unset → v1.20 | Pods that it refused are let in, or others are refused"}},
		{"no warnings of Pod Security", fill(namespace, "LABEL=pod-security.kubernetes.io/warn: baseline"), fill(namespace), []string{"Namespace ns: changes metadata.labels[pod-security.kubernetes.io/warn]: baseline → unset | Pods that it refused are let in, or others are refused"}},
		{"a label of a Namespace", fill(namespace, "LABEL=istio-injection: enabled"), fill(namespace), []string{"Namespace ns: changes metadata.labels.istio-injection: enabled → unset | policies and webhooks select Namespaces by their labels: they may no longer apply to it, or allow it more"}},
	} {
		got := changes.Lines(ruled(changes.Between(t, test.before, test.after), time.Time{}))
		for _, line := range test.want {
			if !slices.Contains(got, line) {
				t.Errorf("%s: got\n%s\nwithout\n%s", test.name, strings.Join(got, "\n"), line)
			}
		}
	}
}
