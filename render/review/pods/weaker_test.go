package pods

import (
	"slices"
	"testing"
)

func TestWeakerPodsAreReported(t *testing.T) {
	const (
		accountOfOthers = "Pods run as the ServiceAccount default instead of web | they share the rights of all Pods in the namespace without a ServiceAccount"
		tokenOfDefault  = "Pods get the token of the ServiceAccount default | an attacker in a container can act as it at the API server"
	)
	less := func(what string) []string {
		return []string{"Pods are less protected: Pod Security restricted forbids " + what + " | an attacker in a container can do more than before"}
	}
	const refusesToken = "automountServiceAccountToken: false, "
	token := func(fields string) string {
		return "volumes: [{name: t, projected: {sources: [{serviceAccountToken: {" + fields + "path: t}}]}}], "
	}
	gets := func(what string) []string { return []string{"Pods get the " + what} }
	container := func(fields string) string { return "containers: [{name: c, " + fields + "}]" }
	security := func(fields string) string { return container("securityContext: {" + fields + "}") }
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"nothing", security("runAsNonRoot: true"), security("runAsNonRoot: true"), nil},
		{"a whole context", security("allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}"), container(""), less("allowPrivilegeEscalation != false, unrestricted capabilities")},
		{"escalation", security("allowPrivilegeEscalation: false"), security("allowPrivilegeEscalation: true"), less("allowPrivilegeEscalation != false")},
		{"escalation as by default", container(""), security("allowPrivilegeEscalation: true"), nil},
		{"no escalation any more", container(""), security("allowPrivilegeEscalation: false"), nil},
		{"a file system", security("readOnlyRootFilesystem: true"), security("readOnlyRootFilesystem: false"), []string{"readOnlyRootFilesystem is removed from container c | an attacker in the container can change its programs"}},
		{"privileged", container(""), security("privileged: true"), nil},
		{"unmasked", container(""), security("procMount: Unmasked"), nil},

		{"root", security("runAsNonRoot: true"), security("runAsNonRoot: false"), less("runAsNonRoot != true")},
		{"root, said by the Pod", "securityContext: {runAsNonRoot: true}, " + container(""), container(""), less("runAsNonRoot != true")},
		{"said by the container instead", "securityContext: {runAsNonRoot: true}, " + container(""), security("runAsNonRoot: true"), nil},
		{"refused by the container", "securityContext: {runAsNonRoot: true}, " + container(""), "securityContext: {runAsNonRoot: true}, " + security("runAsNonRoot: false"), less("runAsNonRoot != true")},
		{"user 0", security("runAsUser: 1"), security("runAsUser: 0"), less("runAsUser=0")},
		{"user 0 at last", container(""), security("runAsUser: 0"), less("runAsUser=0")},
		{"another user", security("runAsUser: 1"), security("runAsUser: 2"), nil},
		{"no user, and not root", security("runAsUser: 1, runAsNonRoot: true"), security("runAsNonRoot: true"), nil},

		{"ALL", security("capabilities: {drop: [ALL]}"), security("capabilities: {drop: [NET_RAW]}"), less("unrestricted capabilities")},
		{"more dropped", security("capabilities: {drop: [NET_RAW, CHOWN]}"), security("capabilities: {drop: [ALL]}"), nil},
		{"one added instead of all", container(""), security("capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}"), nil},
		{"one added beside none", security("capabilities: {drop: [ALL]}"), security("capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}"), gets("capability NET_BIND_SERVICE in container c | an attacker in a container can do more than before")},
		{"one more added", security("capabilities: {drop: [ALL], add: [CHOWN]}"), security("capabilities: {drop: [ALL], add: [CHOWN, SETUID]}"), gets("capability SETUID in container c | an attacker in a container can do more than before")},
		{"one added in a new container", security("capabilities: {drop: [ALL]}"), "containers: [{name: c, securityContext: {capabilities: {drop: [ALL]}}}, {name: d, securityContext: {capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}}]", gets("capability NET_BIND_SERVICE in container d | an attacker in a container can do more than before")},
		{"one less added", security("capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}"), security("capabilities: {drop: [ALL]}"), nil},
		{"a strong one added", container(""), security("capabilities: {add: [CAP_SYS_ADMIN]}"), nil},

		{"seccomp", security("seccompProfile: {type: RuntimeDefault}"), container(""), less("seccompProfile")},
		{"seccomp of the Pod", security("seccompProfile: {type: RuntimeDefault}"), "securityContext: {seccompProfile: {type: RuntimeDefault}}, " + container(""), nil},
		{"unconfined", security("seccompProfile: {type: RuntimeDefault}, appArmorProfile: {type: RuntimeDefault}"), security("seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}"), nil},

		{"the host", container(""), "hostNetwork: true, hostPID: true, hostIPC: true, " + container(""), nil},
		{"files of the host", "volumes: [{name: a, hostPath: {path: /a}}], " + container(""), "volumes: [{name: a, hostPath: {path: /}}], " + container(""), nil},
		{"users of the host", "hostUsers: false, " + container(""), container(""), less("runAsNonRoot != true")},

		{"a new container", security("runAsNonRoot: true"), "containers: [{name: c, securityContext: {runAsNonRoot: true}}, {name: d}]", less("runAsNonRoot != true in container d")},
		{"a new container in a weaker Pod", "securityContext: {runAsNonRoot: true}, " + security("runAsNonRoot: true"), "containers: [{name: c, securityContext: {runAsNonRoot: true}}, {name: d}]", less("runAsNonRoot != true in container d")},
		{"two containers", "containers: [{name: c, securityContext: {runAsNonRoot: true}}, {name: d, securityContext: {runAsNonRoot: true}}]", "containers: [{name: d}], initContainers: [{name: c}]", less("runAsNonRoot != true")},

		{"probes", container("livenessProbe: {tcpSocket: {port: 1}}, readinessProbe: {tcpSocket: {port: 1}}, startupProbe: {tcpSocket: {port: 1}}"), container(""), []string{
			"livenessProbe is removed from container c | a hanging container is not restarted",
			"readinessProbe is removed from container c | requests reach Pods that are not ready, and rollouts do not wait for readiness",
			"startupProbe is removed from container c | other probes act on the container while it starts",
		}},
		{"another probe", container("livenessProbe: {tcpSocket: {port: 1}}"), container("livenessProbe: {tcpSocket: {port: 2}}"), nil},

		{"another account", "serviceAccountName: web, " + container(""), "serviceAccountName: shop, " + container(""), nil},
		{"no account", "serviceAccountName: web, " + container(""), container(""), []string{accountOfOthers}},
		{"the account default", "serviceAccountName: web, automountServiceAccountToken: false, " + container(""), "serviceAccountName: default, " + container(""), []string{accountOfOthers, tokenOfDefault}},
		{"a token", "automountServiceAccountToken: false, " + container(""), "automountServiceAccountToken: true, " + container(""), []string{tokenOfDefault}},
		{"a token as by default", "automountServiceAccountToken: true, " + container(""), container(""), nil},
		{"a token for others", refusesToken + container(""), refusesToken + token("audience: vault, ") + container(""), []string{"Pods get a token of the ServiceAccount default for vault | an attacker in a container can act as it there"}},
		{"a token by a volume", refusesToken + container(""), refusesToken + token("") + container(""), []string{tokenOfDefault}},
		{"a token by a volume instead", container(""), refusesToken + token("") + container(""), nil},
	} {
		var got []string
		for _, e := range weaker(podSpec(t, test.before), podSpec(t, test.after)) {
			got = append(got, e.What.Plain()+" | "+e.Risk.Plain())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q\nwant\n%q", test.name, got, test.want)
		}
	}
}
