// Loads the page's content anew whenever the server says that something changed.
const source = new EventSource(document.body.dataset.events);
let loading = false, again = false;
async function refresh() {
  if (loading) { again = true; return; }
  loading = true;
  const response = await fetch(location.href);
  if (response.ok) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    document.querySelector("main").replaceWith(page.querySelector("main"));
  }
  loading = false;
  if (again) { again = false; refresh(); }
}
source.addEventListener("changed", refresh);
