package guards

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// reviewSettings reviews annotations that configure the controllers of routes.
func reviewSettings(c diff.Change) (effects []kind.Effect) {
	o := c.Object()
	if group := o.GroupVersionKind().Group; c.After == nil || world.KindOf(o.Unstructured) != "Service" && !strings.HasSuffix(group, "networking.k8s.io") {
		return nil
	}
	byRisk := map[kind.Sentence][]string{}
	for _, key := range changedKeys(world.Both(c, (*unstructured.Unstructured).GetAnnotations)) {
		risk := settingRisk(key)
		if isSnippet := risk == runsSnippet; risk != "" && (isSnippet || c.Before != nil) {
			byRisk[risk] = append(byRisk[risk], key)
		}
	}
	for _, risk := range slices.Sorted(maps.Keys(byRisk)) {
		effects = append(effects, kind.Effect{Type: effect.RouteChanged, What: "changes " + effect.Quote(byRisk[risk]), Risk: risk})
	}
	return effects
}

// changedKeys returns the sorted keys with different values.
func changedKeys(was, is map[string]string) (keys []string) {
	for key, value := range is {
		if old, ok := was[key]; !ok || old != value {
			keys = append(keys, key)
		}
	}
	for key := range was {
		if _, ok := is[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

const (
	runsSnippet = "it is code in the proxy: its author may read all requests and the keys of all routes"
	accepts     = "it decides which clients may send requests"
	configures  = "it configures the controller: other clients may connect, or other servers may answer"
)

var (
	acceptance = regexp.MustCompile(`auth|white-?list|allow-?list|deny-?list|black-?list|source-range|inbound-cidrs|allowed-ip|cors|waf|modsecurity|oidc|jwt|scheme|security-group`)

	// harmless are the domains of keys that no controller of routes reads.
	harmless = regexp.MustCompile(`^([^/]*|(.*\.)?(argoproj\.io|toolkit\.fluxcd\.io|helm\.sh|kubectl\.kubernetes\.io|app\.kubernetes\.io|gatehouse\.example\.com)/.*)$`)

	// reviewed are the keys of Services with words of their own.
	reviewed = regexp.MustCompile(`^service\.beta\.kubernetes\.io/(aws-load-balancer-(internal|scheme)|azure-load-balancer-internal|load-balancer-source-ranges)$|^(networking\.gke\.io|cloud\.google\.com)/load-balancer-type$`)
)

// settingRisk returns the risk of another value of an annotation.
func settingRisk(key string) kind.Sentence {
	switch {
	case harmless.MatchString(key), reviewed.MatchString(key):
		return ""
	case strings.Contains(key, "snippet"), strings.Contains(key, "lua"):
		return runsSnippet
	case acceptance.MatchString(key):
		return accepts
	}
	return configures
}
