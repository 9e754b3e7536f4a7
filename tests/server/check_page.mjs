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
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 1300 }, ...options }), page = await context.newPage();
  page.strangers = []; page.errors = [];
  page.on("request", r => { if (!r.url().startsWith(url) && !r.url().startsWith("data:")) page.strangers.push(r.url()); });
  page.on("pageerror", e => page.errors.push(e.message));
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
const settled = page => page.waitForFunction(() => !busy && !again && recalled !== null);
const after = async (page, change) => { await change(); await page.waitForTimeout(0); await settled(page); };
const error = page => page.evaluate(() => recalled.reduce((s, v, i) => s + (v - truth[i]) ** 2, 0) / truth.length);
const slide = (page, id, value) => page.$eval("#" + id, (e, v) => { e.value = v; e.dispatchEvent(new Event("input")); }, value);

async function pictures() {
  run("create", at("p.mem"), "--image", "28x28", "-q");
  run("write", at("p.mem"), fashion, "--rows", "0:64", "-q");
  const { url, child } = await serve(at("p.mem"), "--examples", fashion), page = await open(url);
  await page.waitForSelector("#strip button"); await settled(page);
  await after(page, () => page.click("[data-hide=right]"));
  law("half a picture comes back whole", await error(page) < 1e-3, await error(page));
  const pixels = await page.evaluate(() => ["truth", "recalled"].map(id => Array.from($(id).getContext("2d").getImageData(0, 0, 224, 224).data)));
  law("pixel by pixel", pixels[0].every((v, i) => Math.abs(v - pixels[1][i]) <= 8));
  law("and is known", await page.textContent("#verdict") === "known", await page.textContent("#verdict"));
  const fell = await page.evaluate(() => [$("descent-text").textContent, $("energy").textContent, $("evaluations").textContent, document.querySelectorAll("#descent polyline:not(.lowest)").length]);
  law("the energy's descent is drawn, down to the energy of the answer", fell[0].includes(` to ${(+fell[1]).toFixed(0)} (the dot) in ${fell[2]} `) && fell[3] === fell[2] - 1, fell);
  await shot(page, "pictures"); await accessible(page, "pictures");
  await after(page, () => page.click("#whole"));
  const box = await (await page.$("#asked")).boundingBox();
  await page.mouse.move(box.x + box.width / 3, box.y + box.height / 3); await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 8 }); await page.mouse.up(); await settled(page);
  const holes = await page.evaluate(() => drawn.filter(v => v === null).length);
  law("the mouse erases", holes > 10 && holes < 200, holes);
  law("and the memory fills it in", await error(page) < 1e-3, await error(page));
  await after(page, () => page.click("#whole"));
  await after(page, () => slide(page, "noise", 0.2));
  const noisy = await page.evaluate(() => asked.reduce((s, v, i) => s + (v - truth[i]) ** 2, 0) / truth.length);
  law("noise is taken away", noisy > 0.1 && await error(page) < noisy / 5, [noisy, await error(page)]);
  await after(page, () => slide(page, "noise", 0));
  await after(page, () => page.click("[data-hide=bottom]"));
  const before = await error(page);
  await after(page, () => slide(page, "beta", 0.9));
  law("to fade shows", await error(page) > 10 * before + 0.001, [before, await error(page)]);
  await shot(page, "faded");
  await after(page, () => page.click("#undo"));
  law("undo brings it back", Math.abs(await error(page) - before) < 1e-6);
  law("nothing was forgotten", await page.evaluate(async () => (await ask("/v1/info")).forgets) === 0);
  await page.click("#blank"); await page.waitForFunction(() => document.activeElement.id === "asked");
  for (const key of ["ArrowLeft", " ", "ArrowLeft", " ", "ArrowUp", " "]) await page.keyboard.press(key);
  law("one draws by keyboard alone", await page.evaluate(() => drawn.filter(v => v === 1).length) > 8);
  await settled(page);
  await page.click("#write"); await page.waitForFunction(() => $("done").textContent.startsWith("Written"));
  law("it is written once", await page.evaluate(() => info.writes) === 65, await page.evaluate(() => info.writes));
  await page.check("[name=strip][value=own]");
  law("and shown as written here", await page.locator("#strip button").count() === 1);
  await page.check("[name=strip][value=samples]"); await page.waitForFunction(() => $("strip").children.length === 16);
  await slide(page, "beta", 0.5); await page.click("#forget"); await page.click("#no");
  law("not sure is not forgotten", await page.evaluate(async () => (await ask("/v1/info")).forgets) === 0);
  await page.click("#forget"); await page.click("#yes"); await page.waitForFunction(() => $("done").textContent.includes("faded"));
  law("sure is", await page.evaluate(() => info.forgets) === 1);
  await page.setInputFiles("#file", { name: "x.txt", mimeType: "image/png", buffer: Buffer.from("no picture") });
  await page.waitForSelector("#trouble:visible");
  law("what is no picture is told", (await page.textContent("#trouble")).includes("not a picture"));
  child.kill("SIGTERM"); await new Promise(done => child.once("exit", done));
  await page.click("#more"); await page.waitForFunction(() => $("trouble").textContent.includes("does not answer"));
  law("a server that is gone is told", true);
  law("no request went elsewhere", page.strangers.length === 0, page.strangers);
  law("no error in the script", page.errors.length === 0, page.errors);
}

