// CopilotKit before a wrapped agent. Two clients read its stream, one after the other: the runtime on your server, and the
// core in the browser. Both have a release of @ag-ui/client of their own (`npm ls @ag-ui/client`), and the older one decides
// what the agent may send: a tab that was opened before your last deployment loses the whole answer at the first event that
// it does not know, and says nothing. So each names its own release, and the middleware serves the oldest of a list.
//
// Set the header in both places. The runtime forwards the browser's `x-` headers, but not one that its agent sets too: what is
// set on the agent has to repeat what the browser said, which is why `agents` is a function of the request.
//
//     npm install @copilotkit/runtime @copilotkit/react-core @copilotkit/react-ui @ag-ui/client

// app/api/copilotkit/route.ts
import { HttpAgent } from "@ag-ui/client";
import client from "@ag-ui/client/package.json" with { type: "json" };
import { CopilotRuntime, ExperimentalEmptyAdapter, copilotRuntimeNextJSAppRouterEndpoint } from "@copilotkit/runtime";

const RELEASE = "x-ag-ui-client-version";
const { handleRequest } = copilotRuntimeNextJSAppRouterEndpoint({
  runtime: new CopilotRuntime({
    agents: ({ request }) => {
      const releases = [request.headers.get(RELEASE), client.version].filter(Boolean).join(", ");
      return { researcher: new HttpAgent({ url: "http://127.0.0.1:8000/agent", headers: { [RELEASE]: releases } }) };
    },
  }),
  serviceAdapter: new ExperimentalEmptyAdapter(),
  endpoint: "/api/copilotkit",
});
export const POST = handleRequest;

// app/page.tsx
import client from "@ag-ui/client/package.json" with { type: "json" };
import { CopilotKit } from "@copilotkit/react-core";
import { CopilotChat } from "@copilotkit/react-ui";

export function Page() {
  return (
    <CopilotKit runtimeUrl="/api/copilotkit" agent="researcher" headers={{ "x-ag-ui-client-version": client.version }}>
      <CopilotChat />
    </CopilotKit>
  );
}
