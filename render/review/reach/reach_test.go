package reach

import (
	"encoding/json"
	"fmt"
	rand "math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/test/changes"
)

// policyOf returns a NetworkPolicy of the Namespace ns.
func policyOf(name, spec string) string {
	return fmt.Sprintf("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: %s, namespace: ns}, spec: {%s}}\n---\n", name, spec)
}

func namespaceOfLabels(name, set string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s}}}\n---\n", name, set)
}

func TestReachOfNetworkPolicies(t *testing.T) {
	const (
		opened, wasOpen = " | NetworkPolicies blocked them before", " | they were allowed before"
		all             = "podSelector: {}, "
		onlyA           = "podSelector: {matchLabels: {app: a}}, "
		both            = "policyTypes: [Ingress, Egress], "
	)
	deny, a := policyOf("deny", all), changes.Deployment("a", "a")
	from := func(rule string) string { return deny + policyOf("p", onlyA+"ingress: ["+rule+"]") + a }
	to := func(rule string) string { return policyOf("p", onlyA+"egress: ["+rule+"]") + a }
	rollout := strings.NewReplacer("apps/v1, kind: Deployment", "argoproj.io/v1alpha1, kind: Rollout").Replace
	const peers = `{from: [{podSelector: {matchLabels: {app: b}}}]}`
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"a policy for everyone", deny + a, from("{}"), []string{"NetworkPolicy ns/p: connections from everywhere to the Pods of Deployment ns/a are allowed" + opened}},
		{"a policy for everyone, empty from", deny + a, from("{from: []}"), []string{"NetworkPolicy ns/p: connections from everywhere to the Pods of Deployment ns/a are allowed" + opened}},
		{"a policy for unknown Pods", deny, strings.TrimSuffix(from("{}"), a), []string{"NetworkPolicy ns/p: connections from everywhere to all Pods with app=a are allowed" + opened}},
		{"a policy for new Pods", deny, from(peers), []string{"NetworkPolicy ns/p: connections from Pods with app=b in ns to the Pods of Deployment ns/a are allowed" + opened}},
		{"a policy with new Pods", "", from(peers), nil},
		{"a narrower selector", policyOf("p", all) + a + changes.Deployment("b", "b"), policyOf("p", onlyA) + a + changes.Deployment("b", "b"), []string{"NetworkPolicy ns/p: connections from everywhere to the Pods of Deployment ns/b are allowed" + opened}},
		{"a narrower selector for unknown Pods", policyOf("p", all), policyOf("p", onlyA), []string{"NetworkPolicy ns/p: connections from everywhere to all Pods without labels are allowed" + opened}},
		{"fewer values in a selector", policyOf("p", "podSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}"), policyOf("p", "podSelector: {matchExpressions: [{key: app, operator: In, values: [a]}]}"), []string{"NetworkPolicy ns/p: connections from everywhere to all Pods with app=b are allowed" + opened}},
		{"more excluded values in a selector", policyOf("p", "podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [a]}]}"), policyOf("p", "podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [a, b]}]}"), []string{"NetworkPolicy ns/p: connections from everywhere to all Pods with app=b are allowed" + opened}},
		{"a removed policy", deny + a, a, []string{"NetworkPolicy ns/deny: is removed: connections from everywhere to the Pods of Deployment ns/a are allowed" + opened}},
		{"a removed policy for unknown Pods", deny, "", []string{"NetworkPolicy ns/deny: is removed: connections from everywhere to all Pods without labels are allowed" + opened}},
		{"a renamed policy", deny + a, policyOf("other", all) + a, nil},
		{"another label", policyOf("p", onlyA) + a, policyOf("p", onlyA) + changes.Deployment("a", "b"), []string{"Deployment ns/a: connections from everywhere to its Pods are allowed" + opened}},
		{"another label of a custom kind", policyOf("p", onlyA) + rollout(a), policyOf("p", onlyA) + rollout(changes.Deployment("a", "b")), []string{"Rollout ns/a: connections from everywhere to its Pods are allowed" + opened}},
		{"a label for another policy", deny + policyOf("p", onlyA+"ingress: ["+peers+"]") + changes.Deployment("a", "c"), from(peers), []string{"Deployment ns/a: connections from Pods with app=b in ns to its Pods are allowed" + opened}},
		{"the network of the node", deny + a, deny + changes.Deployment("a", "a", "hostNetwork: true, "), []string{"Deployment ns/a: connections from everywhere to its Pods are allowed" + opened}},
		{"new Pods without a policy", policyOf("p", onlyA) + a, policyOf("p", onlyA) + a + changes.Deployment("b", "b"), []string{"Deployment ns/b: connections from everywhere to its Pods are allowed: no NetworkPolicy isolates them | NetworkPolicies isolate other Pods of its namespace"}},
		{"no egress type", policyOf("p", all+both) + a, policyOf("p", all+"policyTypes: [Ingress]") + a, []string{"NetworkPolicy ns/p: connections from the Pods of Deployment ns/a to everywhere are allowed" + opened}},
		{"egress type by default", policyOf("p", all+"egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]") + a, policyOf("p", all) + a, []string{"NetworkPolicy ns/p: connections from the Pods of Deployment ns/a to everywhere are allowed" + opened}},
		{"a wider block", from("{from: [{ipBlock: {cidr: 10.1.0.0/16}}]}"), from("{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}"), []string{
			"NetworkPolicy ns/p: connections from 10.0.0.0/8 to the Pods of Deployment ns/a are allowed" + opened,
		}},
		{"a narrower block", from("{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}"), from("{from: [{ipBlock: {cidr: 10.1.0.0/16}}]}"), []string{
			"NetworkPolicy ns/p: connections from 10.0.0.0/8 to the Pods of Deployment ns/a are blocked" + wasOpen,
		}},
		{"fewer exceptions", from("{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16, 10.2.0.0/16]}}]}"), from("{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}"), []string{
			"NetworkPolicy ns/p: connections from 10.0.0.0/8 except 10.1.0.0/16 to the Pods of Deployment ns/a are allowed" + opened,
		}},
		{"a block of IPv6", to("{to: [{ipBlock: {cidr: 'fd00::/64'}}]}"), to("{to: [{ipBlock: {cidr: '::/0'}}]}"), []string{"NetworkPolicy ns/p: connections from the Pods of Deployment ns/a to ::/0 are allowed" + opened}},
		{"one more port", from("{ports: [{port: 80}]}"), from("{ports: [{port: 80}, {port: 81, protocol: UDP}]}"), []string{"NetworkPolicy ns/p: connections from everywhere on 81/UDP to the Pods of Deployment ns/a are allowed" + opened}},
		{"a range of ports", from("{ports: [{port: 80}, {port: 81, endPort: 90}]}"), from("{ports: [{port: 80, endPort: 90}]}"), nil},
		{"a wider range of ports", from("{ports: [{port: 80}]}"), from("{ports: [{port: 80, endPort: 90}]}"), []string{"NetworkPolicy ns/p: connections from everywhere on 80-90/TCP to the Pods of Deployment ns/a are allowed" + opened}},
		{"the name of a port", from("{ports: [{port: 80}]}"), from("{ports: [{port: web}]}"), nil},
		{"the number of a named port", from("{ports: [{port: web}]}"), strings.Replace(from("{ports: [{port: web}]}"), "containerPort: 80", "containerPort: 81", 1), []string{
			"Deployment ns/a: connections from everywhere on 80/TCP to its Pods are blocked" + wasOpen,
			"Deployment ns/a: connections from everywhere on 81/TCP to its Pods are allowed" + opened,
		}},
		{"a wider peer", from(peers), from("{from: [{podSelector: {}}]}"), []string{"NetworkPolicy ns/p: connections from all Pods in ns to the Pods of Deployment ns/a are allowed" + opened}},
		{"a peer of every Namespace", from(peers), from("{from: [{podSelector: {matchLabels: {app: b}}, namespaceSelector: {}}]}"), []string{"NetworkPolicy ns/p: connections from Pods with app=b of the cluster to the Pods of Deployment ns/a are allowed" + opened}},
		{"one Namespace by its name", from(peers), from("{from: [{podSelector: {matchLabels: {app: b}}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ns}}}]}"), nil},
		{"a first policy", a, deny + a, []string{"NetworkPolicy ns/deny: connections from everywhere to the Pods of Deployment ns/a are blocked" + wasOpen}},
		{"a first policy with peers", a, policyOf("p", onlyA+"ingress: ["+peers+"]") + a, []string{"NetworkPolicy ns/p: connections from everywhere except Pods with app=b in ns to the Pods of Deployment ns/a are blocked" + wasOpen}},
		{"a fewer peer", from(peers), from(""), []string{"NetworkPolicy ns/p: connections from Pods with app=b in ns to the Pods of Deployment ns/a are blocked" + wasOpen}},
		{"a label of a peer", from(peers) + changes.Deployment("c", "c"), from(peers) + changes.Deployment("c", "b"), []string{"Deployment ns/c: connections from its Pods to the Pods that NetworkPolicy ns/p selects are allowed" + opened}},
		{"a lost label of a peer", from(peers) + changes.Deployment("c", "b"), from(peers) + changes.Deployment("c", "c"), []string{"Deployment ns/c: connections from its Pods to the Pods that NetworkPolicy ns/p selects are blocked" + wasOpen}},
		{"a new peer", from(peers), from(peers) + changes.Deployment("b", "b"), []string{"Deployment ns/b: connections from its Pods to the Pods that NetworkPolicy ns/p selects are allowed" + opened}},
		{"a new Pod among all", from("{from: [{podSelector: {}}]}"), from("{from: [{podSelector: {}}]}") + changes.Deployment("b", "b"), nil},
		{"a label of a Namespace", namespaceOfLabels("other", "team: red") + from("{from: [{namespaceSelector: {matchLabels: {team: blue}}}]}"), namespaceOfLabels("other", "team: blue") + from("{from: [{namespaceSelector: {matchLabels: {team: blue}}}]}"), []string{
			"Namespace other: connections from its Pods to the Pods that NetworkPolicy ns/p selects are allowed" + opened,
		}},
		{"a label of a Namespace for egress", namespaceOfLabels("other", "team: blue") + to("{to: [{namespaceSelector: {matchLabels: {team: blue}}}], ports: [{port: web}]}"), namespaceOfLabels("other", "") + to("{to: [{namespaceSelector: {matchLabels: {team: blue}}}], ports: [{port: web}]}"), []string{
			"Namespace other: connections from the Pods that NetworkPolicy ns/p selects to its Pods on web/TCP are blocked" + wasOpen,
		}},
		{"the default types in words", policyOf("p", all) + a, policyOf("p", all+"policyTypes: [Ingress]") + a, nil},
		{"a policy that stays", strings.Replace(deny, "namespace: ns", "namespace: ns, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}", 1) + a, a, nil},
	} {
		var got []string
		for _, e := range Review(changes.Between(t, test.before, test.after)) {
			got = append(got, e.Object.String()+": "+e.What.Plain()+" | "+e.Risk.Plain())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// A hostile change may have any number of objects.
func TestReachIsBounded(t *testing.T) {
	for name, spec := range map[string]string{
		"equal policies":  "podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: PEER}}}]}]",
		"many selectors":  "podSelector: {matchLabels: {app: a%d}}, ingress: [{ports: [{port: PORT}]}]",
		"many exceptions": "podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/PORT, except: [10.0.0.0/30]}}]}]",
	} {
		const n = 2000
		var was, is strings.Builder
		for i := range n {
			spec := strings.ReplaceAll(spec, "%d", fmt.Sprint(i))
			was.WriteString(policyOf(fmt.Sprintf("p%d", i), strings.NewReplacer("PEER", fmt.Sprint(i), "PORT", "20").Replace(spec)))
			is.WriteString(policyOf(fmt.Sprintf("p%d", i), strings.NewReplacer("PEER", fmt.Sprint(n+i), "PORT", "19").Replace(spec)))
			for _, side := range []*strings.Builder{&was, &is} {
				side.WriteString(changes.Deployment(fmt.Sprintf("d%d", i), fmt.Sprintf("a%d", i)))
			}
		}
		w := changes.Between(t, was.String(), is.String())
		start := time.Now()
		found := Review(w)
		t.Logf("%s: %d effects in %s", name, len(found), time.Since(start))
		isRisk := map[manifest.ID]bool{}
		for _, e := range found {
			isRisk[e.Object] = true
		}
		if len(isRisk) != n || time.Since(start) > time.Minute {
			t.Errorf("%s: %d objects in %s", name, len(isRisk), time.Since(start))
		}
	}
}

// small is a random environment, in Go types for the naive evaluator.
type small struct {
	namespaces []corev1.Namespace
	pods       []corev1.Pod
	policies   []networkingv1.NetworkPolicy
}

func randomSmall(random *rand.Rand, namespaces int) (s small) {
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	set := func() map[string]string {
		m := map[string]string{}
		for _, key := range []string{"k", "l"} {
			if value := pick("", "1", "2"); value != "" {
				m[key] = value
			}
		}
		return m
	}
	selector := func() *metav1.LabelSelector {
		switch random.IntN(4) {
		case 0:
			return &metav1.LabelSelector{}
		case 1:
			return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: pick("k", "l"), Operator: metav1.LabelSelectorOpNotIn, Values: []string{pick("1", "2")}}}}
		case 2:
			return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: pick("k", "l"), Operator: metav1.LabelSelectorOperator(pick("Exists", "DoesNotExist"))}}}
		}
		return &metav1.LabelSelector{MatchLabels: set()}
	}
	ports := func() (ports []networkingv1.NetworkPolicyPort) {
		for range random.IntN(3) {
			port := networkingv1.NetworkPolicyPort{}
			switch random.IntN(4) {
			case 0:
				port.Port = new(intOrString("web"))
			case 1:
				port.Port = new(intOrString(80 + random.IntN(3)))
			case 2:
				from := 80 + random.IntN(3)
				port.Port, port.EndPort = new(intOrString(from)), new(int32(from+random.IntN(3)))
			}
			if random.IntN(3) == 0 {
				port.Protocol = new(corev1.Protocol(pick("TCP", "UDP")))
			}
			ports = append(ports, port)
		}
		return ports
	}
	peers := func() (peers []networkingv1.NetworkPolicyPeer) {
		for range random.IntN(3) {
			switch random.IntN(4) {
			case 0:
				peers = append(peers, networkingv1.NetworkPolicyPeer{PodSelector: selector()})
			case 1:
				peers = append(peers, networkingv1.NetworkPolicyPeer{NamespaceSelector: selector()})
			case 2:
				peers = append(peers, networkingv1.NetworkPolicyPeer{NamespaceSelector: selector(), PodSelector: selector()})
			case 3:
				block := &networkingv1.IPBlock{CIDR: pick("10.0.0.0/8", "10.1.0.0/16", "0.0.0.0/0")}
				if random.IntN(2) == 0 {
					block.Except = []string{pick("10.1.0.0/16", "10.1.1.0/24")}
				}
				peers = append(peers, networkingv1.NetworkPolicyPeer{IPBlock: block})
			}
		}
		return peers
	}
	for n := range namespaces {
		name := fmt.Sprintf("n%d", n)
		s.namespaces = append(s.namespaces, corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: set()}})
		for i := range 2 {
			pod := corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Namespace: name, Labels: set()}}
			pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: int32(80 + random.IntN(3)), Protocol: "TCP"}}}}
			s.pods = append(s.pods, pod)
		}
		for i := range random.IntN(3) {
			p := networkingv1.NetworkPolicy{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("q%d", i), Namespace: name}}
			p.Spec.PodSelector = *selector()
			for range random.IntN(3) {
				p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: peers(), Ports: ports()})
			}
			for range random.IntN(3) {
				p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: peers(), Ports: ports()})
			}
			p.Spec.PolicyTypes = [][]networkingv1.PolicyType{nil, {"Ingress"}, {"Egress"}, {"Ingress", "Egress"}}[random.IntN(4)]
			s.policies = append(s.policies, p)
		}
	}
	return s
}

