package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/test/changes"
)

// podsWith returns a Deployment of one Pod with a spec.
func podsWith(spec string) string { return workload("apps/v1", "Deployment", spec) }

func TestReviewTellsAllContainers(t *testing.T) {
	const (
		shares    = " | it shares the network and the volumes of its Pods"
		elsewhere = " | the image now comes from another repository"
		unpinned  = " | its digest is removed: a tag may get another image later"
		app       = "containers: [{name: app, image: web:1, args: [serve]}]"
		digest    = "@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	)
	image := func(image string) string { return podsWith("containers: [{name: app, image: " + image + "}]") }
	field := func(fields string) string { return podsWith("containers: [{name: app, image: web:1, " + fields + "}]") }
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"a new container", podsWith(app), podsWith(strings.Replace(app, "}]", "}, {name: x, image: evil, command: [sh, -c], args: [curl evil.org]}]", 1)), []string{"Deployment ns/a: new container x runs image evil: sh -c curl evil.org" + shares, "Deployment ns/a: Pods are replaced"}},
		{"a new init container", podsWith(app), podsWith(app + ", initContainers: [{name: x, image: evil}]"), []string{"Deployment ns/a: new init container x runs image evil" + shares, "Deployment ns/a: Pods are replaced"}},
		{"a new sidecar", podsWith(app), podsWith(app + ", initContainers: [{name: x, image: evil, restartPolicy: Always}]"), []string{"Deployment ns/a: new sidecar x runs image evil" + shares, "Deployment ns/a: Pods are replaced: spec.template.spec.initContainers[x].restartPolicy: unset → Always"}},
		{"a renamed container", podsWith(app), podsWith(strings.Replace(app, "name: app", "name: x", 1)), []string{`Deployment ns/a: Pods are replaced: spec.template.spec.containers[app]: {"args":["serve"],"image":"web:1","name":"app"} → unset; spec.template.spec.containers[x].args[0]: unset → serve; spec.template.spec.containers[x].image: unset → web:1; spec.template.spec.containers[x].name: unset → x`}},
		{"a renamed container of another version", podsWith(app), podsWith(strings.NewReplacer("name: app", "name: x", "web:1", "web:2").Replace(app)), []string{`Deployment ns/a: Pods are replaced: spec.template.spec.containers[app]: {"args":["serve"],"image":"web:1","name":"app"} → unset; spec.template.spec.containers[x].args[0]: unset → serve; spec.template.spec.containers[x].image: unset → web:2; spec.template.spec.containers[x].name: unset → x`}},
		{"another container", podsWith(app), podsWith("containers: [{name: x, image: evil}]"), []string{"Deployment ns/a: new container x runs image evil" + shares, `Deployment ns/a: Pods are replaced: spec.template.spec.containers[app]: {"args":["serve"],"image":"web:1","name":"app"} → unset`}},
		{"a moved container", podsWith(strings.Replace(app, "}]", "}, {name: x, image: b:1}]", 1)), podsWith(app + ", initContainers: [{name: x, image: b:1}]"), []string{`Deployment ns/a: Pods are replaced: spec.template.spec.containers[x]: {"image":"b:1","name":"x"} → unset; spec.template.spec.initContainers[x].image: unset → b:1; spec.template.spec.initContainers[x].name: unset → x`}},
		{"a removed container", podsWith(strings.Replace(app, "}]", "}, {name: x, image: proxy}]", 1)), podsWith(app), []string{`Deployment ns/a: Pods are replaced: spec.template.spec.containers[x]: {"image":"proxy","name":"x"} → unset`}},

		{"another tag", image("web:1"), image("web:2"), []string{"Deployment ns/a: Pods are replaced: image web:1 → web:2"}},
		{"another registry", image("web:1"), image("ghcr.io/x/web:1"), []string{"Deployment ns/a: container app runs image ghcr.io/x/web:1 instead of web:1" + elsewhere, "Deployment ns/a: Pods are replaced"}},
		{"the same registry in full", image("web:1"), image("docker.io/library/web:1"), []string{"Deployment ns/a: Pods are replaced: image web:1 → docker.io/library/web:1"}},
		{"a registry with a port", image("r:5000/web:2"), image("r:5000/web:1"), []string{"Deployment ns/a: Pods are replaced: image r:5000/web:2 → r:5000/web:1"}},
		{"a variable", image(`"${R}/web:1"`), image(`"${S}/web:1"`), []string{"Deployment ns/a: container app runs image ${S}/web:1 instead of ${R}/web:1" + elsewhere, "Deployment ns/a: Pods are replaced"}},
		{"a tag in place of a digest", image("web:1" + digest), image("web:1"), []string{"Deployment ns/a: container app runs image web:1 instead of web:1" + digest + unpinned, "Deployment ns/a: Pods are replaced"}},
		{"a digest in place of a tag", image("web:1"), image("web:1" + digest), []string{"Deployment ns/a: Pods are replaced: image web:1 → web:1" + digest}},

		{"another command", field("command: [a]"), field("command: [b, c]"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.containers[app].command[0]: a → unset; spec.template.spec.containers[app].command[0]: unset → b; spec.template.spec.containers[app].command[1]: unset → c"}},
		{"arguments in place of a command", field("command: [a]"), field("args: [a]"), []string{`Deployment ns/a: Pods are replaced: spec.template.spec.containers[app].args[0]: unset → a; spec.template.spec.containers[app].command: ["a"] → unset`}},
		{"a command of its own", field("args: [a]"), field("command: [a]"), []string{`Deployment ns/a: Pods are replaced: spec.template.spec.containers[app].args: ["a"] → unset; spec.template.spec.containers[app].command[0]: unset → a`}},
		{"a hook", field("stdin: true"), field("stdin: true, lifecycle: {postStart: {exec: {command: [curl, evil.org]}}}"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.containers[app].lifecycle.postStart.exec.command[0]: unset → curl; spec.template.spec.containers[app].lifecycle.postStart.exec.command[1]: unset → evil.org"}},
		{"another probe", field("livenessProbe: {exec: {command: [a]}}"), field("livenessProbe: {exec: {command: [b]}}"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.containers[app].livenessProbe.exec.command[0]: a → b"}},
		{"a probe without a command", field("livenessProbe: {tcpSocket: {port: 1}}"), field("livenessProbe: {tcpSocket: {port: 2}}"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.containers[app].livenessProbe.tcpSocket.port: 1 → 2"}},
		{"shared processes", podsWith(app), podsWith(app + ", shareProcessNamespace: true"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.shareProcessNamespace: unset → true | each container can read and signal the processes of the others"}},
		{"ephemeral containers", workload("v1", "Pod", app), workload("v1", "Pod", app+", ephemeralContainers: [{name: x, image: evil}]"), []string{
			"Pod ns/a: new ephemeral container x runs image evil" + shares,
		}},
	} {
		mustHaveLines(t, test.name, test.before, test.after, test.want)
	}
}

func TestReviewTellsThatWorkloadsStart(t *testing.T) {
	const (
		spec = "restartPolicy: RESTART, initContainers: [{name: i, image: a, command: [x]}, {name: s, image: b, restartPolicy: Always}], containers: [{name: c, image: d, args: [u, v]}, {name: e, image: f, readinessProbe: {exec: {command: [cat, g]}}}]"
		all  = "init container i runs image a: x; sidecar s runs image b; container c runs image d with arguments u v; container e runs image f; runs cat g in its readinessProbe"
	)
	for _, test := range []struct{ version, kind, want string }{
		{"v1", "Pod", "runs at once: "},
		{"batch/v1", "Job", "runs at once: "},
		{"batch/v1", "CronJob", "runs on the schedule 0 3 * * *: "},
		{"apps/v1", "Deployment", "starts with 1 Pod: "},
		{"apps/v1", "ReplicaSet", "starts with 1 Pod: "},
		{"apps/v1", "StatefulSet", "starts with 1 Pod: "},
		{"apps/v1", "DaemonSet", "starts a Pod on each selected node: "},
		{"argoproj.io/v1alpha1", "Rollout", "starts Pods: "},
	} {
		restart := "Always"
		if strings.HasSuffix(test.kind, "Job") {
			restart = "Never"
		}
		got := reviewLines(t, "", workload(test.version, test.kind, strings.Replace(spec, "RESTART", restart, 1)))
		want := test.kind + " ns/a: " + test.want + all
		if test.want == "runs at once: " {
			want += " | it runs as soon as the change is synced"
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%q\nwant\n%q", got, want)
		}
	}
}

func TestReviewTellsWhenPodsAreReplaced(t *testing.T) {
	const (
		unknown = " | earlier changes may have waited: the difference from the running Pods is unknown"
		swap    = ": image web:1 → web:2"
		running = "container c runs image web:"
	)
	of := func(kind, more, tag string) string {
		return strings.Replace(workload("apps/v1", kind, "containers: [{name: c, image: web:"+tag+"}]"), "spec: {", "spec: {"+more, 1)
	}
	onDelete, partition := "updateStrategy: {type: OnDelete}, ", func(n int) string {
		return fmt.Sprintf("replicas: 3, updateStrategy: {rollingUpdate: {partition: %d}}, ", n)
	}
	custom := func(more, tag string) string {
		return strings.Replace(of("Rollout", more, tag), "apps/v1", "argoproj.io/v1alpha1", 1)
	}
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"paused", of("Deployment", "paused: true, ", "1"), of("Deployment", "paused: true, ", "2"), []string{"Deployment ns/a: is paused: Pods are replaced when it is resumed" + swap}},
		{"resumed", of("Deployment", "paused: true, ", "1"), of("Deployment", "", "1"), []string{"Deployment ns/a: is resumed: rolls out its Pods: " + running + "1" + unknown}},
		{"resumed with a change", of("Deployment", "paused: true, ", "1"), of("Deployment", "replicas: 2, ", "2"), []string{"Deployment ns/a: is resumed: rolls out its Pods: " + running + "2; image web:1 → web:2; 1 → 2 Pods" + unknown}},
		{"paused from the start", "", of("Deployment", "paused: true, ", "1"), []string{"Deployment ns/a: is paused: when it is resumed, it starts with 1 Pod: " + running + "1"}},
		{"from nothing", of("Deployment", "replicas: 0, ", "1"), of("Deployment", "replicas: 2, ", "2"), []string{"Deployment ns/a: 0 → 2 Pods: " + running + "2"}},
		{"OnDelete", of("DaemonSet", onDelete, "1"), of("DaemonSet", onDelete, "2"), []string{"DaemonSet ns/a: each Pod is replaced when it is deleted" + swap}},
		{"OnDelete of a StatefulSet", of("StatefulSet", onDelete, "1"), of("StatefulSet", onDelete, "2"), []string{"StatefulSet ns/a: each Pod is replaced when it is deleted" + swap}},
		{"no longer OnDelete", of("DaemonSet", onDelete, "1"), of("DaemonSet", "", "1"), []string{"DaemonSet ns/a: is resumed: rolls out its Pods: " + running + "1" + unknown}},
		{"a partition", of("StatefulSet", partition(1), "1"), of("StatefulSet", partition(1), "2"), []string{"StatefulSet ns/a: Pods from number 1 are replaced" + swap}},
		{"a partition of all", of("StatefulSet", partition(5), "1"), of("StatefulSet", partition(5), "2"), []string{"StatefulSet ns/a: Pods are replaced when the partition of its update is below 3" + swap}},
		{"a lower partition", of("StatefulSet", partition(5), "1"), of("StatefulSet", partition(0), "1"), []string{"StatefulSet ns/a: is resumed: rolls out its Pods: " + running + "1" + unknown}},
		{"a lower partition beyond all", of("StatefulSet", partition(5), "1"), of("StatefulSet", partition(4), "1"), nil},
		{"a ReplicaSet", of("ReplicaSet", "", "1"), of("ReplicaSet", "", "2"), []string{"ReplicaSet ns/a: running Pods stay, and new Pods differ" + swap}},
		{"custom", custom("", "1"), custom("", "2"), []string{"Rollout ns/a: its Pods change" + swap}},
		{"custom and paused", custom("paused: true, ", "1"), custom("paused: true, ", "2"), []string{"Rollout ns/a: is paused: Pods are replaced when it is resumed" + swap}},
		{"custom and resumed", custom("paused: true, ", "1"), custom("", "1"), []string{"Rollout ns/a: is resumed: rolls out its Pods: " + running + "1" + unknown}},
		{"custom and removed", custom("", "1"), "", []string{"Rollout ns/a: is removed with its Pods | its service stops"}},
	} {
		mustHaveLines(t, test.name, test.before, test.after, test.want)
	}
}

func TestPrivilegesAreReportedForTemplatesOfAnyKind(t *testing.T) {
	const (
		c        = "containers: [{name: c, image: i, FIELDS}]"
		security = "containers: [{name: c, image: i, securityContext: {FIELDS}}]"
		ofPod    = "securityContext: {FIELDS}, containers: [{name: c, image: i}]"
		risk     = " | its Pods can reach beyond their containers (Pod Security baseline forbids it)"
		at       = "spec.template.spec."
	)
	in := func(pattern, fields string) string { return strings.Replace(pattern, "FIELDS", fields, 1) }
	volume := func(path string) string {
		return "volumes: [{name: v, hostPath: {path: " + path + "}}], containers: [{name: c, image: i}]"
	}
	for _, test := range []struct{ before, after, want string }{
		{in(c, ""), "hostNetwork: true, " + in(c, ""), at + "hostNetwork: unset → true" + risk},
		{in(c, ""), "hostIPC: true, hostPID: true, " + in(c, ""), at + "hostIPC: unset → true; " + at + "hostPID: unset → true" + risk},
		{in(c, ""), "hostPID: false, " + in(c, ""), ""},
		{in(c, ""), volume("/"), at + "volumes[v].hostPath.path: unset → /; " + at + "volumes[v].name: unset → v" + risk + ": " + at + "volumes[v].hostPath.path"},
		{volume("/log"), volume("/"), at + "volumes[v].hostPath.path: /log → /" + risk},
		{"volumes: [{name: v, emptyDir: {}}], " + in(c, ""), volume("/log"), at + "volumes[v].emptyDir: {} → unset; " + at + "volumes[v].hostPath.path: unset → /log" + risk + ": " + at + "volumes[v].hostPath.path"},
		{volume("/"), volume("/") + ", subdomain: a", ""},
		{in(security, ""), in(security, "privileged: true"), at + "containers[c].securityContext.privileged: unset → true" + risk},
		{in(security, ""), in(security, "procMount: Unmasked"), at + "containers[c].securityContext.procMount: unset → Unmasked" + risk},
		{in(security, ""), in(security, "seccompProfile: {type: Unconfined}"), at + "containers[c].securityContext.seccompProfile.type: unset → Unconfined" + risk},
		{in(security, ""), in(security, "seccompProfile: {type: RuntimeDefault}"), ""},
		{in(security, ""), in(security, "appArmorProfile: {type: Unconfined}"), at + "containers[c].securityContext.appArmorProfile.type: unset → Unconfined" + risk},
		{in(security, ""), in(security, "capabilities: {add: [CHOWN, SYS_ADMIN]}"), at + "containers[c].securityContext.capabilities.add[0]: unset → CHOWN; " + at + "containers[c].securityContext.capabilities.add[1]: unset → SYS_ADMIN" + risk + ": " + at + "containers[c].securityContext.capabilities.add[1]"},
		{in(security, ""), in(security, "capabilities: {add: []}"), ""},
		{in(ofPod, ""), in(ofPod, "seLinuxOptions: {type: spc_t, user: u}"), at + "securityContext.seLinuxOptions.type: unset → spc_t; " + at + "securityContext.seLinuxOptions.user: unset → u" + risk},
		{in(ofPod, ""), in(ofPod, "seLinuxOptions: {type: container_t}"), ""},
		{in(ofPod, ""), in(ofPod, "sysctls: [{name: kernel.msgmax, value: \"1\"}]"), at + "securityContext.sysctls[kernel.msgmax].name: unset → kernel.msgmax; " + at + "securityContext.sysctls[kernel.msgmax].value: unset → 1" + risk},
		{in(ofPod, ""), in(ofPod, "sysctls: [{name: net.ipv4.tcp_syncookies, value: \"1\"}]"), ""},
		{in(ofPod, ""), in(ofPod, "windowsOptions: {hostProcess: true}"), at + "securityContext.windowsOptions.hostProcess: unset → true" + risk},
		{in(c, ""), in(c, "ports: [{containerPort: 1, hostPort: 2}]"), at + "containers[c].ports[0].containerPort: unset → 1; " + at + "containers[c].ports[0].hostPort: unset → 2" + risk + ": " + at + "containers[c].ports[0].hostPort"},
		{in(c, ""), in(c, "livenessProbe: {httpGet: {port: 1, host: a.org}}"), at + "containers[c].livenessProbe.httpGet.host: unset → a.org; " + at + "containers[c].livenessProbe.httpGet.port: unset → 1" + risk + ": " + at + "containers[c].livenessProbe.httpGet.host"},
	} {
		for _, kind := range []string{"Deployment", "Rollout"} {
			version := map[string]string{"Deployment": "apps/v1", "Rollout": "argoproj.io/v1alpha1"}[kind]
			got := slices.DeleteFunc(reviewLines(t, workload(version, kind, test.before), workload(version, kind, test.after)), func(line string) bool { return !strings.Contains(line, risk) })
			when := map[string]string{"Deployment": "Pods are replaced: ", "Rollout": "its Pods change: "}[kind]
			if want := kind + " ns/a: " + when + test.want; test.want == "" && len(got) > 0 || test.want != "" && !slices.Equal(got, []string{want}) {
				t.Errorf("%s:\n%q\nwant\n%q", kind, got, want)
			}
		}
	}
}

// A value of 0 puts Pods in the group root.
func TestRootGroupsAreARisk(t *testing.T) {
	const c = "containers: [{name: c, image: i, securityContext: {runAsGroup: "
	for fields, want := range map[string]string{
		c + "1}}]": "",
		c + "0}}]": "containers[c].securityContext.runAsGroup: 2 → 0 | its Pods can read and change files of the group root",
		"securityContext: {fsGroup: 0, supplementalGroups: [1, 0]}, " + c + "2}}]": "supplementalGroups[1]: unset → 0 | its Pods can read and change files of the group root: spec.template.spec.securityContext.fsGroup, spec.template.spec.securityContext.supplementalGroups[1]",
	} {
		got := strings.Join(reviewLines(t, podsWith(c+"2}}]"), podsWith(fields)), "\n")
		if !strings.Contains(got, want) || want == "" && strings.Contains(got, "root") {
			t.Errorf("%s:\n%s\nwant\n%s", fields, got, want)
		}
	}
}

// A variable in a field does not hide the other fields.
func TestUnreadableTemplatesAreARisk(t *testing.T) {
	const unreadable = "Deployment ns/a: its Pod template cannot be read because of "
	before := podsWith("containers: [{name: c, image: i}]")
	for _, test := range []struct {
		name, after string
		want        []string
	}{
		{"replicas", strings.Replace(podsWith("hostPID: true, containers: [{name: c, image: i}]"), "spec: {", `spec: {replicas: "${N}", `, 1), []string{"hostPID: unset → true | its Pods can reach"}},
		{"a field of the template", podsWith(`hostPID: true, hostNetwork: "${H}", containers: [{name: c, image: i, ports: [{containerPort: "${P}"}]}, {name: x, image: evil}]`), []string{
			unreadable + "spec.template.spec.containers[0].ports[0].containerPort, spec.template.spec.hostNetwork | this review may miss risks: check every field",
			"new container x runs image evil", "(Pod Security baseline forbids it): spec.template.spec.hostNetwork, spec.template.spec.hostPID",
		}},
		{"the template", strings.Replace(before, "template: {", `template: "${T}", other: {`, 1), []string{unreadable + "spec.template"}},
		{"containers", podsWith(`containers: "${C}"`), []string{unreadable + "spec.template.spec.containers"}},
		{"too many containers", podsWith("containers: [" + strings.Repeat("{name: c, image: i}, ", 101) + "]"), []string{unreadable + "spec.template.spec.containers"}},
	} {
		got := strings.Join(reviewLines(t, before, test.after), "\n")
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s:\n%s\nwant\n%s", test.name, got, want)
			}
		}
	}
}

func TestReviewNamesUsersOfConfigMapsAndSecrets(t *testing.T) {
	const (
		live = " | no rollout stops at the first failure: running Pods get mounted content at once, and other content when they restart"
		used = "it is used by the Pods of Deployment ns/a"
	)
	object := func(kind, value string) string {
		return fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: m, namespace: ns}, data: {k: %s}}", kind, value)
	}
	user := func(fields string) string { return "\n---\n" + podsWith(fields) }
	const c = "containers: [{name: c, image: i}]"
	mount := func(mount string) string {
		return "containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /m, " + mount + "}]}], volumes: [{name: v, "
	}
	env := func(fields string) string { return "containers: [{name: c, image: i, " + fields + "}]" }
	for _, test := range []struct {
		kind, fields string
		isUsed       bool
	}{
		{"ConfigMap", c, false},
		{"ConfigMap", mount("") + "configMap: {name: m}}]", true},
		{"Secret", mount("") + "secret: {secretName: m}}]", true},
		{"ConfigMap", mount("") + "secret: {secretName: m}}]", false},
		{"ConfigMap", mount("") + "projected: {sources: [{configMap: {name: m}}]}}]", true},
		{"ConfigMap", mount("subPath: k") + "configMap: {name: m}}]", true},
		{"ConfigMap", env("envFrom: [{configMapRef: {name: m}}]"), true},
		{"Secret", env("env: [{name: K, valueFrom: {secretKeyRef: {name: m, key: k}}}]"), true},
		{"Secret", c + ", imagePullSecrets: [{name: m}]", false},
		{"ConfigMap", strings.Replace(mount(""), "image: i", "image: i, envFrom: [{configMapRef: {name: m}}]", 1) + "configMap: {name: m}}]", true},
	} {
		var want []string
		if test.isUsed {
			want = []string{test.kind + " ns/m: changes: " + used + live}
		}
		if got := reviewLines(t, object(test.kind, "YQ==")+user(test.fields), object(test.kind, "Yg==")+user(test.fields)); !slices.Equal(got, want) {
			t.Errorf("%s:\n%q\nwant\n%q", test.fields, got, want)
		}
	}
	needed, optional := user(env("envFrom: [{configMapRef: {name: m}}]")), user(env("envFrom: [{configMapRef: {name: m, optional: true}}]"))
	generated := func(name, level string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: ns}, data: {level: " + level + "}}"
	}
	const infoName, debugName = "m-k4b9tgf9m9", "m-ck5fk26hc4"
	info, debug := generated(infoName, "info"), generated(debugName, "debug")
	uses := func(name string) string { return strings.Replace(needed, "name: m}", "name: "+name+"}", 1) }
	m, other := object("ConfigMap", "a"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: ns}}"
	for _, test := range []struct{ name, before, after, want string }{
		{"removed", m + needed, needed[5:], "ConfigMap ns/m: is removed: " + used + " | Pods do not start without it"},
		{"removed and optional", m + optional, optional[5:], "ConfigMap ns/m: is removed: " + used},
		{"removed without users", m, other, ""},
		{"added", other, other + "\n---\n" + m + needed, "ConfigMap ns/m: is added: " + used},
		{"added for running Pods", optional[5:], m + optional, "ConfigMap ns/m: is added: " + used + live},
		{"generated again", info + uses(infoName), debug + uses(debugName), "ConfigMap ns/" + debugName + ": changes: " + used},
		{"generated, and used by its old name", info + uses(infoName), debug + uses(infoName), "ConfigMap ns/" + debugName + ": replaces " + infoName + ", which is removed: " + used + " | Pods do not start without it"},
		{"another label", m + needed, strings.Replace(m, "name: m,", "name: m, labels: {a: b},", 1) + needed, ""},
	} {
		got := slices.DeleteFunc(reviewLines(t, test.before, test.after), func(line string) bool { return !strings.HasPrefix(line, "ConfigMap ns/m") })
		if strings.Join(got, "\n") != test.want {
			t.Errorf("%s:\n%q\nwant\n%q", test.name, got, test.want)
		}
	}
}

