"use strict";
const $ = id => document.getElementById(id);
let info, picture, others = [], token = sessionStorage.getItem("token") || new URLSearchParams(location.hash.slice(1)).get("token") || "";

// ---- the server
class Refused extends Error { constructor(status, message) { super(message); this.status = status; } }
async function ask(path, body) {
  const headers = {}; if (token) headers.Authorization = "Bearer " + token; if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try { answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body && JSON.stringify(body) }); }
  catch { throw new Refused(-1, "The server does not answer."); }
  if (answer.ok) return answer.json();
  let e; try { e = await answer.json(); } catch { e = { detail: "status " + answer.status }; }
  throw new Refused(answer.status, (e.where ? e.where + ": " : "") + e.detail);
}
// A recall that succeeds takes back what recalls and a silent server had to say, and nothing else.
let troubled = "";
function trouble(e, from = "") {
  if (!e && from && troubled !== from) return;
  troubled = e && e.status === -1 ? "recall" : e ? from : "";
  if (e && e.status === 401) { $("login").hidden = false; $("token").focus(); }
  $("trouble").hidden = !e; $("trouble").textContent = e ? e.message : "";
  if (e && !(e instanceof Refused)) throw e;
}
$("login").querySelector("form").onsubmit = event => { event.preventDefault(); token = $("token").value; sessionStorage.setItem("token", token); $("login").hidden = true; trouble(); start(); };

// ---- pictures: rows of -1 .. 1 in planes; null is not known
let truth = null, asked = null, drawn = null, grain = null, recalled = null, cursor = null;
const clamp = v => Math.max(0, Math.min(255, Math.round((v + 1) * 127.5)));
function paint(canvas, row, spot) {
  const w = picture.width, h = picture.height, plane = w * h, zoom = canvas.dataset.zoom ? 1 : 8;
  canvas.width = w * zoom; canvas.height = h * zoom;
  const g = canvas.getContext("2d"), css = getComputedStyle(document.documentElement), a = css.getPropertyValue("--hole-a"), b = css.getPropertyValue("--hole-b");
  for (let p = 0; p < plane; p++) {
    const x = p % w, y = (p - x) / w, c = k => clamp(row[p + (picture.channels === 3 ? k : 0) * plane]);
    if (row[p] !== null) { g.fillStyle = `rgb(${c(0)},${c(1)},${c(2)})`; g.fillRect(x * zoom, y * zoom, zoom, zoom); continue; }
    for (let k = 0; k < 4; k++) { g.fillStyle = (k === 0 || k === 3) ? a : b; g.fillRect(x * zoom + (k % 2) * zoom / 2, y * zoom + (k >> 1) * zoom / 2, zoom / 2, zoom / 2); }
  }
  if (spot) { g.strokeStyle = "#f33"; g.lineWidth = 3; g.strokeRect(spot.x * zoom, spot.y * zoom, zoom, zoom); }
}
const gauss = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
function pick(row, name = "") { $("name").value = name; $("truth-name").textContent = $("truth-name").title = name; truth = row.slice(); drawn = row.slice(); grain = row.map(gauss); $("bench").hidden = false; paint($("truth"), truth); $("recalled").width = $("recalled").height = 8 * picture.width; update(); }
function update() {
  const sd = 2 * $("noise").value;
  $("noise-out").textContent = (+$("noise").value).toFixed(2);
  if (drawn) { asked = drawn.map((v, i) => v === null ? null : v + sd * grain[i]); paint($("asked"), asked, document.activeElement === $("asked") ? cursor : null); }
  recall();
}
function dab(cx, cy) {
  const r = +$("size").value / 2, how = document.querySelector("[name=brush]:checked").value, w = picture.width, h = picture.height;
  for (let y = Math.max(0, Math.ceil(cy - r)); y <= Math.min(h - 1, cy + r); y++) for (let x = Math.max(0, Math.ceil(cx - r)); x <= Math.min(w - 1, cx + r); x++)
    if ((x - cx) ** 2 + (y - cy) ** 2 <= r * r) for (let k = 0; k < picture.channels; k++) drawn[k * w * h + y * w + x] = how === "erase" ? null : how === "light" ? 1 : -1;
}
function spotOf(event) { const b = $("asked").getBoundingClientRect(); return { x: (event.clientX - b.left) / b.width * picture.width - .5, y: (event.clientY - b.top) / b.height * picture.height - .5 }; }
let last = null;
$("asked").onpointerdown = event => { if (!drawn) return; $("asked").setPointerCapture(event.pointerId); last = spotOf(event); dab(last.x, last.y); update(); };
$("asked").onpointermove = event => {
  if (!last) return;
  const to = spotOf(event), steps = Math.ceil(2 * Math.hypot(to.x - last.x, to.y - last.y)) || 1;
  for (let k = 1; k <= steps; k++) dab(last.x + (to.x - last.x) * k / steps, last.y + (to.y - last.y) * k / steps);
  last = to; update();
};
$("asked").onpointerup = $("asked").onpointercancel = () => { last = null; };
$("asked").onkeydown = event => {
  const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  cursor = cursor || { x: picture.width >> 1, y: picture.height >> 1 };
  if (move) cursor = { x: Math.max(0, Math.min(picture.width - 1, cursor.x + move[0])), y: Math.max(0, Math.min(picture.height - 1, cursor.y + move[1])) };
  else if (event.key === " ") dab(cursor.x, cursor.y); else return;
  event.preventDefault(); update();
};
$("asked").onfocus = $("asked").onblur = () => { cursor = cursor || { x: picture.width >> 1, y: picture.height >> 1 }; if (asked) paint($("asked"), asked, document.activeElement === $("asked") ? cursor : null); };
document.querySelectorAll("[data-hide]").forEach(button => button.onclick = () => {
  const w = picture.width, h = picture.height, plane = w * h;
  const gone = Array.from({ length: plane }, (_, p) => button.dataset.hide === "right" ? p % w >= w / 2 : button.dataset.hide === "bottom" ? p >= plane / 2 : Math.random() < .75);
  drawn = drawn.map((v, i) => gone[i % plane] ? null : v); update();
});
$("whole").onclick = () => { drawn = truth.slice(); $("noise").value = 0; update(); };
$("noise").oninput = update;
$("blank").onclick = () => { pick(Array(picture.entries).fill(-1)); document.querySelector("[name=brush][value=light]").checked = true; $("asked").focus(); };

