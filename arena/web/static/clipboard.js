/** Texts for the clipboard. */

/**
 * Copy a text. A page without encryption may not ask for the clipboard: browsers then have only the older way, for what is selected.
 * @param {string} text
 * @param {() => void} select  selects the text on the page
 * @returns {Promise<boolean>} whether it is copied; if it is not, it is selected
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