func intOrString(value any) intstr.IntOrString { return intstr.Parse(fmt.Sprint(value)) }

// mutated returns a copy with one other label, port or policy.
func (s small) mutated(random *rand.Rand) small {
	other := randomSmall(random, len(s.namespaces))
	s.namespaces, s.pods, s.policies = slices.Clone(s.namespaces), slices.Clone(s.pods), slices.Clone(s.policies)
	switch i := random.IntN(len(s.pods)); random.IntN(6) {
	case 0:
		s.namespaces[i%len(s.namespaces)].Labels = other.namespaces[i%len(s.namespaces)].Labels
	case 1:
		s.pods[i].Labels = other.pods[i].Labels
	case 2:
		s.pods[i].Spec = other.pods[i].Spec
	default:
		if len(s.policies) > 0 {
			i := random.IntN(len(s.policies))
			s.policies = slices.Delete(s.policies, i, i+1)
		}
		for _, p := range other.policies {
			isSame := func(q networkingv1.NetworkPolicy) bool { return q.Namespace == p.Namespace && q.Name == p.Name }
			if !slices.ContainsFunc(s.policies, isSame) && random.IntN(2) == 0 {
				s.policies = append(s.policies, p)
				break
			}
		}
	}
	return s
}

func (s small) manifests(t *testing.T) string {
	t.Helper()
	var documents strings.Builder
	write := func(o any) {
		encoded, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		documents.Write(encoded)
		documents.WriteString("\n---\n")
	}
	for _, o := range s.namespaces {
		write(o)
	}
	for _, o := range s.pods {
		write(o)
	}
	for _, o := range s.policies {
		write(o)
	}
	return documents.String()
}

