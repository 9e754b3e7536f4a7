// The page: recalls as the query changes, teaches, shares, and starts the parts: picture.js, strip.js, table.js, panels.js.
import { $, state, Refused, ask, alertFor, guarded, setToken, hasToken } from "./core.js";
import * as picture from "./picture.js";
import * as strip from "./strip.js";
import * as table from "./table.js";
import * as panels from "./panels.js";

$("login").querySelector("form").onsubmit = event => {
  event.preventDefault();
  setToken($("token").value);
  $("login").hidden = true;
  alertFor(null);
  start();
};

// ---- recall: one request at a time, and another when something changed meanwhile

let again = false, settled = Promise.resolve();

export function rowNow() {
  const row = {};
  let known = false;
  if (state.image) {
    const values = picture.asked();
    if (values) { row[state.image.name] = values; known = values.some(v => v !== null); }
  }
  for (const [name, value] of table.values()) {
    row[name] = value;
    known = known || (Array.isArray(value) ? value.some(v => v !== null) : value !== null);
  }
  return known ? row : null;
}

export function readRequest(row) {
  const request = { rows: [row], spread: !state.image || state.others.length > 0 };
  const noise = picture.noise(), beta = +$("beta").value;
  if (noise > 0 && state.image) request.noise = noise;
  if (beta > 0) request.forget = beta;
  return request;
}

export function recall() {
  if (state.busy) { again = true; return settled; }
  state.busy = true;
  settled = (async () => {
    try {
      do {
        again = false;
        const row = rowNow();
        if (!row) { show(null); continue; }
        const request = readRequest(row), { spread, ...score } = request;
        const [read, scores] = await Promise.all([ask("v1/read", { ...request, trace: true }), ask("v1/score", score)]);
        if (again && !state.image) continue; // the cells have changed since; a picture follows the brush instead
        show({ row: read.rows[0], info: read.info[0], spread: read.spread && read.spread[0], trace: read.trace && read.trace[0], score: scores.info[0] });
        alertFor(null, "recall");
      } while (again);
    } catch (e) {
      show(null);
      alertFor(e, "recall");
    } finally {
      state.busy = false;
    }
  })();
  return settled;
}

function show(answer) {
  state.answer = answer;
  picture.show(answer);
  table.show(answer);
  panels.show(answer);
}

// ---- teach: the whole truth is stored, never the picture with its holes

function truthNow() {
  const row = {};
  if (state.image) row[state.image.name] = picture.truth();
  for (const [name, value] of table.truths()) row[name] = value;
  return row;
}

$("write").onclick = guarded(async () => {
  const name = state.info.names.most > 0 ? $("name").value.trim() : "", row = truthNow();
  const written = await ask("v1/write", name ? { rows: [row], names: [name] } : { rows: [row] });
  state.taught = { step: written.step, example: picture.example() };
  $("unteach").hidden = !written.step;
  if (state.image) strip.addTaught(row[state.image.name], name, state.taught.example);
  await refresh();
  await recall();
  $("taught").textContent = `It has learnt ${name ? "“" + name + "”" : "this"}, whole, in one write.` + (written.step ? "" : " This write cannot be taken back here.");
});

$("unteach").onclick = guarded(async () => {
  await ask("v1/undo", { step: state.taught.step });
  if (state.image) strip.removeTaught(state.taught.example);
  $("unteach").hidden = true;
  await refresh();
  await recall();
  $("taught").textContent = "Taken back: it has never seen this.";
});

// ---- share

const quoted = text => "'" + text.replace(/'/g, "'\\''") + "'";

async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    $("shared").textContent = said;
  } catch {
    $("shared").textContent = text; // without a clipboard it can be copied from here
  }
}

export function link() {
  const url = new URL(location.href);
  url.hash = new URLSearchParams([...picture.linkState(), ...(+$("beta").value ? [["fade", $("beta").value]] : [])]).toString();
  return url.href;
}

$("copy-link").onclick = () => copy(link(), "The link is on the clipboard. It carries the picture, what is covered, the noise and the fading.");
$("copy-curl").onclick = () => {
  const row = rowNow();
  if (!row) { $("shared").textContent = "Nothing is known of this row: there is nothing to ask."; return; }
  const url = new URL(state.base + "v1/read", location.href).href, auth = hasToken() ? " -H 'Authorization: Bearer TOKEN'" : "";
  copy(`curl ${quoted(url)} -H 'Content-Type: application/json'${auth} -d ${quoted(JSON.stringify(readRequest(row)))}`, "The curl command is on the clipboard." + (hasToken() ? " Put your token in it." : ""));
};
$("save").onclick = () => {
  const a = document.createElement("a");
  a.href = $("recalled").toDataURL("image/png");
  a.download = "recalled.png";
  a.click();
};

// ---- start

export async function refresh() {
  state.info = await ask("v1/info");
  await panels.refresh();
  const { info } = state, what = state.image ? "picture" : "row";
  $("headline").textContent = info.writes === 0 ? `It has seen no ${what} yet. Teach it one: it learns in a single write.`
    : state.image ? `It saw ${info.writes === 1 ? "one picture" : `these ${info.writes} pictures`} once. Cover part of one: it fills in the rest.`
    : `It read ${info.writes} row${info.writes === 1 ? "" : "s"} once. Hide a cell: it fills it in.`;
  $("about").textContent = `${info.memory} · ${(info.bytes / 1e6).toFixed(1)} MB` + (info.read_only ? " · read only" : "");
  $("write").disabled = info.read_only;
  $("naming").hidden = info.read_only || info.names.most === 0;
  $("teach-note").textContent = info.read_only ? "This server only reads." :
    state.image ? "This stores the whole picture, uncovered and without noise, once." : "This stores the whole row, hidden cells too, once.";
}

async function start() {
  try {
    const { memories } = await ask("v1/memories");
    if (memories.length > 1 && !$("memory").options.length) {
      $("memory").replaceChildren(...memories.map(m => new Option(m.name, m.path)));
      $("memory-label").hidden = false;
      const here = memories.find(m => location.pathname.startsWith(m.path));
      if (here) $("memory").value = here.path;
    }
    const info = state.info = await ask("v1/info");
    let offset = 0;
    for (const column of info.columns) { column.offset = offset; offset += column.entries; }
    state.image = info.columns.find(c => c.kind === "picture") || null;
    state.others = info.columns.filter(c => c !== state.image && c.kind !== "picture" && (c.kind !== "vector" || c.entries <= 1000 || !state.image));
    await refresh();
    for (const id of ["teach", "more-tools", "details", "history-box", "forgetting", "fullness"]) $(id).hidden = false;
    $("play").hidden = !state.image;
    $("save").hidden = $("copy-link").hidden = !state.image;
    $("columns").hidden = !state.others.length;
    if (state.image && state.others.length) $("columns-title").textContent = "What goes with the picture";
    const link = new URLSearchParams(location.hash.slice(1));
    if (link.has("fade")) panels.setFade(link.get("fade"));
    await table.start();
    if (state.image) await strip.start(link); else await recall();
    panels.follow();
  } catch (e) {
    alertFor(e);
  }
}
$("memory").onchange = () => { location.href = $("memory").value; };
start();
