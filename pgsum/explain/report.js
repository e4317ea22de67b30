// The rows of an evaluation: sorted, filtered, and a page of them drawn at a time. Follows page.js.

const PER_PAGE = 50;
const BINS = 20;
const WORST = 0.1;
const ROUGE_2 = "rouge2";

const rows = data.rows.map(([id, prediction, references, scores, statistics, flags]) =>
  ({ id, prediction, references, scores, statistics, flags }));
const explainedAt = new Map(data.explained.map((entry, i) => [entry.id, i]));
const order = { column: null, descending: true };
let found = rows;
let first = 0;

// A column: its heading, and what it has of a row; null where the row lacks it.
const columns = [
  { name: "id", value: (row) => row.id },
  { name: "summary", value: (row) => row.prediction },
  ...data.metrics.map((name, i) => ({ name, number: (value) => (100 * value).toFixed(2), value: (row) => row.scores[i] })),
  ...data.statistics.map((name, i) => ({ name, number: shortly, value: (row) => row.statistics[i] })),
  { name: "marks", value: (row) => row.flags.map((flag) => data.flags[flag]).join(", ") },
];

function shortly(value) {
  return value === null ? "–" : String(Number(value.toFixed(3)));
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return (a < b ? -1 : 1) * (order.descending ? -1 : 1);
}

function worstScore() {
  const scores = rows.map((row) => row.scores[data.metrics.indexOf(ROUGE_2)]).sort((a, b) => a - b);
  return scores[Math.max(0, Math.ceil(WORST * scores.length) - 1)];
}

function find() {
  const text = at("search").value.toLowerCase();
  const flags = data.flags.map((_, i) => i).filter((i) => at(`flag-${i}`).checked);
  const most = at("worst")?.checked ? worstScore() : Infinity;
  const rouge2 = data.metrics.indexOf(ROUGE_2);
  found = rows.filter((row) =>
    flags.every((flag) => row.flags.includes(flag)) &&
    (!at("only-explained").checked || explainedAt.has(row.id)) &&
    (most === Infinity || row.scores[rouge2] <= most) &&
    (!text || [row.id, row.prediction, ...row.references].some((each) => each.toLowerCase().includes(text))));
  if (order.column !== null) {
    const { value } = columns[order.column];
    found.sort((a, b) => compare(value(a), value(b)));
  }
  first = 0;
  draw();
}

function draw() {
  at("rows").tBodies[0].replaceChildren(...found.slice(first, first + PER_PAGE).map(line));
  const last = Math.min(first + PER_PAGE, found.length);
  const of = found.length === rows.length ? "" : ` (all: ${rows.length.toLocaleString("en")})`;
  at("range").value = found.length
    ? `${(first + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${found.length.toLocaleString("en")}${of}`
    : `none${of}`;
  at("before").disabled = first === 0;
  at("after").disabled = last >= found.length;
}

function line(row) {
  return make("tr", {}, ...columns.map(({ name, number, value }) => {
    if (name === "id") return make("td", { class: "id", dir: "auto" }, ...idOf(row));
    if (name === "summary") return make("td", { class: "texts" }, textsOf(row));
    return number ? make("td", { class: "number" }, number(value(row))) : make("td", {}, value(row));
  }));
}

function idOf(row) {
  const number = explainedAt.get(row.id);
  if (number === undefined) return [row.id];
  const button = make("button", { type: "button" }, "explain");
  button.addEventListener("click", () => {
    open(number);
    at("explained-heading").focus();
    at("explained-heading").scrollIntoView();
  });
  return [row.id, " ", button];
}

function textsOf(row) {
  const prediction = make("p", { lang: "", dir: "auto" }, row.prediction);
  const references = row.references.map((text) => make("p", { lang: "", dir: "auto" }, text));
  const label = references.length === 1 ? "reference" : `${references.length} references`;
  return make("div", {}, prediction, ...(references.length
    ? [make("details", {}, make("summary", { class: "quiet" }, label), ...references)] : []));
}

function headings() {
  at("rows").tHead.rows[0].replaceChildren(...columns.map(({ name }, i) => {
    const button = make("button", { type: "button" }, name);
    const heading = make("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      order.descending = order.column === i ? !order.descending : Boolean(columns[i].number);
      order.column = i;
      at("rows").querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
      find();
    });
    return heading;
  }));
}

function filters() {
  at("filters").append(...data.flags.map((flag, i) => {
    const box = make("input", { type: "checkbox", id: `flag-${i}` });
    return make("label", {}, box, ` ${flag}`);
  }));
  at("filters").addEventListener("input", find);
  if (!data.metrics.includes(ROUGE_2)) at("worst").parentElement.remove();
  at("only-explained").parentElement.hidden = !data.explained.length;
}

function histogram({ name, number, value }) {
  const values = rows.map(value).filter((each) => each !== null);
  const low = values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  // Few whole numbers have a bar each: bars that no number falls into would be gaps.
  const few = values.every(Number.isInteger) && high - low < BINS;
  const bins = few ? high - low + 1 : BINS;
  const width = few ? 1 : (high - low) / BINS || 1;
  const counts = Array(bins).fill(0);
  values.forEach((each) => { counts[Math.min(bins - 1, Math.floor((each - low) / width))] += 1; });
  const most = Math.max(...counts);
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const picture = document.createElementNS(SVG, "svg");
  for (const [key, text] of Object.entries({
    viewBox: `0 0 ${bins} 1`, preserveAspectRatio: "none", class: "strip", role: "img",
    "aria-label": `${name}: from ${number(low)} to ${number(high)}, mean ${number(mean)}`,
  })) picture.setAttribute(key, text);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", bars(counts.map((count) => count / most)));
  picture.append(path);
  return make("figure", {},
    make("figcaption", {}, name),
    picture,
    make("div", { class: "ends" }, ...[number(low), `mean ${number(mean)}`, number(high)].map((text) => make("span", {}, text))));
}

function turn(pages) {
  first += pages * PER_PAGE;
  draw();
}

headings();
filters();
at("before").addEventListener("click", () => turn(-1));
at("after").addEventListener("click", () => turn(1));
at("histograms").replaceChildren(...columns.filter(({ number }) => number && rows.length).map(histogram));
find();
