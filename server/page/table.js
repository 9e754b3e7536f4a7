// Columns that are not the picture: a box for each, with its value, a tick to hide it, and what the memory says of it.
import { $, state, ask, Refused } from "./core.js";
import { recall } from "./page.js";
import { sentence } from "./picture.js";

const RARE = 0.02; // typicality at which a row is called unusual; of 50 ordinary rows one is

let examples = [], at = -1;

const isList = column => column.kind === "vector" && column.entries > 1 && !state.image;
const isChoice = column => column.kind === "category" || (column.kind === "vector" && column.entries > 1 && !isList(column));
const input = i => $("c" + i);
const hidden = i => $("h" + i).checked;

export async function start() {
  $("form").replaceChildren(...state.others.map(box));
  if (state.image || !state.others.length) return;
  if (state.info.examples > 0) examples = (await ask("v1/examples?n=64")).rows;
  else if (state.info.writes > 0) examples = (await ask("v1/sample", { n: 8 })).rows;
  $("next-row").hidden = examples.length < 2;
  if (examples.length) next();
}

// Numbers have the precision of float32: more digits would be noise.
const plain = value => typeof value === "number" ? +value.toPrecision(7) : value;

function next() {
  at = (at + 1) % examples.length;
  const row = examples[at];
  let offset = 0;
  state.others.forEach((column, i) => {
    const value = Array.isArray(row) ? column.entries === 1 ? row[offset] : row.slice(offset, offset + column.entries) : row[column.name];
    offset += column.entries;
    input(i).value = value === null || value === undefined ? "" : Array.isArray(value) ? value.map(v => v === null ? "" : plain(v)).join(", ") : isChoice(column) ? "=" + column.words.indexOf(value) : plain(value);
  });
}
$("next-row").onclick = () => { next(); recall(); };
$("empty").onclick = () => { state.others.forEach((_, i) => { input(i).value = ""; $("h" + i).checked = false; }); recall(); };

function box(column, i) {
  const div = document.createElement("div"), label = document.createElement("label"), guess = document.createElement("div"), hide = document.createElement("label"), tick = document.createElement("input");
  let field;
  if (isList(column)) {
    field = document.createElement("textarea");
    field.placeholder = "0.5, , -1, …";
    field.spellcheck = false;
    div.className = "wide";
    label.textContent = `${column.name}: ${column.entries} numbers, separated by commas`;
  } else {
    label.textContent = column.name;
    if (isChoice(column)) {
      field = document.createElement("select");
      const words = column.words || Array.from({ length: column.entries }, (_, k) => String(k));
      field.append(new Option("unknown", ""), ...words.map((word, k) => new Option(word, "=" + k)));
    } else {
      field = document.createElement("input");
      field.type = "text";
      field.inputMode = "decimal";
      field.autocomplete = "off";
      field.placeholder = "unknown";
    }
  }
  field.id = label.htmlFor = "c" + i;
  guess.className = "guess";
  guess.id = "g" + i;
  field.setAttribute("aria-describedby", guess.id);
  field.oninput = () => recall();
  tick.type = "checkbox";
  tick.id = "h" + i;
  tick.onchange = () => recall();
  hide.className = "hide";
  hide.append(tick, " hide ");
  const named = document.createElement("span");
  named.className = "sr";
  named.textContent = column.name;
  hide.append(named);
  div.append(label, field, hide, guess);
  return div;
}

function listOf(column, text) {
  const cells = text.split(text.includes(",") ? "," : /\s+/).map(cell => cell.trim());
  if (cells.length > column.entries) throw new Refused(0, `${column.name}: ${cells.length} numbers instead of ${column.entries}.`);
  const bad = cells.find(cell => cell !== "" && cell !== "?" && !Number.isFinite(+cell));
  if (bad !== undefined) throw new Refused(0, `${column.name}: '${bad}' is not a number.`);
  return Array.from({ length: column.entries }, (_, k) => cells[k] === undefined || cells[k] === "" || cells[k] === "?" ? null : +cells[k]);
}

