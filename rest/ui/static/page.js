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
  for (const [id, text] of parts) {
    const part = document.getElementById(id);
    // What somebody works in stays as it is until they have left it.
    if (part && (part.contains(document.activeElement) || part.querySelector("input:checked"))) continue;
    parts.delete(id);
    if (part) replace(part, text);
  }
  filter();
  offerAll();
}

function replace(part, text) {
  const name = (details) => details.querySelector("summary").textContent;
  const known = new Map([...part.querySelectorAll("details")].map((details) => [name(details), details.open]));
  part.innerHTML = text;
  for (const details of part.querySelectorAll("details")) details.open = known.get(name(details)) ?? details.open;
}

async function load() {
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of fresh.querySelectorAll("[data-live]")) parts.set(part.id, part.innerHTML);
    note.textContent = "";
  } catch (error) {
    note.textContent = `Not up to date: ${error.message}`;
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

// Until there are no more of them. Whether that is because the page cannot be shown any longer.
function events() {
  return new Promise((done) => {
    const page = encodeURIComponent(location.pathname + location.search);
    const source = new EventSource(`/ui/live?page=${page}`);
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
      note.textContent = "";
      show();
    });
    source.addEventListener("late", (event) => {
      clearTimeout(late);
      note.textContent = `Not up to date: ${JSON.parse(event.data).message}`;
    });
    source.addEventListener("over", (event) => {
      note.textContent = `Not up to date: ${JSON.parse(event.data).message}`;
      end(true);
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) end(false); // refused
      else note.textContent = "Not up to date: no connection to the worker"; // the browser tries again by itself
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

document.addEventListener("focusout", () => setTimeout(show));
document.addEventListener("change", show);

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
  const asked = event.target.closest?.("[data-confirm]")?.dataset.confirm;
  if (asked && !confirm(asked)) event.preventDefault();
});

if (document.querySelector("[data-live]")) follow();