async function names() {
  fs.mkdirSync(at("photos"));
  for (const i of [1, 5, 9]) run("read", at("p.mem"), fashion, "--rows", `${i}:${i + 1}`, "-o", at(`photos/cloth-${i}.png`), "-q");
  const long = "a photograph with a name that is longer than a memory keeps it, \u00e9.png";
  run("create", at("n.mem"), "--image", "28x28", "-q"); run("write", at("n.mem"), at("photos/cloth-1.png"), at("photos/cloth-5.png"), "-q");
  const { url, child } = await serve(at("n.mem"), "--examples", at("photos")), page = await open(url);
  const listed = () => page.$$eval("#list option", all => all.map(o => o.value));
  await page.waitForSelector("#strip button"); await settled(page);
  law("the names that it holds are listed, the latest first", (await listed()).join() === "cloth-5.png,cloth-1.png", await listed());
  await after(page, () => page.click("[aria-label='Take cloth-5.png']"));
  await after(page, () => page.click("[data-hide=bottom]"));
  law("the recalled picture says whose it is", await page.textContent("#recalled-name") === "cloth-5.png", await page.textContent("#recalled-name"));
  await after(page, () => page.click("[aria-label='Take cloth-9.png']"));
  law("and one that is new does not", await page.textContent("#recalled-name") === "" && await page.textContent("#verdict") === "new");
  await page.setInputFiles("#file", { name: long, mimeType: "image/png", buffer: fs.readFileSync(at("photos/cloth-9.png")) });
  await page.waitForFunction(() => $("name").value !== "cloth-9.png"); await settled(page);
  const name = await page.inputValue("#name");
  law("a file brings its name, cut to what is kept", name.startsWith("...") && long.endsWith(name.slice(3)) && Buffer.byteLength(name) === 63, name);
  await page.click("#write"); await page.waitForFunction(() => $("done").textContent.includes("is written"));
  law("it is written with it", (await listed())[0] === name && await page.textContent("#recalled-name") === name, await listed());
  law("three rows are too few to say how typical one is", await page.textContent("#typicality") === "–", await page.textContent("#typicality"));
  await shot(page, "names"); await accessible(page, "names");
  await page.click("#blank"); law("a blank picture has no name", await page.inputValue("#name") === "");
  await after(page, () => page.click("#whole"));
  const met = await page.evaluate(() => [$("descent-text").textContent, (+$("energy").textContent).toFixed(0)]);
  law("of what is new the energy of the answer is told, not of where the search ended", met[0].includes(` to ${met[1]} (the dot)`), met);
  await page.evaluate(() => { for (let k = 0; k < 7; k++) listed.push({ name: "more " + k }); narrow(); });
  await page.fill("#find", "CLOTH-1"); law("one is found among them", (await listed()).join() === "cloth-1.png", await listed());
  await page.focus("#list"); await page.keyboard.press("ArrowDown"); await page.click("#delete"); await page.click("#delete-no");
  law("not sure is not deleted", await page.evaluate(async () => (await ask("/v1/info")).deletes) === 0);
  await page.click("#delete"); await shot(page, "delete"); await page.keyboard.press("Enter"); await page.waitForFunction(() => $("deleted").textContent.includes("is deleted"));
  await page.fill("#find", "");
  law("sure is, and by keyboard", (await listed()).join() === name + ",cloth-5.png" && await page.evaluate(() => info.deletes) === 1, await listed());
  await page.evaluate(() => ask("/v1/delete", { names: ["cloth-5.png"] }));
  await page.selectOption("#list", "cloth-5.png"); await page.click("#delete"); await page.click("#delete-yes"); await page.waitForSelector("#trouble:visible");
  law("one that is gone meanwhile is told", (await page.textContent("#trouble")).includes("no row named 'cloth-5.png' is kept"), await page.textContent("#trouble"));
  await shot(page, "error");
  law("no error in the script of the names", page.errors.length === 0, page.errors);
  child.kill("SIGTERM"); await new Promise(done => child.once("exit", done));
}