function valueOf(column, i) {
  const text = input(i).value.trim();
  if (text === "") return null;
  if (isList(column)) return listOf(column, text);
  if (column.kind === "category") return column.words[+text.slice(1)];
  if (isChoice(column)) return Array.from({ length: column.entries }, (_, k) => k === +text.slice(1) ? 1 : 0);
  if (column.kind === "vector") {
    if (!Number.isFinite(+text)) throw new Refused(0, `${column.name}: '${text}' is not a number.`);
    return [+text];
  }
  return Number.isFinite(+text) ? +text : text; // dates and amounts are the server's to read
}

// [name, value] of every column; null where it is hidden or empty.
export const values = () => state.others.map((column, i) => [column.name, hidden(i) ? null : valueOf(column, i)]);
export const truths = () => state.others.map((column, i) => [column.name, valueOf(column, i)]);

// ---- what comes back

// x with as many decimals as its uncertainty has: two digits of what it may be off.
const near = (x, off) => String(+x.toFixed(Math.max(0, Math.min(9, 1 - Math.floor(Math.log10(off > 0 ? off : 1e-3))))));

// A range is told only where the answer is good enough for one: for tables, and for rows that are known.
function guessOf(column, value, off, sure) {
  const b = document.createElement("b");
  if (column.kind === "category") {
    b.textContent = value;
    return [b, off > 0 ? `, another word with ${Math.round(100 * off)} %` : ""];
  }
  if (column.entries > 1) {
    b.textContent = column.words ? column.words[value.indexOf(Math.max(...value))] : value.indexOf(Math.max(...value));
    return [b];
  }
  const x = Array.isArray(value) ? value[0] : value, d = Array.isArray(off) ? off[0] : off;
  b.textContent = typeof x === "number" ? d > 0 ? near(x, d) : +x.toPrecision(4) : x;
  return [b, typeof x === "number" && d > 0 && sure ? `, 9 of 10 times from ${near(x - 1.645 * d, d)} to ${near(x + 1.645 * d, d)}` : ""];
}

function tellList(g, column, i, value, info) {
  const mine = listOf(column, input(i).value.trim()), gaps = mine.filter((v, k) => hidden(i) || v === null).length;
  const b = document.createElement("b");
  b.textContent = value.map(v => +v.toPrecision(3)).join(", ");
  g.append(gaps ? `Recalled, ${gaps} of them filled in${info.verdict === "known" ? "" : " as a guess"}: ` : "Recalled: ", b);
}

function tell(column, i, answer) {
  const g = $("g" + i), typed = input(i).value.trim(), value = answer && answer.row[column.name];
  g.replaceChildren();
  if (value === undefined || value === null) return;
  if (isList(column)) { tellList(g, column, i, value, answer.info); return; }
  if (typed !== "" && !hidden(i)) return;
  const table = state.info.kind === "table";
  g.append("guess ", ...guessOf(column, value, answer.spread && answer.spread[column.name], table || answer.info.verdict === "known"));
  if (typed !== "") {
    const truth = document.createElement("b");
    truth.textContent = isChoice(column) ? input(i).selectedOptions[0].textContent : typed;
    g.prepend("truth ", truth, " · ");
  }
}

export function show(answer) {
  try { state.others.forEach((column, i) => tell(column, i, answer)); } catch (e) { if (!(e instanceof Refused)) throw e; }
  const odd = answer && answer.score.typicality, says = $("row-verdict"), blame = answer && answer.score.blame || [];
  $("blame").hidden = !blame.length || !(odd <= RARE);
  $("blame").replaceChildren(...blame.slice(0, 3).map(one => {
    const li = document.createElement("li");
    li.textContent = `${one.column} ${one.value}, expected ${one.expected}` + (one.deviation > 0 ? ` ± ${+one.deviation.toPrecision(2)}` : "") + " given the others";
    return li;
  }));
  if (state.image || !answer) { says.textContent = ""; return; }
  const table = state.info.kind === "table";
  says.textContent = !table ? sentence(answer.info).replace("pictures", "rows")
    : odd === undefined || state.info.writes < 20 ? ""
    : odd <= RARE ? `This row is unusual: about ${+(100 * odd).toPrecision(2)} % of the rows are as odd.` : "This row looks like the others.";
}