// end is an end of a connection: a Pod of the environment, another Pod, or an address.
type end struct {
	namespace  string
	namespaced map[string]string
	pod        *corev1.Pod
	address    string
}

// isKnown reports whether the end is a Pod of the environment. Only their reach is complete.
func (e end) isKnown() bool { return e.pod != nil && e.pod.Name != "" }

// ends returns the ends that tests connect, the Pods of the environment first.
func (s small) ends() (ends []end) {
	labelsOf := map[string]map[string]string{"elsewhere": {"k": "1", "l": "2"}}
	for _, n := range s.namespaces {
		labelsOf[n.Name] = labels.Merge(n.Labels, labels.Set{corev1.LabelMetadataName: n.Name})
	}
	for _, pod := range s.pods {
		ends = append(ends, end{pod.Namespace, labelsOf[pod.Namespace], &pod, ""})
	}
	for _, namespace := range []string{"elsewhere", "n0", "n1"} {
		for _, set := range []map[string]string{{}, {"k": "1"}, {"k": "2", "l": "1"}} {
			ends = append(ends, end{namespace, labelsOf[namespace], &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: set}}, ""})
		}
	}
	for _, address := range []string{"10.1.1.1", "10.1.2.1", "10.2.0.1", "8.8.8.8"} {
		ends = append(ends, end{address: address})
	}
	return ends
}

