package review

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/test/changes"
)

// A sentence about a guard holds for its direction: stricter, looser, added or removed.
func TestGuardsTellTheDirectionOfAChange(t *testing.T) {
	const (
		more    = "a drain may stop more Pods at once than before"
		blocks  = "it blocks each drain: no Pod can be evicted, so nodes cannot be emptied or upgraded"
		decides = "it decides which Pods a drain may stop, and how many at once"
		refused = "new objects beyond it are refused: Pods may not start again"
		limits  = "it decides which resources new Pods get, and which Pods are refused"
	)
	object := func(kind, spec string) string {
		return "{" + kind + ", metadata: {name: o, namespace: ns}, spec: {" + spec + "}}\n---\n"
	}
	budget := func(spec string) string {
		return object("apiVersion: policy/v1, kind: PodDisruptionBudget", "selector: {matchLabels: {a: b}}, "+spec)
	}
	quota := func(hard string) string { return object("apiVersion: v1, kind: ResourceQuota", "hard: {"+hard+"}") }
	limit := func(fields string) string {
		return object("apiVersion: v1, kind: LimitRange", "limits: [{type: Container, "+fields+"}]")
	}
	service := func(spec string) string { return object("apiVersion: v1, kind: Service", "ports: [{port: 80}], "+spec) }
	web := fill(deployment, "REPLICAS=3") + "\n---\n"
	for name, test := range map[string]struct {
		before, after, risk string
	}{
		"more Pods may stop":                  {budget("maxUnavailable: 1"), budget("maxUnavailable: 2"), more},
		"a greater share may stop":            {budget("maxUnavailable: 10%"), budget("maxUnavailable: 50%"), more},
		"fewer Pods may stop":                 {budget("maxUnavailable: 2"), budget("maxUnavailable: 1"), ""},
		"no Pod may stop":                     {budget("maxUnavailable: 1"), budget("maxUnavailable: 0"), blocks},
		"no share may stop":                   {budget("maxUnavailable: 10%"), budget("maxUnavailable: 0%"), blocks},
		"Pods may stop again":                 {budget("maxUnavailable: 0"), budget("maxUnavailable: 1"), more},
		"fewer Pods stay":                     {budget("minAvailable: 2"), budget("minAvailable: 1"), more},
		"more Pods stay":                      {web + budget("minAvailable: 1"), web + budget("minAvailable: 2"), ""},
		"all Pods stay":                       {web + budget("minAvailable: 2"), web + budget("minAvailable: 3"), blocks},
		"all Pods stay by their share":        {budget("minAvailable: 50%"), budget("minAvailable: 100%"), blocks},
		"nearly all Pods stay":                {web + budget("minAvailable: 50%"), web + budget("minAvailable: 90%"), blocks},
		"another way to count Pods":           {budget("minAvailable: 1"), budget("maxUnavailable: 1"), decides},
		"a budget that blocks is added":       {"", budget("maxUnavailable: 0"), blocks},
		"a budget is added":                   {"", budget("maxUnavailable: 1"), ""},
		"a budget is removed":                 {budget("maxUnavailable: 0"), "", "a drain may stop all Pods at once"},
		"a quota is raised":                   {quota("pods: '5'"), quota("pods: '10'"), "its namespace may use more than before"},
		"a quota is raised to another unit":   {quota("memory: 900Mi"), quota("memory: 1Gi"), "its namespace may use more than before"},
		"a quota is lowered":                  {quota("pods: '10'"), quota("pods: '5'"), refused},
		"a quota limits more":                 {quota("pods: '5'"), quota("pods: '5', memory: 1Gi"), refused},
		"a quota limits less":                 {quota("pods: '5', memory: 1Gi"), quota("pods: '5'"), "nothing limits this in its namespace"},
		"a quota is added":                    {"", quota("pods: '5'"), refused},
		"a quota is removed":                  {quota("pods: '5'"), "", "the resources of its namespace are unlimited"},
		"a limit is raised":                   {limit("max: {memory: 1Gi}"), limit("max: {memory: 2Gi}"), "Pods may use more resources than before"},
		"a limit is lowered":                  {limit("max: {memory: 2Gi}"), limit("max: {memory: 1Gi}"), refused},
		"a least value is raised":             {limit("min: {memory: 1Mi}"), limit("min: {memory: 1Gi}"), "new Pods below it are refused"},
		"a least value is lowered":            {limit("min: {memory: 1Gi}"), limit("min: {memory: 1Mi}"), ""},
		"a default changes":                   {limit("default: {memory: 1Gi}"), limit("default: {memory: 1Mi}"), limits},
		"a range is added":                    {"", limit("max: {memory: 1Mi}"), limits},
		"a range is removed":                  {limit("max: {memory: 1Mi}"), "", "Pods may use more resources, and lose their defaults"},
		"an address is taken":                 {service("type: ClusterIP"), service("externalIPs: [192.0.2.1]"), "it receives all connections to these addresses, also if they belong to other servers"},
		"an address is given back":            {service("externalIPs: [192.0.2.1]"), service("type: ClusterIP"), "clients of these addresses cannot connect"},
		"a headless Service asks for no more": {service("clusterIP: None"), service("type: ClusterIP"), "the cluster keeps it until the Service is deleted: its removal has no effect"},
		"a node port is left to the cluster":  {service("type: NodePort, ports: [{port: 80, nodePort: 30080}]"), service("type: NodePort, ports: [{port: 80}]"), "the cluster keeps it until the Service is deleted: its removal has no effect"},
		"an API is removed":                   {object("apiVersion: apiregistration.k8s.io/v1, kind: APIService", "group: a.org"), "", "all requests for its API fail"},
	} {
		t.Run(name, func(t *testing.T) {
			var risks []string
			for _, e := range ruled(changes.Between(t, test.before, test.after), time.Time{}) {
				if risk, _, _ := strings.Cut(e.Risk.Plain(), ": spec."); risk != "" {
					risks = append(risks, risk)
				}
			}
			isRisk := func(risk string) bool { return strings.HasPrefix(risk, test.risk) }
			if test.risk == "" && len(risks) > 0 || test.risk != "" && !slices.ContainsFunc(risks, isRisk) {
				t.Errorf("got %q, want %q", risks, test.risk)
			}
		})
	}
}

