package verify

import (
	"slices"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func TestHookCases(t *testing.T) {
	cases := map[string]loop.CaseStatus{
		"example.com/shop/cart.TestTotal":                    loop.CasePassed,
		"example.com/shop/cart.TestTotal/two_items":          loop.CasePassed,
		"example.com/shop/cart.TestTotals":                   loop.CasePassed,
		"tests/test_cart.py::TestCart::test_total":           loop.CasePassed,
		"tests/test_cart.py::test_rate[eur-1.5]":             loop.CasePassed,
		"tests/test_cart.py::test_rate[usd-2]":               loop.CasePassed,
		"test_price (tests.test_price.PriceTest.test_price)": loop.CasePassed,
		"web//cart > adds two items":                         loop.CasePassed,
		"shop.CartTest#removes":                              loop.CasePassed,
		"services/api//example.org/team/api/slug.TestMake":   loop.CasePassed,
		"services/api//example.org/team/api.TestRates/one":   loop.CasePassed,
		"services/api//example.org/team/api.TestRates/two":   loop.CasePassed,
		"services//example.org/team/api/slug.TestMake":       loop.CasePassed,
	}
	for _, c := range []struct {
		name, hook string
		want       []string
	}{
		{"exact", "example.com/shop/cart.TestTotal", []string{"example.com/shop/cart.TestTotal"}},
		{"short package", "cart.TestTotal", []string{"example.com/shop/cart.TestTotal"}},
		{"with a slash", "cart/TestTotal", []string{"example.com/shop/cart.TestTotal"}},
		{"name alone", "TestTotal", []string{"example.com/shop/cart.TestTotal"}},
		{"subtest with a space", "TestTotal/two items", []string{"example.com/shop/cart.TestTotal/two_items"}},
		{"Go test by its file", "cart/cart_test.go::TestTotal", []string{"example.com/shop/cart.TestTotal"}},
		{"method alone", "test_total", []string{"tests/test_cart.py::TestCart::test_total"}},
		{"parametrised", "tests/test_cart.py::test_rate", []string{"tests/test_cart.py::test_rate[eur-1.5]", "tests/test_cart.py::test_rate[usd-2]"}},
		{"unittest dotted", "tests.test_price.PriceTest.test_price", []string{"test_price (tests.test_price.PriceTest.test_price)"}},
		{"unittest as pytest spells it", "tests/test_price.py::PriceTest::test_price", []string{"test_price (tests.test_price.PriceTest.test_price)"}},
		{"node with its file", "web//test/cart.test.js > cart > adds two items", []string{"web//cart > adds two items"}},
		{"Java", "CartTest.removes", []string{"shop.CartTest#removes"}},
		{"below a directory, from there", "services/api//slug/TestMake", []string{"services/api//example.org/team/api/slug.TestMake"}},
		{"below a directory, as a path", "services/api/slug/TestMake", []string{"services/api//example.org/team/api/slug.TestMake"}},
		{"below a directory, by its file", "services/api/slug/slug_test.go::TestMake", []string{"services/api//example.org/team/api/slug.TestMake"}},
		{"below a directory, subtests", "services/api//TestRates", []string{"services/api//example.org/team/api.TestRates/one", "services/api//example.org/team/api.TestRates/two"}},
		{"below a directory, another test", "services/api//slug/TestOther", nil},
		{"below another directory", "services/web//slug/TestMake", nil},
		{"prefix of a name is another test", "TestTot", nil},
		{"empty", " ", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := hookCases(c.hook, cases); !slices.Equal(got, c.want) {
				t.Errorf("hookCases(%q) = %q, want %q", c.hook, got, c.want)
			}
		})
	}
}

func TestNearestNew(t *testing.T) {
	for _, c := range []struct {
		name, hook string
		fresh      []string
		want       []string
	}{
		{"a suite too many", "res .send() when Transfer-Encoding is set should not set Content-Length",
			[]string{"res when Transfer-Encoding is set should not set Content-Length"}, []string{"res when Transfer-Encoding is set should not set Content-Length"}},
		{"a suite too few", "grep adds a RegExp with modern flags", []string{"Mocha grep() adds a RegExp with modern flags"}, []string{"Mocha grep() adds a RegExp with modern flags"}},
		{"a class around it", "tests/test_cart.py::test_total_of_empty_cart", []string{"tests/test_cart.py::TestCart::test_total_of_empty_cart"},
			[]string{"tests/test_cart.py::TestCart::test_total_of_empty_cart"}},
		{"camel case for underscores", "tests/cart_test.go::TestTotal_of_empty_cart", []string{"tests/cart.TestTotalOfEmptyCart", "tests/cart.TestTotal"}, []string{"tests/cart.TestTotalOfEmptyCart"}},
		{"Go's case", "shop/cart.TestTotal_empty_cart", []string{"shop/cart.TestTotalEmptyCart", "shop/cart.TestOther"}, []string{"shop/cart.TestTotalEmptyCart"}},
		{"its parameters come with it", "rates > converts one currency", []string{"rates module > converts one currency [eur]", "rates module > converts one currency [usd]"},
			[]string{"rates module > converts one currency [eur]", "rates module > converts one currency [usd]"}},
		{"unittest's own spelling", "tests.test_price.test_price_of_two", []string{"test_price_of_two (tests.test_price.TestPrice.test_price_of_two)"},
			[]string{"test_price_of_two (tests.test_price.TestPrice.test_price_of_two)"}},
		{"two are none", "cart adds up items", []string{"cart adds up all items", "cart adds up no items"}, nil},
		{"another test", "tests/test_cart.py::test_total", []string{"tests/test_cart.py::test_total_of_an_empty_cart"}, nil},
		{"opposite", "cart keeps items", []string{"cart does not keep items"}, nil},
		{"no name", "", []string{"cart keeps items"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := nearestNew(c.hook, c.fresh); !slices.Equal(got, c.want) {
				t.Errorf("nearestNew(%q) = %q, want %q", c.hook, got, c.want)
			}
		})
	}
}

func FuzzHookCases(f *testing.F) {
	f.Add("a/b_test.go::TestX", "pkg.TestX/sub")
	f.Add("x (y.z)", "x.py::")
	f.Fuzz(func(t *testing.T, hook, id string) {
		for _, got := range hookCases(hook, map[string]loop.CaseStatus{id: loop.CasePassed}) {
			if got != id {
				t.Errorf("%q is not among the cases", got)
			}
		}
	})
}

func TestIsTestFile(t *testing.T) {
	for path, want := range map[string]bool{
		"cart_test.go": true, "internal/testing/clock.go": false, "test/helper.go": false, "a/testdata/x.json": true, "spec/spec.go": false,
		"tests/test_a.py": true, "tests/helpers.py": true, "conftest.py": true, "numpy/testing/utils.py": false, "src/latest.py": false,
		"src/a.test.ts": true, "src/__tests__/a.tsx": true, "spec/cart.js": true, "src/contest.js": false, "test.js": true, "src/a.cts": false,
		"src/test/java/shop/CartTest.java": true, "src/main/java/shop/Latest.java": false, "src/main/java/shop/Audit.java": false,
		"src/main/java/Submit.java": false, "CartIT.java": true, "spec/cart_spec.rb": true, "t/basic.t": true, "README.md": false,
	} {
		if got := IsTestFile(path); got != want {
			t.Errorf("IsTestFile(%q) = %v, want %v", path, got, want)
		}
	}
}
