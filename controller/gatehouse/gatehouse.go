// Package gatehouse lists the controllers of the kinds that come with Gatehouse.
package gatehouse

import (
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/controller/observe"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/kind/memcached"
)

// Controllers are the controllers of At and Memcached.
var Controllers = []setup.Controller{at.Controller, observe.Controller(memcached.Kind)}
