// The page in a real browser: Debian's Chromium, driven by playwright-core; axe-core looks at what assistive programs see.
//   node tests/server/check_page.mjs BPCN FOLDER      FOLDER: where node_modules are, and screenshots go
import { spawn, execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const [bpcn, folder] = process.argv.slice(2).map(p => path.resolve(p));
const require = createRequire(folder + "/");
const { chromium } = require("playwright-core"), axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const place = fs.mkdtempSync(path.join(os.tmpdir(), "bpcn-page-")), at = name => path.join(place, name);
const fashion = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
let passed = 0, failed = 0;
function law(name, holds, got) {
  if (holds) { passed++; console.log("ok   " + name); } else { failed++; console.log("FAIL " + name + "\n       got " + JSON.stringify(got)); }
}
const run = (...args) => execFileSync(bpcn, args);
const servers = [];
async function serve(...args) {
  const child = spawn(bpcn, ["serve", ...args, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  servers.push(child);
  const url = await new Promise((done, no) => { child.stdout.once("data", d => done(String(d).trim())); child.once("exit", () => no(Error("no server"))); });
  return { url, child };
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
/* A page that is deaf does not hear what others do to the memory. */
async function open(url, options = {}, deaf = false) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 }, ...options }), page = await context.newPage();
  page.strangers = []; page.errors = [];
  page.on("request", r => { if (!r.url().startsWith(url) && !r.url().startsWith("data:")) page.strangers.push(r.url()); });
  page.on("pageerror", e => page.errors.push(e.message));
  if (deaf) await page.route("**/v1/history*", route => route.fulfill({ json: { events: [] } }));
  await page.goto(url);
  return page;
}
const shot = (page, name) => page.screenshot({ path: path.join(folder, name + ".png"), fullPage: true });
async function accessible(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run(document)).violations.map(v => v.id + ": " + v.nodes.map(n => n.target).join(" ")));
  law(`${name}: axe finds nothing`, found.length === 0, found);
}
/* Until the recall that follows the last change has been shown. */
const settled = page => page.waitForFunction(() => window.bayespcn && window.bayespcn.info && !window.bayespcn.busy && window.bayespcn.answer !== null);
const after = async (page, change) => { await change(); await page.waitForTimeout(0); await settled(page); };
const error = page => page.evaluate(() => bayespcn.recalled.reduce((s, v, i) => s + (v - bayespcn.truth[i]) ** 2, 0) / bayespcn.truth.length);
const info = page => page.evaluate(async () => (await fetch("v1/info")).json());
const text = (page, id) => page.textContent("#" + id);
const slide = (page, id, value) => page.$eval("#" + id, (e, v) => { e.value = v; e.dispatchEvent(new Event("input")); }, value);
const open_ = (page, ...ids) => page.evaluate(list => { for (const id of list) document.getElementById(id).open = true; }, ids);
const until = (page, id, part) => page.waitForFunction(([id, part]) => document.getElementById(id).textContent.includes(part), [id, part]);
const ended = child => new Promise(done => child.once("exit", done));

