// What folds out below: figures, map, history, names, forgetting, how full the memory is.
import { $, state, ask, alertFor, guarded } from "./core.js";
import { recall, refresh as refreshAll } from "./page.js";
import * as strip from "./strip.js";

const svg = (name, attributes, text) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  if (text !== undefined) { const t = document.createElementNS("http://www.w3.org/2000/svg", "title"); t.textContent = text; e.append(t); }
  return e;
};

// ---- figures: [id, name, what it says]

const figures = [
  ["familiarity", "Familiarity", "From 0, never seen, to 1, seen. Above 0.5 it counts as known."],
  ["typicality", "Typicality", "The share of the latest rows that surprised the memory more than this one. 0.01 is rare."],
  ["error", "Squared error", "Mean square of the difference between the recalled picture and the true one; pixels go from -1 to 1."],
  ["name-of", "Name", "The name of the row that was recalled, where it is known and its name is kept."],
  ["energy", "Energy", "What the search minimises: minus the log of how well a code explains what is known."],
  ["evaluations", "Evaluations", "How often the search computed the energy."],
  ["shard", "Shard", "Which of the memory's networks answered."],
];
$("facts").replaceChildren(...figures.map(([id, name, help]) => {
  const div = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd"), tip = document.createElement("button"), text = document.createElement("span");
  tip.type = "button";
  tip.className = "tip";
  tip.textContent = "?";
  tip.setAttribute("aria-label", "What is " + name.toLowerCase() + "?");
  tip.setAttribute("aria-describedby", "tip-" + id);
  text.id = "tip-" + id;
  text.className = "tip-text";
  text.setAttribute("role", "tooltip");
  text.textContent = help;
  dt.append(name + " ", tip, text);
  dd.id = id;
  dd.textContent = "–";
  div.append(dt, dd);
  return div;
}));
document.addEventListener("keydown", event => { if (event.key === "Escape" && document.activeElement.className === "tip") document.activeElement.blur(); });

function figuresOf(answer) {
  if (!answer) return {};
  const { info, score } = answer, out = { energy: info.energy.toFixed(1), evaluations: info.evaluations };
  const table = state.info.kind === "table";
  if (!table) Object.assign(out, { familiarity: info.familiarity.toFixed(3), shard: info.shard, "name-of": info.name });
  // Of fewer than 20 rows nothing unusual can be told; nor of a row with gaps in a memory of pictures.
  if (score.typicality !== undefined && score.typicality >= 0 && state.info.writes >= 20 && (table || info.known === state.info.entries)) out.typicality = score.typicality.toFixed(3);
  if (state.image && state.recalled && state.truth) {
    const mse = state.recalled.reduce((sum, v, i) => sum + (v - state.truth[i]) ** 2, 0) / state.recalled.length;
    out.error = mse < 1e-6 ? "below 1e-6" : mse.toPrecision(2);
  }
  return out;
}

function descend(trace) {
  $("descent").hidden = !trace || trace.length < 2;
  if ($("descent").hidden) return;
  const lowest = Math.min(...trace), high = Math.max(trace[0], trace[trace.length - 1]), at = trace.indexOf(lowest);
  const x = i => 100 * i / (trace.length - 1), y = v => 95 - 90 * (Math.min(v, high) - lowest) / (high - lowest || 1);
  $("descent").querySelector("svg").replaceChildren(svg("polyline", { points: trace.map((v, i) => `${x(i)},${y(v)}`).join(" ") }), svg("polyline", { class: "lowest", points: `${x(at)},${y(lowest)} ${x(at)},${y(lowest)}` }));
  $("descent-text").textContent = `The energy fell from ${trace[0].toFixed(0)} to ${lowest.toFixed(0)} (the dot).`;
}

export function show(answer) {
  const values = figuresOf(answer);
  for (const [id] of figures) {
    $(id).parentElement.hidden = values[id] === undefined && id !== "familiarity" && id !== "evaluations" || id === "error" && !state.image;
    $(id).textContent = values[id] === undefined || values[id] === "" ? "–" : values[id];
  }
  descend(answer && answer.trace);
  if ($("map-box").open) drawMap().catch(alertFor);
}

// ---- map: the two main directions of the codes of examples in one shard

let plotted = null;