// mayConnect is the naive evaluator, by the words of the documentation of NetworkPolicies.
func (s small) mayConnect(from, to end, protocol string, port int32) bool {
	mayLeave, isIsolated := false, false
	for _, p := range s.policies {
		if types := p.Spec.PolicyTypes; from.isKnown() && p.Namespace == from.namespace && matches(&p.Spec.PodSelector, from.pod.Labels) && (slices.Contains(types, "Egress") || types == nil && len(p.Spec.Egress) > 0) {
			isIsolated = true
			for _, rule := range p.Spec.Egress {
				mayLeave = mayLeave || hasPeer(rule.To, p.Namespace, to) && hasPort(rule.Ports, to, protocol, port)
			}
		}
	}
	if isIsolated && !mayLeave {
		return false
	}
	mayEnter, isIsolated := false, false
	for _, p := range s.policies {
		if types := p.Spec.PolicyTypes; to.isKnown() && p.Namespace == to.namespace && matches(&p.Spec.PodSelector, to.pod.Labels) && (slices.Contains(types, "Ingress") || types == nil) {
			isIsolated = true
			for _, rule := range p.Spec.Ingress {
				mayEnter = mayEnter || hasPeer(rule.From, p.Namespace, from) && hasPort(rule.Ports, to, protocol, port)
			}
		}
	}
	return !isIsolated || mayEnter
}

