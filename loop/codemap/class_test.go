package codemap

import "testing"

func TestClassOf(t *testing.T) {
	cases := []struct {
		path string
		want class
	}{
		{"server/main.go", classSource},
		{"aider/history.py", classSource},
		{"src/install.rs", classSource},
		{"lib/testing.py", classSource},
		{"src/contest.js", classSource},
		{"server/main_test.go", classTest},
		{"tests/test_core.py", classTest},
		{"src/test/java/a/FooTest.java", classTest},
		{"src/AutoMapper.UnitTests/Bug.cs", classTest},
		{"web/App.spec.ts", classTest},
		{"src/Shop.SharedSpecs/CacheSpecs.cs", classTest},
		{"FunctionalTests/Login.cs", classTest},
		{"src/latest/index.js", classSource},
		{"contests/main.c", classSource},
		{"build.cake", classBuild},
		{"spec/models/user_spec.rb", classTest},
		{"README.md", classDocs},
		{"docs/conf.py", classDocs},
		{"LICENSE", classDocs},
		{"examples/hello/main.go", classExample},
		{"Makefile", classBuild},
		{"package.json", classBuild},
		{".github/workflows/ci.yml", classBuild},
		{"src/App.csproj", classBuild},
		{"data/users.csv", classData},
		{"deploy/values.yaml", classData},
		{"api/v1/a.pb.go", classGenerated},
		{"web/dist/app.js", classGenerated},
		{"package-lock.json", classGenerated},
		{"vendor/github.com/x/y.go", classVendored},
		{"web/node_modules/a/index.js", classVendored},
	}
	for _, c := range cases {
		t.Run(c.path, func(t *testing.T) {
			if got := classOf(c.path); got != c.want {
				t.Errorf("class %d, want %d", got, c.want)
			}
		})
	}
}

func TestSecret(t *testing.T) {
	cases := []struct {
		path string
		want bool
	}{
		{".env", true}, {"deploy/.env.production", true}, {"prod.env", true}, {"certs/server.key", true}, {"a/id_rsa", true},
		{".aws/credentials", true}, {"config/secrets.yml", true}, {".npmrc", true},
		{".env.example", false}, {"env.go", false}, {"internal/secrets/store.go", false}, {"keys/key.go", false}, {"environment.ts", false},
	}
	for _, c := range cases {
		t.Run(c.path, func(t *testing.T) {
			if got := Secret(c.path); got != c.want {
				t.Errorf("Secret is %v", got)
			}
		})
	}
}
