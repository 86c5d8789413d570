/** Copying to the clipboard. */

/**
 * Copy a text. Unencrypted pages have no clipboard API, so they copy the selection the older way.
 * @param {string} text
 * @param {() => void} select selects the text on the page
 * @returns {Promise<boolean>} true if it was copied; if not, it is selected
 */
export async function copied(text, select) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    select();
    return document.execCommand("copy");
  }
}
