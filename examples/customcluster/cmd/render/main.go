// Command render writes the manifests of environments.
package main

import (
	"example.com/customcluster"
	"example.com/gatehouse/cmd/render/command"
	"example.com/gatehouse/kind/gatehouse"
)

func main() { command.Main(append(gatehouse.Kinds, customcluster.Kind)...) }