async function phone() {
  const { url } = await serve(at("p.mem"), "--examples", fashion, "--read-only");
  const page = await open(url, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme: "dark" });
  await page.waitForSelector("#strip button"); await settled(page);
  law("a narrow screen needs no sideways scrolling", await page.evaluate(() => document.documentElement.scrollWidth <= 360),
    await page.evaluate(() => document.documentElement.scrollWidth));
  const box = await (await page.$("#asked")).boundingBox();
  await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2); await settled(page);
  law("a finger erases", await page.evaluate(() => drawn.some(v => v === null)));
  law("a server that only reads offers no writing", await page.isDisabled("#write"));
  await shot(page, "phone"); await accessible(page, "narrow and dark");
  const named = await serve(at("n.mem"), "--examples", at("photos")), other = await open(named.url, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  await other.waitForSelector("#strip button"); await settled(other); await shot(other, "phone-names"); await accessible(other, "narrow with names");
  law("nor does it with names", await other.evaluate(() => document.documentElement.scrollWidth <= 360), await other.evaluate(() => document.documentElement.scrollWidth));
}

async function guarded() {
  run("create", at("t.mem"), "--image", "8x8", "--hidden", "16", "-q");
  fs.writeFileSync(at("token"), "open-sesame\n");
  const { url } = await serve(at("t.mem"), "--token-file", at("token")), page = await open(url);
  await page.waitForSelector("#login:visible");
  law("without a token the page asks for it", (await page.textContent("#trouble")).includes("token"));
  await page.keyboard.type("wrong-token"); await page.keyboard.press("Enter");
  await page.waitForFunction(() => $("trouble").textContent.includes("not one that"));
  law("a wrong one is told", true); await shot(page, "token");
  await page.fill("#token", "open-sesame"); await page.keyboard.press("Enter");
  await page.waitForSelector("#take:visible");
  law("with the right one it goes on", await page.isHidden("#login") && await page.isHidden("#trouble"));
}

