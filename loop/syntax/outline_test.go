package syntax_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/syntax"
)

// sample is a small source of one language with what must be read out of it.
type sample struct {
	lang    syntax.Language
	path    string
	src     string
	outline string // kind full-name start-end, one a line
	refs    string // name:line, in the order of the text
	broken  string // the same language, not parsing
}

var samples = []sample{
	{syntax.Go, "a.go", `package a

import "fmt"

const Max, min = 3, 1

var x, y int

type (
	Box[T any] struct{ v T }
	Opener interface{ Open() error }
)

// Open opens.
func (b *Box[T]) Open() error {
	const local = 1
	return fmt.Errorf("x %d", helper(local))
}

func helper(n int) int { return n }
`, `constant Max 5-5
constant min 5-5
variable x 7-7
variable y 7-7
type Box 10-10
interface Opener 11-11
method Box.Open 15-18
function helper 20-20`, "Errorf:17 helper:17", "package a\n\nfunc f() {\n\tif x {\n}\n"},
	{syntax.Python, "a.py", `import os

LIMIT = 3
name = "x"


class Shape(Base):
    sides = 4

    @property
    def area(self) -> int:
        total = compute(self.w)
        return os.path.join(total)

    async def go(self):
        pass


@cache
def build(n):
    def inner():
        return Shape(n)
    return inner
`, `constant LIMIT 3-3
variable name 4-4
class Shape 7-16
variable Shape.sides 8-8
method Shape.area 10-13
method Shape.go 15-16
function build 19-23
function build.inner 21-22`, "property:10 compute:12 join:13 cache:19 Shape:22", "def f(:\n    return 1\n"},
	{syntax.JavaScript, "a.js", `export const LIMIT = 3;
let state = 1;
export function build(n) { return helper(n); }
const arrow = (x) => new Shape(x);
class Shape {
  constructor(w) { this.w = w; }
  get area() { return Math.max(this.w, 1); }
}
export default class extends Shape {}
`, `constant LIMIT 1-1
variable state 2-2
function build 3-3
function arrow 4-4
class Shape 5-8
method Shape.constructor 6-6
method Shape.area 7-7`, "helper:3 Shape:4 max:7", "function f() {\n  return [1, 2;\n}\n"},
	{syntax.JavaScript, "assigned.js", `'use strict'
var res = Object.create(proto);
res.send = function send(body) {
  return this.end(body);
};

res.set =
res.header = function header(field) {
};
Parser.prototype.next = () => 1;
exports.parse = async function () {};
module.exports.Box = class {
  open() {}
  shut = () => this.open();
  size = 3;
};
this.x = function () { y.z = function inner() {}; };
defineGetter(req, 'ip', function ip() {
  done(function quiet() {});
});
module.exports = {
  eslint: { create: function (context) { return { Program: function () {} }; } },
  name: 'x',
};
counter.total = 3;
a[b] = function () {};
module.exports = function main() {};
`, `variable res 2-2
method res.send 3-5
method res.set 7-9
method res.header 7-9
method Parser.next 10-10
function parse 11-11
class Box 12-16
method Box.open 13-13
method Box.shut 14-14
function x 17-17
method y.z 17-17
function ip 18-20
method create 22-22
function main 27-27`, "create:2 end:4 open:14 defineGetter:18 done:19", "x.y = function ( {\n"},
	{syntax.TypeScript, "a.ts", `export interface Shape { area(): number; }
export type Id = string;
enum Color { Red }
export abstract class Box<T> implements Shape {
  private v: T;
  area(): number { return this.count<T>(1); }
}
namespace Util { export function f(): void {} }
`, `interface Shape 1-1
method Shape.area 1-1
type Id 2-2
type Color 3-3
class Box 4-7
method Box.area 6-6
module Util 8-8
function Util.f 8-8`, "count:6", "class A {\n  f(: number) {}\n}\n"},
	{syntax.TSX, "a.tsx", `export const App = () => <List items={load()} />;
`, `function App 1-1`, "List:1 load:1", "const A = () => <div>;\n"},
	{syntax.Java, "A.java", `package a;
public class A extends B {
  static final int MAX = 3;
  private int n;
  public A() { super(); }
  int sum(int x) {
    return new Helper(x).run();
  }
  interface In { void go(); }
}
enum E { X, Y }
`, `class A 2-10
constant A.MAX 3-3
variable A.n 4-4
method A.A 5-5
method A.sum 6-8
interface A.In 9-9
method In.go 9-9
type E 11-11`, "run:7 Helper:7", "class A {\n  void f( { }\n}\n"},
	{syntax.Ruby, "a.rb", `module Util
  LIMIT = 3
  class Shape < Base
    def area
      compute(@w).to_s
    end

    def self.build(n) = new(n)
  end
end

def top
  Util::Shape.build(1)
end
`, `module Util 1-10
constant Util.LIMIT 2-2
class Util.Shape 3-9
method Shape.area 4-6
method Shape.build 8-8
function top 12-14`, "to_s:5 compute:5 new:8 build:13", "def f\n  if x\nend\n"},
	{syntax.Rust, "a.rs", `const MAX: u32 = 3;
pub struct Shape<T> { w: T }
trait Area { fn area(&self) -> u32; }
impl<T> Area for Shape<T> {
    fn area(&self) -> u32 { helper::<T>(&self.w) }
}
mod inner { pub fn f() { println!("x"); std::fs::read("p"); } }
enum E { A, B }
`, `constant MAX 1-1
type Shape 2-2
interface Area 3-3
method Area.area 3-3
method Shape.area 5-5
module inner 7-7
function inner.f 7-7
type E 8-8`, "helper:5 println:7 read:7", "fn f() {\n    let x = (1;\n}\n"},
	{syntax.C, "a.c", `#define MAX 3
#define SQ(x) ((x) * (x))
typedef struct node { struct node *next; } node_t;
enum color { RED };
static int *find(const char *s);
static int *find(const char *s)
{
	int n = SQ(2);
	return lookup(s, n);
}
`, `constant MAX 1-1
function SQ 2-2
type node_t 3-3
class node_t.node 3-3
type color 4-4
function find 5-5
function find 6-10`, "SQ:8 lookup:9", "int f(void) {\n\treturn (1;\n}\n"},
	{syntax.CPP, "a.cpp", `namespace app {
template <typename T>
class Box : public Base {
 public:
  explicit Box(T v);
  T get() const { return helper<T>(v_); }
 private:
  T v_;
};
}
int app::Box<int>::size() { return new Node(1)->count(); }
`, `module app 1-10
class app.Box 2-9
method Box.Box 5-5
method Box.get 6-6
method app::Box<int>.size 11-11`, "helper:6 count:11 Node:11", "int f() {\n  std::vector<int> v = {1, 2;\n}\n"},
	{syntax.CSharp, "A.cs", `namespace App;
public class Shape : Base {
  public const int Max = 3;
  public int W { get; set; }
  public Shape(int w) { W = w; }
  public int Area() { return Helper.Compute(W) + new Unit().Size(); }
}
interface IOpen { void Open(); }
`, `module App 1-1
class Shape 2-7
constant Shape.Max 3-3
variable Shape.W 4-4
method Shape.Shape 5-5
method Shape.Area 6-6
interface IOpen 8-8
method IOpen.Open 8-8`, "Compute:6 Size:6 Unit:6", "class A {\n  void F( { }\n}\n"},
	{syntax.PHP, "a.php", `<?php
namespace App;
const LIMIT = 3;
class Shape extends Base {
  const MAX = 1;
  public function area(): int { return $this->compute(strlen("x")); }
  public static function build() { return new Shape(); }
}
function top() { Shape::build(); }
`, `constant LIMIT 3-3
class Shape 4-8
constant Shape.MAX 5-5
method Shape.area 6-6
method Shape.build 7-7
function top 9-9`, "compute:6 strlen:6 Shape:7 build:9", "<?php\nfunction f( {\n}\n"},
}

