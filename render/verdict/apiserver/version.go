package apiserver

import (
	"fmt"
	"strings"
	"sync"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
)

// Version is a minor version of Kubernetes, 1.x. The code of kube-apiserver emulates earlier versions, as with
// --emulated-version; since.txt and the tables of kubernetes.go complete that.
type Version uint

// Versions returns all versions, oldest first.
func Versions() (all []Version) {
	for v := Oldest; v <= Newest; v++ {
		all = append(all, v)
	}
	return all
}

// ParseVersion parses a version such as 1.35. The error lists all versions.
func ParseVersion(text string) (Version, error) {
	var names []string
	for _, v := range Versions() {
		if v.String() == text {
			return v, nil
		}
		names = append(names, v.String())
	}
	return 0, fmt.Errorf("%q is not a version of Kubernetes that render knows: write one of %s", text,
		strings.Join(names, ", "))
}

func (v Version) String() string { return fmt.Sprintf("1.%d", uint(v)) }

// gates guards the feature gates and the effective version of kube-apiserver, which are global.
var gates = struct {
	sync.Mutex
	changed *sync.Cond
	version Version // of the gates
	users   int     // of the version
}{version: Newest}

func init() { gates.changed = sync.NewCond(&gates) }

func setGates(v Version) {
	makeCompiler()
	emulated := utilversion.MajorMinor(1, uint(v))
	effective, _ := compatibility.DefaultComponentGlobalsRegistry.ComponentGlobalsOrRegister(
		basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(), nil)
	effective.SetEmulationVersion(emulated)
	// New expressions and formats must exist in the version before, too. For Oldest kube-apiserver does
	// not go back as far.
	effective.SetMinCompatibilityVersion(emulated.SubtractMinor(1))
	if err := utilfeature.DefaultMutableFeatureGate.SetEmulationVersion(emulated); err != nil {
		panic(err) // no gate is set by hand
	}
	gates.version = v
	forgetDeviceCompiler()
}

// Enter makes kube-apiserver emulate the version until leave is called. It waits for users of another
// version.
func (v Version) Enter() (leave func()) {
	gates.Lock()
	defer gates.Unlock()
	for gates.version != v && gates.users > 0 {
		gates.changed.Wait()
	}
	if gates.version != v {
		setGates(v)
	}
	gates.users++
	return sync.OnceFunc(func() {
		gates.Lock()
		defer gates.Unlock()
		if gates.users--; gates.users == 0 {
			gates.changed.Broadcast()
		}
	})
}
