package compare

import (
	"maps"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// FrameChange is a changed file that the changes of environments do not explain: none reads it, or it is below
// rendered/, and not what the sources render to.
type FrameChange struct {
	File   string `json:"file"` // from the top of the work tree, with slashes
	Action Action `json:"action"`
	// Risk is empty for a file without a known reader.
	Risk kind.Sentence `json:"risk,omitempty"`
	// IsOrdinary reports whether the change alone is no difference: documentation, or the source of a program.
	IsOrdinary bool `json:"-"`
	// Objects are the changed objects of a manifest, as of an environment, or nil.
	Objects *Comparison `json:"-"`
}

// Changes returns the changed objects.
func (c FrameChange) Changes() []Change {
	if c.Objects == nil {
		return nil
	}
	return c.Objects.Changes
}

// Outdated is the action of a folder of rendered files that differ from a rendering, and that the change leaves alone.
const Outdated Action = "outdated"

// SayFiles lists files. Of many it counts the files in each folder.
func SayFiles(names []string) kind.Sentence {
	const most = 12
	in := map[string]int{}
	for _, name := range names {
		if folder, _, isBelow := strings.Cut(name, "/"); len(names) > most && isBelow {
			name = folder + "/"
		}
		in[name]++
	}
	said := make([]string, 0, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		one := kind.Say("%s", name)
		if len(names) > most && strings.HasSuffix(name, "/") {
			one += kind.Say(" (%s)", kind.Count(int64(in[name]), "file"))
		}
		said = append(said, string(one))
	}
	return kind.Sentence(manifest.FirstOf(most, said))
}
