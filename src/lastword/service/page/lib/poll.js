// Repeats a request: never twice at once, not while nobody looks, and at once when asked.

import { Problem, Unreachable } from "../requests/api.js";
import { onTryAgain } from "../requests/connection.js";

/** Repeats `task` until stopped, `every` milliseconds after it was done. Refusals go to `refused`. */
export class Poll {
  constructor(task, every, refused = () => {}) {
    this.refused = refused;
    this.task = task;
    this.every = every;
    this.timer = null;
    this.running = false;
    this.again = false;
    this.stopped = false;
    this.seen = () => document.hidden || this.now();
    document.addEventListener("visibilitychange", this.seen);
    this.offTryAgain = onTryAgain(() => this.now());
    this.now();
  }

  /** Do it now; when it is being done, once more afterwards. */
  async now() {
    clearTimeout(this.timer);
    if (this.stopped) return;
    if (this.running) {
      this.again = true;
      return;
    }
    this.running = true;
    try {
      await this.task();
    } catch (error) {
      if (error instanceof Problem) this.refused(error);
      else if (!(error instanceof Unreachable)) throw error; // no answer: the banner has said it
    } finally {
      this.running = false;
      this.next();
    }
  }

  next() {
    const soon = this.again;
    this.again = false;
    if (soon) this.now();
    else if (!this.stopped && !document.hidden) this.timer = setTimeout(() => this.now(), this.every);
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
    this.offTryAgain();
  }
}

/** A function that runs `task` at most every `every` milliseconds, and always once after the last call. */
export function throttled(task, every) {
  let timer = null;
  let last = -Infinity;
  return () => {
    if (timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      last = performance.now();
      task();
    }, Math.max(0, last + every - performance.now()));
  };
}