async function pictures() {
  fs.mkdirSync(at("photos"));
  for (let i = 0; i < 40; i++) run("read", at("any.mem"), fashion, "--rows", `${i}:${i + 1}`, "-o", at(`photos/cloth-${String(i).padStart(2, "0")}.png`), "--plain", "-q");
  const first = fs.readdirSync(at("photos")).sort().slice(0, 30).map(f => at("photos/" + f));
  run("create", at("p.mem"), "--image", "28x28", "-q"); run("write", at("p.mem"), ...first, "-q");
  const { url, child } = await serve(at("p.mem"), "--examples", at("photos")), page = await open(url);
  await page.waitForSelector("#strip canvas"); await settled(page); await until(page, "verdict", "cloth-00");
  law("the first screen says what this is", (await text(page, "headline")).startsWith("It saw these 30 pictures once."), await text(page, "headline"));
  law("it opens half covered, recalled and known", await error(page) < 1e-3 && (await text(page, "verdict")) === "I know this: cloth-00.", [await error(page), await text(page, "verdict")]);
  const fold = await page.evaluate(() => document.getElementById("verdict").getBoundingClientRect().bottom);
  law("the verdict is on the first screen of 900 pixels", fold < 900, fold);
  await page.waitForTimeout(900); /* the recall has been played */
  const pixels = await page.evaluate(() => { const c = document.getElementById("recalled"); return Array.from(c.getContext("2d").getImageData(0, 0, c.width, c.height).data); });
  law("the picture that was recalled is on the canvas", await page.evaluate(d => { const z = Math.sqrt(d.length / 4) / 28, t = bayespcn.truth; return t.every((v, p) => Math.abs(d[4 * (Math.floor((Math.floor(p / 28) + .5) * z) * 28 * z + Math.floor((p % 28 + .5) * z))] - Math.round((v + 1) * 127.5)) <= 8); }, pixels));
  law("the strip says what was seen and what never", await page.evaluate(() => [...document.querySelectorAll("#strip .badge")].slice(0, 24).every(b => b.textContent === "seen")));
  await open_(page, "details"); await shot(page, "pictures"); await accessible(page, "pictures");
  const fell = [await text(page, "descent-text"), await text(page, "energy"), await text(page, "evaluations")];
  law("the energy's descent is drawn, down to the energy of the answer", Math.abs(+fell[0].match(/ to (-?\d+) \(the dot\)/)[1] - fell[1]) <= 1, fell);
  await page.focus(".tip"); law("figures are explained by keyboard", await page.isVisible("#tip-familiarity"));

  await after(page, () => page.click("#whole"));
  const box = await (await page.$("#asked")).boundingBox();
  const stroke = async () => { await page.mouse.move(box.x + box.width / 3, box.y + box.height / 3); await page.mouse.down(); await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 8 }); await page.mouse.up(); };
  const holes = () => page.evaluate(async () => (await import("./picture.js")).asked().filter(v => v === null).length);
  await after(page, stroke);
  const covered = await holes();
  law("the mouse covers", covered > 10 && covered < 250, covered);
  law("and the memory fills it in", await error(page) < 1e-3, await error(page));
  await after(page, () => page.click("#undo")); law("undo uncovers", await holes() === 0);
  await after(page, () => page.click("#redo")); law("redo covers again", await holes() === covered);
  await after(page, () => page.click("#whole")); await page.check("[name=brush][value=unsure]"); await after(page, stroke);
  law("what the user is not sure of is not told to the memory", await holes() > 10 && await error(page) < 1e-3);
  await after(page, () => page.click("#whole")); await after(page, () => slide(page, "noise", 0.2));
  const noisy = await page.evaluate(async () => (await import("./picture.js")).asked().reduce((s, v, i) => s + (v - bayespcn.truth[i]) ** 2, 0) / 784);
  law("noise is taken away", noisy > 0.1 && await error(page) < noisy / 5, [noisy, await error(page)]);
  await after(page, () => slide(page, "noise", 0));
  await page.click("[data-hide=all]"); await until(page, "verdict", "nothing to recall");
  law("with everything covered nothing is claimed", true);
  await page.click("#copy-curl"); law("and there is nothing to ask by curl", (await text(page, "shared")).includes("nothing to ask"));
  await after(page, () => page.click("#undo"));

  await page.focus("#strip [role=option]"); await after(page, () => page.keyboard.press("End"));
  await until(page, "verdict", "cloth"); const last = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  law("arrow keys go along the strip", last.startsWith("cloth-") && last.endsWith("seen"), last);
  await page.evaluate(() => { const s = document.getElementById("strip"); s.scrollLeft = s.scrollWidth; });
  await page.waitForFunction(() => document.querySelectorAll("#strip [role=option]").length === 40);
  law("the strip loads as it scrolls", true);
  await after(page, () => page.click("[aria-label='cloth-35.png, never shown']")); await until(page, "verdict", "never seen");
  law("what was never shown is never seen", true);

  await after(page, () => page.click("[data-hide=bottom]"));
  const context = page.context(); await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.click("#copy-link"); const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.click("#copy-curl"); const curl = await page.evaluate(() => navigator.clipboard.readText());
  const other = await open(link); await other.waitForSelector("#strip canvas"); await settled(other);
  const both = await Promise.all([page, other].map(p => p.evaluate(async () => JSON.stringify((await import("./picture.js")).asked()))));
  law("a link carries the picture and what is covered", both[0] === both[1] && new URL(link).search === "", link);
  await other.close();
  const answer = JSON.parse(execFileSync("sh", ["-c", curl + " -s"]));
  law("the copied curl command asks the same", answer.info[0].verdict === "new" && answer.rows[0].image.length === 784, curl.slice(0, 100));
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  law("the picture can be saved", fs.readFileSync(await download.path()).subarray(1, 4).toString() === "PNG");

  await page.click("#write"); await until(page, "taught", "in one write"); await settled(page);
  law("it is taught once", (await info(page)).writes === 31);
  law("with its covered half: the truth is stored", await error(page) < 1e-3 && (await text(page, "verdict")) === "I know this: cloth-35.", await text(page, "verdict"));
  law("and the strip says so", await page.locator("[aria-label='cloth-35.png, seen']").count() === 1);
  await shot(page, "taught");
  await page.click("#unteach"); await until(page, "taught", "Taken back"); await settled(page); await until(page, "verdict", "never seen");
  law("and can be taken back", (await info(page)).deletes === 1 && await page.isHidden("#unteach"));

  const watcher = await open(url); await watcher.waitForSelector("#strip canvas"); await settled(watcher);
  await page.click("#write"); await until(page, "taught", "in one write");
  await until(watcher, "headline", "31 pictures"); await open_(watcher, "history-box"); await until(watcher, "history-text", "writes 2");
  law("another tab sees it", true); await watcher.close();
  await open_(page, "map-box"); await page.waitForFunction(() => document.querySelectorAll("#map circle").length > 20);
  law("the map has the examples and what is asked now", await page.locator("#map .now").count() === 1);
  await shot(page, "map"); await accessible(page, "map");
  await after(page, () => page.click("#map circle.seen")); law("a dot takes its picture", (await text(page, "verdict")).startsWith("I know this"), await text(page, "verdict"));

  await open_(page, "forgetting"); await after(page, () => page.click("[data-hide=bottom]"));
  const before = await error(page);
  await after(page, () => slide(page, "beta", 0.9));
  law("to fade shows", await error(page) > 10 * before + 0.001, [before, await error(page)]);
  await after(page, () => page.click("#unfade"));
  law("back to 0 brings it back", Math.abs(await error(page) - before) < 1e-6);
  law("nothing was forgotten", (await info(page)).forgets === 0);
  await page.click("#blank"); await page.waitForFunction(() => document.activeElement.id === "asked");
  for (const key of ["ArrowLeft", " ", "ArrowLeft", " ", "ArrowUp", " "]) await page.keyboard.press(key);
  await settled(page);
  law("one draws by keyboard alone", await page.evaluate(() => bayespcn.truth.filter(v => v === 1).length) > 8);
  await page.check("[name=strip][value=taught]"); law("what was taught here is in the strip", await page.locator("#strip [role=option]").count() === 1);
  await page.check("[name=strip][value=samples]"); await page.waitForFunction(() => document.getElementById("strip").children.length === 16);
  await slide(page, "beta", 0.5); await page.click("#forget"); await page.click("#no");
  law("not sure is not forgotten", (await info(page)).forgets === 0);
  await page.click("#forget"); await page.click("#yes"); await until(page, "forgotten", "faded");
  law("sure is", (await info(page)).forgets === 1);
  await page.setInputFiles("#file", { name: "x.txt", mimeType: "image/png", buffer: Buffer.from("no picture") });
  await page.waitForSelector("#alert:visible");
  law("what is no picture is told", (await text(page, "alert")).includes("cannot read that file"));
  child.kill("SIGTERM"); await ended(child);
  await page.click("#more"); await until(page, "alert", "does not answer");
  law("a server that is gone is told", true);
  law("no request went elsewhere", page.strangers.length === 0, page.strangers);
  law("no error in the script", page.errors.length === 0, page.errors);
}

