// The moment that somebody points at, shared by all charts of a page: what the lag was when the
// writes rose is read at one glance.

/** Holds a time (milliseconds since 1970) or null, and tells everybody when it changes. */
export class Crosshair {
  constructor() {
    this.time = null;
    this.listeners = new Set();
  }

  set(time) {
    if (time === this.time) return;
    this.time = time;
    for (const listener of this.listeners) listener(time);
  }

  listen(listener) {
    this.listeners.add(listener);
  }
}
