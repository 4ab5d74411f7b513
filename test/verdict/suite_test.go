// Package verdict_test compares the verdicts of render with the verdicts of a real API server: both
// accept the same objects, and refuse the others for the same fields.
package verdict_test

import (
	"testing"

	"example.com/gatehouse/test/apiserver"
)

var server apiserver.Server

func TestMain(m *testing.M) { apiserver.Run(m, &server) }
