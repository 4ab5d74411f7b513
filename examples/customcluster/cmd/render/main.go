// Command render renders environments to manifests.
package main

import (
	"example.com/customcluster"
	"example.com/gatehouse/cmd/render/command"
	"example.com/gatehouse/kind/gatehouse"
)

func main() { command.Main(append(gatehouse.Kinds, customcluster.Kind)...) }
