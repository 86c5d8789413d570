/** Refreshes the page of a tournament that is not over. */

import { tellAgo } from "./ago.js";
import { refresher } from "./refresh.js";

const REFRESH_INTERVAL_MS = 3000; // ms; the refresher adds its own delay

const refresh = refresher(["first", "progress", "standing", "ranks", "cross", "results"], tellAgo);
const looking = setInterval(() => {
  if (document.querySelector("#progress").dataset.over === "yes") clearInterval(looking);
  else refresh();
}, REFRESH_INTERVAL_MS);
