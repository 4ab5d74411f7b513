// Package gatehouse lists the kinds that come with Gatehouse.
package gatehouse

import (
	"sync"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/kind/registry"
)

// Kinds are At and Memcached.
var Kinds = []kind.Kind{at.Kind, memcached.Kind}

// All are these as programs take them that have no others.
var All = sync.OnceValue(func() *registry.Kinds {
	kinds, err := registry.New(Kinds...)
	if err != nil { // they are known at build time
		panic(err)
	}
	return kinds
})
