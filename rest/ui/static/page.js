// Refreshes what is marked as live, filters lists while one types, and asks before something is deleted.
// Without this script all pages work by links and forms.

const EVERY_MS = 2000;
const live = [...document.querySelectorAll("[data-live]")];
const note = document.getElementById("live");

// Live: the same page again, of which only the marked parts are put in place.
async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of live) {
      const other = fresh.getElementById(part.id);
      // What somebody works in stays as it is.
      if (other && !part.contains(document.activeElement) && !part.querySelector("input:checked")) part.replaceChildren(...other.childNodes);
    }
    filter();
    offerAll();
    note.textContent = "";
  } catch (error) {
    note.textContent = `Not up to date: ${error.message}`;
  }
}

async function loop() {
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY_MS));
    await refresh();
  }
}

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

if (live.length) loop();
