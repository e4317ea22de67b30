// Sends the text to each model, and shows the page that each answers with. Follows nodes.js.

let asking = null; // what stops the requests under way

function settings() {
  const chosen = {};
  for (const input of at("form").querySelectorAll('input[type="number"]'))
    if (input.value !== "") chosen[input.name] = Number(input.value);
  const faithful = at("form").elements.faithful;
  if (!faithful.indeterminate) chosen.faithful = faithful.checked;
  return chosen;
}

async function answer(model, signal) {
  const response = await fetch("/api/summarize", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ document: at("document").value, model, explain: true, ...settings() }),
    signal,
  });
  const told = await response.json();
  if (!response.ok) throw new Error(told.hint ? `${told.error} Hint: ${told.hint}.` : told.error);
  return told;
}

// --- What comes of it ---------------------------------------------------------------------------

function saving(label, name, type, text) {
  const button = make("button", { type: "button" }, label);
  button.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([text], { type }));
    make("a", { href: url, download: name }).click();
    URL.revokeObjectURL(url);
  });
  return button;
}

function show(section, told) {
  const [{ page, ...rest }] = told.summaries;
  // Its own document, which may not even ask this server for anything.
  const frame = make("iframe", { title: `Summary by ${told.model}`, sandbox: "allow-scripts" });
  frame.srcdoc = page;
  section.append(...(rest.unfamiliar
    ? [make("p", { class: "note" }, "The text is unlike those the model was trained on: expect little of the summary.")] : []),
  make("p", { class: "row" },
    saving("Save as HTML", "summary.html", "text/html", page),
    saving("Save as JSON", "summary.json", "application/json", `${JSON.stringify({ model: told.model, ...rest })}\n`)),
  frame);
}

async function summarize() {
  asking?.abort();
  const own = new AbortController();
  asking = own;
  at("stop").disabled = false;
  at("status").value = "Summarizing …";
  const begun = performance.now();
  const sections = data.models.map(({ name }) => make("section", { "aria-label": name }, make("h2", { dir: "auto" }, name)));
  at("results").replaceChildren(...sections);
  const ends = await Promise.all(data.models.map(async ({ name }, i) => {
    try {
      show(sections[i], await answer(name, own.signal));
      return true;
    } catch (error) {
      if (own.signal.aborted) return false;
      const message = error instanceof TypeError ? "The server does not answer." : error.message;
      sections[i].append(make("p", { class: "note", role: "alert" }, message));
      return false;
    }
  }));
  if (asking !== own) return; // another has begun
  asking = null;
  at("stop").disabled = true;
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  at("status").value = own.signal.aborted ? "Stopped." : ends.every(Boolean) ? `Done in ${seconds} s.` : "There was a problem.";
}

// --- Where the text comes from --------------------------------------------------------------------

async function read(file) {
  if (file === undefined) return;
  if (file.size > data.limits.body_bytes) {
    at("status").value = `The file is larger than the ${data.limits.body_bytes.toLocaleString("en")} bytes that are taken.`;
    return;
  }
  at("document").value = await file.text();
  at("status").value = "";
}

function listen() {
  const text = at("document");
  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    summarize();
  });
  at("stop").addEventListener("click", () => asking?.abort());
  at("file").addEventListener("change", (event) => read(event.target.files[0]));
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("form").requestSubmit();
  });
  text.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    text.classList.add("over");
  });
  text.addEventListener("dragleave", () => text.classList.remove("over"));
  text.addEventListener("drop", (event) => {
    text.classList.remove("over");
    if (!event.dataTransfer.files.length) return; // a piece of text, which lands by itself
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });
}

function start() {
  at("samples").append(...Object.entries(data.samples).map(([name, sample]) => {
    const button = make("button", { type: "button" }, name);
    button.addEventListener("click", () => { at("document").value = sample.trim(); });
    return button;
  }));
  const [{ decode }, ...others] = data.models;
  for (const input of at("form").querySelectorAll('input[type="number"]'))
    if (others.every((other) => other.decode[input.name] === decode[input.name])) input.placeholder = decode[input.name];
  // Neither on nor off where it is left to the model: until it is clicked.
  at("form").elements.faithful.checked = decode.faithful;
  at("form").elements.faithful.indeterminate = others.some((other) => other.decode.faithful !== decode.faithful);
  listen();
}

start();
