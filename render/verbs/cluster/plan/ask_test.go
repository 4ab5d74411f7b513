package plan

import (
	"errors"
	"testing"
)

func TestIsMissingNameKnowsNamesOfEnvironment(t *testing.T) {
	names := map[string]bool{"runner": true, "urgent": true}
	for message, want := range map[string]bool{
		`pods "p" is forbidden: error looking up service account shop/runner: serviceaccount "runner" not found`: true,
		`pods "p" is forbidden: no PriorityClass with name urgent was found`:                                     true,
		`pods "p" is forbidden: error looking up service account shop/other: serviceaccount "other" not found`:   false,
		`pods "runner" is forbidden: exceeded quota`:                                                             false,
	} {
		if got := isMissingName(errors.New(message), names); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}
