// The page of examples/copilotkit.tsx for a browser, and the runtime that it asks.
//
//     node page.mjs
//
// One JSON object on stdin, on one line: {"route": the source of app/api/copilotkit/route.ts, "page": that of app/page.tsx}.
// One line on stdout is the address of the page, once it is served. It is served until stdin ends.
import { createServer } from "node:http";
import { rm, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { getRequestListener } from "@hono/node-server";
import { build } from "esbuild";

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
for (const method of ["debug", "error", "info", "log", "warn"]) console[method] = () => {};

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { route, page } = JSON.parse((await lines.next()).value);

/** What `use` makes of a file in node_modules, where its imports are found and git does not see it. */
async function placed(name, source, use) {
  const file = new URL(`node_modules/.${process.pid}-${name}`, import.meta.url);
  await writeFile(file, source);
  return Promise.resolve(use(file)).finally(() => rm(file));
}

const entry = `${page}
import { createRoot } from "react-dom/client";
createRoot(document.body).render(<Page />);`;
const { outputFiles: [bundle] } = await placed("page.tsx", entry, (file) => build({
  entryPoints: [file.pathname],
  bundle: true,
  format: "esm",
  jsx: "automatic",
  loader: { ".woff2": "empty", ".woff": "empty", ".ttf": "empty" },
  outfile: "page.js",
  define: { "process.env.NODE_ENV": '"production"' },
  write: false,
}));
const { POST } = await placed("route.mjs", route, (file) => import(file));

const server = createServer(getRequestListener((request) => {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith("/api/copilotkit")) return POST(request);
  if (pathname === "/page.js") return new Response(bundle.text, { headers: { "content-type": "text/javascript" } });
  return new Response('<!doctype html><body></body><script type="module" src="/page.js"></script>', {
    headers: { "content-type": "text/html" },
  });
}));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
await lines.next();
process.exit(0);
