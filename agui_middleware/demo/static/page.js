// The page: its form, one run at a time, and where the records of a run are shown.
import { Conversation } from "./chat.js";
import { element } from "./differences.js";
import { parse } from "./json.js";
import { Table } from "./table.js";

const BATCH = 150; // rows per animation frame: with more the page stutters
const SUBAGENTS = { auto: "auto: all that it can read", attributed: "attributed", inline: "inline: as the parent's", hidden: "hidden" };

const $ = (id) => document.getElementById(id);
const form = $("controls");
let maxBytes = Infinity;
let dropped = null; // a file, not put into the text field, which would normalize its line ends
let running = null;

/** One run, from its first record to its last. */
class Run {
  #waiting = [];
  #frame = null;
  #sent = [];
  #fates = new Map(); // by number
  #received = 0;
  #used = new Map();
  #plan;
  #table;
  #wrapped;
  #rejection = null;
  abort = new AbortController();

  async start(query, recording) {
    $("status").textContent = "Running.";
    for await (const record of records(query, recording, this.abort.signal)) {
      if (record.summary !== undefined) this.#begin(record);
      else if (record.progress) progress(record.progress);
      else this.#waiting.push(record);
      this.#frame ??= requestAnimationFrame(() => this.#show());
    }
    while (this.#frame !== null) await new Promise(requestAnimationFrame);
    this.abort.signal.throwIfAborted();
    this.#end();
  }

  #begin(plan) {
    this.#plan = plan;
    this.#table = new Table({ ...plan, client: name(plan.client) });
    this.#wrapped = new Conversation($("wrapped"), new Set(Object.keys(plan.reasons)));
    for (const label of document.querySelectorAll("[data-client]")) label.textContent = name(plan.client);
    $("bare-title").textContent = `${name(plan.client)}, without the middleware`;
    $("wrapped-title").textContent = `${name(plan.client)}, with the middleware`;
    $("bare").replaceChildren(element("p", { class: "quiet" }, "Reading."));
    $("empty").hidden = true;
    $("summary").hidden = true;
    $("turn").hidden = true;
  }