// The name of a file as bpcn write makes it: of a long one the end, after "...", in 63 bytes of UTF-8.
function nameOf(text) {
  const bytes = t => new TextEncoder().encode(t).length, clean = text.replace(/[\x00-\x1f\x7f-\x9f]/g, "?");
  let end = [...clean]; if (bytes(clean) <= 63) return clean;
  while (bytes(end.join("")) > 60) end = end.slice(1);
  return "..." + end.join("");
}

// A picture of the user's, cut square-on and brought to the memory's size by the browser.
async function load(file) {
  try {
    const bitmap = await createImageBitmap(file), c = document.createElement("canvas"), w = c.width = picture.width, h = c.height = picture.height;
    const scale = Math.max(w / bitmap.width, h / bitmap.height), g = c.getContext("2d"); g.imageSmoothingQuality = "high";
    g.drawImage(bitmap, (w - scale * bitmap.width) / 2, (h - scale * bitmap.height) / 2, scale * bitmap.width, scale * bitmap.height);
    const d = g.getImageData(0, 0, w, h).data, row = [];
    for (let k = 0; k < picture.channels; k++) for (let p = 0; p < w * h; p++)
      row.push((picture.channels === 3 ? d[4 * p + k] : .299 * d[4 * p] + .587 * d[4 * p + 1] + .114 * d[4 * p + 2]) / 127.5 - 1);
    trouble(); pick(row, nameOf(file.name));
  } catch { trouble(new Refused(0, "That is not a picture that this browser can read.")); }
}
$("file").onchange = () => $("file").files[0] && load($("file").files[0]);
for (const kind of ["dragenter", "dragover"]) document.addEventListener(kind, event => { if (picture) { event.preventDefault(); document.body.classList.add("drop"); } });
for (const kind of ["dragleave", "drop"]) document.addEventListener(kind, () => document.body.classList.remove("drop"));
document.addEventListener("drop", event => { if (picture) { event.preventDefault(); if (event.dataTransfer.files[0]) load(event.dataTransfer.files[0]); } });

