// The text that a free-form tool is called with, out of the JSON a model writes for it, {"input": "…"}, as it comes.

const BEGIN = /^\s*\{\s*"input"\s*:\s*"/;
/** Characters and escapes that are whole. */
const WHOLE = /^(?:[^"\\]+|\\u[\da-fA-F]{4}|\\[^u])*/;

export interface InputReader {
  /** Adds JSON text; returns the part of the input that became known. */
  read(json: string): string;
  /** Returns the rest: the whole text, where it was not JSON of that form. */
  end(): string;
}

export function createInputReader(): InputReader {
  let held = '';
  let isWithin = false;
  /** Half of a surrogate pair. */
  let half = '';
  return {
    read(json) {
      held += json;
      if (!isWithin) {
        const begin = BEGIN.exec(held);
        if (!begin) return '';
        isWithin = true;
        held = held.slice(begin[0].length);
      }
      const [whole] = WHOLE.exec(held)!;
      held = held.slice(whole.length);
      const text = half + unescaped(whole);
      half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
      return half === '' ? text : text.slice(0, -1);
    },
    end: () => (isWithin ? '' : held),
  };
}

function unescaped(text: string): string {
  const literal = text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
  try {
    return JSON.parse(`"${literal}"`) as string;
  } catch {
    return text;
  }
}
