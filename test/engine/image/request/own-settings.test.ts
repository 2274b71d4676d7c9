// Settings of a model in svc.json; invalid ones are refused with the file's name.

import { describe, expect, it } from 'vitest';
import { ownSettings, unknownWords } from '../../../../src/engine/image/request/own-settings.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { temporaryFolders } from '../../../files/folders.ts';

const folderOf = temporaryFolders();

const read = async (settings: object, framesPerLatent: number | null = null) => {
  const path = await folderOf({ 'svc.json': settings });
  return {
    path,
    settings: await openDiskFolder(path)
      .then((folder) => ownSettings(folder, { sizeMultiple: 8, framesPerLatent }))
      .catch(String),
  };
};

it('svc.json of a model holds size, steps, guidance and a negative prompt', async () => {
  const said = { width: 128, height: 64, num_inference_steps: 20, guidance_scale: 0, negative_prompt: '' };
  expect((await read(said)).settings).toEqual({
    defaults: { width: 128, height: 64, steps: 20, guidance: 0, negativePrompt: '' },
    words: null,
    colours: null,
  });
});

it('svc.json of a model that draws clips holds their length and rate', async () => {
  const { settings } = await read({ num_frames: 13, fps: 12.5 }, 4);
  expect(settings).toMatchObject({ defaults: { frames: 13, fps: 12.5 } });
  const message = 'num_frames in svc.json of .* is 12, which is not a multiple of 4 and one more';
  expect((await read({ num_frames: 12 }, 4)).settings).toMatch(new RegExp(message));
});

describe('svc.json of a model is refused by its file', () => {
  it.each<[object, string, string]>([
    [{ width: 131 }, 'width', 'is 131, which is not a multiple of 8; the nearest are 128 and 136'],
    [{ height: 0 }, 'height', 'is 0; it is an integer from 8 to 16384'],
    [{ num_inference_steps: 0.5 }, 'num_inference_steps', 'is 0.5; it is an integer from 1 to 1000'],
    [{ guidance_scale: -1 }, 'guidance_scale', 'is -1; it is a number from 0 to 1000'],
    [{ guidance_scale: '5' }, 'guidance_scale', 'is "5", which is not a number'],
    [{ num_frames: 5 }, 'num_frames', 'is 5, and this model draws images, which have one: leave it out'],
    [{ fps: 8 }, 'fps', 'is 8, and this model draws images, which have none: leave it out'],
    [{ negative_prompt: 3 }, 'negative_prompt', 'is 3, which is not text'],
    [
      { widht: 128 },
      '"widht"',
      'is nothing that a model says of itself; it says width, height, num_frames, fps, num_inference_steps, guidance_scale, negative_prompt',
    ],
  ])('%j', async (said, key, problem) => {
    const { path, settings } = await read(said);
    expect(settings).toBe(`EngineError: ${key} in svc.json of ${path} ${problem}: correct it there`);
  });
});

it.each<[string, string[], Record<string, string>?]>([
  ['a house BREAK snow', []],
  ['a (house:1.2) [snow]', []],
  ['snow (a BREAK)', ['break']],
  ['trees, ladies and a box of trees', ['trees', 'ladies'], { trees: 'tree', ladies: 'lady' }],
  ['constructors', ['constructors']],
])('unknown words of "%s" are %j', (prompt, words, known) => {
  const all = new Set(['a', 'and', 'house', 'snow', 'tree', 'lady', 'box', 'of']);
  expect(unknownWords([prompt], all)).toEqual({ words, ...(known && { known }) });
});
