package codemap

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// shop is a small repository of several languages in which words overlap on purpose.
func shop() *fakeTree {
	return newTree(map[string]string{
		"cart/cart.go":            "package cart\n\n// Cart holds the items of a customer.\ntype Cart struct{ items []Item }\n\n// Add puts an item into the cart.\nfunc (c *Cart) Add(i Item) { c.items = append(c.items, i) }\n\n// Total sums the prices.\nfunc (c *Cart) Total() int {\n\tsum := 0\n\tfor _, i := range c.items {\n\t\tsum += i.Price\n\t}\n\treturn sum\n}\n",
		"cart/cart_test.go":       "package cart\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tc := Cart{}\n\tif c.Total() != 0 {\n\t\tt.Fatal(\"total of the empty cart\")\n\t}\n}\n",
		"cart/discount.go":        "package cart\n\n// DiscountRate is a share in per cent.\ntype DiscountRate int\n\nfunc applyDiscount(price int, rate DiscountRate) int {\n\treturn price - price*int(rate)/100\n}\n",
		"billing/invoice.py":      "class Invoice:\n    def render(self, customer):\n        if customer is None:\n            raise ValueError(\"customer must not be empty\")\n        return self.template.format(customer=customer)\n",
		"billing/util.py":         "def round_half_up(value):\n    return int(value + 0.5)\n",
		"web/src/util.ts":         "export function formatPrice(cents: number): string {\n  return (cents / 100).toFixed(2)\n}\n",
		"web/src/components.tsx":  "export function PriceTag(props) {\n  return <span>{props.price}</span>\n}\n",
		"core/Parser.java":        "package org.shop.core;\n\npublic class Parser {\n    public Order parse(String text) {\n        return new Order(text.trim());\n    }\n}\n",
		"docs/discounts.md":       "# Discounts\n\nHow the discount rate applies to the price of a cart. The discount rate is a share in per cent.\nDiscount, discount, discount rate.\n",
		"vendor/lib/discount.go":  "package lib\n\nfunc applyDiscount(price int, rate int) int { return price - price*rate/100 }\n",
		"examples/discount.go":    "package main\n\nfunc main() { println(\"discount rate\") }\n",
		"lang/größe.go":           "package lang\n\nfunc größeBerechnen(länge int) int { return länge }\n",
		"lang/messages.go":        "package lang\n\nconst failed = \"处理错误\"\n",
		"go.mod":                  "module shop\n",
		"deploy/config.yml":       "service: shop\nreplicas: 3\n",
		".env":                    "DISCOUNT_RATE_SECRET=hunter2\n",
		"assets/logo.bin":         "\x00\x01discount rate\x00",
		"web/dist/bundle.min.js":  strings.Repeat("var discountRate=1;", 2000),
		"internal/session/log.rs": "pub fn rotate_log_file(limit: usize) {\n    let snapshot_interval = limit;\n}\n",
	})
}

func TestLocateFirst(t *testing.T) {
	cases := []struct {
		name, query, want string
	}{
		{"words of the body", "Sum of prices is wrong", "cart/cart.go"},
		{"identifier in camel case found by words", "the discount rate is ignored", "cart/discount.go"},
		{"identifier in snake case found in camel case", "apply_discount returns a wrong price", "cart/discount.go"},
		{"quoted error text", "Rendering fails with `customer must not be empty` although one is set", "billing/invoice.py"},
		{"go stack frame", "panic in discount\n\ngoroutine 1 [running]:\nshop/cart.(*Cart).Total(...)\n\t/home/me/shop/cart/cart.go:14 +0x1d", "cart/cart.go"},
		{"python traceback", "discount rate\nTraceback (most recent call last):\n  File \"/app/billing/util.py\", line 2, in round_half_up", "billing/util.py"},
		{"java frame", "discount rate is lost\n\tat org.shop.core.Parser.parse(Parser.java:5)", "core/Parser.java"},
		{"javascript frame", "discount rate\n    at formatPrice (/srv/web/src/util.ts:2:10)", "web/src/util.ts"},
		{"path suffix decides between namesakes", "Rounding in src/util.ts is off", "web/src/util.ts"},
		{"windows path", `crash at C:\build\billing\util.py:2`, "billing/util.py"},
		{"dotted module", "billing.invoice.Invoice.render breaks", "billing/invoice.py"},
		{"url of a blob", "see https://github.com/o/shop/blob/main/core/Parser.java#L4", "core/Parser.java"},
		{"path names the file", "parser", "core/Parser.java"},
		{"non-ASCII identifier", "größeBerechnen rechnet falsch", "lang/größe.go"},
		{"script without spaces", "程序显示处理错误", "lang/messages.go"},
		{"joined words", "snapshot interval", "internal/session/log.rs"},
		{"about tests", "Flaky test: TestTotal of the empty cart", "cart/cart_test.go"},
		{"about documentation", "Documentation of the discount rate is misleading", "docs/discounts.md"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := locate(t, shop(), c.query, 5)
			if len(got) == 0 || got[0] != c.want {
				t.Errorf("best files are %q, want %q first", got, c.want)
			}
		})
	}
}

