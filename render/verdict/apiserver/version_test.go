package apiserver

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestReleaseMatchesGoMod(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if match := regexp.MustCompile(`\tk8s\.io/kubernetes (\S+)`).FindSubmatch(mod); match == nil || string(match[1]) != Release {
		t.Errorf("the code is of %q, the release %s", match, Release)
	}
	if minor := strings.Split(Release, ".")[1]; "1."+minor != Newest.String() {
		t.Errorf("the newest version is %s, the release %s", Newest, Release)
	}
}
