// A conversation through a whole chain: CopilotKit's core, as a browser runs it, CopilotKit's runtime, and the agent.
//
//     node chain.mjs CORE
//
// CORE is a release of @copilotkit/core. One JSON object on stdin is the conversation:
//     {"route": the source of app/api/copilotkit/route.ts, "names": bool, "questions": [text, ...], "tools": [name, ...]}
// `names`: the browser names the release of @ag-ui/client in its bundle. `tools` are the browser's own. One JSON object on
// stdout is the end:
//     {"releases": {"browser", "runtime"}, "messages", "called": [name of a tool, ...]}
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { rm, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";

const [release] = process.argv.slice(2);
const { route, names, questions, tools = [] } = JSON.parse(await text(process.stdin));
process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
for (const method of ["debug", "error", "info", "log", "warn"]) console[method] = () => {};

const require = createRequire(import.meta.url);
const bundled = (user) => createRequire(require.resolve(`${user}/package.json`))("@ag-ui/client/package.json").version;
const releases = { browser: bundled(`copilotkit-core-${release}`), runtime: bundled("@copilotkit/runtime") };

// In node_modules its imports are found, and git does not see it.
const file = new URL(`node_modules/.route-${process.pid}.mjs`, import.meta.url);
await writeFile(file, route);
const { POST } = await import(file).finally(() => rm(file));
const server = createServer(getRequestListener(POST));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const origin = `http://127.0.0.1:${server.address().port}`;

// The core connects to its runtime in a browser only.
globalThis.window = Object.assign(new EventTarget(), { location: new URL(origin) });
const { CopilotKitCore } = await import(`copilotkit-core-${release}`);

const called = [];
const kit = new CopilotKitCore({
  runtimeUrl: `${origin}/api/copilotkit`,
  runtimeTransport: "single",
  headers: names ? { "x-ag-ui-client-version": releases.browser } : {},
  tools: tools.map((name) => ({ name, description: name, handler: async () => (called.push(name), "done") })),
});
const settled = (status) => status === "connected" || status === "error";
await new Promise((connected) => {
  kit.subscribe({ onRuntimeConnectionStatusChanged: ({ status }) => settled(status) && connected() });
});
const agent = kit.getAgent("researcher");
agent.threadId = "thread";
for (const [index, content] of questions.entries()) {
  agent.addMessage({ id: `question-${index}`, role: "user", content });
  await kit.runAgent({ agent });
}
process.stdout.write(JSON.stringify({ releases, messages: agent.messages, called }), () => process.exit(0));
