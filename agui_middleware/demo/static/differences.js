// An event on either side, with what is different marked: <del> where it was sent, <ins> where it is received.
import { members, parse, pieces } from "./json.js";

const CLIP = 160; // characters of a value in which nothing is different
const DEEPEST = 40_000; // characters of a value that is looked into

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** What was sent and what is received in its place, as a pair of nodes; either text may be `null`. */
export function pair(sent, received) {
  const left = sent === null ? null : event(sent);
  const right = received === null ? null : event(received);
  if (left?.members && right?.members) {
    mark(left, right.members, "del");
    mark(right, left.members, "ins");
  }
  return [left?.node ?? null, right?.node ?? null];
}

function event(text) {
  const read = parse(text);
  if (read === null) return { node: element("div", { class: "event broken" }, element("span", { class: "value" }, clip(text))) };
  const shown = members(text);
  shown.delete("type");
  const node = element("div", { class: "event" }, element("span", { class: "type" }, read.type));
  const spans = new Map();
  for (const [name, value] of shown) {
    const content = element("span", { class: "value" }, clip(value));
    spans.set(name, content);
    node.append(" ", element("span", { class: "member" }, element("span", { class: "name" }, name), " ", content));
  }
  return { node, members: shown, spans };
}

function mark(side, others, name) {
  for (const [member, value] of side.members) {
    const other = others.get(member);
    if (other === value) continue;
    const shown = side.spans.get(member);
    if (other === undefined) {
      const whole = shown.parentElement;
      const marked = element(name, { class: "member" });
      whole.replaceWith(marked);
      marked.append(...whole.childNodes);
    } else {
      shown.replaceChildren(...compared(value, other, name));
    }
  }
}

/** The nodes of a value, with what `other` has otherwise marked. */
function compared(value, other, name) {
  if (value === other) return [clip(value)];
  const kind = value[0];
  if (kind !== other[0] || !"{[".includes(kind) || value.length + other.length > DEEPEST) return [element(name, {}, clip(value))];
  const inner = kind === "{" ? comparedMembers(value, other, name) : comparedElements(value, other, name);
  const joined = inner.flatMap((nodes, index) => (index === 0 ? nodes : [", ", ...nodes]));
  return [kind, ...joined, kind === "{" ? "}" : "]"];
}

function comparedMembers(value, other, name) {
  const others = members(other);
  return [...members(value)].map(([member, inner]) => {
    const label = `${JSON.stringify(member)}: `;
    if (!others.has(member)) return [element(name, {}, label, clip(inner))];
    return [label, ...compared(inner, others.get(member), name)];
  });
}

function comparedElements(value, other, name) {
  const [ours, theirs] = [pieces(value), pieces(other)];
  const partner = ours.length === theirs.length ? (_, index) => theirs[index] : partners(theirs);
  return ours.map((inner, index) => {
    const match = partner(inner, index);
    return match === undefined ? [element(name, {}, clip(inner))] : compared(inner, match, name);
  });
}

/** Which of `texts` an element is to be compared with: one of its id, else one of its value, each once. */
function partners(texts) {
  const left = new Map();
  for (const text of texts) left.set(identity(text), [...(left.get(identity(text)) ?? []), text]);
  return (text) => left.get(identity(text))?.shift();
}

function identity(text) {
  const value = JSON.parse(text);
  return JSON.stringify(typeof value?.id === "string" ? value.id : value);
}

function clip(text) {
  return text.length <= CLIP ? text : `${text.slice(0, CLIP)}… ${(text.length - CLIP).toLocaleString("en")} more characters`;
}
