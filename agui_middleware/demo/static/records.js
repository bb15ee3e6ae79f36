// The records of a trace, as the server sends them: Server-Sent Events, LF, one line of JSON each.

/** Yield them as they come. Throws an Error, with words for the person, where the server refuses or breaks off. */
export async function* records(query, recording, signal) {
  const headers = { "content-type": recording === null ? "application/json" : "text/plain" };
  const response = await fetch(`trace?${query}`, { method: "POST", headers, body: recording ?? "{}", signal });
  if (!response.ok) throw new Error((await response.json()).error);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) yield JSON.parse(frame.slice("data: ".length));
  }
}
