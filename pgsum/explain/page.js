// Shows one summary at a time. Text becomes text nodes, never markup. Follows nodes.js.

const isolated = (token) => make("bdi", { lang: "" }, token); // whichever way it is written
const three = (number) => number.toFixed(3);
const percent = (share) => `${Math.round(100 * share)}%`;
const tokensOf = (pieces) => pieces.filter((_, i) => i % 2);

// --- The words of a text: one stop of the Tab key, arrows inside it ---------------------------

function lay(box, pieces, active) {
  const spans = [];
  box.replaceChildren(...pieces.map((piece, i) => {
    if (i % 2 === 0) return piece;
    const span = make("span", {}, piece);
    if (active) {
      span.setAttribute("role", "button");
      span.setAttribute("aria-pressed", "false");
      span.tabIndex = spans.length ? -1 : 0;
    }
    spans.push(span);
    return span;
  }));
  return spans;
}

function moved(box, index, key, count) {
  const forward = getComputedStyle(box).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
  if (key === forward || key === "ArrowDown") return Math.min(index + 1, count - 1);
  if (key === "ArrowLeft" || key === "ArrowRight" || key === "ArrowUp") return Math.max(index - 1, 0);
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  return null;
}

// --- One summary ------------------------------------------------------------------------------

let shown = null; // the entry of data.explained on the page
let words = [];
let sources = [];
let referenceSpans = [];
let pinned = null; // {kind, index}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const shade = (word, source) => shown.shades[word * sources.length + source]; // 0 to 1

function open(number) {
  shown = data.explained[number];
  shown.shades ??= Float32Array.from(shown.attention, (digit) => DIGITS.indexOf(digit) / 63);
  pinned = null;
  words = lay(at("summary"), shown.summary, true);
  sources = lay(at("source"), shown.source, shown.has_attention);
  words.forEach((span, i) => {
    span.className = "word";
    span.style.setProperty("--p-gen", shown.p_gens[i]);
    span.classList.toggle("copied", shown.copied[i]);
    span.classList.toggle("oov", shown.oov[i]);
  });
  if (!words.length) at("summary").append(make("em", { class: "quiet" }, "The summary is empty."));
  showNotes();
  showCut();
  showReferences();
  showScores();
  at("coverage-part").hidden = at("matrix-part").hidden = !shown.has_attention || !words.length;
  if (!at("matrix-part").hidden) {
    showCoverage();
    showTenths();
    showMatrix();
  }
  at("source-box").scrollTop = 0;
  at("documents").querySelectorAll("button").forEach((button, i) => {
    if (i === number) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  });
  mark();
  clear();
}

function showNotes() {
  const notes = [];
  if (!shown.has_attention)
    notes.push("The model reads its document into one vector: it has no attention, so there is nothing to say where a word came from.");
  if (!shown.has_pointer)
    notes.push("The model has no pointer: each word is generated from the vocabulary (p_gen is 1).");
  if (shown.stop === "max_tokens") notes.push("The summary ends because it may not be longer.");
  if (shown.stop === "blocked") notes.push("The summary ends because no word was allowed to follow.");
  at("notes").replaceChildren(...notes.map((note) => make("li", {}, note)));
}

function showCut() {
  const left = shown.unread_characters_left_out;
  at("cut").hidden = at("unread").hidden = !shown.unread_tokens;
  const tokens = shown.unread_tokens === 1 ? "token" : "tokens";
  at("cut").replaceChildren(`Cut here: ${shown.unread_tokens.toLocaleString("en")} ${tokens} not read`);
  at("unread").replaceChildren(shown.unread + (left ? ` … and ${left.toLocaleString("en")} characters more` : ""));
}

function showReferences() {
  referenceSpans = [];
  at("references").replaceChildren(...shown.references.map((pieces, i) => {
    const text = make("p", { class: "text reference", lang: "", dir: "auto" });
    referenceSpans.push(lay(text, pieces, false));
    const heading = shown.references.length > 1 ? `Reference ${i + 1}` : "Reference";
    return make("div", {}, make("h3", {}, heading), text);
  }));
}