// ---- the strip
const strips = { examples: null, samples: null, own: [] }; let draw = 0;
const pictureOf = row => Array.isArray(row) ? row.slice(picture.offset, picture.offset + picture.entries) : row[picture.name];
async function show(which) {
  document.querySelector(`[name=strip][value=${which}]`).checked = true;
  try {
    if (which === "examples" && !strips.examples) { const a = await ask("v1/examples"); strips.examples = a.rows.slice(0, 96).map((row, i) => ({ row: pictureOf(row), name: a.names && a.names[i] || "" })); }
    if (which === "samples" && info.writes === 0) strips.samples = [];
    else if (which === "samples") strips.samples = (await ask("v1/sample", { n: 16, draw: draw })).rows.map(row => ({ row: pictureOf(row), name: "" }));
    trouble();
  } catch (e) { trouble(e); return; }
  $("strip").replaceChildren(...strips[which].map(({ row, name }, i) => {
    const button = document.createElement("button"), canvas = document.createElement("canvas");
    button.setAttribute("aria-label", name ? `Take ${name}` : `Take picture ${i + 1} (${which})`); button.title = name; canvas.dataset.zoom = 1; button.append(canvas); button.onclick = () => pick(row, name); paint(canvas, row); return button;
  }));
  $("strip-note").textContent = which === "samples" && info.writes === 0 ? "The memory is empty. Draw something or take a file, and write it once." : which === "samples" ? "Drawn from the memory itself: mixtures of what it holds." : which === "own" && !strips.own.length ? "Nothing has been written from this page yet." : "";
  $("strip").hidden = !strips[which].length; $("more").hidden = which !== "samples" || info.writes === 0;
  if (which === "examples" && !truth) pick(strips.examples[0].row, strips.examples[0].name);
}
document.querySelectorAll("[name=strip]").forEach(radio => radio.onchange = () => show(radio.value));
$("more").onclick = () => { draw++; show("samples"); };

// ---- lines: values from left to right, those of which `other` says so in another stroke, those above `most` at the edge, and a dot
function plot(svg, values, other, most = Infinity, dot = -1) {
  const low = Math.min(...values), high = Math.min(most, Math.max(...values)), x = i => 100 * i / Math.max(1, values.length - 1), y = v => 95 - 90 * (Math.min(v, high) - low) / (high - low || 1);
  const draw = (name, points) => { const line = document.createElementNS(svg.namespaceURI, "polyline"); line.setAttribute("points", points.join(" ")); line.setAttribute("class", name); svg.append(line); };
  svg.replaceChildren();
  for (let i = 1; i < values.length; i++) draw(other && (other(i) || other(i - 1)) ? "guessed" : "", [`${x(i - 1)},${y(values[i - 1])}`, `${x(i)},${y(values[i])}`]);
  if (dot >= 0) draw("lowest", Array(2).fill(`${x(dot)},${y(values[dot])}`));
}
function descend(trace) {
  $("descent").hidden = !trace || trace.length < 2;
  if ($("descent").hidden) return;
  const lowest = Math.min(...trace), at = trace.indexOf(lowest);
  plot($("descent").querySelector("svg"), trace, null, Math.max(trace[0], trace[trace.length - 1]), at);
  $("descent-text").textContent = `The energy fell from ${trace[0].toFixed(0)} to ${lowest.toFixed(0)} (the dot) in ${trace.length} evaluations.`;
}

