// A vocabulary of 151,000 byte-level tokens as large models have them: words with and without a space before them, of letters,
// Chinese characters and accents, digits, runs of spaces and of punctuation as code has it, and every byte.

export const SIZE = 151_936;
/** The end token. */
export const END = SIZE - 1;
export const END_TEXT = '<end>';

const ONSETS = [
  '',
  'b',
  'c',
  'd',
  'f',
  'g',
  'h',
  'k',
  'l',
  'm',
  'n',
  'p',
  'r',
  's',
  't',
  'v',
  'w',
  'st',
  'tr',
  'qu',
  'gr',
  'é',
];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ou', 'ea', 'io', 'y', 'ü'];
const CODAS = ['', 'n', 'r', 's', 't', 'l', 'm', 'd', 'ng', 'ck', 'ter', 'tion', 'ment', 'ing'];
const WORDS =
  'the quick brown fox jumps over lazy dog and comes back name tags item number label one two true false null'.split(
    ' ',
  );
const MARKS = [
  '{"',
  '":',
  '":"',
  '","',
  '"}',
  '"},',
  '{\n',
  '}\n',
  '},\n',
  '": "',
  '": ',
  '", "',
  '[]',
  '()',
  '();',
  ' {\n',
  '\\"',
  '\\n',
  '</',
  '/>',
  '<!--',
  '...',
  ', ',
  '. ',
  ' "',
  ' [',
  '],',
];

function* spellings() {
  for (let byte = 0; byte < 256; byte++) yield Uint8Array.of(byte);
  const utf8 = new TextEncoder();
  for (const mark of MARKS) yield utf8.encode(mark);
  for (let count = 2; count <= 128; count++) yield utf8.encode(' '.repeat(count));
  for (const word of WORDS) for (const space of ['', ' ']) yield utf8.encode(space + word);
  for (let code = 0x4e00; code < 0x6e00; code++) yield utf8.encode(String.fromCodePoint(code));
  for (let i = 0; i < 20_000; i++) {
    const code = (k) => 0x4e00 + ((i * k) % 0x1800);
    yield utf8.encode(String.fromCodePoint(code(7), code(13)));
  }
  const syllables = ONSETS.flatMap((onset) =>
    VOWELS.flatMap((vowel) => CODAS.map((coda) => onset + vowel + coda)),
  );
  for (let i = 0; ; i++) {
    const syllable = (k) => syllables[(i * k + Math.floor(i / syllables.length)) % syllables.length];
    const word =
      i % 3 === 0
        ? syllable(7) + syllable(31)
        : syllable(11) + (i % 3 === 1 ? '' : syllable(5) + syllable(17));
    const shown = i % 5 === 0 ? word[0].toUpperCase() + word.slice(1) : word;
    yield utf8.encode(i % 2 === 0 ? ` ${shown}` : shown);
  }
}

/** The bytes of every token, in the order of their ids. */
export function spelledTokens() {
  const tokens = new Map();
  for (const bytes of spellings()) {
    if (tokens.size === END) break;
    const key = keyOf(bytes);
    if (!tokens.has(key)) tokens.set(key, bytes);
  }
  return [...tokens.values(), new TextEncoder().encode(END_TEXT)];
}

const keyOf = (bytes) => String.fromCharCode(...bytes);

/** The members of a tokenizer from which a vocabulary is made. Encoding takes the longest token each time. */
export function syntheticTokenizer() {
  const tokens = spelledTokens();
  const ids = new Map(tokens.slice(0, END).map((bytes, id) => [keyOf(bytes), id]));
  const encode = (text) => {
    const bytes = new TextEncoder().encode(text);
    const found = [];
    for (let at = 0; at < bytes.length;) {
      let length = Math.min(128, bytes.length - at);
      while (!ids.has(keyOf(bytes.subarray(at, at + length)))) length--;
      found.push(ids.get(keyOf(bytes.subarray(at, at + length))));
      at += length;
    }
    return found;
  };
  return {
    vocabSize: SIZE,
    specialIds: new Set([END]),
    markIds: new Set(),
    leadingSpaces: 0,
    tokenBytes: (id) => tokens[id] ?? new Uint8Array(0),
    encode,
  };
}