async function vectors() {
  const rows = Array.from({ length: 10 }, (_, i) => Array.from({ length: 24 }, (_, j) => Math.sin(i * 7 + j * (1 + i % 3)).toFixed(3)));
  fs.writeFileSync(at("v.csv"), rows.map(r => r.join(",")).join("\n") + "\n");
  run("create", at("v.mem"), "--dim", "24", "--hidden", "32,32", "-q"); run("write", at("v.mem"), at("v.csv"), "-q");
  const { url } = await serve(at("v.mem")), page = await open(url);
  await page.waitForSelector("#form textarea");
  await page.fill("#c0", rows[3].map((v, j) => j < 12 ? v : "").join(", ")); await page.waitForFunction(() => $("g0").textContent.includes("filled in"));
  const told = (await page.textContent("#g0 b")).split(", ").map(Number);
  law("the numbers that are missing of a vector come back", told.length === 24 && told.every((v, j) => Math.abs(v - rows[3][j]) < 0.05), told);
  await shot(page, "vectors"); await accessible(page, "vectors"); await page.emulateMedia({ colorScheme: "dark" }); await shot(page, "vectors-dark"); await accessible(page, "vectors in the dark");
  await page.fill("#c0", rows[3].join(", ") + ", 1"); await page.waitForFunction(() => $("trouble").textContent.includes("25 numbers instead of 24"));
  await page.fill("#c0", "0.5 ? x"); await page.waitForFunction(() => $("trouble").textContent.includes("'x' is not a number"));
  law("too many numbers and words are told", true);
  law("no error in the script of the vector", page.errors.length === 0, page.errors);
}

async function empty() {
  run("create", at("e.mem"), "--image", "28x28", "-q");
  const { url } = await serve(at("e.mem")), page = await open(url);
  await page.waitForFunction(() => $("strip-note").textContent.includes("empty"));
  law("an empty memory says so and shows nothing", await page.isHidden("#strip") && await page.isHidden("#more") && await page.isHidden("#descent"));
  await shot(page, "empty"); await accessible(page, "empty");
  await page.click("#blank"); await settled(page);
  law("what it recalls looks unknown", await page.getAttribute("#recalled", "class") === "unknown");
}

async function columns() {
  let text = "age,job,income\n";
  for (let i = 0; i < 90; i++) text += `${20 + i % 40},${["clerk", "baker", "pilot"][i % 3]},${1000 * (i % 3 + 1) + 10 * (i % 40)}\n`;
  fs.writeFileSync(at("t.csv"), text);
  run("create", at("table.mem"), "--like", at("t.csv"), "-q"); run("write", at("table.mem"), at("t.csv"), "-q");
  const { url } = await serve(at("table.mem")), page = await open(url);
  await page.waitForSelector("#form input");
  await page.selectOption("#c1", { label: "pilot" }); await page.fill("#c0", "31");
  await page.waitForFunction(() => !busy && !again && $("g2").textContent.includes("probably"));
  const guess = await page.textContent("#g2"), value = parseFloat(guess.replace("probably ", ""));
  law("an empty box is filled in with how far it may be off", value > 2500 && value < 3800 && guess.includes("±"), guess);
  law("a box that is filled gets no guess", await page.textContent("#g0") === "");
  await page.waitForFunction(() => $("typicality").textContent !== "–");
  await shot(page, "columns"); await accessible(page, "columns"); await page.emulateMedia({ colorScheme: "dark" }); await shot(page, "columns-dark"); await accessible(page, "columns in the dark");
  await page.fill("#c0", "many"); await page.waitForSelector("#trouble:visible");
  law("a word where a number belongs is told", (await page.textContent("#trouble")).includes("not a number"));
  await page.fill("#c0", "31"); await page.waitForSelector("#trouble", { state: "hidden" });
  await page.click("#write-row"); await page.waitForFunction(() => info.writes === 91);
  law("the row is written, gap and all", true);
  law("no error in the script of the form", page.errors.length === 0, page.errors);
}

try { await pictures(); await names(); await phone(); await guarded(); await empty(); await vectors(); await columns(); } catch (e) { law("the page does what it is told", false, e.message); }
await browser.close();
for (const s of servers) s.kill("SIGTERM");
fs.rmSync(place, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
