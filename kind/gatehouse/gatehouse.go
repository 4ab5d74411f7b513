// Package gatehouse lists the kinds that come with Gatehouse.
package gatehouse

import (
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/memcached"
)

// Kinds are At and Memcached.
var Kinds = []kind.Kind{at.Kind, memcached.Kind}
