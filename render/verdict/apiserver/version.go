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

// Release is the release of Kubernetes whose code is used. It is a constant, as what a build
// reports of its dependencies depends on how it was made, and the verdict must not.
const Release = "v1.37.1"

// Version is a minor version of Kubernetes, 1.x, by whose rules objects are judged. The code of
// kube-apiserver judges as its three earlier versions do, too, as with --emulated-version; since.txt
// and later.go have what that leaves out.
type Version uint

// Newest is the version of Release, Oldest the first one that its code knows.
const (
	Newest Version = 37
	Oldest         = Newest - 3
)

// Versions returns all versions, the oldest first.
func Versions() (all []Version) {
	for v := Oldest; v <= Newest; v++ {
		all = append(all, v)
	}
	return all
}

// ParseVersion returns the version that a text such as 1.35 names. The error names those that
// there are.
func ParseVersion(text string) (Version, error) {
	var names []string
	for _, v := range Versions() {
		if v.String() == text {
			return v, nil
		}
		names = append(names, v.String())
	}
	return 0, fmt.Errorf("%q is not a version of Kubernetes that render knows: write one of %s", text, strings.Join(names, ", "))
}

func (v Version) String() string { return fmt.Sprintf("1.%d", uint(v)) }

// gates guards the feature gates and the effective version that the code of kube-apiserver asks,
// of which a process has one each.
var gates = struct {
	sync.Mutex
	changed *sync.Cond
	version Version // that they are set to
	users   int     // that rely on it
}{version: Newest}

func init() { gates.changed = sync.NewCond(&gates) }

// setGates has the code of kube-apiserver judge as a version.
func setGates(v Version) {
	makeCompiler()
	emulated := utilversion.MajorMinor(1, uint(v))
	effective, _ := compatibility.DefaultComponentGlobalsRegistry.ComponentGlobalsOrRegister(basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(), nil)
	effective.SetEmulationVersion(emulated)
	// New expressions and formats are those that the version before has, too. kube-apiserver does not
	// go back so far for Oldest.
	effective.SetMinCompatibilityVersion(emulated.SubtractMinor(1))
	if err := utilfeature.DefaultMutableFeatureGate.SetEmulationVersion(emulated); err != nil {
		panic(err) // no gate is set by hand
	}
	gates.version = v
	forgetDeviceCompiler()
}

// Enter has the code of kube-apiserver judge as the version does until leave is called. It waits
// while others judge as another version.
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
