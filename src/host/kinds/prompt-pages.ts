// The beginning of a request's prompt in pages, as numbers: two prompts that begin alike have the first pages in common. Prompts are not rendered
// and tokenized for that, since what they are made of tells as much.

import type { TextRequest } from '../../engine/text/calls/text-model.ts';

/** UTF-16 code units, or token ids, of a page. */
const PAGE = 64;
/** Bytes of a medium that are read, spread over it. */
const SAMPLED = 256;

/** Hashes of the whole pages of a prompt, each of all that precedes it too, and of what requests must agree in to share cached pages. */
export function promptPages({ prompt, lora, cacheSalt }: TextRequest): number[] {
  const hash = new PageHash();
  hash.add(lora);
  hash.add(cacheSalt);
  hash.beginPages();
  if ('ids' in prompt) hash.add(prompt.ids);
  else if ('text' in prompt) hash.add(prompt.text);
  else {
    const { messages, tools, templateKwargs } = prompt;
    hash.add(tools);
    hash.add(templateKwargs);
    hash.add(messages);
  }
  return hash.pages;
}

/** FNV-1a in two lanes of 32 bits. */
class PageHash {
  readonly pages: number[] = [];
  #a = 0x811c9dc5;
  #b = 0x9e3779b9;
  #inPage = 0;

  beginPages(): void {
    this.#inPage = 0;
    this.pages.length = 0;
  }

  /** Adds a value that messages may hold: texts, numbers, bytes, lists and objects. */
  add(value: unknown): void {
    if (typeof value === 'string') for (let i = 0; i < value.length; i++) this.#push(value.charCodeAt(i));
    else if (typeof value === 'number') this.#push(value);
    else if (ArrayBuffer.isView(value)) this.#addBytes(value);
    else if (typeof value === 'object' && value !== null) this.#addMembers(value);
    this.#mix(0x110000 + KINDS.indexOf(typeof value));
  }

  #addMembers(value: object): void {
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      if (!Array.isArray(value)) this.add(name);
      this.add(member);
    }
  }

  #addBytes({ buffer, byteOffset, byteLength }: ArrayBufferView): void {
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    this.#push(byteLength);
    const step = Math.max(1, Math.floor(byteLength / SAMPLED));
    for (let i = 0; i < byteLength; i += step) this.#push(bytes[i]!);
  }

  #push(value: number): void {
    this.#mix(value);
    if (++this.#inPage % PAGE === 0) this.pages.push((this.#a >>> 0) * 2 ** 21 + (this.#b >>> 11));
  }

  #mix(value: number): void {
    this.#a = Math.imul(this.#a ^ value, 0x01000193);
    this.#b = Math.imul(this.#b ^ value, 0x85ebca6b) ^ (this.#b >>> 13);
  }
}

/** Types whose values end differently. */
const KINDS = ['string', 'number', 'boolean', 'object', 'undefined'];
