// Reads event streams with one published release of CopilotKit's core, through the @ag-ui/client that it depends on.
//
//     node harness.mjs RELEASE
//
// One JSON line in on stdin is one conversation:
//     {"streams": [base64 of the response to each of the user's messages]}
// One JSON line out on stdout is its end, in the order the conversations came in:
//     {"client": the release of @ag-ui/client, "errors": [text, ...], "messages", "posted": [the body of each request]}
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [release] = process.argv.slice(2);
process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
for (const method of ["debug", "error", "info", "log", "trace", "warn"]) console[method] = () => {};

const core = `copilotkit-core-${release}`;
const bundled = createRequire(createRequire(import.meta.url).resolve(`${core}/package.json`));
const { HttpAgent } = bundled("@ag-ui/client");
const { CopilotKitCore } = await import(core);

async function converse({ streams }) {
  const posted = [];
  const errors = [];
  globalThis.fetch = async (_, { body }) => {
    const stream = Buffer.from(streams[posted.length], "base64");
    posted.push(JSON.parse(body));
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  };
  const agent = new HttpAgent({ url: "http://agent.invalid/", agentId: "default", threadId: "thread" });
  const kit = new CopilotKitCore({ agents__unsafe_dev_only: { default: agent } });
  kit.subscribe({ onError: ({ error }) => errors.push(String(error)) });
  for (const index of streams.keys()) {
    agent.addMessage({ id: `question-${index}`, role: "user", content: `question ${index}` });
    await kit.runAgent({ agent });
  }
  return { client: bundled("@ag-ui/client/package.json").version, errors, messages: agent.messages, posted };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(`${JSON.stringify(await converse(JSON.parse(line)))}\n`);
}
process.exit(0);
