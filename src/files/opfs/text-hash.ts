// Names that are hashes of texts. A page's crypto.subtle would make each of them a promise.

import { sha256 as hash } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** SHA-256 of a text in hexadecimal. */
export function sha256(text: string): string {
  return bytesToHex(hash(utf8ToBytes(text)));
}