// ---- columns: a box each; of a list of values one for all
const isList = column => column.kind === "vector" && column.entries > 1 && !picture;
function build() {
  $("form").replaceChildren(...others.map((column, i) => {
    const box = document.createElement("div"), label = document.createElement("label"), guess = document.createElement("div");
    label.textContent = column.name; label.htmlFor = "c" + i; guess.className = "guess"; guess.id = "g" + i;
    let input;
    if (isList(column)) {
      input = document.createElement("textarea"); input.placeholder = "0.5, , -1, …"; box.className = "wide"; input.spellcheck = false;
      label.textContent += `: ${column.entries} numbers, separated by commas`;
    } else if (column.kind === "category" || (column.kind === "vector" && column.entries > 1 && column.entries <= 1000)) {
      input = document.createElement("select");
      const words = column.words || Array.from({ length: column.entries }, (_, k) => String(k));
      input.append(new Option("not known", ""), ...words.map((word, k) => new Option(word, "=" + k)));
    } else { input = document.createElement("input"); input.type = "text"; input.inputMode = "decimal"; input.autocomplete = "off"; input.placeholder = "not known"; }
    input.id = "c" + i; input.setAttribute("aria-describedby", guess.id); input.oninput = () => recall();
    box.append(label, input, guess); return box;
  }));
}
function listOf(column, text) {
  const cells = text.split(text.includes(",") ? "," : /\s+/).map(cell => cell.trim());
  if (cells.length > column.entries) throw new Refused(0, `${column.name}: ${cells.length} numbers instead of ${column.entries}.`);
  const bad = cells.find(cell => cell !== "" && cell !== "?" && !Number.isFinite(+cell));
  if (bad !== undefined) throw new Refused(0, `${column.name}: '${bad}' is not a number.`);
  return Array.from({ length: column.entries }, (_, k) => cells[k] === undefined || cells[k] === "" || cells[k] === "?" ? null : +cells[k]);
}
function tellList(g, column, i, value, off) {
  const mine = listOf(column, $("c" + i).value.trim()), gaps = mine.filter(v => v === null).length, svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 100"); svg.setAttribute("preserveAspectRatio", "none"); svg.setAttribute("role", "img"); svg.setAttribute("aria-label", "The recalled numbers from left to right");
  plot(svg, value, k => mine[k] === null);
  const b = document.createElement("b"), unsure = off ? Math.max(...off) : 0; b.textContent = value.map(v => +v.toPrecision(3)).join(", ");
  g.append(svg, gaps ? `Recalled, ${gaps} of them filled in (dashed) within about ±${unsure.toPrecision(2)}: ` : "Recalled: ", b);
}
function valueOf(column, i) {
  const text = $("c" + i).value.trim();
  if (text === "") return null;
  if (isList(column)) return listOf(column, text);
  if (column.kind === "category") return column.words[+text.slice(1)];
  if (column.kind === "vector" && column.entries > 1) return Array.from({ length: column.entries }, (_, k) => k === +text.slice(1) ? 1 : 0);
  if (!Number.isFinite(+text)) throw new Refused(0, `${column.name}: '${text}' is not a number.`);
  return column.kind === "vector" ? [+text] : +text;
}
function tell(column, i, row, spread) {
  const g = $("g" + i), known = $("c" + i).value.trim() !== "", value = row && row[column.name], off = spread && spread[column.name];
  g.replaceChildren(); g.classList.remove("unsure");
  if (isList(column) && known && value) return tellList(g, column, i, value, off);
  if (known || value === undefined || value === null) return;
  const b = document.createElement("b"), scale = column.scale || 1, places = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10(off > 0 ? off : scale / 100)))), near = x => String(+x.toFixed(places)); // two digits of what it may be off
  if (column.kind === "number") { b.textContent = near(value); g.append("probably ", b, ` ± ${near(off)}`); g.classList.toggle("unsure", off > scale); }
  else if (column.kind === "category") { b.textContent = value; g.append("probably ", b, `, another with ${Math.round(100 * off)} %`); g.classList.toggle("unsure", off > .5); }
  else if (column.entries > 1) { b.textContent = value.indexOf(Math.max(...value)); g.append("probably ", b); }
  else { b.textContent = value[0].toPrecision(4); g.append("probably ", b); }
}
$("empty").onclick = () => { others.forEach((_, i) => { $("c" + i).value = ""; }); if (!picture) $("name").value = ""; recall(); };

