// Asks before a key is deleted.

import { setText } from "../lib/dom.js";

/** Whether the reader said yes. */
export function confirmDelete(label) {
  const dialog = document.getElementById("confirm-dialog");
  setText(document.getElementById("confirm-text"),
    `A tombstone for ${label} is written to the topic. Every reader of the topic sees the key as deleted.`);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
