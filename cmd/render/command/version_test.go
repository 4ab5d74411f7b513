package command

import (
	"runtime/debug"
	"testing"
)

func TestVersionComesFromTheBuild(t *testing.T) {
	const hash = "e1bcca2fda0c1e2d3f4a5b6c7d8e9f0a1b2c3d4e"
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: hash}, {Key: "vcs.time", Value: "2026-11-21T20:58:12Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for name, test := range map[string]struct {
		version  string
		settings []debug.BuildSetting
		want     versions
	}{
		"a clone":             {"v0.0.0-20261121205812-e1bcca2fda0c", vcs("false"), versions{Revision: hash, RevisionTime: "2026-11-21T20:58:12Z"}},
		"a clone with edits":  {"v1.2.4-0.20261121205812-e1bcca2fda0c+dirty", vcs("true"), versions{Revision: hash + "-dirty", RevisionTime: "2026-11-21T20:58:12Z"}},
		"go install of a tag": {"v1.2.3", nil, versions{}},
		"no repository":       {"(devel)", nil, versions{}},
	} {
		got := versionsOf(&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: test.version}, Settings: test.settings})
		if got.Render != test.version || got.Go != "go1.26.8" || got.Revision != test.want.Revision || got.RevisionTime != test.want.RevisionTime {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestReleaseOverridesTheModuleVersion(t *testing.T) {
	t.Cleanup(func() { release = "" })
	release = "v1.2.3-rc.1"
	if got := versionsOf(&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}).Render; got != release {
		t.Errorf("%s, want %s", got, release)
	}
}
