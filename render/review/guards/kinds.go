package guards

import (
	"regexp"
	"strings"
)

// kinds are the guards of the kinds of groups, by what they decide. The first match counts.
var kinds = []struct {
	match  *regexp.Regexp // of the kind and its group
	guards []guard
}{
	{regexp.MustCompile(`\.iam(\..*)?$|^[A-Za-z]*IAM[A-Za-z]*(Policy|Member|Binding|Role)[A-Za-z]*\.`),
		[]guard{{risk: "it gives rights in the cloud", severity: grave}}},
	{ofGroups("gatekeeper.sh", "jspolicy.com", "kyverno.io", "policies.kubewarden.io", "policy.sigstore.dev",
		"policy.open-cluster-management.io", "security.openshift.io"),
		validating},
	{ofGroups("networking.k8s.io"), append(settings, guard{risk: connects})},
	{ofGroups("apisix.apache.org", "cilium.io", "cloud.google.com", "configuration.konghq.com", "consul.hashicorp.com",
		"crd.antrea.io", "discovery.k8s.io", "elbv2.k8s.aws", "externaldns.k8s.io", "gateway.envoyproxy.io",
		"gateway.networking.x-k8s.io", "getambassador.io", "install.istio.io", "k8s.nginx.org", "k8s.ovn.org",
		"kuma.io", "linkerd.io", "metallb.io", "multicluster.x-k8s.io", "networking.gke.io", "networking.istio.io",
		"projectcalico.org", "projectcontour.io", "route.openshift.io", "sailoperator.io", "security.istio.io",
		"traefik.containo.us", "traefik.io"), []guard{{risk: connects}}},
	{ofGroups("notification.toolkit.fluxcd.io"), []guard{{lost: "its events are no longer sent or received"}}},
	{ofGroups("toolkit.fluxcd.io"), versions},
	{ofGroups("apiextensions.crossplane.io", "fleet.cattle.io", "fluxcd.controlplane.io", "helm.cattle.io",
		"kappctrl.k14s.io", "kro.run", "operators.coreos.com", "packaging.carvel.dev", "pkg.crossplane.io"), sources},
	{ofGroups("external-secrets.io", "secrets-store.csi.x-k8s.io", "secrets.hashicorp.com"), []guard{
		{fields: regexp.MustCompile(`^spec\.refreshInterval$`)},
		{risk: "it decides which secrets are read, from where, and who gets them",
			lost: "its Secrets are deleted, or no longer updated"}}},
	{regexp.MustCompile(`^(Cluster)?Issuer\.cert-manager\.io$`), []guard{
		{risk: "it decides who signs certificates, and with which account"}}},
	{ofGroups("trust.cert-manager.io"), []guard{{risk: "it decides which certificates Pods trust"}}},
	{ofGroups("snapshot.storage.k8s.io"), []guard{{risk: stores, lost: "its snapshots are lost or no longer made"}}},
	{ofGroups("velero.io", "k8up.io", "stash.appscode.com"), []guard{{
		risk: "it decides what is saved, where, and for how long", lost: "backups are no longer made"}}},
	{regexp.MustCompile(`^(PrometheusRule\.monitoring\.coreos\.com|VM(Alert|Rule)\.operator\.victoriametrics\.com)$`),
		[]guard{{fields: at("metadata")}, {
			risk: "other outages raise an alert", limits: true, lost: "what it finds raises no alert any more"}}},
	{ofGroups("acid.zalan.do", "ceph.rook.io", "clickhouse.altinity.com", "elasticsearch.k8s.elastic.co",
		"k8s.mariadb.com", "kafka.strimzi.io", "mongodbcommunity.mongodb.com", "mysql.oracle.com", "percona.com",
		"postgres-operator.crunchydata.com", "postgresql.cnpg.io", "psmdb.percona.com", "pxc.percona.com",
		"rabbitmq.com", "redis.redis.opstreelabs.in", "scylla.scylladb.com"), []guard{
		{fields: regexp.MustCompile(`^spec\.(instances|replicas|numberOfInstances|size|storage(\.size)?)$`),
			when: falls, risk: "fewer copies of its data are kept"},
		{fields: at("spec.imageName"), when: isUpgraded, risk: upgrades, severity: grave},
		{lost: "its data may be deleted with it", severity: grave}}},
}

// ofGroups matches kinds of groups and of their subgroups.
func ofGroups(groups ...string) *regexp.Regexp {
	return regexp.MustCompile(`[.](` + strings.ReplaceAll(regexp.QuoteMeta(strings.Join(groups, " ")), " ", "|") + `)$`)
}

