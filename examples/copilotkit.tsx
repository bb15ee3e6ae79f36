// CopilotKit before a wrapped agent: its runtime reads the agent's stream with @ag-ui/client, so the header is set there.
//
//     npm install @copilotkit/runtime @copilotkit/react-core @copilotkit/react-ui @ag-ui/client
import { HttpAgent } from "@ag-ui/client";
import { version } from "@ag-ui/client/package.json" with { type: "json" };
import { CopilotKit } from "@copilotkit/react-core";
import { CopilotChat } from "@copilotkit/react-ui";
import { CopilotRuntime, ExperimentalEmptyAdapter, copilotRuntimeNextJSAppRouterEndpoint } from "@copilotkit/runtime";

// app/api/copilotkit/route.ts
const agent = new HttpAgent({
  url: "http://127.0.0.1:8000/agent",
  headers: { "x-ag-ui-client-version": version },
});
const { handleRequest } = copilotRuntimeNextJSAppRouterEndpoint({
  runtime: new CopilotRuntime({ agents: { researcher: agent } }),
  serviceAdapter: new ExperimentalEmptyAdapter(),
  endpoint: "/api/copilotkit",
});
export const POST = handleRequest;

// app/page.tsx
export function Page() {
  return (
    <CopilotKit runtimeUrl="/api/copilotkit" agent="researcher">
      <CopilotChat />
    </CopilotKit>
  );
}
