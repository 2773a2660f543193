package feedback

import "slices"

// registry lists all tools. The order is the order in which awake readers are asked for a line, so the exact
// formats come before those that would take nearly anything.
func registry() []*tool {
	return []*tool{
		// wrappers, which see every line
		npmTool(), ciTool(), makeTool(),
		// documents
		junitTool(), checkstyleTool(),
		// test runners
		goTestTool(), gotestsumTool(),
		pytestTool(), unittestTool(),
		jestTool(), vitestTool(), uvuTool(), mochaTool(), avaTool(), nodeTestTool(), batsTool(), proveTool(), tapTool(), playwrightTool(), jasmineTool(),
		nextestTool(), rustTestTool(), rspecTool(), minitestTool(), phpunitTool(), ctestTool(), gtestTool(), catch2Tool(), doctestCppTool(), exunitTool(), mavenTool(), gradleTool(), dotnetTool(), swiftTool(),
		// compilers, linters, installers
		formatTool(), rustcTool(), javacTool(), cmakeTool(), sanitizerTool(), gccTool(), shellcheckTool(), bundlerTool(), composerTool(),
		jsonTool(), // after go test, whose events are JSON too
		goLintTool(), goBuildTool(), tscTool(), eslintTool(), pyLintTool(), pipTool(),
		// crashes of programs
		pythonTool(), nodeTool(),
	}
}

// ToolInfo is a row of the table of what is recognised.
type ToolInfo struct {
	Name        string
	What        string
	Invocations []string
}

// Tools returns the table of recognised tools and formats in alphabetical order.
func Tools() []ToolInfo {
	var out []ToolInfo
	for _, t := range registry() {
		out = append(out, ToolInfo{Name: t.name, What: t.what, Invocations: t.invocations})
	}
	slices.SortFunc(out, func(a, b ToolInfo) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}
