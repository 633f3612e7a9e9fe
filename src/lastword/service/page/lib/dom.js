// Builds elements. Text only ever becomes a text node: nothing here takes markup, so whatever a
// topic holds stays text; the page's policy makes the browser insist on that, too.

const SVG = "http://www.w3.org/2000/svg";

/** An element: attributes by name, listeners under `on`, then children (nodes, text, or null). */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** Set a text only when it changed: a screen reader, a selection and the layout stay undisturbed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set or, with null, remove an attribute; only when it changed. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** A share of 0 to 1 that CSS uses as a width. */
export function setShare(node, share) {
  node.style.setProperty("--share", `${Math.max(0, Math.min(1, share)) * 100}%`);
}

const rows = new WeakMap();

/**
 * Make the children of `parent` those of `items`, in order. A child that stays is updated in place,
 * so that focus, selection and scroll position outlive every refresh.
 */
export function reconcile(parent, items, keyOf, create, update) {
  const before = rows.get(parent) ?? new Map();
  const keys = items.map(keyOf);
  const wanted = new Set(keys);
  for (const [key, node] of before) if (!wanted.has(key)) node.remove();
  const after = new Map();
  let cursor = parent.firstElementChild;
  items.forEach((item, index) => {
    const node = before.get(keys[index]) ?? create(item);
    update(node, item, index);
    after.set(keys[index], node);
    if (node === cursor) cursor = cursor.nextElementSibling;
    else parent.insertBefore(node, cursor);
  });
  rows.set(parent, after);
}
