// The strip of pictures to take: examples, loaded as it scrolls, what the memory imagines, and what was taught here.
import { $, state, ask, alertFor } from "./core.js";
import * as picture from "./picture.js";

const PAGE = 24; // pictures fetched at a time
const lists = { examples: [], samples: [], taught: [] };
let shown = "examples", draw = 0, chosen = 0, loading = null;

const pictureOf = row => Array.isArray(row) ? row.slice(state.image.offset, state.image.offset + state.image.entries) : row[state.image.name];

async function loadExamples() {
  if (lists.examples.length >= state.info.examples) return;
  if (loading) { await loading; return; }
  let done;
  loading = new Promise(resolve => { done = resolve; });
  try {
    const from = lists.examples.length, page = await ask(`v1/examples?first=${from}&n=${PAGE}&seen=1`);
    page.rows.forEach((row, i) => lists.examples.push({ row: pictureOf(row), name: page.names && page.names[i] || "", seen: page.seen ? page.seen[i] : null, example: from + i }));
    if (shown === "examples") append(lists.examples.slice(from), from);
  } finally {
    loading = null;
    done();
  }
}

export const examples = () => lists.examples;

// Every example, for the map and for names that are further on.
export async function loadAll() {
  while (lists.examples.length < state.info.examples) await loadExamples();
}

function option(item, i) {
  const box = document.createElement("div"), canvas = document.createElement("canvas"), badge = document.createElement("span");
  const seen = item.seen === null || item.seen === undefined ? "" : item.seen ? "seen" : "never shown";
  box.setAttribute("role", "option");
  box.setAttribute("aria-selected", "false");
  box.setAttribute("aria-label", [item.name || `picture ${i + 1}`, seen].filter(Boolean).join(", "));
  box.title = item.name;
  box.tabIndex = -1;
  canvas.dataset.small = 1;
  picture.paint(canvas, item.row);
  badge.className = "badge " + (item.seen ? "seen" : "");
  badge.textContent = seen;
  box.append(canvas, badge);
  box.onclick = () => choose(i);
  return box;
}

function append(items, from) {
  $("strip").append(...items.map((item, i) => option(item, from + i)));
  const first = $("strip").children[chosen] || $("strip").firstChild;
  if (first) first.tabIndex = 0;
}

function mark(i) {
  [...$("strip").children].forEach((box, k) => {
    box.tabIndex = k === i ? 0 : -1;
    box.setAttribute("aria-selected", String(k === i));
  });
  chosen = i;
}

export function choose(i, cover = "right") {
  const item = lists[shown][i];
  mark(i);
  return picture.take(item.row, { from: item.example === undefined ? null : { example: item.example }, cover, name: item.name });
}

// An example by its number, from the map or a name.
export function chooseExample(i) {
  if (shown !== "examples") show("examples");
  const box = $("strip").children[i];
  if (box) box.scrollIntoView({ block: "nearest", inline: "center" });
  return choose(i);
}

$("strip").onkeydown = event => {
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  if (step === undefined) {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose([...$("strip").children].indexOf(document.activeElement)); }
    return;
  }
  event.preventDefault();
  const boxes = $("strip").children, at = Math.max(0, Math.min(boxes.length - 1, [...boxes].indexOf(document.activeElement) + step));
  boxes[at].focus();
  choose(at);
};
$("strip").onscroll = () => {
  const s = $("strip");
  if (shown === "examples" && s.scrollLeft + s.clientWidth > s.scrollWidth - s.clientWidth) loadExamples().catch(alertFor);
};

function show(which) {
  shown = which;
  chosen = 0;
  document.querySelector(`[name=strip][value=${which}]`).checked = true;
  $("strip").replaceChildren();
  append(lists[which], 0);
  $("strip").hidden = !lists[which].length;
  $("more").hidden = which !== "samples" || state.info.writes === 0;
  $("strip-note").textContent = which === "samples" ? state.info.writes === 0 ? "The memory is empty: it imagines nothing." : "Drawn from the memory itself: mixtures of what it holds."
    : which === "taught" && !lists.taught.length ? "Nothing has been taught from this page yet." : "";
}

async function imagine() {
  lists.samples = state.info.writes === 0 ? [] : (await ask("v1/sample", { n: 16, draw })).rows.map(row => ({ row: pictureOf(row), name: "" }));
  show("samples");
}
for (const radio of document.querySelectorAll("[name=strip]"))
  radio.onchange = () => radio.value === "samples" ? imagine().catch(alertFor) : show(radio.value);
$("more").onclick = () => { draw++; imagine().catch(alertFor); };

// What was taught, or taken back, may be an example.
function setSeen(example, seen) {
  const item = lists.examples[example];
  if (!item) return;
  item.seen = seen;
  if (shown === "examples") $("strip").children[example].replaceWith(option(item, example));
  if (shown === "examples") mark(example);
}
export function addTaught(row, name, example) {
  setSeen(example, true);
  lists.taught.unshift({ row: row.slice(), name, seen: true });
  if (shown === "taught") show("taught");
}
export function removeTaught(example) {
  setSeen(example, false);
  lists.taught.shift();
  if (shown === "taught") show("taught");
}

// The first example opens half covered, so that there is something to recall.
export async function start(link) {
  const none = state.info.examples === 0;
  document.querySelector("[name=strip][value=examples]").parentElement.hidden = none;
  if (none) {
    if (state.info.writes > 0) await imagine();
    show(state.info.writes > 0 ? "samples" : "taught");
    if (lists.samples.length) await choose(0); else $("blank").click();
    return;
  }
  const wanted = Math.max(0, Math.min(state.info.examples - 1, parseInt(link.get("example"), 10) || 0));
  do await loadExamples(); while (lists.examples.length <= wanted);
  show("examples");
  if (link.has("example")) {
    const item = lists.examples[wanted];
    mark(wanted);
    await picture.takeLink(item.row, link, wanted, item.name);
  } else
    await choose(Math.max(0, lists.examples.findIndex(item => item.seen)));
}