// ---- recall: one request at a time, then again if something has changed meanwhile
let busy = false, again = false;
function rowNow(image) {
  const row = {}; let any = false;
  if (picture && image) { row[picture.name] = image; any = image.some(v => v !== null); }
  others.forEach((column, i) => { const v = valueOf(column, i); row[column.name] = v; any = any || (Array.isArray(v) ? v.some(e => e !== null) : v !== null); });
  return any ? row : null;
}
async function recall() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    do {
      again = false;
      const row = rowNow(asked), sd = 2 * $("noise").value, beta = +$("beta").value;
      if (!row) { nothing(); continue; }
      const body = { rows: [row] }, read = { ...body, trace: true, spread: !picture || others.length > 0 };
      if (sd > 0 && picture) read.noise = body.noise = sd;
      if (beta > 0) read.forget = body.forget = beta;
      const [answer, score] = await Promise.all([ask("v1/read", read), ask("v1/score", body)]);
      facts(answer, score.info[0]); trouble(null, "recall");
    } while (again);
  } catch (e) { nothing(); trouble(e, "recall"); } finally { busy = false; }
}
const words = { "known": "known", "new": "new", "blend": "a blend of several", "cannot tell": "cannot tell" };
function nothing() {
  $("facts").hidden = true; $("says-none").hidden = false;
  for (const id of ["familiarity", "answered", "verdict", "typicality", "error", "shard", "energy", "evaluations"]) $(id).textContent = "–";
  descend(); who(""); $("verdict").className = ""; $("familiarity-bar").style.width = 0; $("live").textContent = ""; others.forEach((c, i) => tell(c, i));
  if (picture && asked) { paint($("recalled"), asked.map(() => null)); $("recalled").className = "unknown"; }
}
function who(name) { $("recalled-name").textContent = $("recalled-name").title = name; $("answered").textContent = name || "–"; }
function facts(answer, score) {
  const r = answer.info[0], row = answer.rows[0], kind = r.verdict.split(" ")[0];
  $("facts").hidden = false; $("says-none").hidden = true;
  $("familiarity").textContent = r.familiarity.toFixed(3); $("familiarity-bar").style.width = 100 * r.familiarity + "%"; $("familiarity-bar").parentElement.className = "bar " + kind;
  $("verdict").textContent = words[r.verdict]; $("verdict").className = kind;
  // one of the rows written is the least that a share of them can be: of fewer than 20 nothing unusual can be told
  $("typicality").textContent = score.typicality === undefined || info.writes < 20 ? "–" : score.typicality.toFixed(3);
  $("shard").textContent = r.shard; $("energy").textContent = r.energy.toFixed(1); $("evaluations").textContent = r.evaluations;
  descend(answer.trace && answer.trace[0]); who(r.name || "");
  if (picture && asked) {
    recalled = row[picture.name]; paint($("recalled"), recalled);
    $("recalled").className = r.verdict === "known" || r.verdict === "blend" ? "" : "unknown";
    $("recalled").setAttribute("aria-label", "What the memory recalls: " + words[r.verdict] + (r.name ? ", " + r.name : ""));
    const mse = recalled.reduce((sum, v, i) => sum + (v - truth[i]) ** 2, 0) / recalled.length; $("error").textContent = mse < 1e-6 ? "below 1e-6" : mse.toPrecision(2);
  }
  others.forEach((c, i) => tell(c, i, row, answer.spread && answer.spread[0]));
  $("live").textContent = `Familiarity ${r.familiarity.toFixed(2)}: ${words[r.verdict]}${r.name ? ", " + r.name : ""}.`;
}

// ---- write
async function write(image) {
  try {
    const row = rowNow(image);
    if (!row) throw new Refused(0, "There is nothing to write yet.");
    const name = info.names.most > 0 ? $("name").value.trim() : "", a = await ask("v1/write", name ? { rows: [row], names: [name] } : { rows: [row] });
    if (image) { strips.own.unshift({ row: image.map(v => v === null ? -1 : v), name }); truth = truth.map((v, i) => image[i] === null ? v : image[i]); paint($("truth"), truth); $("truth-name").textContent = name; if (document.querySelector("[name=strip]:checked").value === "own") show("own"); }
    else $("name").value = "";
    trouble(); await refresh(); await recall();
    $("done").textContent = `${name ? `“${name}” is written` : "Written"} to shard ${a.info[0].shard}. Before that it was ${a.info[0].verdict}.`;
  } catch (e) { trouble(e); }
}
$("write").onclick = () => asked && write(drawn.slice());
$("write-row").onclick = () => write(picture ? drawn && drawn.slice() : null);

// ---- names: the latest first, but of a folder; a row is taken back by its name once that is confirmed
let listed = [];
async function list() {
  $("names").hidden = info.names.most === 0;
  listed = info.names.kept > 0 ? (await ask("v1/names?n=100000")).names.reverse() : [];
  $("names-box").hidden = listed.length === 0; $("delete").hidden = info.read_only;
  narrow();
}
function narrow() {
  const most = 500, found = listed.filter(n => n.name.toLowerCase().includes($("find").value.trim().toLowerCase())), kept = $("list").value;
  $("list").replaceChildren(...found.slice(0, most).map(n => new Option(n.name)));
  $("list").size = Math.max(2, Math.min(8, listed.length)); $("find").parentElement.hidden = listed.length <= 8 && !$("find").value;
  $("list").value = kept; $("delete").disabled = !$("list").value; $("delete-sure").hidden = true;
  $("names-note").textContent = !listed.length ? `No row has a name. The latest ${info.names.most} that are written with one are listed here.`
    : `${listed.length} named row${listed.length === 1 ? "" : "s"}; the names of the latest ${info.names.most} are kept.` + (found.length < listed.length || found.length > most ? ` ${Math.min(found.length, most)} shown.` : "");
}
$("find").oninput = narrow;
$("list").onchange = () => { $("delete").disabled = !$("list").value; $("delete-sure").hidden = true; };
$("delete").onclick = () => { $("delete-text").textContent = `The latest row named “${$("list").value}” is taken back for good.`; $("delete-sure").hidden = false; $("delete-yes").focus(); };
$("delete-no").onclick = () => { $("delete-sure").hidden = true; $("delete").focus(); };
$("delete-yes").onclick = async () => {
  const name = $("list").value;
  $("delete-sure").hidden = true;
  try { await ask("v1/delete", { names: [name] }); trouble(); } catch (e) { trouble(e); return; }
  await refresh(); await recall(); $("deleted").textContent = `“${name}” is deleted.`; $(listed.length ? "list" : "names-title").focus();
};