// The two leading principal directions of rows, by power iteration.
function directions(rows) {
  const n = rows.length, d = rows[0].length, mean = rows[0].map((_, j) => rows.reduce((s, r) => s + r[j], 0) / n);
  const centred = rows.map(r => r.map((v, j) => v - mean[j])), found = [];
  for (let k = 0; k < 2; k++) {
    let v = Array.from({ length: d }, (_, j) => Math.sin(1 + j * (k + 1)));
    for (let pass = 0; pass < 60; pass++) {
      const next = Array(d).fill(0);
      for (const r of centred) { const s = r.reduce((sum, x, j) => sum + x * v[j], 0); for (let j = 0; j < d; j++) next[j] += s * r[j]; }
      for (const f of found) { const s = next.reduce((sum, x, j) => sum + x * f[j], 0); for (let j = 0; j < d; j++) next[j] -= s * f[j]; }
      const norm = Math.hypot(...next) || 1;
      v = next.map(x => x / norm);
    }
    found.push(v);
  }
  return { mean, found };
}
const project = (code, { mean, found }) => found.map(f => f.reduce((s, v, j) => s + v * (code[j] - mean[j]), 0));

const codesOf = rows => ask("v1/codes", { rows });

// Codes of one shard alone are comparable: that which answers most of the examples.
async function prepareMap() {
  const items = strip.examples();
  if (plotted && plotted.items === items.length && plotted.writes === state.info.writes) return;
  const { codes, info } = await codesOf(items.map(item => ({ [state.image.name]: item.row })));
  const counts = {};
  for (const i of info) counts[i.shard] = (counts[i.shard] || 0) + 1;
  const shard = +Object.keys(counts).sort((a, b) => counts[b] - counts[a])[0], keep = items.map((_, i) => i).filter(i => info[i].shard === shard);
  const axes = directions(keep.map(i => codes[i])), points = keep.map(i => ({ i, at: project(codes[i], axes) }));
  const range = k => [Math.min(...points.map(p => p.at[k])), Math.max(...points.map(p => p.at[k]))];
  const [x0, x1] = range(0), [y0, y1] = range(1);
  plotted = { items: items.length, writes: state.info.writes, shard, axes, points, place: at => [12 + 296 * (at[0] - x0) / (x1 - x0 || 1), 12 + 176 * (at[1] - y0) / (y1 - y0 || 1)] };
}

async function drawMap() {
  await strip.loadAll();
  await prepareMap();
  const items = strip.examples(), marks = plotted.points.map(({ i, at }) => {
    const [cx, cy] = plotted.place(at), dot = svg("circle", { cx, cy, r: 4, class: items[i].seen ? "seen" : "never", tabindex: 0, role: "button" }, `${items[i].name || "picture " + (i + 1)}, ${items[i].seen ? "seen" : "never shown"}`);
    dot.setAttribute("aria-label", dot.textContent);
    dot.onclick = () => strip.chooseExample(i);
    dot.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); strip.chooseExample(i); } };
    return dot;
  });
  const asked = state.answer && await codesOf([{ [state.image.name]: state.answer.row[state.image.name] }]);
  if (asked && asked.info[0].shard === plotted.shard) {
    const [x, y] = plotted.place(project(asked.codes[0], plotted.axes)).map((v, k) => Math.max(4, Math.min(k ? 196 : 316, v)));
    marks.push(svg("path", { d: `M${x - 6} ${y}h12M${x} ${y - 6}v12`, class: "now" }, "what you ask now"));
  }
  $("map").replaceChildren(...marks);
}
$("map-box").ontoggle = () => { if ($("map-box").open) drawMap().catch(alertFor); };

// ---- history: other tabs and programs too

let events = [], after = 0;

function drawHistory() {
  const latest = events.slice(-120), x = i => latest.length < 2 ? 160 : 4 + 312 * i / (latest.length - 1);
  $("history").replaceChildren(...latest.map((e, i) => e.kind === "read" ? svg("circle", { cx: x(i), cy: 55 - 50 * e.familiarity, r: 2.5, class: e.familiarity > .5 ? "seen" : "never" }, `read, familiarity ${e.familiarity.toFixed(2)}`)
    : svg("line", { x1: x(i), x2: x(i), y1: 2, y2: 58, class: e.kind }, e.kind + (e.name ? " " + e.name : ""))));
  const count = kind => latest.filter(e => e.kind === kind).length;
  $("history-text").textContent = !latest.length ? "Nothing yet."
    : `Latest events: reads ${count("read")} (dots: low is new, high is known), writes ${count("write")}, taken back ${count("delete") + count("undo")}, forgotten ${count("forget")} (lines).`;
}

// Looks every two seconds, while somebody looks at the page, for what others did.
export function follow() {
  setInterval(async () => {
    if (document.hidden || state.busy) return;
    try {
      const news = (await ask("v1/history?after=" + after)).events;
      if (!news.length) return;
      after = news[news.length - 1].number;
      events = events.concat(news).slice(-256);
      drawHistory();
      if (news.some(e => e.kind !== "read")) await refreshAll();
    } catch (e) {
      if (e.status === -1) alertFor(e, "silent");
    }
  }, 2000);
}

