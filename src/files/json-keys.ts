// JSON.parse silently keeps the last of two equal keys. Readers that keep different ones would read different files, so a header
// with duplicate keys is refused.

/** The first key that an object of this (valid) JSON text holds twice, or null. */
export function duplicateKey(text: string): string | null {
  const open: (Set<string> | null)[] = []; // one entry a nesting level, null for arrays
  let expectsKey = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      const end = stringEnd(text, at);
      const keys = open.at(-1);
      if (expectsKey && keys) {
        // Escapes are decoded first: "a" and "\u0061" are the same key.
        const key: string = JSON.parse(text.slice(at, end));
        if (keys.has(key)) return key;
        keys.add(key);
        expectsKey = false;
      }
      at = end - 1;
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null);
      expectsKey = char === '{';
    } else if (char === '}' || char === ']') {
      open.pop();
      expectsKey = false;
    } else if (char === ',') {
      expectsKey = open.at(-1) !== null;
    }
  }
  return null;
}

/** Returns the index after the closing quote. */
function stringEnd(text: string, quote: number): number {
  let at = quote + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}