async function names() {
  const long = "a photograph with a name that is longer than a memory keeps it, \u00e9.png";
  run("create", at("n.mem"), "--image", "28x28", "-q"); run("write", at("n.mem"), at("photos/cloth-01.png"), at("photos/cloth-05.png"), "-q");
  const { url, child } = await serve(at("n.mem"), "--examples", at("photos")), page = await open(url, {}, true);
  const listed = () => page.$$eval("#list option", all => all.map(o => o.value));
  await page.waitForSelector("#strip canvas"); await settled(page); await open_(page, "names");
  law("the names that it holds are listed, the latest first", (await listed()).join() === "cloth-05.png,cloth-01.png", await listed());
  await after(page, () => page.selectOption("#list", "cloth-05.png")); await until(page, "verdict", "I know this: cloth-05.");
  law("choosing a name recalls it", true);
  await page.setInputFiles("#file", { name: long, mimeType: "image/png", buffer: fs.readFileSync(at("photos/cloth-09.png")) });
  await page.waitForFunction(() => document.getElementById("name").value.startsWith("...")); await settled(page);
  const name = await page.inputValue("#name");
  law("a file brings its name, cut to what is kept", long.endsWith(name.slice(3)) && Buffer.byteLength(name) === 63, name);
  await page.click("#write"); await until(page, "taught", "in one write"); await settled(page);
  law("it is taught with it", (await listed())[0] === name, await listed());
  law("three rows are too few to say how typical one is", await page.isHidden("#typicality"));
  await shot(page, "names"); await accessible(page, "names");
  await page.click("#blank"); law("a blank picture has no name", await page.inputValue("#name") === "");
  await page.focus("#list"); await page.keyboard.press("End"); await page.click("#delete"); await page.click("#delete-no");
  law("not sure is not deleted", (await info(page)).deletes === 0);
  await page.click("#delete"); await shot(page, "delete"); await page.keyboard.press("Enter"); await until(page, "deleted", "is deleted");
  law("sure is, and by keyboard", (await listed()).join() === name + ",cloth-05.png" && (await info(page)).deletes === 1, await listed());
  await page.evaluate(() => fetch("v1/delete", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ names: ["cloth-05.png"] }) }));
  await page.selectOption("#list", "cloth-05.png"); await page.click("#delete"); await page.click("#delete-yes"); await page.waitForSelector("#alert:visible");
  law("one that is gone meanwhile is told", (await text(page, "alert")).includes("cloth-05.png"), await text(page, "alert"));
  await shot(page, "error");
  law("no error in the script of the names", page.errors.length === 0, page.errors);
  child.kill("SIGTERM"); await ended(child);
}

