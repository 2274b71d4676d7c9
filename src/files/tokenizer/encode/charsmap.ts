// SentencePiece's compiled normalization: a double-array trie (darts-clone) from UTF-8 bytes to places in a block of texts that each end
// in a zero byte. Grapheme clusters below six bytes are replaced as wholes where a prefix of theirs is in the trie, as the reference does.

const encoder = new TextEncoder();

/** `encoded`: base64 of the size of the trie in bytes (u32, little-endian), the trie's units (u32 each), the texts. */
export function precompiledNormalizer(encoded: unknown): (text: string) => string {
  if (encoded === null || encoded === undefined || encoded === '') return (text) => text;
  if (typeof encoded !== 'string') throw new Error('the precompiled_charsmap is not text');
  const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const size = bytes.length >= 4 ? view.getUint32(0, true) : NaN;
  if (!(size % 4 === 0 && size >= 4 && size + 4 <= bytes.length)) {
    throw new Error('the precompiled_charsmap is shorter than its trie');
  }
  const units = Uint32Array.from({ length: size / 4 }, (_, at) => view.getUint32(4 + 4 * at, true));
  const texts = bytes.subarray(4 + size);
  const known = new Map<string, string | null>();

  const lookUp = (text: string): string | null => {
    const cached = known.get(text);
    if (cached !== undefined) return cached;
    const at = firstPrefix(units, encoder.encode(text));
    const end = at === null ? -1 : texts.indexOf(0, at);
    const found =
      at === null ? null : new TextDecoder().decode(texts.subarray(at, end < 0 ? texts.length : end));
    if (known.size >= 10_000) known.clear();
    known.set(text, found);
    return found;
  };
  return (text) => {
    let result = '';
    for (const cluster of clustersOf(text)) {
      const whole = cluster.length < 6 && encoder.encode(cluster).length < 6 ? lookUp(cluster) : null;
      if (whole !== null || cluster.length === 1) result += whole ?? cluster;
      else for (const character of cluster) result += lookUp(character) ?? character;
    }
    return result;
  };
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** UTF-16 units that are segmented at once: the segmenter's time grows with the square of a text's length. */
const WINDOW = 256;

/** Latin, Cyrillic and Chinese letters, which are clusters of their own where another of them follows. */
const isPlain = (code: number): boolean =>
  code < 0x300 || (code >= 0x400 && code < 0x480) || (code >= 0x4e00 && code < 0xa000);

function* clustersOf(text: string): Generator<string, void, undefined> {
  for (let at = 0, window = WINDOW; at < text.length;) {
    const [code, next] = [text.charCodeAt(at), at + 1 < text.length ? text.charCodeAt(at + 1) : 0];
    if (isPlain(code) && isPlain(next) && !(code === 0x0d && next === 0x0a)) {
      yield text[at++]!;
      continue;
    }
    const end = Math.min(at + window, text.length);
    // The last cluster may go on behind the window.
    let last = '';
    let any = false;
    for (const { segment } of segmenter.segment(text.slice(at, end))) {
      if (last !== '') {
        yield last;
        at += last.length;
        any = true;
      }
      last = segment;
    }
    if (end === text.length) {
      yield last;
      return;
    }
    window = any ? WINDOW : 2 * window;
  }
}

/** Place of the text for the shortest prefix of `key` that the trie has; null: it has none. */
function firstPrefix(units: Uint32Array, key: Uint8Array): number | null {
  let at = 0;
  let unit = units[0]!;
  at ^= offsetOf(unit);
  for (const byte of key) {
    if (byte === 0) return null;
    at ^= byte;
    if (at >= units.length) return null;
    unit = units[at]!;
    if ((unit & 0x8000_00ff) !== byte) return null;
    at ^= offsetOf(unit);
    if ((unit & 0x100) !== 0) return (units[at] ?? 0) & 0x7fff_ffff;
  }
  return null;
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
