package main

import "testing"

// TestGitHubAddresses: whichever of the three addresses are left out, all are those of one server.
func TestGitHubAddresses(t *testing.T) {
	for _, c := range []struct{ name, web, v3, v4, wantWeb, wantV3, wantV4 string }{
		{"none", "", "", "", "https://github.com", "https://api.github.com/", "https://api.github.com/graphql"},
		{"all", "https://a.example", "https://b.example/v3", "https://c.example/v4", "https://a.example", "https://b.example/v3", "https://c.example/v4"},
		{"Enterprise Server's web", "https://ghe.example/", "", "", "https://ghe.example/", "https://ghe.example/api/v3/", "https://ghe.example/api/graphql"},
		{"Enterprise Server's API", "", "https://ghe.example/api/v3/", "", "https://ghe.example", "https://ghe.example/api/v3/", "https://ghe.example/api/graphql"},
		{"github.com's web", "https://github.com", "", "", "https://github.com", "https://api.github.com/", "https://api.github.com/graphql"},
		{"GHE.com's web", "https://octo.ghe.com", "", "", "https://octo.ghe.com", "https://api.octo.ghe.com/", "https://api.octo.ghe.com/graphql"},
		{"GHE.com's API", "", "https://api.octo.ghe.com", "", "https://octo.ghe.com", "https://api.octo.ghe.com", "https://api.octo.ghe.com/graphql"},
		{"loopback, API at the root", "", "http://127.0.0.1:3000", "", "http://127.0.0.1:3000", "http://127.0.0.1:3000", "http://127.0.0.1:3000/graphql"},
		{"loopback, web and API", "http://127.0.0.1:3000", "http://127.0.0.1:3000/api/v3/", "", "http://127.0.0.1:3000", "http://127.0.0.1:3000/api/v3/", "http://127.0.0.1:3000/api/graphql"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := githubConfig{WebURL: c.web, V3URL: c.v3, V4URL: c.v4}
			g.completeURLs()
			if g.WebURL != c.wantWeb || g.V3URL != c.wantV3 || g.V4URL != c.wantV4 {
				t.Errorf("web %s, v3 %s, v4 %s; want %s, %s, %s", g.WebURL, g.V3URL, g.V4URL, c.wantWeb, c.wantV3, c.wantV4)
			}
		})
	}
}
