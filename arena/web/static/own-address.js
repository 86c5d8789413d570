/** The address of these pages, for people to share. */

/** The origin of these pages, like "http://arena:8080". */
export const ORIGIN = location.origin;

/** A warning before sharing the address, as a sentence; empty if it works everywhere. */
export const LOCAL_ADDRESS_WARNING = /^(localhost|127\..*|\[::1\])$/.test(location.hostname)
  ? `On another machine, replace ${location.hostname} by this machine's name or address.`
  : "";
