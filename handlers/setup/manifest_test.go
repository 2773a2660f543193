package setup

import (
	"maps"
	"os"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestPermissions: what setup asks for is what app.yml says, with its reasons.
func TestPermissions(t *testing.T) {
	raw, err := os.ReadFile("../../app.yml")
	if err != nil {
		t.Fatal(err)
	}
	var written struct {
		Permissions map[string]string `yaml:"default_permissions"`
	}
	if err := yaml.Load(raw, &written); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(written.Permissions, permissions) {
		t.Errorf("app.yml asks for %v, setup for %v", written.Permissions, permissions)
	}
}