function showScores() {
  const scores = Object.entries(shown.scores);
  at("scores").hidden = !scores.length;
  at("scores").tBodies[0].replaceChildren(
    make("tr", {}, ...scores.map(([metric]) => make("th", { scope: "col" }, metric))),
    make("tr", {}, ...scores.map(([, score]) => make("td", {}, (100 * score).toFixed(2)))));
}

// --- Runs of words: shared, new, said again ----------------------------------------------------

const form = (token) => token.normalize("NFC").toLowerCase().replaceAll("’", "'");

function runs(tokens, n) {
  // Of words alone, as ROUGE compares them: punctuation is passed over.
  const places = tokens.map((_, i) => i).filter((i) => /[\p{L}\p{N}]/u.test(tokens[i]));
  return places.slice(0, Math.max(0, places.length - n + 1)).map((_, k) => {
    const run = places.slice(k, k + n);
    return { places: run, text: run.map((i) => form(tokens[i])).join(" ") };
  });
}

function mark() {
  const n = Number(at("n").value);
  const own = runs(tokensOf(shown.summary), n);
  const texts = new Set(own.map((run) => run.text));
  const references = shown.references.map((pieces) => runs(tokensOf(pieces), n));
  const inReference = new Set(references.flat().map((run) => run.text));
  const inSource = new Set(runs(tokensOf(shown.source), n).map((run) => run.text));
  const seen = new Map();
  own.forEach((run) => seen.set(run.text, (seen.get(run.text) ?? 0) + 1));
  const found = {
    shared: own.filter((run) => inReference.has(run.text)),
    new: own.filter((run) => !inSource.has(run.text)),
    again: own.filter((run) => seen.get(run.text) > 1),
  };
  for (const [name, some] of Object.entries(found)) {
    const places = new Set(at(`mark-${name}`).checked ? some.flatMap((run) => run.places) : []);
    words.forEach((span, i) => span.classList.toggle(name, places.has(i)));
  }
  references.forEach((all, r) => {
    const places = new Set(all.filter((run) => at("mark-shared").checked && texts.has(run.text)).flatMap((run) => run.places));
    referenceSpans[r].forEach((span, i) => span.classList.toggle("shared", places.has(i)));
  });
  const parts = [`${own.length} of length ${n}: ${found.new.length} not in what was read`, `${own.length - texts.size} said again`];
  if (references.length) parts.push(`${found.shared.length} in the reference`);
  at("counts").value = parts.join(", ");
}

// --- Pictures of attention ---------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

function bars(heights, chosen = null) {
  return heights.map((height, i) => (chosen !== null && i !== chosen ? "" : `M${i} 1V${1 - height}h1V1z`)).join("");
}

function showCoverage() {
  const most = Math.max(...shown.coverage);
  const heights = shown.coverage.map((total) => total / most);
  const strip = at("coverage");
  strip.setAttribute("viewBox", `0 0 ${heights.length} 1`);
  const strongest = shown.coverage.indexOf(most);
  strip.setAttribute("aria-label", `Most, ${three(most)}, at token ${strongest + 1}: ${tokensOf(shown.source)[strongest]}`);
  const all = document.createElementNS(SVG, "path");
  all.setAttribute("d", bars(heights));
  const here = document.createElementNS(SVG, "path");
  here.setAttribute("class", "here");
  here.setAttribute("id", "coverage-here");
  strip.replaceChildren(all, here);
}

function showTenths() {
  const sums = Array(10).fill(0);
  shown.coverage.forEach((total, i) => { sums[Math.floor((10 * i) / shown.coverage.length)] += total; });
  const whole = sums.reduce((a, b) => a + b, 0);
  at("tenths").replaceChildren(...sums.map((sum, i) => {
    const cell = make("li", { title: `${percent(sum / whole)} of the attention, on tenth ${i + 1} of what was read` }, percent(sum / whole));
    cell.style.setProperty("--weight", sum / whole);
    return cell;
  }));
}