func TestLocateApart(t *testing.T) {
	got := locate(t, shop(), "the discount rate is applied twice", 50)
	at := func(path string) int { return slices.Index(got, path) }
	source := at("cart/discount.go")
	for _, path := range []string{"docs/discounts.md", "vendor/lib/discount.go", "examples/discount.go"} {
		if i := at(path); i < 0 || i < source {
			t.Errorf("%s is at %d of %q, want it found and behind the source at %d", path, i, got, source)
		}
	}
	for _, path := range []string{".env", "web/dist/bundle.min.js"} {
		if i := at(path); i == 0 {
			t.Errorf("%s is first of %q", path, got)
		}
	}
	if at(".env") >= 0 {
		t.Errorf("a secret file is located: %q", got)
	}
}

func TestLocateNothing(t *testing.T) {
	cases := []struct {
		name, query string
		tree        *fakeTree
	}{
		{"empty query", "", shop()},
		{"blank query", " \n\t", shop()},
		{"only stop words", "the fix of an issue", shop()},
		{"words that nothing has", "xylophone quagmire", shop()},
		{"empty repository", "discount", newTree(map[string]string{})},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := locate(t, c.tree, c.query, 5); len(got) != 0 {
				t.Errorf("located %q, want nothing", got)
			}
		})
	}
	if got := locate(t, shop(), "discount", 0); len(got) != 0 {
		t.Errorf("top 0 gave %q", got)
	}
}

func TestLocateByHistory(t *testing.T) {
	tree := shop()
	tree.history = []loop.HistoryCommit{{ID: "a", Subject: "Prevent stampede of sessions", Files: []string{"internal/session/log.rs"}, At: time.Unix(5, 0)}}
	if got := locate(t, tree, "stampede again", 3); len(got) == 0 || got[0] != "internal/session/log.rs" {
		t.Errorf("best files are %q, want the one that the past commit changed", got)
	}
}

func TestLocateSpans(t *testing.T) {
	located, err := New(Config{}).Locate(t.Context(), shop(), "Total sums the prices wrongly", 3)
	if err != nil {
		t.Fatal(err)
	}
	first := located[0]
	if first.Path != "cart/cart.go" || len(first.Spans) == 0 {
		t.Fatalf("located %+v, want cart/cart.go with spans", first)
	}
	if s := first.Spans[0]; s.Symbol != "Cart.Total" || s.Start > 10 || s.End < 16 {
		t.Errorf("best span is %+v, want Cart.Total around lines 10 to 16", s)
	}
}

func TestLocateSpansOfFrames(t *testing.T) {
	located, err := New(Config{}).Locate(t.Context(), shop(), "Total is wrong\npanic: runtime error\n\t/srv/shop/cart/cart.go:7 +0x1d", 3)
	if err != nil {
		t.Fatal(err)
	}
	first := located[0]
	if first.Path != "cart/cart.go" || len(first.Spans) == 0 || first.Spans[0].Start > 7 || first.Spans[0].End < 7 {
		t.Fatalf("located %+v, want cart/cart.go with the span of line 7 first", first)
	}
}
