package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
	render "example.com/gatehouse/render/verdict/apiserver"
)

// restricted are fields of a Pod that the level restricted accepts.
const restricted = "securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}"

// containers are fields of a container, and specs of a Pod, that a version of a level may refuse.
var (
	containers = []string{
		"", safe, safe + ", ports: [{containerPort: 80, hostPort: 80}]", safe + ", livenessProbe: {httpGet: {port: 80, host: a}}",
		safe + ", lifecycle: {preStop: {tcpSocket: {port: 80, host: a}}}", "securityContext: {privileged: true}",
		"securityContext: {allowPrivilegeEscalation: false, runAsUser: 0, capabilities: {drop: [ALL]}}",
		"securityContext: {allowPrivilegeEscalation: false, procMount: Unmasked, capabilities: {drop: [ALL]}}",
		"securityContext: {allowPrivilegeEscalation: false, runAsNonRoot: false, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}",
		"securityContext: {capabilities: {add: [SYS_ADMIN]}}", "securityContext: {seccompProfile: {type: Unconfined}}",
		"securityContext: {appArmorProfile: {type: Unconfined}}", "securityContext: {seLinuxOptions: {type: container_engine_t}}",
	}
	specs = []string{
		"", restricted, "hostIPC: true", "hostNetwork: true", "securityContext: {runAsUser: 0}", "os: {name: windows}",
		"securityContext: {runAsNonRoot: true, runAsUser: 0, seccompProfile: {type: RuntimeDefault}}",
		"securityContext: {seccompProfile: {type: Unconfined}}", "securityContext: {windowsOptions: {hostProcess: true}}",
		"securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: a}]}", "securityContext: {sysctls: [{name: net.ipv4.tcp_notsent_lowat, value: a}]}",
		"securityContext: {sysctls: [{name: net.ipv4.ip_local_reserved_ports, value: a}]}", "securityContext: {sysctls: [{name: net.ipv4.tcp_keepalive_time, value: a}]}",
		restricted + ", volumes: [{name: a, image: {reference: a}}]", restricted + ", volumes: [{name: a, hostPath: {path: /}}]",
	}
)

// Each version of a level refuses the same Pods of render and of the API server, which has versions of its own.
func TestVersionsOfLevelsMatchAdmission(t *testing.T) {
	admin, err := client.New(server.Admin, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kubernetes, err := render.ParseVersion(server.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	var objects []manifest.Object
	for _, level := range []string{"baseline", "restricted"} {
		for _, version := range []string{"latest", "v1.22", "v1.24", "v1.31", "v1.34", "v1.35", "v1.37", "v1.99"} {
			name := level + "-" + strings.ReplaceAll(version, ".", "-")
			space := parse(t, namespace(name, "pod-security.kubernetes.io/enforce: "+level+", pod-security.kubernetes.io/enforce-version: "+version))
			if err := admin.Create(t.Context(), space.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, manifest.Object{Unstructured: space})
			for i, container := range containers {
				for j, spec := range specs {
					for _, users := range []string{"", "hostUsers: false", "hostUsers: true"} {
						u := parse(t, pod(name, "", container, strings.Trim(spec+", "+users, ", ")))
						u.SetName(fmt.Sprintf("a-%d-%d%s", i, j, strings.ReplaceAll(strings.TrimPrefix(users, "hostUsers"), ": ", "-")))
						objects = append(objects, manifest.Object{Unstructured: u})
					}
				}
			}
		}
	}
	checker, _ := verdict.New(nil, gatehouse.All(), kubernetes, nil)
	denied := map[manifest.ID]bool{}
	for _, p := range checker.Admit(objects, func(manifest.Problem) string { return "" }, func(manifest.Object) bool { return false }) {
		denied[p.Subject.ID()] = true
	}
	refused, accepted := 0, 0
	for _, o := range slices.DeleteFunc(objects, func(o manifest.Object) bool { return o.GetKind() != "Pod" }) {
		err := admin.Create(t.Context(), o.DeepCopy(), client.DryRunAll)
		switch isForbidden := err != nil && strings.Contains(err.Error(), "violates PodSecurity"); {
		case isForbidden != denied[o.ID()] && (err == nil || isForbidden): // otherwise it is invalid anyway
			t.Errorf("%s: render denies it: %t, the API server says %v", o.Object, denied[o.ID()], err)
		case isForbidden:
			refused++
		case err == nil:
			accepted++
		}
	}
	t.Logf("%d denied, %d accepted", refused, accepted)
}
