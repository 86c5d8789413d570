/** A tournament that is not finished: its page looks again from time to time. */

import { tellAgo } from "./ago.js";
import { refresher } from "./refresh.js";

const OFTEN = 3000; // ms; the refresher adds its rest

const refresh = refresher(["first", "progress", "standing", "ranks", "cross", "results"], tellAgo);
const looking = setInterval(() => {
  if (document.querySelector("#progress").dataset.finished === "yes") clearInterval(looking);
  else refresh();
}, OFTEN);
