package gatehouse

import (
	"strings"
	"testing"

	"example.com/gatehouse/kindtest"
)

// The files for users of kustomize are up to date.
func TestKustomizeConfigsAreUpToDate(t *testing.T) {
	for _, k := range Kinds {
		kindtest.Golden(t, "../../apis/crds/"+strings.ToLower(k.GVK().Kind)+".kustomizeconfig.yaml", k.KustomizeConfig())
	}
}
