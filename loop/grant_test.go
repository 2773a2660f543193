package loop

import "testing"

func TestGrantsFor(t *testing.T) {
	c := Config{Grants: []SecretGrant{
		{Name: "ONE", Repositories: []string{"acme/widgets"}},
		{Name: "ALL", Repositories: []string{"other/x", "Acme/*"}},
		{Name: "NONE"},
	}}
	for repository, want := range map[string]string{
		"acme/widgets": "ONE ALL ", "Acme/Widgets": "ONE ALL ", "acme/gears": "ALL ", "acmeplus/widgets": "", "other/x": "ALL ", "other/y": "", "": "",
	} {
		got := ""
		for _, g := range c.grantsFor(repository).Grants {
			got += g.Name + " "
		}
		if got != want {
			t.Errorf("%q may have %q, want %q", repository, got, want)
		}
	}
}
