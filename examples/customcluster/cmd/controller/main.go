// Command controller writes the status of source objects in a cluster.
package main

import (
	"example.com/customcluster"
	"example.com/gatehouse/cmd/controller/command"
	"example.com/gatehouse/controller/gatehouse"
	"example.com/gatehouse/controller/observe"
)

func main() { command.Main(append(gatehouse.Controllers, observe.Controller(customcluster.Kind))...) }
