package flux

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheControllerDecidesAboutUnsetVariables(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec: {template: {spec: {containers: [{name: manager, image: \"%s\", args: [%s]}]}}}\n"
	for name, test := range map[string]struct {
		image, args string
		want        Unset
	}{
		"first strict version": {"ghcr.io/fluxcd/kustomize-controller:v1.9.0", "", Refuses},
		"an older one":         {"ghcr.io/fluxcd/kustomize-controller:v1.8.9", "", LeavesEmpty},
		"with a digest":        {"registry:5000/mirror/kustomize-controller:v1.9.4@sha256:abc", "", Refuses},
		"an unknown version":   {"ghcr.io/fluxcd/kustomize-controller@sha256:abc", "", MayRefuse},
		"gate off":             {"ghcr.io/fluxcd/kustomize-controller:v1.9.4", `"--feature-gates=A=true,StrictPostBuildSubstitutions=false"`, LeavesEmpty},
		"gate on":              {"ghcr.io/fluxcd/kustomize-controller:v1.7.0", "--feature-gates=StrictPostBuildSubstitutions=true", Refuses},
		"another gate":         {"ghcr.io/fluxcd/kustomize-controller:v1.9.4", "--feature-gates=GroupChangeLog=false", Refuses},
	} {
		o := read(t, fmt.Sprintf(deployment, "kustomize-controller", test.image, test.args))[0]
		if got, is := UnsetBy(o); got != test.want || !is {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if _, is := UnsetBy(read(t, fmt.Sprintf(deployment, "helm-controller", "helm-controller:v1.0.0", ""))[0]); is {
		t.Error("helm-controller substitutes nothing")
	}
}

func TestAnInstanceHasTheControllerOfItsVersion(t *testing.T) {
	for version, want := range map[string]Unset{
		"2.x": MayRefuse, "2.9.x": Refuses, "v2.9.1": Refuses, ">=2.9.0": Refuses, "~2.8.3": LeavesEmpty, "2.7.5": LeavesEmpty,
		"": MayRefuse,
	} {
		i, ok := InstanceOf(map[string]any{"distribution": map[string]any{"version": version},
			"sync": map[string]any{"kind": "OCIRepository", "url": "oci://example.com/fleet", "path": "clusters/a"}})
		objects := i.Objects("flux")
		if got, _ := UnsetBy(objects[0]); got != want || !ok {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
		var names []string
		for _, o := range objects {
			names = append(names, o.String())
		}
		if got := strings.Join(names, ", "); got != "Deployment flux/kustomize-controller, OCIRepository flux/flux, Kustomization flux/flux" {
			t.Errorf("%s: %s", version, got)
		}
	}
}

func TestTheFirstExpressionThatFluxCannotReadIsNamed(t *testing.T) {
	b := &PostBuild{Values: map[string]string{"A": "x"}}
	for text, want := range map[string]string{
		"${A} ${kube-id} ${b c}":       "${kube-id}",
		"${A:-${A}} $${x y} ${arr[@]}": "${arr[@]}",
		"a ${open":                     "${open",
		"$$${no-name}":                 "${no-name}",
	} {
		r := b.Substitute(read(t, fmt.Sprintf(configMap, "'"+text+"'")), nil)[0]
		if r.Unreadable == nil || r.Unreadable.Name != want || strings.Join(r.Unreadable.Field, ".") != "data.k" {
			t.Errorf("%s: %+v, want %s", text, r.Unreadable, want)
		}
	}
}

func TestEncryptedValuesAreUnknown(t *testing.T) {
	b, err := Read([][]byte{[]byte("kind: ConfigMap\nmetadata: {name: v}\ndata: {A: \"ENC[x]\"}\nsops: {version: 3.9.0}\n")})
	if err != nil || b.Values != nil {
		t.Errorf("%v, %v", b, err)
	}
}
