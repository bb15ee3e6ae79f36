// The rows: what the agent sends and what the client receives, event by event, appended in batches.
import { element, pair } from "./differences.js";
import { parse } from "./json.js";

const FATES = { changed: "changed", replaced: "rewritten", dropped: "not sent", held: "held back", silent: "a comment, which no client sees", added: "added" };

export class Table {
  #body = document.getElementById("rows");
  #scroller = document.getElementById("events");
  #rows = new Map(); // by number
  #explained = new Set();
  #reasons;
  #client;

  constructor({ reasons, client }) {
    this.#reasons = reasons;
    this.#client = client;
    this.#body.replaceChildren();
  }

  /** Append the rows of some records, and stay at the end where the person is at the end. */
  append(batch) {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const following = scrollTop + clientHeight >= scrollHeight - 40;
    this.#body.append(...batch.map((record) => this.#row(record)));
    if (following) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** Mark the event at which an unprotected client ends the run. */
  reject({ n }) {
    const words = `${this.#client} rejects the run here, without the middleware`;
    const cell = this.#rows.get(n)?.querySelector(".sends");
    cell?.append(element("p", { class: "rejection" }, words));
    this.#rows.get(n)?.classList.add("rejected");
  }

  #row(record) {
    const { n, input, outputs, fate, released } = record;
    const type = parse(input)?.type;
    const primary = outputs.includes(input) ? input : (outputs.find((output) => input !== null && parse(output)?.type === type) ?? null);
    const [left, right] = pair(input, primary);
    const sends = element("td", { role: "cell", class: "sends", "data-label": "Sent" });
    if (left) sends.append(primary === null && fate !== "same" ? element(fate === "held" ? "div" : "del", { class: "whole" }, left) : left);
    const receives = element("td", { role: "cell", class: "receives", "data-label": "Received" });
    if (right) receives.append(right);
    else if (outputs.length === 0) receives.append(element("p", { class: "fate" }, FATES[fate]));
    receives.append(...this.#others(outputs, primary, released, fate === "replaced" ? "in its place" : "added"));
    const number = element("th", { role: "rowheader", scope: "row" }, n === null ? "end" : String(n));
    const row = element("tr", { role: "row", class: `pair ${fate}` }, number, sends, receives, this.#why(record));
    if (n !== null) this.#rows.set(n, row);
    for (const held of released) this.#release(held, n);
    return row;
  }

  #others(outputs, primary, released, added) {
    const others = outputs.toSpliced(primary === null ? outputs.length : outputs.indexOf(primary), 1);
    return others.map((output, index) => {
      const from = released.length === others.length ? `from ${released[index]}` : released.length > 0 ? "held before" : added;
      const [, node] = pair(null, output);
      return element("div", { class: released.length > 0 ? "other late" : "other" }, element("span", { class: "from" }, from), " ", element("ins", {}, node));
    });
  }

  #release(held, n) {
    const row = this.#rows.get(held);
    row?.classList.replace("dropped", "held");
    row?.querySelector("del.whole")?.replaceWith(...row.querySelector("del.whole").childNodes);
    row?.querySelector(".fate")?.replaceChildren(n === null ? "held back until the end" : `held back until event ${n}`);
  }

  #why({ reasons, fate }) {
    const cell = element("td", { role: "cell", class: "why", "data-label": "Why" });
    for (const name of reasons) {
      const { why, since } = this.#reasons[name];
      const kept = since === null ? "" : `kept from ${since}`;
      const first = !this.#explained.has(name);
      this.#explained.add(name);
      cell.append(element("p", {}, element("b", { title: why }, name), " ", element("span", { class: "since" }, kept)));
      if (first) cell.lastChild.append(element("span", { class: "sentence" }, ` ${why}`));
    }
    if (reasons.length === 0 && fate === "same") cell.append(element("span", { class: "visually-hidden" }, "unchanged"));
    return cell;
  }
}
