package verify

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// The ecosystems below are verified by their build tool's own commands; each is a few lines,
// hence one file.

func rust() ecosystem {
	return marker("rust", "Cargo.toml", project{
		needs:   []string{"cargo"},
		install: []job{{args: []string{"cargo", "fetch"}, network: "crates"}},
		jobs: []job{
			{stage: loop.StageCompile, args: []string{"cargo", "build", "--offline", "--all-targets", "--message-format=short"}},
			{stage: loop.StageUnit, args: []string{"cargo", "test", "--offline", "--no-fail-fast"}},
		},
	})
}

// gradleProgram is the wrapper where the project has one.
func gradleProgram(s scan) string {
	if s.read("gradlew") != "" {
		return "./gradlew"
	}
	return "gradle"
}

func maven() ecosystem {
	return marker("maven", "pom.xml", project{
		needs:   []string{"mvn"},
		install: []job{{args: []string{"mvn", "-B", "-q", "-Dstyle.color=never", "dependency:go-offline"}, network: "maven"}},
		jobs: []job{
			{stage: loop.StageCompile, args: []string{"mvn", "-B", "-o", "-q", "-Dstyle.color=never", "test-compile"}},
			{stage: loop.StageUnit, args: []string{"mvn", "-B", "-o", "-Dstyle.color=never", "-fae", "test"}},
		},
	})
}

func gradle() ecosystem {
	return ecosystem{name: "gradle", detect: func(s scan) (project, bool) {
		if !s.has("build.gradle") && !s.has("build.gradle.kts") {
			return project{}, false
		}
		return project{
			needs:   []string{"java"},
			install: []job{{args: []string{gradleProgram(s), "--console=plain", "dependencies"}, network: "maven"}},
			jobs: []job{
				{stage: loop.StageCompile, args: []string{gradleProgram(s), "--offline", "--console=plain", "testClasses"}},
				{stage: loop.StageUnit, args: []string{gradleProgram(s), "--offline", "--console=plain", "--continue", "test"}},
			},
		}, true
	}}
}

func cmake() ecosystem {
	return marker("cmake", "CMakeLists.txt", project{
		needs: []string{"cmake"},
		jobs: []job{
			// The build tree lies beside the worktree, so that every build starts clean of the source.
			{stage: loop.StageCompile, args: []string{"sh", "-c", "rm -rf " + buildDir + " && cmake -S . -B " + buildDir + " && cmake --build " + buildDir + " --parallel"}},
			{stage: loop.StageUnit, args: []string{"ctest", "--test-dir", buildDir, "--output-on-failure"}},
		},
	})
}

func ruby() ecosystem {
	return ecosystem{name: "ruby", detect: func(s scan) (project, bool) {
		specs := slices.ContainsFunc(s.below, func(f string) bool { return strings.HasSuffix(f, "_spec.rb") })
		tests := slices.ContainsFunc(s.below, isRubyTest)
		if !s.has("Gemfile") && !s.hasSuffix(".gemspec") && !((s.has("Rakefile") || s.has(".rspec")) && (specs || tests)) {
			return project{}, false
		}
		p := project{needs: []string{"ruby"}}
		var bundle []string
		if s.has("Gemfile") {
			p.needs = append(p.needs, "bundle")
			p.install = []job{{args: []string{"bundle", "install", "--quiet"}, network: "ruby"}}
			// Where nothing could be installed, the gems of the machine may be enough.
			bundle = []string{"sh", "-c", `bundle check >/dev/null 2>&1 || unset BUNDLE_PATH; exec bundle exec "$@"`, "sh"}
		}
		unit := func(speaks string, args ...string) {
			p.jobs = append(p.jobs, job{stage: loop.StageUnit, args: slices.Concat(bundle, args), speaks: speaks})
		}
		if specs {
			unit("rspec", "rspec", "--format", "documentation", "--no-color")
		}
		rake := s.read("Rakefile")
		switch {
		case !tests:
		case rubyTestTask.MatchString(rake):
			unit("rake test", "rake", "test", "TESTOPTS=-v")
		case !specs || s.has("test"):
			unit("rake test", "ruby", "-Ilib", "-Itest", "-e", `Dir.glob("{,*/}test/**/{test_*,*_test}.rb").sort.each { |f| require File.expand_path(f) }`, "--", "-v")
		}
		return p, true
	}}
}

// rubyTestTask finds a Rakefile's task for tests.
var rubyTestTask = regexp.MustCompile(`TestTask|\btask\s*\(?\s*[:'"]?test\b`)

// isRubyTest says whether a path is a test by the naming rules of minitest and test-unit.
func isRubyTest(p string) bool {
	name := path.Base(p)
	return strings.HasSuffix(name, "_test.rb") || strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".rb") && name != "test_helper.rb"
}

