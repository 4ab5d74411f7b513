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

// All returns the Kinds of programs without other kinds.
var All = sync.OnceValue(func() *registry.Kinds {
	kinds, err := registry.New(Kinds...)
	if err != nil { // the tests check them
		panic(err)
	}
	return kinds
})
