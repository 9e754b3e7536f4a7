// The two canvases: a picture that is covered, and what the memory makes of it. A picture is an array of -1 .. 1 in
// planes; null is not known.
import { $, state, alertFor, Refused } from "./core.js";
import { recall } from "./page.js";

let whole = null;     // the picture as it was taken
let values = null;    // what is drawn on it; null where it is covered
let unsure = null;    // 1 where the user is not sure: shown, but not told to the memory
let noiseSeed = 1;
let source = null;    // where the picture came from, for links: {example: 3}
let cursor = null;    // of the keyboard
let undone = [], done = [];

const size = () => ({ w: state.image.width, h: state.image.height, plane: state.image.width * state.image.height });
const byte = v => Math.max(0, Math.min(255, Math.round((v + 1) * 127.5)));

// Standard normal numbers that a seed repeats (mulberry32, Box and Muller).
function normals(n, seed) {
  let a = seed >>> 0;
  const uniform = () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
  return Array.from({ length: n }, () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));
}

export const noise = () => 2 * +$("noise").value; // of the pixels' range, which is 2
export const truth = () => whole;
export const example = () => source && whole ? source.example : undefined;

function noisy() {
  if (!values) return null;
  const sd = noise(), grain = sd > 0 ? normals(values.length, noiseSeed) : null;
  return values.map((v, i) => v === null || !grain ? v : v + sd * grain[i]);
}

// The picture as the memory is asked it.
export function asked() {
  const shown = noisy(), { plane } = state.image ? size() : {};
  return shown && shown.map((v, i) => unsure[i % plane] ? null : v);
}

// Draws a picture; `marks` are pixels that the user is not sure of.
export function paint(canvas, row, marks, spot) {
  const { w, h, plane } = size(), zoom = Math.max(1, Math.floor((canvas.dataset.small ? 56 : 448) / Math.max(w, h)));
  const color = state.image.channels === 3, g = canvas.getContext("2d");
  canvas.width = w * zoom;
  canvas.height = h * zoom;
  const css = getComputedStyle(document.documentElement), holes = [css.getPropertyValue("--hole-a"), css.getPropertyValue("--hole-b")];
  for (let p = 0; p < plane; p++) {
    const x = p % w, y = (p - x) / w;
    if (row[p] !== null) {
      const c = k => byte(row[p + (color ? k * plane : 0)]);
      g.fillStyle = `rgb(${c(0)},${c(1)},${c(2)})`;
    } else
      g.fillStyle = holes[(x + y) % 2];
    g.fillRect(x * zoom, y * zoom, zoom, zoom);
    if (marks && marks[p] && row[p] !== null) {
      g.strokeStyle = css.getPropertyValue("--unsure");
      g.lineWidth = Math.max(1, zoom / 6);
      g.beginPath();
      g.moveTo(x * zoom, (y + 1) * zoom);
      g.lineTo((x + 1) * zoom, y * zoom);
      g.stroke();
    }
  }
  if (spot) {
    g.strokeStyle = "#f33";
    g.lineWidth = 3;
    g.strokeRect(spot.x * zoom, spot.y * zoom, zoom, zoom);
  }
}

const spotShown = () => document.activeElement === $("asked") && cursor ? cursor : null;
const repaint = () => { if (values) paint($("asked"), noisy(), unsure, spotShown()); };

function update() {
  $("noise-out").textContent = (+$("noise").value).toFixed(2);
  $("undo").disabled = !done.length;
  $("redo").disabled = !undone.length;
  repaint();
  return recall();
}

// Takes a picture. `cover`: what is hidden of it at first.
export function take(row, { from = null, cover = null, name = "" } = {}) {
  whole = row.slice();
  values = row.slice();
  unsure = new Uint8Array(size().plane);
  source = from;
  done = [];
  undone = [];
  $("name").value = name;
  if (cover) hide(cover);
  return update();
}

// ---- undo and redo

function remember() {
  done.push({ values: values.slice(), unsure: unsure.slice(), whole: whole.slice() });
  if (done.length > 100) done.shift();
  undone = [];
}
function travel(from, to) {
  if (!from.length) return;
  to.push({ values, unsure, whole });
  ({ values, unsure, whole } = from.pop());
  update();
}
$("undo").onclick = () => travel(done, undone);
$("redo").onclick = () => travel(undone, done);
document.addEventListener("keydown", event => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || /INPUT|TEXTAREA/.test(event.target.tagName) && event.target.type !== "range") return;
  event.preventDefault();
  if (event.shiftKey) travel(undone, done); else travel(done, undone);
});

// ---- the brush

