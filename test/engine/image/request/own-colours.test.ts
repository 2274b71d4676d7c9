// Colours that the prompts of a model do not change: the file, and the notes on prompts that ask for others.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { colourNotes, ownColours } from '../../../../src/engine/image/request/own-colours.ts';
import { shippedImageModelPath } from '../../../../src/index.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { temporaryFolders } from '../../../files/folders.ts';
import { open, REQUEST } from '../open-model.ts';
import { listen, tinyPipeline } from '../pipeline-golden.ts';

const SHIPPED = shippedImageModelPath();
const shipped = (await ownColours(await openDiskFolder(SHIPPED)))!;
const folderOf = temporaryFolders();

describe('a prompt for the shipped image model', () => {
  it.each([
    [
      'purple mountains at night',
      'purple in "purple mountains" may change nothing, or something else: this model knows mountains in colours that no word changes',
    ],
    [
      'a red house under a Pink and orange sky',
      'pink and orange in "pink and orange sky" may change nothing, or something else: this model knows sky in blue',
    ],
    [
      'a (green:1.2) desert',
      'green in "green desert" may change nothing, or something else: this model knows desert in yellow',
    ],
    [
      'blue and white mountain peaks',
      'blue and white in "blue and white mountain peaks" may change nothing, or something else: this model knows peaks in colours that no word changes',
    ],
  ])('%s: a note', (prompt, note) => {
    expect(colourNotes(prompt, shipped)).toEqual([note]);
  });

  it.each([
    'a red balloon over snowy mountains at sunset',
    'a red house in a meadow in spring',
    'a green tree on the right in the desert',
    'green hills under a blue sky',
    'a blue sea, red, mountains',
    'a white and black house and mountains',
    'something in red and a sky',
    'the sky is blue',
  ])('%s: none', (prompt) => {
    expect(colourNotes(prompt, shipped)).toEqual([]);
  });

  it('has words that the model knows', () => {
    const known = new Set(readFileSync(`${SHIPPED}/words.txt`, 'utf8').split(/\s+/));
    const all = [...shipped.colours, ...shipped.fixed.keys(), ...[...shipped.fixed.values()].flat()];
    expect(all.filter((word) => !known.has(word))).toEqual([]);
  });
});

it.each([{ colours: 'red', fixed: {} }, { colours: ['red'] }, { colours: ['red'], fixed: { sky: 'blue' } }])(
  'a file of another form is refused: %j',
  async (colours) => {
    const folder = await openDiskFolder(await folderOf({ 'colours.json': colours }));
    await expect(ownColours(folder)).rejects.toMatchObject({ code: 'bad_checkpoint', param: 'colours.json' });
  },
);

it('a note comes with the image', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-colours-'));
  cpSync(tinyPipeline('sd1'), folder, { recursive: true });
  writeFileSync(join(folder, 'colours.json'), '{"colours": ["red"], "fixed": {"sky": ["blue"]}}');
  const { model } = await open({ model: folder });
  const events = await listen(model, {
    ...REQUEST,
    steps: 1,
    prompt: 'a red sky',
    negativePrompt: 'red sky',
  });
  await model.close();
  rmSync(folder, { recursive: true });
  expect(events.flatMap((event) => (event.type === 'note' ? [event.message] : []))).toEqual([
    'red in "red sky" may change nothing, or something else: this model knows sky in blue',
  ]);
});

it('a model has no such file', async () => {
  expect(await ownColours(await openDiskFolder(await folderOf({ 'model_index.json': {} })))).toBeNull();
});
