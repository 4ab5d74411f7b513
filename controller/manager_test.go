package controller_test

import (
	"strings"
	"testing"

	"example.com/gatehouse/controller"
)

// Two controllers of one name would report the same metrics.
func TestNamesAreUnique(t *testing.T) {
	options := controller.Options{MetricsAddress: "0", ProbeAddress: "0"}
	var err error
	for range 2 {
		_, err = controller.New(t.Context(), server.Controller, options)
	}
	if err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second manager has controllers of the same names: %v", err)
	}
}