function dab(cx, cy) {
  const { w, h, plane } = size(), r = +$("size").value / 2 * Math.max(w, h) / 28, how = document.querySelector("[name=brush]:checked").value;
  for (let y = Math.max(0, Math.ceil(cy - r)); y <= Math.min(h - 1, cy + r); y++)
    for (let x = Math.max(0, Math.ceil(cx - r)); x <= Math.min(w - 1, cx + r); x++) {
      if ((x - cx) ** 2 + (y - cy) ** 2 > r * r) continue;
      const p = y * w + x;
      unsure[p] = how === "unsure" ? 1 : 0;
      for (let k = 0; k < state.image.channels && how !== "unsure"; k++) {
        values[k * plane + p] = how === "cover" ? null : how === "light" ? 1 : -1;
        if (how !== "cover") whole[k * plane + p] = values[k * plane + p]; // drawn: part of the picture
      }
    }
}

let last = null;
const spotOf = event => {
  const box = $("asked").getBoundingClientRect(), { w, h } = size();
  return { x: (event.clientX - box.left) / box.width * w - .5, y: (event.clientY - box.top) / box.height * h - .5 };
};
$("asked").onpointerdown = event => {
  if (!values) return;
  $("asked").setPointerCapture(event.pointerId);
  remember();
  last = spotOf(event);
  dab(last.x, last.y);
  update();
};
$("asked").onpointermove = event => {
  if (!last) return;
  const to = spotOf(event), steps = Math.ceil(2 * Math.hypot(to.x - last.x, to.y - last.y)) || 1;
  for (let k = 1; k <= steps; k++) dab(last.x + (to.x - last.x) * k / steps, last.y + (to.y - last.y) * k / steps);
  last = to;
  update();
};
$("asked").onpointerup = $("asked").onpointercancel = () => { last = null; };
$("asked").onkeydown = event => {
  const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key], { w, h } = size();
  if (!values || (!move && event.key !== " ")) return;
  event.preventDefault();
  if (move) {
    cursor = { x: Math.max(0, Math.min(w - 1, cursor.x + move[0])), y: Math.max(0, Math.min(h - 1, cursor.y + move[1])) };
    repaint();
    return;
  }
  remember();
  dab(cursor.x, cursor.y);
  update();
};
$("asked").onfocus = $("asked").onblur = () => {
  cursor = cursor || { x: state.image.width >> 1, y: state.image.height >> 1 };
  repaint();
};

// ---- parts

const hides = {
  left: (p, w) => p % w < w / 2,
  right: (p, w) => p % w >= w / 2,
  bottom: (p, w, h) => p >= w * h / 2,
  random: () => Math.random() < .75,
  all: () => true,
};
function hide(part) {
  const { w, h, plane } = size(), gone = Array.from({ length: plane }, (_, p) => hides[part](p, w, h));
  values = values.map((v, i) => gone[i % plane] ? null : v);
}
for (const button of document.querySelectorAll("[data-hide]"))
  button.onclick = () => { if (values) { remember(); hide(button.dataset.hide); update(); } };
$("whole").onclick = () => {
  if (!values) return;
  remember();
  values = whole.slice();
  unsure.fill(0);
  $("noise").value = 0;
  update();
};
$("noise").oninput = () => { noiseSeed = noiseSeed || 1; if (values) update(); };
$("blank").onclick = () => {
  take(Array(state.image.entries).fill(-1));
  document.querySelector("[name=brush][value=light]").checked = true;
  $("asked").focus();
};

// ---- what comes back

let playing = 0;
const still = matchMedia("(prefers-reduced-motion: reduce)");

// The search as it went: frame k mixes what was covered with the answer by the share of the energy's fall that
// evaluation k had made. The page has the energies of a search, not the pictures that it passed through.
function play(row, trace) {
  const mine = ++playing, canvas = $("recalled"), shown = asked();
  if (!trace || trace.length < 3 || still.matches || !shown.some(v => v === null)) { paint(canvas, row); return; }
  const start = Math.max(trace[0], trace[trace.length - 1]), end = Math.min(...trace), frames = Math.min(24, trace.length);
  let reached = 0;
  const frame = k => {
    if (mine !== playing) return;
    const energy = trace[Math.round(k * (trace.length - 1) / frames)];
    reached = Math.max(reached, k === frames ? 1 : (start - Math.min(start, energy)) / (start - end || 1));
    paint(canvas, row.map((v, i) => shown[i] !== null ? v : -1 + (v + 1) * reached));
    if (k < frames) setTimeout(() => requestAnimationFrame(() => frame(k + 1)), 24);
  };
  frame(0);
}

