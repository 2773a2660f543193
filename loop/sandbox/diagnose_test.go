package sandbox_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/sandbox"
)

func TestDiagnose(t *testing.T) {
	byName := func(findings []sandbox.Finding) map[string]sandbox.Finding {
		found := map[string]sandbox.Finding{}
		for _, finding := range findings {
			if finding.Name == "" || finding.Detail == "" || strings.Contains(finding.Detail, "\n") || (!finding.OK && finding.Remedy == "") {
				t.Errorf("not fit for a person: %+v", finding)
			}
			found[finding.Name] = finding
		}
		return found
	}
	t.Run("this host", func(t *testing.T) {
		run(t, shell("true")) // skips where there is no sandbox
		found := byName(sandbox.Diagnose(context.Background(), sandbox.Config{StateDir: t.TempDir()}, "unix:///nonexistent.sock"))
		if !found["sandbox"].OK || !found["bubblewrap"].OK || found["docker"].OK {
			t.Errorf("%+v", found)
		}
	})
	t.Run("refused", func(t *testing.T) {
		bwrap := fakeBwrap(t, "bwrap: setting up uid map: Permission denied")
		found := byName(sandbox.Diagnose(context.Background(), sandbox.Config{Bwrap: bwrap, StateDir: t.TempDir()}, ""))
		if found["sandbox"].OK || !strings.Contains(found["sandbox"].Remedy, "AppArmor") {
			t.Errorf("%+v", found["sandbox"])
		}
	})
	t.Run("missing", func(t *testing.T) {
		found := byName(sandbox.Diagnose(context.Background(), sandbox.Config{Bwrap: "/nonexistent", StateDir: t.TempDir()}, ""))
		if found["bubblewrap"].OK || !found["bubblewrap"].Needed {
			t.Errorf("%+v", found["bubblewrap"])
		}
	})
}
