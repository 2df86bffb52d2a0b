// Refreshes what is marked as live, filters lists while one types, and asks before something is deleted.
// Without this script all pages work by links and forms.

const note = document.getElementById("live");

// Live: the server sends the marked parts of this page that change. Where its events do not arrive, the page is loaded
// every two seconds for a minute and its parts are put in place; then events are tried again.

const LOAD_EVERY_MS = 2000;
const LOADS = 30;
const FIRST_EVENT_MS = 10_000;
const parts = new Map(); // what is to be shown, by id, as text

function show() {
  let replaced = false;
  for (const [id, text] of parts) {
    const part = document.getElementById(id);
    if (part && isWorkedIn(part)) continue;
    parts.delete(id);
    if (!part) continue;
    replace(part, text);
    replaced = true;
  }
  if (!replaced) return;
  filter();
  offerAll();
}

// What somebody has selected, presses or has marked stays as it is until they have left it.
function isWorkedIn(part) {
  const marked = getSelection();
  return (
    part.querySelector("input:checked") ||
    (part.contains(document.activeElement) && document.activeElement.matches("input, button")) ||
    part.matches(":active") ||
    (!marked.isCollapsed && part.contains(marked.anchorNode))
  );
}

// What is open, how far something is scrolled, and the focus outlast the new text of a part.
function replace(part, text) {
  const focused = document.activeElement;
  const before = new Map();
  for (const [name, one] of named(part)) {
    const { scrollLeft, scrollTop } = one;
    before.set(name, { open: one.parentNode.open, scrollLeft, scrollTop, focused: one === focused });
  }
  part.innerHTML = text;
  for (const [name, one] of named(part)) {
    const was = before.get(name);
    if (!was) continue;
    if (one.matches("summary")) one.parentNode.open = was.open;
    if (was.scrollLeft || was.scrollTop) one.scrollTo(was.scrollLeft, was.scrollTop);
    if (was.focused) one.focus({ preventScroll: true });
  }
}

// Links and summaries by their words, of which several may have the same; tables and traces by their place.
function named(part) {
  const counts = new Map();
  return [...part.querySelectorAll("summary, pre, table, a")].map((one) => {
    const words = one.matches("summary, a") ? one.textContent : one.tagName;
    const count = (counts.get(words) ?? 0) + 1;
    counts.set(words, count);
    return [`${count} ${words}`, one];
  });
}

// Once: a screen reader reads it again whenever it is set.
function say(text) {
  if (note.textContent !== text) note.textContent = text;
}

async function load() {
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = fresh.querySelectorAll("[data-live]");
    if (!found.length) throw new Error("another page came instead of this one; a login may have ended");
    for (const part of found) parts.set(part.id, part.innerHTML);
    say("");
  } catch (error) {
    say(`Not up to date: ${error.message}`);
  }
}

async function loadForAWhile() {
  for (let loads = 0; loads < LOADS; ) {
    await new Promise((done) => setTimeout(done, LOAD_EVERY_MS));
    if (document.hidden) continue;
    await load();
    show();
    loads += 1;
  }
}

// What all windows of this browser say of it, so that the worker leaves connections for loading pages.
function browser() {
  try {
    localStorage.browser ??= Math.random().toString(36).slice(2);
    return localStorage.browser;
  } catch {
    return ""; // its user allows no storage
  }
}

// Until there are no more of them. Whether that is because the page cannot be shown any longer.
function events() {
  return new Promise((done) => {
    const page = encodeURIComponent(location.pathname + location.search);
    const source = new EventSource(`/ui/live?page=${page}&browser=${browser()}`);
    const end = (over) => {
      clearTimeout(late);
      document.removeEventListener("visibilitychange", hide);
      source.close();
      done(over);
    };
    const late = setTimeout(() => end(false), FIRST_EVENT_MS);
    const hide = () => document.hidden && end(false); // a browser has six connections to a host
    document.addEventListener("visibilitychange", hide);
    source.addEventListener("parts", (event) => {
      clearTimeout(late);
      for (const [id, text] of Object.entries(JSON.parse(event.data))) parts.set(id, text);
      say("");
      show();
    });
    source.addEventListener("late", (event) => {
      clearTimeout(late);
      say(`Not up to date: ${JSON.parse(event.data).message}`);
    });
    source.addEventListener("over", (event) => {
      say(`Not up to date: ${JSON.parse(event.data).message}`);
      end(true);
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) end(false); // refused
      else say("Not up to date: no connection to the worker"); // the browser tries again by itself
    });
  });
}

async function seen() {
  while (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
}

async function follow() {
  for (;;) {
    await seen();
    if (await events()) return;
    if (!document.hidden) await loadForAWhile();
  }
}

for (const left of ["focusout", "change", "click", "selectionchange"])
  document.addEventListener(left, () => parts.size && setTimeout(show));

// Filter: rows without the words are hidden; the form does the same on the server.
const field = document.querySelector("[data-filter]");

function filter() {
  if (!field) return;
  const words = field.value.toLowerCase();
  const rows = document.querySelectorAll(`#${field.dataset.filter} tbody tr`);
  let shown = 0;
  for (const row of rows) {
    row.hidden = !row.textContent.toLowerCase().includes(words);
    for (const box of row.querySelectorAll("input")) box.disabled = row.hidden; // what one does not see is not selected
    shown += row.hidden ? 0 : 1;
  }
  document.getElementById("count").textContent = `${shown} of ${rows.length}`;
}

field?.addEventListener("input", filter);
if (field && field.value !== field.defaultValue) filter(); // typed before this script was there

// Select all: the rows that are shown. Without this script there is no such box.
function offerAll() {
  for (const box of document.querySelectorAll("[data-all]")) box.hidden = false;
}

document.addEventListener("change", (event) => {
  const table = event.target.dataset?.all;
  if (!table) return;
  for (const box of document.querySelectorAll(`#${table} tbody tr:not([hidden]) input`)) box.checked = event.target.checked;
});

offerAll();

document.addEventListener("click", (event) => {
  // A double click asks once: the answer to the second would be shown, such as that the connector exists already.
  if (event.detail > 1 && event.target.closest?.("form[method='post'] button")) event.preventDefault();
});

document.addEventListener("click", (event) => {
  const asked = event.target.closest?.("[data-confirm]")?.dataset.confirm;
  if (asked && !confirm(asked)) event.preventDefault();
});

if (document.querySelector("[data-live]")) follow();
