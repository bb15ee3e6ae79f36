// JSON as text: a number beyond 2^53 or an escape is shown as it was sent, which JSON.parse would not keep.

/** The end of the string that begins at `start`: the index behind its closing quote. */
function behindString(text, start) {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === '"') return i + 1;
  }
  return text.length;
}

/** The pieces between the outermost brackets of `text`, a valid object or array, split at its own commas. */
export function pieces(text) {
  const found = [];
  let depth = 0;
  let start = 1;
  for (let i = 1; i < text.length - 1; i++) {
    const sign = text[i];
    if (sign === '"') i = behindString(text, i) - 1;
    else if (sign === "{" || sign === "[") depth++;
    else if (sign === "}" || sign === "]") depth--;
    else if (sign === "," && depth === 0) {
      found.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  const last = text.slice(start, -1).trim();
  return last === "" ? found : [...found, last];
}

/** The members of an object by name, each as text. */
export function members(text) {
  return new Map(
    pieces(text).map((piece) => {
      const end = behindString(piece, 0);
      return [JSON.parse(piece.slice(0, end)), piece.slice(piece.indexOf(":", end) + 1).trim()];
    }),
  );
}

/** The event that `text` is; `null` where it is none that a client reads. */
export function parse(text) {
  try {
    const event = JSON.parse(text);
    return typeof event?.type === "string" ? event : null;
  } catch {
    return null;
  }
}