  #show() {
    this.#frame = null;
    if (this.abort.signal.aborted) return; // the table shows another run by now
    const batch = this.#waiting.splice(0, BATCH);
    let rows = [];
    for (const record of batch) {
      if (record.outputs) rows.push(this.#take(record));
      else {
        this.#table.append(rows);
        rows = [];
        if (record.rejection) this.#reject(record.rejection);
        if (record.turn) showTurn(record.turn);
        if (record.losses) this.#lose(record.losses);
      }
    }
    this.#table.append(rows);
    this.#wrapped.render();
    if (this.#waiting.length > 0) this.#frame = requestAnimationFrame(() => this.#show());
  }

  #take(record) {
    if (record.n !== null) this.#fates.set(record.n, record.fate);
    for (const n of record.released) this.#fates.set(n, "held");
    this.#received += record.outputs.length;
    if (record.input !== null && this.#rejection === null) this.#sent.push(record.input);
    for (const reason of record.reasons) this.#used.set(reason, (this.#used.get(reason) ?? 0) + 1);
    for (const output of record.outputs) {
      const event = parse(output);
      if (event !== null) this.#wrapped.take(event);
    }
    return record;
  }

  #reject(rejection) {
    this.#rejection = rejection;
    this.#table.reject(rejection);
    const shown = element("div", { class: "chat" });
    const bare = new Conversation(shown, new Set(Object.keys(this.#plan.reasons)));
    for (const text of this.#sent.slice(0, rejection.n - 1)) {
      const event = parse(text);
      if (event !== null) bare.take(event);
    }
    bare.render();
    $("bare").replaceChildren(shown, obituary(this.#plan.client, rejection));
  }

  #lose(losses) {
    $("losses").hidden = losses.length === 0;
    $("lost").replaceChildren(
      ...losses.map(({ feature, why, since }) => element("li", {}, element("b", {}, feature), `: ${why}`, since === null ? "" : ` (${since} and newer keep it)`)),
    );
  }

  #end() {
    const client = name(this.#plan.client);
    const rows = [...this.#used].map(([reason, count]) => ({ ...this.#plan.reasons[reason], count }));
    if (this.#rejection === null) $("bare").replaceChildren(...survived(client, rows));
    $("summary").hidden = rows.length === 0;
    $("reasons").replaceChildren(...rows.flatMap(explained));
    $("status").textContent = `Finished. ${this.#told(client)}`;
  }

  #told(client) {
    const parts = [
      [this.#count("same"), "unchanged"],
      [this.#count("changed", "replaced"), "changed"],
      [this.#count("dropped", "silent"), "not sent"],
      [this.#count("held"), "held back for a while"],
    ];
    const told = parts.filter(([count]) => count > 0).map(([count, words]) => `${count} ${words}`);
    const end = this.#rejection === null ? "" : ` Without the middleware it rejects the run at event ${this.#rejection.n}.`;
    return `The agent sent ${this.#fates.size} events, ${client} received ${this.#received}: ${told.join(", ")}.${end}`;
  }

  #count(...fates) {
    return [...this.#fates.values()].filter((fate) => fates.includes(fate)).length;
  }
}

function name(client) {
  return client === "current" ? "A current client" : client;
}

function showTurn({ posted, given, restored, answer }) {
  const text = (json, marked) => element(marked ? "mark" : "code", {}, json);
  const item = (message, marked) => element("li", {}, text(message, marked));
  $("posted").replaceChildren(...posted.map((message) => item(message, false)));
  $("given").replaceChildren(...given.map((message, place) => item(message, restored.includes(place))));
  for (const id of ["answering", "posted-answer", "given-answer"]) $(id).hidden = answer === null;
  if (answer !== null) {
    $("posted-answer").replaceChildren(element("h4", {}, "Its answer"), text(answer.posted, false));
    $("given-answer").replaceChildren(element("h4", {}, "The answer"), text(answer.given, answer.given !== answer.posted));
  }
  $("turn").hidden = false;
}

function obituary(client, { n, type, why, since, message }) {
  const box = element("div", { class: "obituary" }, element("p", {}, element("b", {}, `${client.includes("@") ? client : `@ag-ui/client ${client}`} rejects the run at event ${n}${type && `, ${type}`}.`)));
  if (message !== null) box.append(element("pre", {}, message));
  box.append(element("p", {}, `It ${why}.${since === null ? "" : ` ${since} and newer read it.`}`));
  return box;
}

function survived(client, rows) {
  const differing = rows.filter(({ name }) => name !== "visibility");
  if (differing.length === 0) return [element("p", { class: "quiet" }, `${client} reads this run as it is sent.`)];
  const list = element("ul", {}, ...differing.map(({ why }) => element("li", {}, why)));
  return [element("p", { class: "quiet" }, `${client} does not reject this run. It is changed nevertheless, because:`), list];
}

function explained({ name, why, since, count }) {
  const kept = since === null ? "" : ` Read from ${since} on.`;
  return [element("dt", {}, name, element("span", { class: "count" }, ` ${count} ${count === 1 ? "event" : "events"}`)), element("dd", {}, `${why}${kept}`)];
}

/** Show how much of a recording was read. When all was, the bar is indeterminate: the check takes an unknown time. */
function progress(state) {
  const bar = $("progress");
  bar.hidden = state === null;
  if (state === null || state.read === state.of) return bar.removeAttribute("value");
  bar.max = state.of;
  bar.value = state.read;
}

function fail(message) {
  $("error").textContent = message;
  $("error").hidden = message === "";
}

function chosen() {
  return new FormData(form);
}

function recordingGiven() {
  if (chosen().get("source") !== "recording") return null;
  const given = dropped ?? new Blob([$("text").value]);
  if (given.size > maxBytes) throw new Error(`The recording is larger than ${maxBytes / 2 ** 20} MiB. \`agui-middleware rewrite\` takes any size.`);
  return given;
}

async function run() {
  running?.abort.abort();
  fail("");
  const query = new URLSearchParams({ client: chosen().get("client"), visibility: chosen().get("visibility") });
  if (chosen().get("source") === "paused") query.set("source", "paused");
  const current = (running = new Run());
  $("stop").disabled = false;
  progress(null);
  try {
    await current.start(query, recordingGiven());
  } catch (error) {
    if (error.name === "AbortError") {
      if (running === current) $("status").textContent = "Stopped.";
    } else {
      $("status").textContent = "Failed.";
      fail(error instanceof TypeError ? "The demo's server cannot be reached. Is it still running?" : error.message);
    }
  }
  if (running !== current) return;
  $("stop").disabled = true;
  progress(null);
}

function choose() {
  const recorded = chosen().get("source") === "recording";
  $("recording").hidden = !recorded;
  const release = chosen().get("client");
  const header = release === "current" ? "" : ` \\\n  -H 'x-ag-ui-client-version: ${release}'`;
  $("curl").textContent = `curl -sN ${location.origin}/agent${header} \\\n  -H 'content-type: application/json' \\\n  -d '{"threadId": "t", "runId": "r", "messages": []}'`;
}

function take(file) {
  dropped = file;
  form.elements.source.value = "recording";
  choose();
  $("text").value = "";
  $("text").placeholder = `${file.name}, ${file.size.toLocaleString("en")} bytes`;
  run();
}

async function prepare() {
  const options = await (await fetch("options")).json();
  maxBytes = options.maxBytes;
  $("client").append(...options.clients.map((client) => new Option(client === "current" ? "current: reads everything" : client, client)));
  $("visibility").append(...options.visibilities.map((visibility) => new Option(SUBAGENTS[visibility], visibility)));
  const wanted = new URLSearchParams(location.search);
  $("client").value = options.clients.includes(wanted.get("client")) ? wanted.get("client") : "0.0.58";
  $("visibility").value = options.visibilities.includes(wanted.get("visibility")) ? wanted.get("visibility") : "auto";
  choose();
  $("run").disabled = false;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
form.addEventListener("change", choose);
$("stop").addEventListener("click", () => running?.abort.abort());
$("text").addEventListener("input", () => (dropped = null));
$("file").addEventListener("change", ({ target }) => target.files[0] && take(target.files[0]));
$("changes-only").addEventListener("change", ({ target }) => $("pairs").classList.toggle("changes-only", target.checked));
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files.length > 0) take(event.dataTransfer.files[0]);
});

/**
 * Yield the records of a trace as they arrive: Server-Sent Events with LF and one line of JSON each. Throws an Error with a
 * readable message if the server refuses the request or breaks off.
 */
async function* records(query, recording, signal) {
  const headers = { "content-type": recording === null ? "application/json" : "text/plain" };
  const response = await fetch(`trace?${query}`, { method: "POST", headers, body: recording ?? "{}", signal });
  if (!response.ok) throw new Error((await response.json()).error);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) yield JSON.parse(frame.slice("data: ".length));
  }
}

prepare().catch((error) => fail(`The page could not be prepared: ${error.message}`));