export const words = {
  "known": name => name ? `I know this: ${name}.` : "I know this: I have seen it.",
  "near copy": name => name ? `I know this: it is a copy of ${name}.` : "I know this: it is a copy of one that I have seen.",
  "new": () => "I have never seen this.",
  "blend": () => "Several pictures that I have seen could be this one.",
  "cannot tell": () => "I cannot tell whether I have seen this.",
};

// The verdict as a sentence; `info` may name a near copy or candidates.
export function sentence(info) {
  const said = words[info.verdict];
  return said ? said((info.name || "").replace(/\.(png|jpe?g|webp|p[gnp]m)$/i, "")) : info.verdict[0].toUpperCase() + info.verdict.slice(1) + ".";
}

let shownFor = "";
export function show(answer) {
  if (!state.image) return;
  const verdict = $("verdict");
  if (!answer) {
    playing++;
    if (values) paint($("recalled"), values.map(() => null));
    verdict.textContent = values ? "Everything is covered: there is nothing to recall it by." : "";
    verdict.className = "verdict";
    return;
  }
  const row = answer.row[state.image.name], key = JSON.stringify(values && values.map(v => v === null));
  state.recalled = row;
  state.truth = whole;
  if (key !== shownFor && !last) play(row, answer.trace); else { playing++; paint($("recalled"), row); }
  shownFor = key;
  verdict.textContent = sentence(answer.info);
  verdict.className = "verdict " + answer.info.verdict.split(" ")[0];
  $("recalled").setAttribute("aria-label", "What the memory recalls. " + verdict.textContent);
}

// ---- files

// The name of a file as bpcn write makes it: of a long one the end, after "...", in 63 bytes of UTF-8.
export function nameOf(text) {
  const bytes = t => new TextEncoder().encode(t).length, clean = text.replace(/[\x00-\x1f\x7f-\x9f]/g, "?");
  if (bytes(clean) <= 63) return clean;
  let end = [...clean];
  while (bytes(end.join("")) > 60) end = end.slice(1);
  return "..." + end.join("");
}

// A picture of the user's, cut in the middle and brought to the memory's size.
async function load(file) {
  try {
    const bitmap = await createImageBitmap(file), c = document.createElement("canvas"), { w, h, plane } = size();
    c.width = w;
    c.height = h;
    const scale = Math.max(w / bitmap.width, h / bitmap.height), g = c.getContext("2d");
    g.imageSmoothingQuality = "high";
    g.drawImage(bitmap, (w - scale * bitmap.width) / 2, (h - scale * bitmap.height) / 2, scale * bitmap.width, scale * bitmap.height);
    const d = g.getImageData(0, 0, w, h).data, row = [];
    for (let k = 0; k < state.image.channels; k++)
      for (let p = 0; p < plane; p++)
        row.push((state.image.channels === 3 ? d[4 * p + k] : .299 * d[4 * p] + .587 * d[4 * p + 1] + .114 * d[4 * p + 2]) / 127.5 - 1);
    alertFor(null);
    take(row, { name: nameOf(file.name) });
  } catch {
    alertFor(new Refused(0, "This browser cannot read that file as a picture."));
  }
}
$("file").onchange = () => $("file").files[0] && load($("file").files[0]);
for (const kind of ["dragenter", "dragover"])
  document.addEventListener(kind, event => { if (state.image) { event.preventDefault(); document.body.classList.add("drop"); } });
for (const kind of ["dragleave", "drop"]) document.addEventListener(kind, () => document.body.classList.remove("drop"));
document.addEventListener("drop", event => {
  if (!state.image) return;
  event.preventDefault();
  if (event.dataTransfer.files[0]) load(event.dataTransfer.files[0]);
});

// ---- links: the example, a bit for each covered pixel, the noise

export function linkState() {
  if (!source || !values) return [];
  const { plane } = size(), bytes = new Uint8Array(Math.ceil(plane / 8));
  for (let p = 0; p < plane; p++) if (values[p] === null) bytes[p >> 3] |= 1 << (p & 7);
  const cover = btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  return [["example", source.example], ["cover", cover], ...(noise() > 0 ? [["noise", $("noise").value], ["seed", noiseSeed]] : [])];
}

export function takeLink(row, link, example, name) {
  take(row, { from: { example }, name });
  const { plane } = size();
  let bits;
  try { bits = atob((link.get("cover") || "").replace(/-/g, "+").replace(/_/g, "/")); } catch { bits = ""; }
  values = values.map((v, i) => bits.charCodeAt((i % plane) >> 3) & (1 << (i % plane & 7)) ? null : v);
  $("noise").value = link.get("noise") || 0;
  noiseSeed = +link.get("seed") || 1;
  return update();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