// A rule claims a field only if it tells the value.
func TestRulesClaimOnlyFieldsThatTheyTell(t *testing.T) {
	const at = "spec.jobTemplate.spec.template.spec.containers[c]"
	image := func(image string) string { return "containers: [{name: c, image: " + image + "}]" }
	long := strings.Repeat("a", 100)
	for _, test := range []struct {
		before, after string
		want          []string
	}{
		{podsWith(image("a:1")), podsWith(image("a:2")), []string{"spec.template.spec.containers[c].image"}},
		{podsWith(image(long + ":1")), podsWith(image(long + ":2")), []string{"spec.template.spec.containers[c].image"}},
		{fill(deployment), fill(deployment, "REPLICAS=3"), []string{"spec.replicas"}},
		{fill(deployment), unsized, nil},
		{fill(deployment), fill(deployment, "REPLICAS=0", "IMAGE=i:2"), []string{"spec.replicas"}},
		{"", fill(cronJob), []string{at + ".name", at + ".image", at + ".command", at + ".args", "spec.schedule", "spec.timeZone"}},
	} {
		var got []string
		for _, e := range ruled(changes.Between(t, test.before, test.after), time.Time{}) {
			got = append(got, e.Fields...)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q\nwant\n%q", got, test.want)
		}
	}
}
