/** The address of these pages, as people pass it on. */

/** Where these pages are: "http://arena:8080". */
export const HERE = location.origin;

/** What to know before it is passed on, in a sentence; empty where it is good everywhere. */
export const HERE_ALONE = /^(localhost|127\..*|\[::1\])$/.test(location.hostname)
  ? `On other machines ${location.hostname} is another one: there, put this machine's name or address in its place.`
  : "";