func matches(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}

func hasPeer(peers []networkingv1.NetworkPolicyPeer, namespace string, of end) bool {
	for _, p := range peers {
		switch {
		case p.IPBlock != nil:
			isIn := func(cidr string) bool {
				return of.address != "" && netip.MustParsePrefix(cidr).Contains(netip.MustParseAddr(of.address))
			}
			if isIn(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, isIn) {
				return true
			}
		case of.pod == nil,
			p.NamespaceSelector == nil && of.namespace != namespace,
			p.NamespaceSelector != nil && !matches(p.NamespaceSelector, of.namespaced),
			p.PodSelector != nil && !matches(p.PodSelector, of.pod.Labels):
		default:
			return true
		}
	}
	return len(peers) == 0
}

func hasPort(ports []networkingv1.NetworkPolicyPort, of end, protocol string, port int32) bool {
	for _, p := range ports {
		switch {
		case p.Protocol == nil && protocol != "TCP", p.Protocol != nil && string(*p.Protocol) != protocol:
		case p.Port == nil, p.EndPort != nil && p.Port.IntVal <= port && port <= *p.EndPort, p.Port.Type == intstr.Int && p.Port.IntVal == port:
			return true
		case p.Port.Type == intstr.String && of.pod != nil && len(of.pod.Spec.Containers) > 0 && of.pod.Spec.Containers[0].Ports[0].ContainerPort == port && protocol == "TCP":
			return true
		}
	}
	return len(ports) == 0
}