// key matches a label or annotation of an object or of a Pod template, by a part of its name.
func key(names ...string) *regexp.Regexp {
	return regexp.MustCompile(`(^|\.)metadata\.(annotations|labels)(\.|\[)(` + strings.Join(names, "|") + `)`)
}

// ofAll guards the fields of all objects.
var ofAll = []guard{
	{
		fields: key(`aadpodidbinding`, `azure\.workload\.identity/`, `conjur\.org/`, `eks\.amazonaws\.com/`,
			`iam\.amazonaws\.com/`, `iam\.gke\.io/`, `pod-identity\.`, `secrets\.(infisical|doppler)`,
			`vault\.hashicorp\.com/`, `vault\.security\.banzaicloud\.io/`),
		risk: "it gives Pods other rights in the cloud, or other secrets", limits: true, severity: grave,
	},
	{
		fields: key(`ambient\.istio\.io/`, `config\.linkerd\.io/(default-inbound|opaque|skip)`,
			`consul\.hashicorp\.com/(connect-inject|transparent-proxy)`, `istio\.io/(dataplane-mode|use-waypoint)`,
			`istio-injection`, `kuma\.io/(sidecar|transparent)`, `linkerd\.io/inject`, `sidecar\.istio\.io/inject`,
			`traffic\.sidecar\.istio\.io/`),
		risk: "connections of its Pods may be outside of the mesh: neither encrypted nor checked", limits: true,
	},
	{
		fields: key(`admission\.gatekeeper\.sh/`, `policies\.kyverno\.io/`, `policy\.sigstore\.dev/`),
		risk:   "policies may no longer apply to it", limits: true,
	},
	{
		fields: key(`argocd-image-updater\.argoproj\.io/`, `com\.centurylinklabs\.watchtower`, `fluxcd\.io/automated`,
			`keel\.sh/`),
		risk: "a tool may update its images from a registry, without git", limits: true,
	},
	{fields: regexp.MustCompile(`^sops\.(age|azure_kv|gcp_kms|hc_vault|kms|pgp)[.\[].*(recipient|arn|fp|resource_id|` +
		`vault_?url|vault_address)$`), risk: "it decides who can decrypt its values", limits: true,
		severity: grave},
	{fields: regexp.MustCompile(`(\.(deletion|[rR]eclaim|removal)Policy|deletion-policy\])$`),
		isRisk: oneOf("Delete", "delete", "Destroy"), risk: losesData, limits: true, severity: grave},
	{fields: regexp.MustCompile(`\.deletionProtection$`), isRisk: oneOf("true"),
		lost: "its data can now be deleted with it", severity: grave},
}

// volumes guard the fields of Pod templates that give Pods other files, connections or places.
var volumes = []guard{
	{fields: regexp.MustCompile(`ontainers\[[^\]]*\]\.image$`), when: isUpgraded, risk: upgrades, severity: grave},
	{fields: regexp.MustCompile(`\.volumes\[[^\]]*\]\.(csi|nfs|image)(\.|$)`), limits: true,
		risk: "its Pods get files from there: programs, or secrets of others"},
	{fields: regexp.MustCompile(`\.volumes\[[^\]]*\]\.persistentVolumeClaim(\.claimName)?$`), when: isGone,
		risk: "its Pods no longer have this data, and may lose what they write", severity: grave},
	{fields: regexp.MustCompile(`\.volumeMounts\[[^\]]*\]\.readOnly$`), isRisk: oneOf("true"),
		lost: "its container can change the files of this volume"},
	{fields: regexp.MustCompile(`\.(hostAliases|dnsConfig)([.\[]|$)`), limits: true,
		risk: "names may lead its Pods to other servers"},
	{fields: regexp.MustCompile(`\.priorityClassName$`),
		isRisk: oneOf("system-cluster-critical", "system-node-critical"), risk: "its Pods may stop those of others"},
}

// ofPodsByName guard the fields of kinds of others with the names of fields of Pods: their controllers make Pods.
var ofPodsByName = []guard{
	{fields: regexp.MustCompile(`\.(serviceAccount|serviceAccountName)$`), limits: true,
		risk: "its Pods may get the rights of this ServiceAccount"},
	{fields: regexp.MustCompile(`\.(image|imageName|baseImage)$`), when: changesRepository,
		risk: "the image now comes from another repository"},
}
