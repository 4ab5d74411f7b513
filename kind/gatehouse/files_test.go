package gatehouse

import (
	"strings"
	"testing"

	"example.com/gatehouse/kind/kindtest"
)

// The files for people who run kustomize themselves hold what the code says.
func TestKustomizeConfigs(t *testing.T) {
	for _, k := range Kinds {
		kindtest.Golden(t, "../../apis/crds/"+strings.ToLower(k.GVK().Kind)+".kustomizeconfig.yaml", k.KustomizeConfig())
	}
}
