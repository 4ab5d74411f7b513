package health

import (
	"errors"
	"fmt"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/verbs/sync/health"
	"example.com/gatehouse/test/testkind"
)

// kinds has At, and a kind that stands for all others.
var kinds = func() *registry.Kinds {
	kinds, err := registry.New(at.Kind, testkind.Kind)
	if err != nil {
		panic(err)
	}
	return kinds
}()

// argoChecks has the health checks of Argo CD by kind. Only the check of Pods may use all libraries.
var argoChecks = func() map[string]*argoCheck {
	checks := map[string]*argoCheck{"Pod": newArgoCheck(health.Pod(kinds), true)}
	for _, check := range health.ArgoCD(kinds) {
		checks[check.Kind.Kind] = newArgoCheck(check.Script, false)
	}
	return checks
}()

// ArgoCD returns the health of an object. It runs the script of its kind as Argo CD does in its
// package util/lua.
func ArgoCD(object *unstructured.Unstructured) (string, error) {
	check := argoChecks[object.GetKind()]
	if check == nil {
		check = argoChecks[testkind.Kind.GVK().Kind]
	}
	answer, err := check.run(object.Object)
	if err != nil {
		return "", fmt.Errorf("check a %s: %w", object.GetKind(), err)
	}
	return answer, nil
}

// argoCheck is a script. It checks one object at a time.
type argoCheck struct {
	mu     sync.Mutex
	state  *lua.LState
	script *lua.LFunction
	err    error
}

func newArgoCheck(script string, hasLibraries bool) *argoCheck {
	c := &argoCheck{state: lua.NewState(lua.Options{SkipOpenLibs: !hasLibraries})}
	for name, library := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		c.state.Push(c.state.NewFunction(library))
		c.state.Push(lua.LString(name))
		c.state.Call(1, 0)
	}
	c.script, c.err = c.state.LoadString(script)
	return c
}

func (c *argoCheck) run(object map[string]any) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", c.err
	}
	c.state.SetGlobal("obj", luaValue(c.state, object))
	if err := c.state.CallByParam(lua.P{Fn: c.script, NRet: 1, Protect: true}); err != nil {
		return "", err
	}
	answer, ok := c.state.Get(-1).(*lua.LTable)
	c.state.Pop(1)
	if !ok {
		return "", errors.New("the script returns no table")
	}
	if _, ok := answer.RawGetString("message").(lua.LString); !ok {
		return "", errors.New("the script returns no message")
	}
	return answer.RawGetString("status").String(), nil
}

// luaValue converts a value of JSON to Lua.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(luaValue(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	}
	return lua.LNil
}
