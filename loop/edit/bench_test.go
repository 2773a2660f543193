package edit_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/edit"
)

// A thousand blocks on a tree of 5 MB: 250 files of 20 KB, four blocks each.
func BenchmarkThousandBlocks(b *testing.B) {
	tree := files{}
	var reply strings.Builder
	for i := range 250 {
		name := fmt.Sprintf("pkg%d/file%d.go", i%25, i)
		var content strings.Builder
		content.WriteString("package p\n\n")
		for k := range 320 {
			fmt.Fprintf(&content, "func f%d(a int) int {\n\treturn a + %d // %d\n}\n\n", k, k, i)
		}
		tree[name] = content.String()
		for _, k := range []int{3, 99, 180, 311} {
			reply.WriteString(block(name, fmt.Sprintf("\treturn a + %d // %d\n", k, i), fmt.Sprintf("\treturn a - %d // %d\n", k, i)))
		}
	}
	benchmark(b, tree, reply.String())
}

// One block in the middle of a file of 1 MB.
func BenchmarkMegabyteFile(b *testing.B) {
	var content strings.Builder
	for i := 0; content.Len() < 1<<20; i++ {
		fmt.Fprintf(&content, "line %d of a long text\n", i)
	}
	benchmark(b, files{"a.txt": content.String()}, block("a.txt", "line 20000 of a long text\n", "x\n"))
}

// A near miss in a file of 1 MB: the dearest error.
func BenchmarkMegabyteNearMiss(b *testing.B) {
	var content strings.Builder
	for i := 0; content.Len() < 1<<20; i++ {
		fmt.Fprintf(&content, "line %d of a long text\n", i)
	}
	benchmark(b, files{"a.txt": content.String()}, block("a.txt", "line 20000 of a lung text\n", "x\n"))
}

func benchmark(b *testing.B, tree files, reply string) {
	dir := plant(b, tree)
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	b.SetBytes(int64(len(reply)))
	for b.Loop() {
		if _, err := edit.Apply(b.Context(), root, []byte(reply), edit.Options{DryRun: true}); err != nil {
			b.Fatal(err)
		}
	}
}
