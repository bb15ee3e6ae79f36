// Reads a run with one release of @ag-ui/client and prints what it ends with.
//
//     node examples/client.mjs [RELEASE] [URL] [--silent]
//
// RELEASE is looked for under its alias `ag-ui-client-RELEASE` (npm install ag-ui-client-0.0.58@npm:@ag-ui/client@0.0.58),
// then as @ag-ui/client itself, in the node_modules of the working directory and in $CLIENTS. It is advertised in the header
// x-ag-ui-client-version, unless --silent is given. Exits with 1 where the client rejects the run.
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [release = "1.0.0", url = "http://127.0.0.1:8000/agent"] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const silent = process.argv.includes("--silent");

function load() {
  for (const folder of [process.cwd(), process.env.CLIENTS].filter(Boolean)) {
    const require = createRequire(resolve(folder, "package.json"));
    for (const name of [`ag-ui-client-${release}`, "@ag-ui/client"]) {
      try {
        return require(name);
      } catch (error) {
        if (error.code !== "MODULE_NOT_FOUND") throw error;
      }
    }
  }
  throw new Error(`@ag-ui/client ${release} is not installed: npm install ag-ui-client-${release}@npm:@ag-ui/client@${release}`);
}

// The releases before 1.0.0 say what they reject as a list of issues, in JSON.
function reason({ message }) {
  try {
    const [{ message: issue, path }] = JSON.parse(message);
    return `${path.join(".")}: ${issue}`;
  } catch {
    return message.split("\n")[0];
  }
}

const { HttpAgent } = load();
const agent = new HttpAgent({
  url,
  threadId: "thread",
  headers: silent ? {} : { "x-ag-ui-client-version": release },
  initialMessages: [{ id: "question", role: "user", content: "Which is older, Rome or Oslo?" }],
});
// The releases write what they reject to the console too; once is enough.
console.error = () => {};
try {
  await agent.runAgent({ runId: "run" });
  console.log(`@ag-ui/client ${release} read the run:`);
} catch (error) {
  console.log(`@ag-ui/client ${release} rejected the run: ${reason(error).slice(0, 160)}`);
  process.exitCode = 1;
}
for (const { id, role, content, toolCalls = [], subagentRunId } of agent.messages) {
  const calls = toolCalls.map(({ function: { name, arguments: input } }) => `[calls ${name}(${input})]`);
  const said = [...(content === undefined || content === "" ? [] : [JSON.stringify(content)]), ...calls].join(" ");
  console.log(`  ${role} ${id}${subagentRunId ? ` (${subagentRunId})` : ""}: ${said}`);
}