// ---- forget: a copy until it is meant
function fade() {
  const beta = +$("beta").value;
  $("beta-out").textContent = beta.toFixed(2); $("undo").disabled = beta === 0; $("forget").disabled = beta === 0 || info.read_only; $("sure").hidden = true;
  $("faded").textContent = beta > 0 ? "(faded copy)" : "";
  recall();
}
$("beta").oninput = fade;
$("undo").onclick = () => { $("beta").value = 0; fade(); $("beta").focus(); };
$("forget").onclick = () => { $("sure").hidden = false; $("yes").focus(); };
$("no").onclick = () => { $("sure").hidden = true; $("forget").focus(); };
$("yes").onclick = async () => {
  try { await ask("v1/forget", { beta: +$("beta").value }); trouble(); } catch (e) { trouble(e); return; }
  $("beta").value = 0; fade(); await refresh(); $("done").textContent = "Everything has faded."; $("beta").focus();
};

// ---- how full
async function refresh() {
  info = await ask("v1/info");
  const s = info.shards, full = Math.round(100 * info.fullness);
  $("about").textContent = `${info.writes} rows written · ${info.entries} entries each · ${(info.bytes / 1e6).toFixed(1)} MB · ${full}\u00a0% full` + (info.read_only ? " · read only" : "");
  document.querySelectorAll(".single").forEach(box => { box.hidden = s.views > 0; });
  $("full-text").textContent = s.views ? `${full} % — every row is learnt by one of ${s.most / s.views} networks in each of ${s.views} views.` : `${full} % — ${s.begun} of ${s.most} shard${s.most === 1 ? "" : "s"} begun, ${s.room} rows each.`;
  const each = Math.ceil(s.most / 64), bars = [];
  for (let k = 0; k < s.most; k += each) {
    const bar = document.createElement("i"), rows = s.rows.slice(k, k + each).reduce((a, b) => a + b, 0), room = s.room * Math.min(each, s.most - k);
    if (k >= s.begun) bar.className = "none"; else bar.style.setProperty("--full", Math.min(100, 100 * rows / room) + "%");
    if (!s.views && k <= s.open && s.open < k + each) bar.classList.add("open");
    bar.title = `shard ${k}: ${rows} of ${room}`; bars.push(bar);
  }
  $("shards").replaceChildren(...bars);
  $("shards").setAttribute("aria-label", "Rows in each shard: " + s.rows.slice(0, 64).join(", "));
  $("shards-note").textContent = (s.views ? "" : s.most === 1 ? "" : "Outlined: where the next row goes. Hatched: not begun.") + (each > 1 ? ` Each bar is ${each} ${s.views ? "networks" : "shards"}.` : "");
  $("write").disabled = $("write-row").disabled = info.read_only; $("naming").hidden = info.read_only || info.names.most === 0;
  await list();
}
async function start() {
  try { await refresh(); } catch (e) { trouble(e); return; }
  let offset = 0; for (const c of info.columns) { c.offset = offset; offset += c.entries; }
  picture = info.columns.find(c => c.kind === "picture") || null;
  others = info.columns.filter(c => c.kind === "number" || c.kind === "category" || (c.kind === "vector" && (c.entries <= 1000 || !picture)));
  for (const id of ["says", "forgetting", "fullness"]) $(id).hidden = false;
  $("take").hidden = !picture; $("error-box").hidden = !picture; $("columns").hidden = !others.length; $("write-row").hidden = !!picture;
  document.querySelectorAll(".caption").forEach(p => { p.hidden = info.names.most === 0; });
  $("name-box").hidden = !!picture || info.names.most === 0 || info.shards.views > 0; if (!picture) $("write-row").before($("naming"));
  if (picture) $("columns-title").textContent = "What goes with the picture";
  build(); nothing();
  if (picture) { const none = info.examples === 0; document.querySelector("[name=strip][value=examples]").parentElement.hidden = none; show(none ? "samples" : "examples"); }
}
start();
