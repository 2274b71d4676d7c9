// The module `node:fs` of test files that run in a page: synchronous reads of files that the server of the pages has.

export function readFileSync(url: URL): Uint8Array;
export function readFileSync(url: URL, encoding: 'utf8'): string;
export function readFileSync(url: URL, encoding?: 'utf8'): Uint8Array | string {
  const request = new XMLHttpRequest();
  request.open('GET', url, false);
  request.overrideMimeType('text/plain; charset=x-user-defined'); // each byte becomes one character, 0x80 to 0xff as 0xf780 to 0xf7ff
  request.send();
  if (request.status !== 200) throw new Error(`${url.href}: status ${request.status}`);
  const bytes = Uint8Array.from(request.responseText, (character) => character.charCodeAt(0) & 0xff);
  return encoding === undefined ? bytes : new TextDecoder().decode(bytes);
}
