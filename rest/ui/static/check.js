// Says what is wrong with a configuration while somebody writes it, beside each field. Without it the button Check does.

const PAUSE_MS = 300; // of typing
const form = document.getElementById("editor");
const all = form.dataset.check === "all"; // else only what was touched: an empty form is no mistake
const touched = new Set();
let timer;
let asking = false;
let number = 0; // of what is written by now

form.addEventListener("input", (event) => changed(event.target));
// What was typed before this script was there, or what the browser has kept of an earlier visit.
for (const field of form.elements) {
  if (field.value !== field.defaultValue && "defaultValue" in field) changed(field);
}

function changed(field) {
  touched.add(field.closest("[data-key]")?.dataset.key ?? "");
  number += 1;
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE_MS);
}

// One question at a time: a connector may ask its system about each. The newest answer is the one that is shown.
async function check() {
  if (asking) return;
  asking = true;
  const asked = number;
  const said = await answer();
  asking = false;
  if (asked === number) show(said);
  else check();
}

async function answer() {
  try {
    const response = await fetch("/ui/check", { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const said = await response.json();
    return response.ok ? said : { failed: said.message };
  } catch (error) {
    return { failed: error.message };
  }
}

function show({ failed, errors, problem, file, commands }) {
  const note = document.getElementById("checked");
  if (failed) {
    note.textContent = `Not checked: ${failed}`;
    return;
  }
  document.getElementById("said").replaceChildren(); // it was about what stood here before
  const left = new Map(Object.entries(errors));
  let count = 0;
  for (const setting of form.querySelectorAll("[data-key]")) {
    const { key } = setting.dataset;
    const wrong = (all || touched.has(key)) && left.get(key);
    left.delete(key);
    count += put(setting.querySelector(".findings"), (wrong || []).map(paragraph), setting.querySelector("input, textarea"));
    setting.classList.toggle("wrong", Boolean(wrong));
    if (wrong) setting.closest("details")?.setAttribute("open", "");
  }
  const rest = [];
  if (all || touched.has("")) {
    if (problem) rest.push(paragraph(problem));
    for (const [key, said] of left) rest.push(...said.map((error) => paragraph(`: ${error}`, key)));
  }
  count += put(document.getElementById("unplaced"), rest, document.getElementById("written"));
  note.textContent = count ? `${count} ${count === 1 ? "thing is" : "things are"} wrong.` : "";
  document.getElementById("elsewhere").hidden = !file;
  document.getElementById("file").textContent = file;
  document.getElementById("commands").textContent = commands;
}

// The errors of one field, whose text and focus stay as they are. Returns how many there are.
function put(place, errors, field) {
  place.replaceChildren(...errors);
  if (errors.length) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
  return errors.length;
}

function paragraph(text, key) {
  const made = document.createElement("p");
  if (key) made.append(Object.assign(document.createElement("code"), { textContent: key }));
  made.append(text);
  return made;
}

// What is ticked in a list stands in the field at once. Without this script it is added when the form is sent.
document.addEventListener("change", (event) => {
  const box = event.target;
  if (!box.name?.startsWith("pick:")) return;
  const [field] = document.getElementsByName(`key:${box.name.slice("pick:".length)}`);
  const values = field.value.split(",").map((one) => one.trim()).filter((one) => one && one !== box.value);
  field.value = [...values, ...(box.checked ? [box.value] : [])].join(",");
  field.dispatchEvent(new Event("input", { bubbles: true }));
});
