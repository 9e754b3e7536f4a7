// What all parts share: the state, requests to the server, and errors shown to the user.

export const $ = id => document.getElementById(id);

// What the parts share. `image` and `others` are columns of the memory: the picture, and all the rest.
export const state = { info: null, image: null, others: [], base: "", answer: null, busy: false, taught: null };
window.bayespcn = state; // for the tests, and for the curious

// ---- the server

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

let token = sessionStorage.getItem("token") || "";
export const hasToken = () => token !== "";
export function setToken(text) {
  token = text;
  sessionStorage.setItem("token", text);
}

export async function ask(path, body) {
  const headers = {};
  if (token) headers.Authorization = "Bearer " + token;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(state.base + path, { method: body === undefined ? "GET" : "POST", headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Refused(-1, "The server does not answer.");
  }
  if (answer.ok) return answer.json();
  let problem;
  try { problem = await answer.json(); } catch { problem = { detail: "The server answered with status " + answer.status + "." }; }
  throw new Refused(answer.status, (problem.where ? problem.where + ": " : "") + problem.detail);
}

// Shows an error; alertFor(null, from) takes back one that came from the same place, or from a server that was silent.
let alerted = "";
export function alertFor(error, from = "") {
  if (!error && from && alerted !== from && alerted !== "silent") return;
  alerted = !error ? "" : error.status === -1 ? "silent" : from;
  const greets = error && error.status === 401 && !token; // the first visit: the form says it
  if (error && error.status === 401) { $("login").hidden = false; $("token").focus(); }
  $("alert").hidden = !error || greets;
  $("alert").textContent = error && !greets ? error.message : "";
  if (error && !(error instanceof Refused)) throw error;
}

// Runs what a button does; what goes wrong is shown.
export const guarded = action => async (...args) => {
  try { await action(...args); alertFor(null); } catch (e) { alertFor(e); }
};