func TestOutline(t *testing.T) {
	for _, s := range samples {
		t.Run(string(s.lang), func(t *testing.T) {
			var got []string
			for _, sym := range syntax.Outline(s.lang, []byte(s.src)) {
				got = append(got, fmt.Sprintf("%s %s %d-%d", sym.Kind, sym.FullName(), sym.Start, sym.End))
			}
			if g := strings.Join(got, "\n"); g != s.outline {
				t.Errorf("outline:\n%s\nwant:\n%s", g, s.outline)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	for _, s := range samples {
		t.Run(string(s.lang), func(t *testing.T) {
			var got []string
			for _, ref := range syntax.References(s.lang, []byte(s.src)) {
				got = append(got, fmt.Sprintf("%s:%d", ref.Name, ref.Line))
			}
			if g := strings.Join(got, " "); g != s.refs {
				t.Errorf("references %q, want %q", g, s.refs)
			}
		})
	}
}

func TestSignature(t *testing.T) {
	cases := map[string]struct {
		lang syntax.Language
		src  string
		want string
	}{
		"go method":       {syntax.Go, "package a\nfunc (b *Box) Open(\n\tname string,\n) error {\n\treturn nil\n}\n", "func (b *Box) Open( name string, ) error"},
		"python":          {syntax.Python, "def f(a, b=1) -> int:\n    return 1\n", "def f(a, b=1) -> int"},
		"class":           {syntax.Java, "class A extends B { int n; }", "class A extends B"},
		"arrow function":  {syntax.TypeScript, "const f = (x: number) => x;\n", "f = (x: number)"},
		"assigned":        {syntax.JavaScript, "res.set =\nres.header = function header(field, val) {\n  return this\n}\n", "res.set = res.header = function header(field, val)"},
		"cut at a letter": {syntax.Python, "def f(" + strings.Repeat("ä", 300) + "): pass\n", "def f(" + strings.Repeat("ä", 97) + "…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			symbols := syntax.Outline(c.lang, []byte(c.src))
			if len(symbols) == 0 || symbols[0].Signature != c.want {
				t.Errorf("got %+v, want signature %q", symbols, c.want)
			}
		})
	}
}
