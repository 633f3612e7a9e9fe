// Changes of a table as they happen: server-sent events, read by hand because EventSource sends
// no token. The stream resumes where it broke, and says so when it cannot.

import { Problem, send } from "./api.js";
import { tablePath } from "./endpoint.js";
import { parseExactly } from "../lib/json.js";

const RETRY_MS = 1000;
const RETRY_MAX_MS = 15_000;
// After longer than this out of sight, everything since would be a flood: begin anew, and say so.
const REPLAYED_MS = 60_000;

/** Watches until closed. Listeners: change(kind, data), gap(why), state(word, detail),
 *  and began(), from when on changes are seen: what was loaded earlier may have missed one. */
export class Watch {
  constructor(table, listeners) {
    this.path = tablePath(table, ["watch"]);
    this.listeners = listeners;
    this.lastId = null;
    this.closed = false;
    this.stream = null;
    this.hiddenAt = null;
    this.wake = () => {};
    // A hidden tab gives its connection back: a browser has six of them for all its tabs.
    this.look = () => (document.hidden ? this.rest() : this.resume());
    document.addEventListener("visibilitychange", this.look);
    this.run();
  }

  close() {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.look);
    this.stream?.abort();
    this.wake();
  }

  rest() {
    this.hiddenAt = Date.now();
    this.stream?.abort();
  }

  resume() {
    if (this.hiddenAt !== null && Date.now() - this.hiddenAt > REPLAYED_MS && this.lastId !== null) {
      this.lastId = null;
      this.listeners.gap("Left out: what changed while this tab was out of sight.");
    }
    this.hiddenAt = null;
    this.wake();
  }

  async run() {
    let wait = RETRY_MS;
    while (!this.closed) {
      if (!document.hidden) {
        try {
          this.listeners.state("connecting");
          await this.follow(() => (wait = RETRY_MS));
        } catch (error) {
          if (this.closed || this.refused(error)) return;
        }
        this.listeners.state("waiting");
      }
      await this.pause(document.hidden ? null : wait);
      wait = Math.min(wait * 2, RETRY_MAX_MS);
    }
  }

  /** What cannot get better by itself ends the watch; a lost place begins it anew. */
  refused(error) {
    if (!(error instanceof Problem)) return false;
    if (error.status === 410) {
      this.lastId = null;
      this.listeners.gap("Left out: the log no longer holds the changes in between.");
      return false;
    }
    const final = error.status < 500 && error.status !== 429;
    if (final) this.listeners.state("refused", error);
    return final;
  }

  pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = milliseconds === null ? null : setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async follow(started) {
    this.stream = new AbortController();
    const headers = this.lastId === null ? {} : { "Last-Event-ID": this.lastId };
    const response = await send(this.path, { headers, signal: this.stream.signal, timeout: null });
    started();
    this.listeners.state("live");
    if (this.lastId === null) this.listeners.began();
    // Not `for await`: Safari cannot walk through a stream that way.
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const events = (rest + part.value).split("\n\n");
      rest = events.pop();
      for (const event of events) this.take(event);
    }
  }

  take(event) {
    const fields = {};
    for (const line of event.split("\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
    }
    if (fields.id !== undefined) this.lastId = fields.id;
    if (fields.event === "put" || fields.event === "delete") {
      this.listeners.change(fields.event, parseExactly(fields.data));
    } else if (fields.event === "lost") {
      this.listeners.state("waiting", parseExactly(fields.data));
    }
  }
}
