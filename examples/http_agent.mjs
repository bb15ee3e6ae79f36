// A plain HttpAgent that says which release it is: releases before 1.0.0 do not do so by themselves.
//
//     npm install @ag-ui/client && node examples/http_agent.mjs [URL]
import { HttpAgent } from "@ag-ui/client";
import { createRequire } from "node:module";

// In a bundle: import { version } from "@ag-ui/client/package.json" with { type: "json" };
const { version } = createRequire(import.meta.url)("@ag-ui/client/package.json");

const agent = new HttpAgent({
  url: process.argv[2] ?? "http://127.0.0.1:8000/agent",
  headers: { "x-ag-ui-client-version": version },
  initialMessages: [{ id: "question", role: "user", content: "Which is older, Rome or Oslo?" }],
});
const { newMessages } = await agent.runAgent();
for (const { role, content } of newMessages) console.log(`${role}: ${content ?? ""}`);
