// Opening tags of calls that also occur in other text.

/** Whether a tag is a plain word, so that only a list after it makes a call certain. */
export function isWord(tag: string): boolean {
  return /^\w+$/.test(tag);
}

/** Whether a tag alone makes a call certain: neither a word nor a code fence does. */
export function isCertain(tag: string): boolean {
  return !isWord(tag) && !tag.startsWith('```');
}