async function phone() {
  const { url } = await serve(at("n.mem"), "--examples", at("photos"), "--read-only");
  const page = await open(url, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true, colorScheme: "dark", reducedMotion: "reduce" });
  await page.waitForSelector("#strip canvas"); await settled(page);
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  law("a narrow screen needs no sideways scrolling", await width() <= 320, await width());
  const bottom = await page.evaluate(() => document.getElementById("verdict").getBoundingClientRect().bottom);
  law("and has the verdict without scrolling", bottom < 640, bottom);
  const box = await (await page.$("#asked")).boundingBox();
  await page.click("#whole"); await settled(page);
  await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2); await settled(page);
  law("a finger covers", await page.evaluate(async () => (await import("./picture.js")).asked().some(v => v === null)));
  law("a server that only reads offers no writing", await page.isDisabled("#write") && await page.isHidden("#naming"));
  await open_(page, "details", "names", "map-box", "history-box", "forgetting", "fullness"); await page.waitForTimeout(300);
  law("nor does it with all panels open", await width() <= 320, await width());
  await shot(page, "phone"); await accessible(page, "narrow and dark");
}

async function guarded() {
  run("create", at("t.mem"), "--image", "8x8", "--hidden", "16", "-q");
  fs.writeFileSync(at("token"), "open-sesame\n");
  const { url } = await serve(at("t.mem"), "--token-file", at("token")), page = await open(url);
  await page.waitForSelector("#login:visible");
  law("a visitor is asked for the token, and greeted by no error", await page.isHidden("#alert"));
  await page.keyboard.type("wrong-token"); await page.keyboard.press("Enter");
  await page.waitForSelector("#alert:visible");
  law("a wrong one is told", (await text(page, "alert")).includes("token")); await shot(page, "token");
  await page.fill("#token", "open-sesame"); await page.keyboard.press("Enter");
  await page.waitForSelector("#play:visible");
  law("with the right one it goes on", await page.isHidden("#login") && await page.isHidden("#alert"));
  law("the token is not in the URL", !page.url().includes("sesame"));
}