function colour(name) {
  const probe = make("span", { style: `color:var(${name})` });
  document.body.append(probe);
  const parts = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return parts;
}

function showMatrix() {
  const canvas = at("matrix");
  [canvas.width, canvas.height] = [sources.length, words.length];
  canvas.style.height = `${16 * words.length}px`;
  canvas.setAttribute("aria-label", `Attention of ${words.length} words on ${sources.length} tokens; each word's own is shown when the word is chosen`);
  const [from, to] = [colour("--paper"), colour("--accent")];
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  shown.shades.forEach((part, i) => {
    from.forEach((low, c) => { image.data[4 * i + c] = low + (to[c] - low) * part; });
    image.data[4 * i + 3] = 255;
  });
  context.putImageData(image, 0, 0);
  at("matrix-words").replaceChildren(...tokensOf(shown.summary).map((token) => make("li", { dir: "auto" }, token)));
}

// --- Choosing a word, or a token of the document -------------------------------------------------

function clear() {
  [...words, ...sources].forEach((span) => {
    span.classList.remove("chosen", "strongest", "user");
    span.removeAttribute("aria-describedby");
    if (span.getAttribute("role")) span.setAttribute("aria-pressed", "false");
  });
  sources.forEach((span) => span.style.removeProperty("--weight"));
  at("tip").hidden = at("matrix-row").hidden = true;
  at("coverage-here")?.removeAttribute("d");
}

function choose(kind, index) {
  clear();
  const span = (kind === "word" ? words : sources)[index];
  span.classList.add("chosen");
  span.setAttribute("aria-describedby", "tip");
  if (pinned) span.setAttribute("aria-pressed", "true");
  if (kind === "word") chooseWord(index);
  else chooseSource(index);
  placeTip(span);
}

function chooseWord(index) {
  const token = tokensOf(shown.summary)[index];
  const position = shown.source_positions[index];
  const kind = shown.copied[index] ? `copied from token ${position + 1}` : "generated";
  const lines = [
    ["p_gen", three(shown.p_gens[index])],
    ["generated part", three(shown.generated_part[index])],
    ["copied part", three(shown.copied_part[index])],
    ["log-probability", three(shown.log_probs[index])],
    ...shown.used[index].slice(0, 3).map(([source, value], i) =>
      [i ? "" : "looked at", three(value), " ", isolated(tokensOf(shown.source)[source]), ` (token ${source + 1})`]),
  ];
  tell(token, `${kind}${shown.oov[index] ? ", outside the vocabulary" : ""}`, lines);
  if (!shown.has_attention) return;
  sources.forEach((source, i) => source.style.setProperty("--weight", shade(index, i)));
  at("matrix-row").hidden = false;
  at("matrix-row").style.top = `${16 * index}px`;
  if (shown.used[index].length) {
    const strongest = sources[shown.used[index][0][0]];
    strongest.classList.add("strongest");
    const box = at("source-box");
    box.scrollTop = strongest.offsetTop - box.clientHeight / 2;
  }
}

function chooseSource(index) {
  const users = shown.used
    .map((used, word) => ({ word, weight: used.find(([source]) => source === index)?.[1] ?? 0 }))
    .filter(({ word, weight }) => weight >= 0.1 || shown.source_positions[word] === index)
    .sort((a, b) => b.weight - a.weight);
  users.forEach(({ word }) => words[word].classList.add("user"));
  const tokens = tokensOf(shown.summary);
  tell(tokensOf(shown.source)[index], `token ${index + 1} of ${sources.length}`, [
    ["attention in all", three(shown.coverage[index])],
    ...users.slice(0, 8).map(({ word, weight }, i) => [
      i ? "" : "used by", three(weight), " ", isolated(tokens[word]),
      ` (word ${word + 1})${shown.source_positions[word] === index ? ", copied" : ""}`,
    ]),
    ...(users.length ? [] : [["used by", "no word for a tenth of its attention"]]),
  ]);
  const most = Math.max(...shown.coverage);
  at("coverage-here").setAttribute("d", bars(shown.coverage.map((total) => total / most), index));
}