// ---- names: the latest first; a name recalls its row, and takes it back once that is confirmed

export let listed = [];

async function list() {
  $("names").hidden = state.info.names.most === 0;
  listed = state.info.names.kept > 0 ? (await ask("v1/names?n=100000")).names.reverse() : [];
  $("names-box").hidden = listed.length === 0;
  $("delete").hidden = state.info.read_only;
  narrow();
}
export function narrow() {
  const most = 500, wanted = $("find").value.trim().toLowerCase(), found = listed.filter(n => n.name.toLowerCase().includes(wanted)), kept = $("list").value;
  $("list").replaceChildren(...found.slice(0, most).map(n => new Option(n.name)));
  $("list").size = Math.max(2, Math.min(8, listed.length));
  $("find").parentElement.hidden = listed.length <= 8 && !wanted;
  $("list").value = kept;
  $("delete").disabled = !$("list").value;
  if (!$("list").value) $("delete-sure").hidden = true; // another tab's changes leave a question open that still makes sense
  $("names-note").textContent = !listed.length ? `No row has a name. The latest ${state.info.names.most} names are kept.`
    : `${listed.length} named row${listed.length === 1 ? "" : "s"}; the latest ${state.info.names.most} names are kept. Choose one to recall it.` + (found.length > most ? ` The first ${most} are shown.` : "");
}
$("find").oninput = narrow;
$("list").onchange = guarded(async () => {
  $("delete").disabled = !$("list").value;
  $("delete-sure").hidden = true;
  if (!state.image) return;
  await strip.loadAll();
  const i = strip.examples().findIndex(item => item.name === $("list").value);
  if (i >= 0) await strip.chooseExample(i);
});
$("delete").onclick = () => {
  $("delete-text").textContent = `The latest row named “${$("list").value}” is taken back for good.`;
  $("delete-sure").hidden = false;
  $("delete-yes").focus();
};
$("delete-no").onclick = () => { $("delete-sure").hidden = true; $("delete").focus(); };
$("delete-yes").onclick = guarded(async () => {
  const name = $("list").value;
  $("delete-sure").hidden = true;
  await ask("v1/delete", { names: [name] });
  await refreshAll();
  await recall();
  $("deleted").textContent = `“${name}” is deleted.`;
  (listed.length ? $("list") : $("names-title")).focus();
});

// ---- forget: a copy until it is confirmed

function fade() {
  const beta = +$("beta").value;
  $("beta-out").textContent = beta.toFixed(2);
  $("unfade").disabled = beta === 0;
  $("forget").disabled = beta === 0 || state.info.read_only;
  $("sure").hidden = true;
  return recall();
}
export function setFade(beta) { $("beta").value = beta; $("forgetting").open = true; fade(); }
$("beta").oninput = fade;
$("unfade").onclick = () => { $("beta").value = 0; fade(); $("beta").focus(); };
$("forget").onclick = () => { $("sure").hidden = false; $("yes").focus(); };
$("no").onclick = () => { $("sure").hidden = true; $("forget").focus(); };
$("yes").onclick = guarded(async () => {
  await ask("v1/forget", { beta: +$("beta").value });
  $("beta").value = 0;
  await fade();
  await refreshAll();
  $("forgotten").textContent = "Everything has faded.";
  $("beta").focus();
});

// ---- how full

export async function refresh() {
  const { info } = state, s = info.shards, table = info.kind === "table", full = Math.round(100 * info.fullness);
  $("map-box").hidden = !state.image || info.examples < 3 || info.kind === "table";
  $("full-text").textContent = table ? "A table's memory is never full."
    : `${full} %. ${s.begun} of ${s.most} shard${s.most === 1 ? "" : "s"} in use, ${s.room} rows each.`;
  const each = Math.ceil(s.most / 64), bars = [];
  for (let k = 0; k < s.most; k += each) {
    const bar = document.createElement("i"), rows = s.rows.slice(k, k + each).reduce((a, b) => a + b, 0), room = s.room * Math.min(each, s.most - k);
    if (k >= s.begun) bar.className = "none"; else bar.style.setProperty("--full", Math.min(100, 100 * rows / room) + "%");
    if (k <= s.open && s.open < k + each) bar.classList.add("open");
    bar.title = `shard ${k}: ${rows} of ${room}`;
    bars.push(bar);
  }
  $("shards").replaceChildren(...(table ? [] : bars));
  $("shards").setAttribute("aria-label", "Rows in each shard: " + s.rows.slice(0, 64).join(", "));
  $("shards-note").textContent = (s.most === 1 ? "" : "Outlined: where the next row goes. Hatched: empty.") + (each > 1 ? ` Each bar is ${each} shards.` : "");
  await list();
}
