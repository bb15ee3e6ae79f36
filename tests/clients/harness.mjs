// Reads event streams with one published release of @ag-ui/client, through its real HttpAgent.
//
//     node harness.mjs RELEASE [TIMEOUT_MS]
//
// One JSON line in on stdin is one run:
//     {"id", "stream": base64 of the response body, "messages"?, "state"?, "chunks"?, "stalled"?, "threadId"?, "runId"?}
//     {"id", "url", ...}: the same, answered by the server at that address instead of by `stream`
//     {"id", ..., "parameters": {"forwardedProps"?, "resume"?}}: what the application starts the run with
// One JSON line out on stdout is its end, in the order the runs came in:
//     {"id", "accepted", "error", "messages", "state", "runError", "result", "interrupts", "asked", "posted"}
//
// `chunks` are the sizes of the reads the client gets, the last one repeated; without it the body is one read.
// `stalled` leaves the connection open behind the last byte. `posted` is the body of the request, as text. `asked` are the
// values of the CUSTOM events `on_interrupt`, as an application gets them.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [release, timeoutMs = "10000"] = process.argv.slice(2);

// Warnings about the stream go to the console, up to one an event; stdout carries answers only.
process.env.SUPPRESS_TRANSFORMATION_WARNINGS = "1";
for (const method of ["debug", "error", "info", "log", "trace", "warn"]) console[method] = () => {};

// RxJS throws what no subscriber took from a timer, and the releases leave rejected promises behind: both come on
// top of the rejection that `runAgent` reports, and neither may end a process that has more runs to serve.
process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});

// The CommonJS build: releases without an `exports` map give Node's `import` nothing else.
const { HttpAgent } = createRequire(import.meta.url)(`ag-ui-client-${release}`);

const fetchOverNetwork = globalThis.fetch;

function* cut(bytes, sizes = [bytes.length]) {
  for (let start = 0, i = 0; start < bytes.length; i++) {
    const size = Math.max(1, sizes[Math.min(i, sizes.length - 1)]);
    yield bytes.subarray(start, start + size);
    start += size;
  }
}

function response({ stream, chunks, stalled }) {
  const reads = cut(Uint8Array.from(Buffer.from(stream, "base64")), chunks);
  const body = new ReadableStream({
    pull(controller) {
      const { value, done } = reads.next();
      if (!done) controller.enqueue(value);
      else if (!stalled) controller.close();
      else return new Promise(() => {});
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

function deadline() {
  let timer;
  const expired = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timeout: not finished after ${timeoutMs} ms`)), Number(timeoutMs));
  });
  return { expired, clear: () => clearTimeout(timer) };
}

async function run({ id, messages = [], state = {}, threadId = "t", runId = "r", parameters = {}, ...answer }) {
  let posted = null;
  globalThis.fetch = async (_, request) => {
    posted = String(request.body);
    if (!answer.url) return response(answer);
    const headers = { ...request.headers, "x-ag-ui-client-version": release };
    return fetchOverNetwork(answer.url, { ...request, headers });
  };
  const agent = new HttpAgent({ url: "http://agent.invalid/", threadId, initialMessages: messages, initialState: state });
  const end = { id, accepted: false, error: null, runError: null, result: null, asked: [] };
  // Ignored by releases up to 0.0.30, which have no subscribers and let a RUN_ERROR pass without a word.
  const subscriber = {
    onRunErrorEvent({ event }) {
      end.runError = { message: event.message ?? null, code: event.code ?? null };
    },
    onCustomEvent({ event }) {
      if (event.name === "on_interrupt") end.asked.push(event.value ?? null);
    },
  };
  const { expired, clear } = deadline();
  try {
    const outcome = await Promise.race([agent.runAgent({ runId, ...parameters }, subscriber), expired]);
    end.accepted = true;
    end.result = outcome?.result ?? null;
  } catch (error) {
    end.error = String(error?.message ?? error);
    agent.abortRun();
  } finally {
    clear();
  }
  return { ...end, messages: agent.messages, state: agent.state ?? null, interrupts: agent.pendingInterrupts ?? [], posted };
}

async function answer(line) {
  const request = JSON.parse(line);
  try {
    return JSON.stringify(await run(request));
  } catch (error) {
    return JSON.stringify({ id: request.id, failure: String(error?.stack ?? error) });
  }
}

// One run at a time, since the stubbed `fetch` is the process's own.
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(`${await answer(line)}\n`);
}
process.exit(0);