function tell(token, kind, lines) {
  at("tip").replaceChildren(
    make("p", {}, make("strong", {}, isolated(token)), `: ${kind}`),
    make("dl", {}, ...lines.flatMap(([name, ...value]) => [make("dt", {}, name), make("dd", {}, ...value)])),
  );
}

function placeTip(span) {
  const tip = at("tip");
  tip.hidden = false;
  const place = span.getClientRects()[0];
  const below = place.bottom + 8;
  const fits = below + tip.offsetHeight < innerHeight;
  tip.style.top = `${Math.max(4, fits ? below : place.top - tip.offsetHeight - 8)}px`;
  tip.style.left = `${Math.max(8, Math.min(place.left, innerWidth - tip.offsetWidth - 8))}px`;
}

function back() {
  if (pinned) choose(pinned.kind, pinned.index);
  else clear();
}

function pin(kind, index) {
  const same = pinned && pinned.kind === kind && pinned.index === index;
  pinned = same ? null : { kind, index };
  choose(kind, index);
}

function listen(box, kind) {
  const all = () => (kind === "word" ? words : sources);
  const indexOf = (event) => all().indexOf(event.target);
  const active = () => kind === "word" || shown.has_attention;
  box.addEventListener("pointerover", (event) => {
    const index = indexOf(event);
    if (index >= 0 && !pinned && active() && event.pointerType === "mouse") choose(kind, index);
  });
  box.addEventListener("pointerleave", () => { if (!pinned) clear(); });
  box.addEventListener("click", (event) => {
    const index = indexOf(event);
    if (index >= 0 && active()) pin(kind, index);
  });
  box.addEventListener("focusin", (event) => {
    const index = indexOf(event);
    if (index < 0) return;
    all().forEach((span, i) => { span.tabIndex = i === index ? 0 : -1; });
    // A click chooses by itself, and would find what the focus before it had chosen.
    if (!pinned && event.target.matches(":focus-visible")) choose(kind, index);
  });
  box.addEventListener("focusout", () => { if (!pinned) clear(); });
  box.addEventListener("keydown", (event) => {
    const index = indexOf(event);
    if (index < 0) return;
    const next = moved(box, index, event.key, all().length);
    if (next !== null) all()[next].focus();
    else if (event.key === "Enter" || event.key === " ") pin(kind, index);
    else return;
    event.preventDefault();
  });
}

function listDocuments() {
  const entries = data.explained.map((entry, i) => {
    const button = make("button", { type: "button" },
      make("span", { class: "name", dir: "auto" }, entry.id),
      make("span", { class: "begin", dir: "auto", lang: "" }, entry.summary.join("")));
    button.addEventListener("click", () => open(i));
    return make("li", {}, button);
  });
  at("documents").replaceChildren(make("ol", {}, ...entries));
  at("documents").hidden = entries.length < 2;
}

function start() {
  at("explained").hidden = !data.explained.length;
  if (!data.explained.length) return;
  listDocuments();
  listen(at("summary"), "word");
  listen(at("source"), "source");
  ["n", "mark-shared", "mark-new", "mark-again"].forEach((id) => at(id).addEventListener("change", mark));
  at("matrix").addEventListener("click", (event) => pin("word", Math.min(words.length - 1, Math.floor(event.offsetY / 16))));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    pinned = null;
    clear();
  });
  addEventListener("scroll", () => { if (pinned) back(); else at("tip").hidden = true; }, { passive: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (!at("matrix-part").hidden) showMatrix(); });
  open(0);
}

start();
