// The instances that share tables: who is there, who keeps which partition, and what moved.

import { plural } from "../lib/format.js";
import { ListPage } from "../lib/listpage.js";
import { ClusterView } from "./clusterview.js";
import { Lesson } from "./lesson.js";

/** The page of the clusters that this service has joined. */
export function clusterPage() {
  return new ListPage({
    title: "Cluster",
    className: "clusters",
    path: "/cluster",
    name: "clusters",
    keyOf: (each) => `${each.application}/${each.instance}`,
    View: ClusterView,
    Lesson,
    inWords: (clusters) => clusters.map(inWords).join(" · "),
  });
}

function inWords({ members, tables }) {
  return `${plural(members.length, "instance")} share ${plural(tables.length, "table")}`;
}
