// The characters that stand for bytes in byte-level vocabularies, as GPT-2 chose them: printable Latin-1 is itself, the rest counts from
// U+0100.

const encoder = new TextEncoder();

const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);

/** Stand-in character → byte; -1 where a character stands for none. */
export const STAND_INS = new Int16Array(0x144).fill(-1);
/** Byte → stand-in character. */
const CHARACTERS: string[] = [];
{
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const code = isPrintable(byte) ? byte : next++;
    STAND_INS[code] = byte;
    CHARACTERS.push(String.fromCharCode(code));
  }
}

/** The bytes of a text, each as its stand-in. */
export function standInText(text: string): string {
  let result = '';
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x80) return result + standInBytes(text.slice(at));
    result += CHARACTERS[code]!;
  }
  return result;
}

/** Returns the stand-in characters of bytes. `binary`: a text as atob returns it, in which each character (U+0000 to U+00FF) is a byte. */
export function standInBinary(binary: string): string {
  let result = '';
  for (let at = 0; at < binary.length; at++) result += CHARACTERS[binary.charCodeAt(at)]!;
  return result;
}

function standInBytes(text: string): string {
  let result = '';
  for (const byte of encoder.encode(text)) result += CHARACTERS[byte]!;
  return result;
}
