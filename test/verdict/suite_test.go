// Package verdict_test compares the verdict of render on objects with that of a real
// API server: what render accepts is accepted there, and what is refused is refused for
// the same fields.
package verdict_test

import (
	"testing"

	"example.com/gatehouse/test/apiserver"
)

var server apiserver.Server

func TestMain(m *testing.M) { apiserver.Run(m, &server) }
