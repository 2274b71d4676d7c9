import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTakes, contentWith, readAttached, takeMedia } from '../../../src/cli/chat/chat-media.ts';
import { fakeInfo } from '../../server/fake-model.ts';

const IMAGE = Buffer.from('\x89PNG\r\n\x1a\n an image', 'latin1');
const sees = { ...fakeInfo, media: ['image', 'video'] as const };

let folder = '';
const path = (name: string): string => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-chat-'));
  writeFileSync(path('a.png'), IMAGE);
  writeFileSync(path('two words.png'), IMAGE);
  writeFileSync(path('sound.wav'), 'RIFF....WAVE');
  writeFileSync(path('notes.txt'), 'hello there');
  mkdirSync(path('folder.png'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('media options', () => {
  it('read files, and say what was read', async () => {
    const attached = await readAttached({ image: [path('a.png')], audio: [path('sound.wav')] });
    expect(attached).toEqual([
      { kind: 'image', bytes: new Uint8Array(IMAGE), name: 'a.png', said: 'a.png (PNG image, 17 B)' },
      {
        kind: 'audio',
        bytes: new Uint8Array(Buffer.from('RIFF....WAVE')),
        name: 'sound.wav',
        said: 'sound.wav (WAV sound, 12 B)',
      },
    ]);
    expect(() => checkTakes(sees, attached)).toThrow(
      '--audio is for models that take it, and fake-chat reads text and images and videos only',
    );
  });

  it.each([
    ['missing.png', 'is not there: give a file that is there'],
    ['notes.txt', 'is not an image that is read: give PNG, JPEG, WebP, '],
    ['sound.wav', 'is not an image that is read'],
  ])('refuse %s', async (name, message) => {
    await expect(readAttached({ image: [path(name)] })).rejects.toThrow(`--image ${path(name)} ${message}`);
  });
});

describe('a question with paths of files', () => {
  it.each<[string, (file: (name: string) => string) => string]>([
    ['a path', (file) => `what is on ${file('a.png')} here?`],
    ['quotes', (file) => `what is on '${file('two words.png')}' here?`],
    ['double quotes', (file) => `what is on "${file('two words.png')}" here?`],
    ['escaped spaces', (file) => `what is on ${file('two words.png').replaceAll(' ', '\\ ')} here?`],
    ['a URL', (file) => `what is on ${pathToFileURL(file('two words.png')).href} here?`],
  ])('with %s takes the file in its place', async (_, line) => {
    const { text, attached, notes } = await takeMedia(line(path), sees);
    expect(text).toBe('what is on  here?');
    expect(attached.map(({ kind, bytes }) => [kind, bytes])).toEqual([['image', new Uint8Array(IMAGE)]]);
    expect(notes).toEqual([]);
  });

  it.each<[string, (file: string) => string, string]>([
    [
      'apostrophes on both sides',
      (file) => `what's in ${file} and why's it red`,
      "what's in  and why's it red",
    ],
    ['an apostrophe before', (file) => `don't guess: ${file} isn't blue`, "don't guess:  isn't blue"],
    ['an apostrophe at the start', (file) => `'tis ${file} that isn't blue`, "'tis  that isn't blue"],
    ['a question mark', (file) => `what's in ${file}?`, "what's in ?"],
    ['brackets', (file) => `that (see ${file}), or not`, 'that (see ), or not'],
    ['points', (file) => `look at ${file}...`, 'look at ...'],
    ['a bracket and quotes', (file) => `this ("${file}") one`, 'this ("") one'],
    ['quotes and a question mark', (file) => `what is in "${file}"? Or 'it'?`, "what is in ? Or 'it'?"],
  ])('takes a path with %s', async (_, line, rest) => {
    const { text, attached } = await takeMedia(line(path('a.png')), sees);
    expect([text, attached.length]).toEqual([rest, 1]);
  });

  it('takes a file whose name ends as a clause does', async () => {
    writeFileSync(path('really?'), IMAGE);
    const { text, attached } = await takeMedia(`what's in ${path('really?')}`, sees);
    expect([text, attached.length]).toEqual(["what's in", 1]);
  });

  it('of paths alone is a question without text', async () => {
    const { text, attached } = await takeMedia(
      `${path('a.png')} ${path('two words.png').replace(' ', '\\ ')}`,
      sees,
    );
    expect([text, attached.length]).toEqual(['', 2]);
    expect(contentWith(text, attached)).toEqual(
      [0, 1].map(() => ({ type: 'image', image: new Uint8Array(IMAGE) })),
    );
  });

  it.each(['notes.txt', 'missing.png', 'folder.png'])('keeps %s as a word', async (name) => {
    const line = `see ${path(name)}, "quoted" and it's \\ fine`;
    expect(await takeMedia(line, sees)).toEqual({ text: line, attached: [], notes: [] });
  });

  it('keeps a medium that the model does not take, and says so', async () => {
    const line = `hear ${path('sound.wav')}`;
    expect(await takeMedia(line, sees)).toEqual({
      text: line,
      attached: [],
      notes: ['sound.wav is sent as its name only: fake-chat does not take sounds.'],
    });
  });
});
