// Reads event streams with one published release of TanStack's @tanstack/ai-client, through its real ChatClient.
//
//     node harness.mjs RELEASE [TIMEOUT_MS]
//
// One JSON line in on stdin is one conversation:
//     {"id", "streams": [base64 of the response to each of the user's messages], "deletes": [ids of messages]}
// The user deletes these behind the first response.
// One JSON line out on stdout is its end, in the order the conversations came in:
//     {"id", "error", "messages", "posted": [the body of each request]}
import { createInterface } from "node:readline";

const [release, timeoutMs = "10000"] = process.argv.slice(2);
for (const method of ["debug", "error", "info", "log", "trace", "warn"]) console[method] = () => {};
// The devtools' channel of some releases leaves rejected promises behind, and none may end a process that has more to serve.
process.on("unhandledRejection", () => {});

const { ChatClient, fetchServerSentEvents } = await import(`tanstack-${release}`);

const ANSWER = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "TEXT_MESSAGE_START", messageId: "harness-answer", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "harness-answer", delta: "done" },
  { type: "TEXT_MESSAGE_END", messageId: "harness-answer" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

async function converse({ id, streams, deletes }) {
  const posted = [];
  const left = streams.map((stream) => Buffer.from(stream, "base64"));
  // Behind a tool call that has its result the client asks by itself for the next run: it gets one with a text,
  // as an agent gives it: behind an empty one, 0.7.14 and 0.23.2 ask again without end.
  let awaited = null;
  const fetchClient = async (_, { body }) => {
    posted.push(JSON.parse(body));
    const stream = awaited ?? Buffer.from(ANSWER);
    awaited = null;
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  };
  const client = new ChatClient({ connection: fetchServerSentEvents("http://agent.invalid/", { fetchClient }) });
  let error = null;
  for (const stream of left) {
    awaited = stream;
    await Promise.race([client.sendMessage(`message ${posted.length}`), expired()]);
    error ??= client.getError()?.message ?? null;
    if (stream === left[0]) {
      client.setMessagesManually(client.getMessages().filter((message) => !deletes.includes(message.id)));
    }
  }
  return { id, error, messages: client.getMessages(), posted };
}

function expired() {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`timeout: not finished after ${timeoutMs} ms`)), Number(timeoutMs)).unref();
  });
}

async function answer(line) {
  const request = JSON.parse(line);
  try {
    return JSON.stringify(await converse(request));
  } catch (error) {
    return JSON.stringify({ id: request.id, error: String(error?.stack ?? error), messages: [], posted: [] });
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(`${await answer(line)}\n`);
}
process.exit(0);
