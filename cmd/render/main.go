// Command render renders the manifests of environments. See `render --help`.
package main

import (
	"example.com/gatehouse/cmd/render/command"
	"example.com/gatehouse/kind/gatehouse"
)

func main() { command.Main(gatehouse.Kinds...) }