// The fields of a delivery that do not decide about other objects are like the fields of any object.
func TestDeliveriesHaveOrdinaryFields(t *testing.T) {
	const (
		syncs  = "it decides which objects are applied to the cluster, from which source, and with which rights"
		digest = "its digest is removed: a tag may get another image later"
		// of helm-controller
		reinstalled = "the release is uninstalled, and installed anew"

		pinned = "2.0@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	)
	object := func(kind, spec string) string {
		return "{" + kind + ", metadata: {name: o, namespace: ns}, spec: {" + spec + "}}"
	}
	release := func(spec string) string {
		return object("apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease", spec)
	}
	kustomization := func(spec string) string {
		return object("apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization", spec)
	}
	application := func(spec string) string {
		return object("apiVersion: argoproj.io/v1alpha1, kind: Application", spec)
	}
	repository := func(spec string) string {
		return object("apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository", spec)
	}
	for name, test := range map[string]struct {
		before, after, risk string
	}{
		"the interval of a release":       {release("interval: 1h"), release("interval: 2h"), ""},
		"the retries of a release":        {release("install: {remediation: {retries: 1}}"), release("install: {remediation: {retries: 3}}"), ""},
		"the chart of a release":          {release("chart: {spec: {chart: a}}"), release("chart: {spec: {chart: b}}"), reinstalled},
		"the chart moves":                 {release("chart: {spec: {chart: ./a/web}}"), release("chart: {spec: {chart: ./b/web}}"), syncs},
		"the chart of a release in place": {release("chart: {spec: {chart: a}}, upgrade: {chartNameChangeStrategy: InPlaceUpdate}"), release("chart: {spec: {chart: b}}, upgrade: {chartNameChangeStrategy: InPlaceUpdate}"), syncs},
		"the name of a release":           {release("releaseName: a"), release("releaseName: b"), reinstalled},
		"the account of a release":        {release("serviceAccountName: a"), release("interval: 1h"), syncs},
		"a release that is removed":       {release("interval: 1h"), "", "the objects that it delivers are deleted with it, or no longer updated"},
		"a value of an unknown chart":     {release("values: {a: 1}"), release("values: {a: 2}"), "no row shows its effect: its chart is not in this repository, or does not read it"},
		"a later image in values":         {release("values: {web: {image: 'example.com/web:1.2'}}"), release("values: {web: {image: 'example.com/web:1.3'}}"), ""},
		"an earlier image in values":      {release("values: {web: {image: 'example.com/web:1.3'}}"), release("values: {web: {image: 'example.com/web:1.2'}}"), "no row shows its effect: its chart is not in this repository, or does not read it"},
		"another image in values":         {release("values: {image: 'example.com/web:1.2'}"), release("values: {image: 'example.org/web:1.3'}"), "no row shows its effect: its chart is not in this repository, or does not read it"},
		"a later address in values":       {release("values: {address: 'example.com:8080'}"), release("values: {address: 'example.com:8081'}"), "no row shows its effect: its chart is not in this repository, or does not read it"},
		"a digest in values":              {release("values: {image: {tag: '" + pinned + "'}}"), release("values: {image: {tag: '2.1'}}"), digest},
		"a key with a digest":             {release("values: {image: {tag: '2', digest: '" + pinned[4:] + "'}}"), release("values: {image: {tag: '2'}}"), digest},
		"an image that is removed":        {release("values: {a: 1, image: {digest: '" + pinned[4:] + "'}}"), release("values: {a: 1}"), "!" + digest},
		"the interval of a Kustomization": {kustomization("interval: 1h, timeout: 1m"), kustomization("interval: 2h, timeout: 2m"), ""},
		"the path of a Kustomization":     {kustomization("path: a"), kustomization("path: b"), syncs},
		"patches of a Kustomization":      {kustomization("path: a"), kustomization("path: a, patches: [{patch: x}]"), syncs},
		"the digest of a source":          {repository("ref: {digest: '" + pinned[4:] + "'}"), repository("ref: {tag: '2'}"), digest},
		"the interval of a source":        {repository("interval: 1h"), repository("interval: 2h"), ""},
		"the URL of a source":             {repository("url: a"), repository("url: b"), syncs},
		"the history of an Application":   {application("revisionHistoryLimit: 1"), application("revisionHistoryLimit: 2"), ""},
		"the project of an Application":   {application("project: a"), application("project: b"), syncs},
		"pruning of an Application":       {application("syncPolicy: {automated: {prune: false}}"), application("syncPolicy: {automated: {prune: true}}"), syncs},
	} {
		t.Run(name, func(t *testing.T) {
			var risks []string
			for _, e := range ruled(changes.Between(t, test.before, test.after), time.Time{}) {
				risks = append(risks, e.Risk.Plain())
			}
			got := strings.Join(risks, "\n")
			not, isNot := strings.CutPrefix(test.risk, "!")
			if isNot && strings.Contains(got, not) || !isNot && !strings.Contains(got, test.risk) || test.risk == "" && got != "" {
				t.Errorf("got %q, want %q", got, test.risk)
			}
		})
	}
}

// An annotation that a tool reads decides what happens to its object.
func TestToolsTreatObjectsByTheirAnnotations(t *testing.T) {
	const deny = `apiVersion: networking.k8s.io/v1, kind: NetworkPolicy`
	policy := func(annotations, ports string) string {
		return "{" + deny + ", metadata: {name: p, namespace: ns, annotations: {" + annotations + "}}, spec: {podSelector: {}, ingress: [" + ports + "]}}\n---\n"
	}
	bind := func(annotations, user string) string {
		return "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b, annotations: {" + annotations +
			"}}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: " + user + "}]}\n---\n"
	}
	config := func(annotations, value string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns, annotations: {" + annotations + "}}, data: {k: " + value + "}}\n---\n"
	}
	labeled := func(text string) string { return strings.Replace(text, "annotations", "labels", 1) }
	const (
		fluxDomain  = "kustomize.toolkit.fluxcd.io/"
		options     = "argocd.argoproj.io/sync-options: "
		toEverybody = "{ports: [{port: 81}]}"
	)
	web := changes.Deployment("x", "a")
	for name, test := range map[string]struct {
		before, after string
		want          []string // among the effects
		not           string   // in no effect
	}{
		"a policy that Flux keeps":            {policy(fluxDomain+"prune: Disabled", "") + web, web, []string{"NetworkPolicy ns/p: stays in the cluster: kustomize.toolkit.fluxcd.io/prune prevents pruning"}, "connections"},
		"a label keeps it as well":            {labeled(policy(fluxDomain+"prune: DISABLED", "")) + web, web, []string{"NetworkPolicy ns/p: stays in the cluster: kustomize.toolkit.fluxcd.io/prune prevents pruning"}, "connections"},
		"a binding that Flux ignores":         {bind(fluxDomain+"ssa: ignore", "alice"), "", []string{"ClusterRoleBinding b: stays in the cluster, if kustomize.toolkit.fluxcd.io/ssa is Ignore there, too"}, "is removed"},
		"Argo CD asks":                        {bind(options+"Prune=confirm", "alice"), "", []string{"ClusterRoleBinding b: stays in the cluster until somebody confirms its removal: argocd.argoproj.io/sync-options is Prune=confirm"}, "is removed"},
		"Argo CD splits at commas":            {config(options+"'Replace=true Prune=false'", "v"), "", []string{}, "stays"},
		"Helm's policy is Helm's":             {config("helm.sh/resource-policy: keep", "v"), "", []string{}, "stays"},
		"a policy that is not applied":        {web, policy(fluxDomain+"reconcile: disabled", "") + web, []string{"NetworkPolicy ns/p: Flux does not create it: kustomize.toolkit.fluxcd.io/reconcile is disabled | it has no effect in the cluster"}, "connections"},
		"a policy that stays as it is":        {policy(fluxDomain+"ssa: IfNotPresent", "") + web, policy(fluxDomain+"ssa: IfNotPresent", toEverybody) + web, []string{"NetworkPolicy ns/p: Flux does not apply this change to the object in the cluster: kustomize.toolkit.fluxcd.io/ssa is IfNotPresent | the cluster keeps the object as it is until somebody deletes it: then the new one is created"}, "connections"},
		"other content is not applied":        {config(fluxDomain+"reconcile: disabled", "v"), config(fluxDomain+"reconcile: disabled", "w"), []string{"ConfigMap ns/c: Flux does not apply this change: kustomize.toolkit.fluxcd.io/reconcile is disabled | the cluster keeps the object as it is"}, ""},
		"rights that another tool may give":   {bind(fluxDomain+"reconcile: disabled", "alice"), bind(fluxDomain+"reconcile: disabled", "bob"), []string{"ClusterRoleBinding b: if it is applied: User bob may now do everything in the whole cluster | they can control the whole cluster"}, ""},
		"rights that come with the next sync": {bind(fluxDomain+"ssa: Ignore", "alice"), bind("", "alice"), []string{"ClusterRoleBinding b: User alice may now do everything in the whole cluster | they can control the whole cluster"}, ""},
		"Argo CD skips it":                    {config("", "v"), config("argocd.argoproj.io/hook: Skip", "v"), []string{"ConfigMap ns/c: Argo CD does not apply this change: argocd.argoproj.io/hook is Skip | the cluster keeps the object as it is"}, ""},
		"Argo CD knows no such hook":          {config("", "v"), config("helm.sh/hook: test", "v"), []string{"ConfigMap ns/c: Argo CD does not apply this change: helm.sh/hook is test | the cluster keeps the object as it is"}, ""},
		"it becomes a hook":                   {config("", "v"), config("argocd.argoproj.io/hook: PreSync", "v"), []string{"ConfigMap ns/c: changes metadata.annotations[argocd.argoproj.io/hook]: unset → PreSync | Argo CD now deletes and recreates it at each sync"}, ""},
		"a hook that is deleted":              {config("argocd.argoproj.io/hook: PreSync", "v"), config("argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded", "v"), []string{"ConfigMap ns/c: changes metadata.annotations[argocd.argoproj.io/hook-delete-policy]: unset → HookSucceeded | Argo CD now deletes it when it has ended"}, ""},
		"its protection ends":                 {config(fluxDomain+"prune: disabled, a: b", "v"), config("a: b", "v"), []string{"ConfigMap ns/c: changes metadata.annotations[kustomize.toolkit.fluxcd.io/prune]: disabled → unset | Flux now deletes it when it is removed from git"}, ""},
		"its protection changes":              {config(options+"Prune=false", "v"), config(options+"Prune=true", "v"), []string{"ConfigMap ns/c: changes metadata.annotations[argocd.argoproj.io/sync-options]: Prune=false → Prune=true | Argo CD now deletes it when it is removed from git"}, ""},
		"its protection begins":               {config("", "v"), config(fluxDomain+"prune: disabled", "v"), []string{"ConfigMap ns/c: changes metadata.annotations[kustomize.toolkit.fluxcd.io/prune]: unset → disabled: Flux leaves it in the cluster when it is removed from git"}, ""},
		"it is applied again":                 {config(fluxDomain+"ssa: IfNotPresent, a: b", "v"), config("a: b", "v"), []string{"ConfigMap ns/c: changes metadata.annotations[kustomize.toolkit.fluxcd.io/ssa]: IfNotPresent → unset | Flux now changes it, with all changes since it created it"}, ""},
		"it is recreated by each sync":        {config("", "v"), config(options+"'Force=true, Replace=true'", "v"), []string{"ConfigMap ns/c: changes metadata.annotations[argocd.argoproj.io/sync-options]: unset → Force=true, Replace=true | Argo CD now deletes and recreates it at each sync"}, ""},
		"it is still recreated":               {config(options+"'Force=true, Replace=true'", "v"), config(options+"'Force=true, Replace=true'", "w"), []string{"ConfigMap ns/c: Argo CD deletes and creates it again: argocd.argoproj.io/sync-options is Replace=true,Force=true | it is gone until then: its Pods stop before new ones start, and its data is lost"}, ""},
		"a hook runs at each sync":            {config("argocd.argoproj.io/hook: PreSync", "v"), config("argocd.argoproj.io/hook: PreSync", "w"), []string{}, "creates it again"},
		"it is forced":                        {config("", "v"), config(options+"Force=true", "v"), []string{"ConfigMap ns/c: changes metadata.annotations[argocd.argoproj.io/sync-options]: unset → Force=true | Argo CD now deletes and recreates it when the API server refuses a change"}, ""},
		"a Job that is not changed":           {marked(job, fluxDomain+"ssa: IfNotPresent"), marked(job, fluxDomain+"ssa: IfNotPresent", "make, more"), []string{"Job ns/a: Flux does not apply this change to the object in the cluster: kustomize.toolkit.fluxcd.io/ssa is IfNotPresent | the cluster keeps the object as it is until somebody deletes it: then the new one is created"}, "refuses"},
		"an option that changes little":       {config("", "v"), config(options+"PruneLast=true", "v"), []string{}, "Argo CD"},
	} {
		t.Run(name, func(t *testing.T) {
			got := changes.Lines(ruled(changes.Between(t, test.before, test.after), time.Time{}))
			for _, line := range test.want {
				if !slices.Contains(got, line) {
					t.Errorf("got\n%s\nwithout\n%s", strings.Join(got, "\n"), line)
				}
			}
			if test.not != "" && strings.Contains(strings.Join(got, "\n"), test.not) {
				t.Errorf("got\n%s\nwith %s", strings.Join(got, "\n"), test.not)
			}
		})
	}
}