func php() ecosystem {
	return ecosystem{name: "php", detect: func(s scan) (project, bool) {
		configured := s.has("phpunit.xml") || s.has("phpunit.xml.dist")
		manifest := s.read("composer.json")
		if manifest == "" && !configured {
			return project{}, false
		}
		p := project{needs: []string{"php"}}
		if composerNeeds(manifest) {
			p.install = []job{{args: []string{"composer", "install", "--no-interaction", "--no-scripts", "--no-progress"}, network: "composer"}}
		}
		switch {
		case strings.Contains(manifest, `"pestphp/pest"`):
			p.jobs = append(p.jobs, job{stage: loop.StageUnit, args: []string{"vendor/bin/pest", "--colors=never"}})
		case configured || strings.Contains(manifest, "phpunit/phpunit"):
			p.jobs = append(p.jobs, job{
				stage: loop.StageUnit, speaks: "phpunit --teamcity",
				args: []string{"sh", "-c", `[ -x vendor/bin/phpunit ] && exec vendor/bin/phpunit "$@"; exec phpunit "$@"`, "sh", "--teamcity"},
			})
		}
		return p, true
	}}
}

// composerNeeds says whether a composer.json asks for packages: PHP and its extensions are none.
func composerNeeds(manifest string) bool {
	var needs struct {
		Require    map[string]string `json:"require"`
		RequireDev map[string]string `json:"require-dev"`
	}
	if json.Unmarshal([]byte(manifest), &needs) != nil {
		return manifest != "" // composer will say what is wrong with it
	}
	for _, list := range []map[string]string{needs.Require, needs.RequireDev} {
		for name := range list {
			if strings.Contains(name, "/") {
				return true
			}
		}
	}
	return false
}

func dotnet() ecosystem {
	return ecosystem{name: "dotnet", detect: func(s scan) (project, bool) {
		if !s.hasSuffix(".sln") && !s.hasSuffix(".csproj") && !s.hasSuffix(".fsproj") {
			return project{}, false
		}
		return project{
			needs:   []string{"dotnet"},
			install: []job{{args: []string{"dotnet", "restore"}, network: "nuget"}},
			jobs: []job{
				{stage: loop.StageCompile, args: []string{"dotnet", "build", "--no-restore", "-v", "q"}},
				{stage: loop.StageUnit, args: []string{"dotnet", "test", "--no-build", "--logger", "console;verbosity=normal"}},
			},
		}, true
	}}
}

func elixir() ecosystem {
	return marker("elixir", "mix.exs", project{
		needs:   []string{"mix"},
		install: []job{{args: []string{"mix", "deps.get"}, network: "hex"}},
		jobs: []job{
			{stage: loop.StageCompile, args: []string{"mix", "compile", "--force"}},
			{stage: loop.StageUnit, args: []string{"mix", "test", "--trace", "--no-color"}},
		},
	})
}

// marker detects a project by one file and verifies it always in the same way.
func marker(name, file string, p project) ecosystem {
	return ecosystem{name: name, detect: func(s scan) (project, bool) { return p, s.has(file) }}
}

// makeTarget matches the definition of a target that runs tests.
var makeTarget = regexp.MustCompile(`(?m)^(test|check)\s*:`)

// lastResorts are asked for the root where no toolchain was found: a Makefile with a target test or
// check, then tests that need nothing but their runner.
func lastResorts(s scan) (project, bool) {
	for _, name := range []string{"Makefile", "GNUmakefile", "makefile"} {
		text := s.read(name)
		if m := makeTarget.FindStringSubmatch(text); m != nil {
			speaks := strings.Join(append([]string{"make " + m[1]}, recipe(text, m[1], nil)...), "; ")
			return project{
				dir: s.dir, ecosystem: "make", needs: []string{"make"},
				jobs: []job{{stage: loop.StageUnit, args: []string{"make", m[1]}, speaks: speaks}},
			}, true
		}
	}
	if dirs := s.dirsOf(".bats"); len(dirs) > 0 {
		return project{
			dir: s.dir, ecosystem: "bats", needs: []string{"bats"},
			jobs: []job{{stage: loop.StageUnit, args: append([]string{"bats", "--tap"}, dirs...), direct: true}},
		}, true
	}
	if dirs := s.dirsOf(".t"); len(dirs) > 0 && dirs[0] != "." {
		return project{
			dir: s.dir, ecosystem: "perl", needs: []string{"prove"},
			jobs: []job{{stage: loop.StageUnit, args: append([]string{"prove", "-l", "-v"}, dirs...), direct: true}},
		}, true
	}
	return project{}, false
}

// dirsOf lists the directories that hold files of an extension, in order.
func (s scan) dirsOf(ext string) []string {
	dirs := map[string]bool{}
	for _, f := range s.below {
		if path.Ext(f) == ext {
			dirs[path.Dir(f)] = true
		}
	}
	return keys(dirs)
}

// recipe lists the commands of a Makefile's target and of the targets before it, so that the reader
// of the output knows whose it is.
func recipe(text, target string, above []string) []string {
	if slices.Contains(above, target) {
		return nil
	}
	above = append(slices.Clone(above), target)
	var commands []string
	within := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if body, is := strings.CutPrefix(line, "\t"); is {
			if within {
				commands = append(commands, strings.TrimLeft(body, "@-+ "))
			}
			continue
		}
		if names, before, is := strings.Cut(line, ":"); is && !strings.HasPrefix(before, "=") && !strings.HasPrefix(line, "#") {
			if within = slices.Contains(strings.Fields(names), target); within {
				for _, name := range strings.Fields(before) {
					commands = append(commands, recipe(text, name, above)...)
				}
			}
		}
	}
	return commands
}