func TestEachNewlyAllowedConnectionIsARisk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	opened, blocked, told := 0, 0, 0
	for range 600 {
		was := randomSmall(random, 2)
		is := was.mutated(random)
		isOpened, isBlocked := was.differences(is)
		w := changes.Between(t, was.manifests(t), is.manifests(t))
		var risks []string
		for _, e := range Review(w) {
			if e.Risk != "" {
				risks = append(risks, e.Type)
			}
			isChanged := func(c compare.Change) bool { return c.Object().ID() == e.Object }
			if !slices.ContainsFunc(w.Changes, isChanged) {
				t.Errorf("effect on the unchanged %s", e.Object)
			}
		}
		if isOpened && !slices.Contains(risks, effect.ReachOpened) || isBlocked && !slices.Contains(risks, effect.ReachBlocked) {
			t.Fatalf("opened %v, blocked %v, risks %v\n%s\n---------\n%s", isOpened, isBlocked, risks, was.manifests(t), is.manifests(t))
		}
		opened, blocked, told = opened+toInt(isOpened), blocked+toInt(isBlocked), told+toInt(len(risks) > 0)
	}
	t.Logf("%d opened, %d blocked, %d told", opened, blocked, told)
	if opened < 100 || blocked < 100 || told > 580 {
		t.Error("too few cases")
	}
}

func toInt(is bool) int {
	if is {
		return 1
	}
	return 0
}

// differences reports whether a connection from or to a Pod of the environment is newly allowed or blocked.
func (s small) differences(is small) (opened, blocked bool) {
	was, now := s.ends(), is.ends()
	for i := range s.pods {
		for j := range was {
			for _, pair := range [][2]int{{i, j}, {j, i}} {
				for _, protocol := range []string{"TCP", "UDP"} {
					for port := int32(79); port < 86; port++ {
						before := s.mayConnect(was[pair[0]], was[pair[1]], protocol, port)
						after := is.mayConnect(now[pair[0]], now[pair[1]], protocol, port)
						opened, blocked = opened || after && !before, blocked || before && !after
					}
				}
			}
		}
	}
	return opened, blocked
}