// The cluster deletes a Job with a TTL when it has ended, so that a change is no update.
func TestJobsWithTTLRunAgain(t *testing.T) {
	const again = "it runs again at each sync after its end: spec.ttlSecondsAfterFinished deletes it, and Flux and Argo CD create it again"
	withTTL := func(text, ttl string) string {
		return strings.Replace(text, "spec: {", "spec: {ttlSecondsAfterFinished: "+ttl+", ", 1)
	}
	plain, other := fill(job), strings.Replace(fill(job), "make, it", "make, more", 1)
	for name, test := range map[string]struct{ before, after, want string }{
		"a new Job":    {"", withTTL(plain, "60"), "Job ns/a: runs at once: container c runs image i: make it | it runs as soon as the change is synced; " + again},
		"a new TTL":    {plain, withTTL(plain, "60"), "Job ns/a: changes spec.ttlSecondsAfterFinished: unset → 60 | " + again},
		"no TTL":       {withTTL(plain, "60"), plain, "Job ns/a: runs at once: container c runs image i: make it; changes spec.ttlSecondsAfterFinished: 60 → unset | it runs as soon as the change is synced, or, if it runs then, as soon as its end lets the cluster delete it"},
		"other Pods":   {withTTL(plain, "0"), withTTL(other, "0"), "Job ns/a: runs at once: container c runs image i: make more; changes spec.template.spec.containers[c].command[1]: it → more | it runs as soon as the change is synced, or, if it runs then, as soon as its end lets the cluster delete it; " + again},
		"without one":  {plain, other, "Job ns/a: the API server refuses this change: spec.template: field is immutable | Flux and Argo CD fail to apply it: rename it to create a new one"},
		"a hook's TTL": {marked(plain, "argocd.argoproj.io/hook: PreSync"), withTTL(marked(plain, "argocd.argoproj.io/hook: PreSync"), "60"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(changes.Lines(ruled(changes.Between(t, test.before, test.after), time.Time{})), "\n")
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// The API server converts an object of another version before it compares it.
func TestAnotherVersionIsNoRefusal(t *testing.T) {
	of := func(version, metric, target string) string {
		return "{apiVersion: autoscaling/" + version + ", kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: " + target + "}, maxReplicas: 3, " + metric + "}}"
	}
	const v1, v2 = "targetCPUUtilizationPercentage: 70", "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]"
	for name, test := range map[string][2]string{
		"newer": {of("v1", v1, "a"), of("v2", v2, "a")},
		"older": {of("v2", v2, "a"), of("v1", v1, "a")},
	} {
		if got := changes.Lines(ruled(changes.Between(t, test[0], test[1]), time.Time{})); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
