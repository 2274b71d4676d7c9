// JSON values that are compared: equal ones have one text, whatever the order of their members and the spelling of their numbers.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A text that is equal for equal values, whatever the order of their members. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value === 0 ? 0 : value);
  const names = Object.keys(value).toSorted();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name]!)}`).join()}}`;
}

/** Texts that are their own bytes. */
const ASCII = /^[^\u0080-\uffff]*$/;

/** The value of a JSON text that is given as its bytes, one per UTF-16 unit. */
export function valueOfBytes(spelled: string): Json {
  if (ASCII.test(spelled)) return JSON.parse(spelled) as Json;
  const bytes = Uint8Array.from(spelled, (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as Json;
}

/** The bytes of a text in UTF-8, one per UTF-16 unit. */
export function bytesOfText(text: string): string {
  if (ASCII.test(text)) return text;
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}