async function vectors() {
  const rows = Array.from({ length: 10 }, (_, i) => Array.from({ length: 24 }, (_, j) => Math.sin(i * 7 + j * (1 + i % 3)).toFixed(3)));
  fs.writeFileSync(at("v.csv"), rows.map(r => r.join(",")).join("\n") + "\n");
  run("create", at("v.mem"), "--dim", "24", "--hidden", "32,32", "-q"); run("write", at("v.mem"), at("v.csv"), "-q");
  const { url } = await serve(at("v.mem")), page = await open(url);
  await page.waitForSelector("#form textarea");
  await page.fill("#c0", rows[3].map((v, j) => j < 12 ? v : "").join(", ")); await until(page, "g0", "12 of them filled in");
  const told = (await page.textContent("#g0 b")).split(", ").map(Number);
  law("the numbers that are missing of a vector come back", told.length === 24 && told.every((v, j) => Math.abs(v - rows[3][j]) < 0.05), told);
  await shot(page, "vectors"); await accessible(page, "vectors"); await page.emulateMedia({ colorScheme: "dark" }); await accessible(page, "vectors in the dark");
  await page.fill("#c0", rows[3].join(", ") + ", 1"); await until(page, "alert", "25 numbers instead of 24");
  await page.fill("#c0", "0.5 ? x"); await until(page, "alert", "'x' is not a number");
  law("too many numbers and words are told", true);
  law("no error in the script of the vector", page.errors.length === 0, page.errors);
}

async function empty() {
  run("create", at("e.mem"), "--image", "28x28", "-q");
  const { url } = await serve(at("e.mem")), page = await open(url);
  await until(page, "headline", "seen no picture yet");
  law("an empty memory says so and shows nothing", await page.isHidden("#strip") && await page.isHidden("#more"));
  await page.waitForFunction(() => document.getElementById("verdict").textContent !== "");
  law("and knows nothing", !(await text(page, "verdict")).startsWith("I know"), await text(page, "verdict"));
  await shot(page, "empty"); await accessible(page, "empty");
}

async function columns() {
  let csv = "age,job,income\n";
  for (let i = 0; i < 90; i++) csv += `${20 + i % 40},${["clerk", "baker", "pilot"][i % 3]},${1000 * (i % 3 + 1) + 10 * (i % 40)}\n`;
  fs.writeFileSync(at("t.csv"), csv);
  run("create", at("table.mem"), "--like", at("t.csv"), "-q"); run("write", at("table.mem"), at("t.csv"), "-q");
  const { url } = await serve(at("table.mem"), "--examples", at("t.csv")), page = await open(url);
  await page.waitForSelector("#form input"); await settled(page);
  law("a table begins with an example row", await page.inputValue("#c0") === "20", await page.inputValue("#c0"));
  await page.selectOption("#c1", { label: "pilot" }); await page.fill("#c0", "31"); await page.fill("#c2", "3110");
  law("a box that is shown gets no guess", await page.textContent("#g0") === "");
  await after(page, () => page.check("#h2")); await until(page, "g2", "guess");
  const said = await page.textContent("#g2"), value = parseFloat(said.replace(/.*guess /, ""));
  law("a hidden cell shows truth, guess and range", value > 2500 && value < 3800 && said.startsWith("truth 3110") && said.includes("9 of 10 times"), said);
  await shot(page, "columns"); await accessible(page, "columns"); await page.emulateMedia({ colorScheme: "dark" }); await shot(page, "columns-dark"); await accessible(page, "columns in the dark");
  await page.uncheck("#h2"); await after(page, () => page.fill("#c2", "1100")); await until(page, "row-verdict", "unusual");
  law("an odd row is told with the column to blame", (await page.textContent("#blame li")).startsWith("income 1100, expected 3"), await page.textContent("#blame"));
  await shot(page, "odd"); await page.fill("#c2", "3110"); await page.fill("#c0", "many"); await page.waitForSelector("#alert:visible");
  law("a word where a number belongs is told", (await text(page, "alert")).includes("age"), await text(page, "alert"));
  await page.fill("#c0", "31"); await page.waitForSelector("#alert", { state: "hidden" });
  await page.check("#h2"); await page.click("#write"); await until(page, "taught", "whole");
  law("the row is taught once", (await info(page)).writes === 91);
  law("no error in the script of the form", page.errors.length === 0, page.errors);
}

run("create", at("any.mem"), "--image", "28x28", "-q");
run("write", at("any.mem"), fashion, "--rows", "0:40", "-q");
for (const part of [pictures, names, phone, guarded, empty, vectors, columns]) try { await part(); } catch (e) { law(part.name + " does what it is told", false, e.message); }
await browser.close();
await Promise.all(servers.filter(s => s.exitCode === null).map(s => { const gone = ended(s); s.kill("SIGTERM"); return gone; }));
fs.rmSync(place, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
