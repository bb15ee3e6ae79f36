// An AG-UI server in Node: http, @ag-ui/core and @ag-ui/encoder, nothing else. It prints its port.
//
// A POST streams a run with a subagent, whatever the path is, compressed and in the binary encoding where the client takes that. With `?stop` it
// stops in its middle until somebody asks for /go-on. GET /journal tells, in JSON, how its runs ended and how many connections
// were opened.
import { EventType } from "@ag-ui/core";
import { EventEncoder } from "@ag-ui/encoder";
import { once } from "node:events";
import { createServer } from "node:http";
import { constants, createGzip } from "node:zlib";

const SUBAGENT = { subagentRunId: "rome" };

function* run({ threadId, runId }) {
  yield { type: EventType.RUN_STARTED, threadId, runId };
  yield { type: EventType.SUBAGENT_STARTED, ...SUBAGENT, name: "researcher" };
  yield { type: EventType.TEXT_MESSAGE_START, ...SUBAGENT, messageId: "finding", role: "assistant" };
  yield { type: EventType.TEXT_MESSAGE_CONTENT, ...SUBAGENT, messageId: "finding", delta: "Founded in 753 BC." };
  yield null; // where it may have to stop
  yield { type: EventType.TEXT_MESSAGE_END, ...SUBAGENT, messageId: "finding" };
  yield { type: EventType.SUBAGENT_FINISHED, ...SUBAGENT };
  yield { type: EventType.TEXT_MESSAGE_START, messageId: "answer", role: "assistant" };
  yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId: "answer", delta: "Rome is the older one." };
  yield { type: EventType.TEXT_MESSAGE_END, messageId: "answer" };
  yield { type: EventType.RUN_FINISHED, threadId, runId };
}

const ends = [];
let connections = 0;
let goOn;

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString() || "{}");
}

async function serve(request, response) {
  const { searchParams } = new URL(request.url, "http://localhost");
  const { threadId = "thread", runId = "run" } = await body(request);
  const encoder = new EventEncoder({ accept: request.headers.accept });
  response.on("close", () => ends.push(response.writableEnded ? "finished" : "the client left"));
  const headers = { "content-type": encoder.getContentType(), "cache-control": "no-cache" };
  let out = response;
  if (/gzip/.test(request.headers["accept-encoding"])) {
    headers["content-encoding"] = "gzip";
    out = createGzip({ flush: constants.Z_SYNC_FLUSH });
    out.pipe(response);
  }
  response.writeHead(200, headers);
  for (const event of run({ threadId, runId })) {
    if (event) out.write(encoder.encodeBinary(event));
    else if (searchParams.has("stop")) await new Promise((resolve) => { goOn = resolve; });
  }
  out.end();
}

const server = createServer((request, response) => {
  if (request.method === "POST") serve(request, response);
  else if (request.url === "/go-on") response.end(String(goOn()));
  else response.end(JSON.stringify({ ends, connections }));
});
server.on("connection", () => connections++);
server.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(server.address().port);
