// Light or dark, before anything is painted. Not a module: those run after the first paint, and a
// dark page would flash white.
"use strict";

(() => {
  const KEY = "lastword-theme";
  const CHOICES = ["auto", "light", "dark"];
  const LABELS = { auto: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };

  // A browser may forbid storage altogether; the choice then lasts as long as the page.
  function remembered() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function remember(choice) {
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // nothing to do: it is only a preference
    }
  }

  let choice = CHOICES.includes(remembered()) ? remembered() : "auto";

  function apply() {
    document.documentElement.dataset.theme = choice;
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = { auto: "◐", light: "☀", dark: "☾" }[choice];
      button.setAttribute("aria-label", LABELS[choice]);
      button.title = LABELS[choice];
    }
  }

  apply();
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", () => {
      choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
      remember(choice);
      apply();
    });
  });
})();
