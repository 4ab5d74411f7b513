// Command controller runs the controllers of Gatehouse's kinds.
package main

import (
	"example.com/gatehouse/cmd/controller/command"
	"example.com/gatehouse/controller/gatehouse"
)

func main() { command.Main(gatehouse.Controllers...) }
