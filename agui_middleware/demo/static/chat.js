// The conversation that an application shows, from the events that its client reads.
import { element } from "./differences.js";

const ROLES = { user: "User", system: "System", developer: "Developer", assistant: "Assistant", reasoning: "Thinking" };
const MAX_TEXT = 20_000; // characters of one entry

/** Entries in their order; `take` is given each event, `render` shows what has changed since. */
export class Conversation {
  #entries = new Map(); // by kind and id
  #agents = new Map(); // by subagentRunId
  #open = new Map(); // the entity that an id-less chunk continues, by its kind and lane
  #changed = new Set();
  #node;
  #ignored;

  /** `ignored`: the names of downgrades, for what the release does not look at. */
  constructor(node, ignored = new Set()) {
    this.#node = node;
    this.#ignored = ignored;
    node.replaceChildren();
  }

  take(event) {
    const { type, subagentRunId: agent } = event;
    if (type.startsWith("TEXT_MESSAGE_")) this.#text("text", event.messageId, event, ROLES[event.role ?? "assistant"] ?? event.role);
    else if (type.startsWith("REASONING_MESSAGE_")) this.#text("reasoning", event.messageId, event, ROLES.reasoning);
    else if (type.startsWith("THINKING_TEXT_MESSAGE_")) this.#thinking(event);
    else if (type === "TOOL_CALL_RESULT") this.#result(event.toolCallId, event.content, agent);
    else if (type.startsWith("TOOL_CALL_")) this.#text("call", event.toolCallId, event, event.toolCallName);
    else if (type === "SUBAGENT_STARTED") this.#agents.set(agent, this.#named(event));
    else if (type === "SUBAGENT_ERROR") this.#add("error", `${agent} failed`, "Failed", agent, event.message);
    else if (type === "ACTIVITY_SNAPSHOT") this.#set("activity", event.messageId, event.activityType, agent, JSON.stringify(event.content));
    else if (type === "MESSAGES_SNAPSHOT") this.#snapshot(event.messages);
    else if (type === "RUN_STARTED" && !this.#ignored.has("input-echo")) this.#echo(event.input?.messages);
    else if (type === "CUSTOM" && event.name === "on_interrupt") this.#paused();
    else if (type === "RUN_FINISHED" && !this.#ignored.has("interrupts")) this.#outcome(event);
    else if (type === "RUN_ERROR") this.#add("error", "run", "The run failed", undefined, event.message);
  }

  render() {
    for (const entry of this.#changed) {
      entry.node ??= this.#node.appendChild(this.#made(entry));
      entry.node.querySelector(".said").textContent = entry.text.slice(0, MAX_TEXT);
      const label = entry.node.querySelector(".who");
      if (label.textContent !== entry.label) label.textContent = entry.label;
    }
    this.#changed.clear();
  }

  get size() {
    return this.#entries.size;
  }

  #named({ name, parentSubagentRunId }) {
    const above = this.#agents.get(parentSubagentRunId);
    return above === undefined ? name : `${above} › ${name}`;
  }

  #text(kind, id, event, label) {
    const lane = `${kind} ${event.subagentRunId ?? ""}`;
    const known = id ?? this.#open.get(lane);
    if (known === undefined) return;
    if (event.type.endsWith("_CHUNK")) this.#open.set(lane, known);
    if (event.type.endsWith("_START") || !this.#entries.has(`${kind} ${known}`)) this.#add(kind, known, label ?? kind, event.subagentRunId);
    if (event.delta) this.#append(kind, known, event.delta);
  }

  #thinking({ type, delta }) {
    if (type.endsWith("_START")) this.#open.set("thinking", `thinking ${this.#entries.size}`);
    const id = this.#open.get("thinking");
    if (id !== undefined) this.#text("reasoning", id, { type, delta }, ROLES.reasoning);
  }

  #result(id, content, agent) {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    const call = this.#entries.get(`call ${id}`);
    this.#set("result", id, call === undefined ? "Result" : `Result of ${call.name}`, agent, text);
  }

  #outcome({ outcome }) {
    if (outcome?.type === "interrupt") this.#paused();
    if (outcome?.type === "cancelled") this.#add("note", "outcome", "The run was cancelled");
  }

  #paused() {
    this.#add("note", "outcome", "The run waits for an answer");
  }

  #echo(messages) {
    for (const message of messages ?? []) this.#message(message);
  }

  #snapshot(messages) {
    const restated = new Set();
    for (const { id, role, toolCalls, toolCallId } of messages) {
      restated.add(role === "tool" ? `result ${toolCallId}` : `text ${id}`);
      for (const call of toolCalls ?? []) restated.add(`call ${call.id}`);
    }
    for (const [key, entry] of this.#entries) {
      if (["text", "result", "call"].includes(entry.kind) && !restated.has(key)) {
        entry.node?.remove();
        this.#entries.delete(key);
        this.#changed.delete(entry);
      }
    }
    this.#echo(messages);
  }

  #message({ id, role, content, toolCalls, toolCallId }) {
    const text = typeof content === "string" ? content : JSON.stringify(content ?? "");
    if (role === "tool") this.#result(toolCallId, text);
    else if (role === "reasoning") this.#set("reasoning", id, ROLES.reasoning, undefined, text);
    else if (role !== "activity" && content) this.#set("text", id, ROLES[role] ?? role, undefined, text);
    for (const call of toolCalls ?? []) this.#set("call", call.id, call.function.name, undefined, call.function.arguments);
  }

  #add(kind, id, name, agent, text = "") {
    const key = `${kind} ${id}`;
    if (!this.#entries.has(key)) this.#set(kind, id, name, agent, text);
  }

  #set(kind, id, name, agent, text = "") {
    const key = `${kind} ${id}`;
    const entry = this.#entries.get(key) ?? { kind, id, agent };
    this.#entries.set(key, entry);
    const who = this.#agents.get(agent ?? entry.agent);
    const label = kind === "call" ? `Calls ${name}` : name;
    Object.assign(entry, { name, text: text ?? "", label: who === undefined ? label : `${who} · ${label}`, nested: who !== undefined });
    this.#changed.add(entry);
  }

  #append(kind, id, delta) {
    const entry = this.#entries.get(`${kind} ${id}`);
    entry.text += delta;
    this.#changed.add(entry);
  }

  #made({ kind, nested }) {
    const said = element("p", { class: kind === "call" || kind === "activity" ? "said code" : "said" });
    return element("div", { class: `entry ${kind}${nested ? " nested" : ""}` }, element("p", { class: "who" }), said);
  }
}
