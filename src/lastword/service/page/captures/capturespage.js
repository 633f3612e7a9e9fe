// The database tables that are captured: where they come from, how far behind they are, and what
// the database keeps for them.

import { plural } from "../lib/format.js";
import { ListPage } from "../lib/listpage.js";
import { CaptureLesson } from "./capturelesson.js";
import { CaptureView } from "./captureview.js";

/** The page of captures. */
export function capturesPage() {
  return new ListPage({
    title: "Captures",
    className: "captures",
    path: "/captures",
    name: "captures",
    keyOf: (each) => each.capture,
    View: CaptureView,
    Lesson: CaptureLesson,
    inWords: (captures) => captures.length ? plural(captures.length, "captured table") : "",
  });
}
