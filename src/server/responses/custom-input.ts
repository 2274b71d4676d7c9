// Extracts the text for a free-form tool from the JSON that a model writes for it, {"input": "…"}, while the JSON streams.

const BEGIN = /^\s*\{\s*"input"\s*:\s*"/;
/** Matches complete characters and escapes. */
const WHOLE = /^(?:[^"\\]+|\\u[\da-fA-F]{4}|\\[^u])*/;

export interface InputReader {
  /** Adds JSON text; returns the part of the input that became known. */
  read(json: string): string;
  /** Returns the rest of the input; the whole JSON text if it does not have the form {"input": "…"}. */
  end(): string;
}

export function createInputReader(): InputReader {
  let pending = '';
  let isWithin = false;
  /** The first half of a surrogate pair whose second half has not arrived. */
  let half = '';
  return {
    read(json) {
      pending += json;
      if (!isWithin) {
        const begin = BEGIN.exec(pending);
        if (!begin) return '';
        isWithin = true;
        pending = pending.slice(begin[0].length);
      }
      const [whole] = WHOLE.exec(pending)!;
      pending = pending.slice(whole.length);
      const text = half + unescaped(whole);
      half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
      return half === '' ? text : text.slice(0, -1);
    },
    end: () => (isWithin ? '' : pending),
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
