// The images of a run: their names, their contents, and their source images.

import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { sizeFrom } from '../../../src/engine/image/request/size.ts';
import { configOfImage, decodeImage, encodeImage, imageFormatOf, type Pixels } from '../../../src/index.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { generate, type Outcome } from './generate-harness.ts';

const folderOf = temporaryFolders();
let folder: string;
beforeEach(async () => {
  folder = await folderOf({});
});

const draw = (...args: string[]): Promise<Outcome> =>
  generate('--model-path', 'm', '--output-path', join(folder, 'out'), ...args);
const names = async (inside = 'out') => (await readdir(join(folder, inside))).sort();

describe('names of images', () => {
  it('count from 0, go on across prompts and runs, and are never used twice', async () => {
    await draw('--prompt', 'a house', '--prompt', 'a boat');
    await draw('--prompt', 'a house', '--num-samples', '2');
    const place = join(folder, 'out', 'generated_image_7.png');
    await writeFile(place, 'mine');
    await draw('--prompt', 'a house');
    expect(await names()).toEqual([0, 1, 2, 3, 7, 8].map((index) => `generated_image_${index}.png`));
    expect(await readFile(place, 'utf8')).toBe('mine');
  });

  it.each<[string[], string[]]>([
    [
      ['--output-file-name', 'cat.png'],
      ['cat.png', 'cat_1.png'],
    ],
    [
      ['--output-file-name', 'cat'],
      ['cat.png', 'cat_1.png'],
    ],
    [
      ['--output-file-name', 'a {seed} b.jpg'],
      ['a {seed} b.jpg', 'a {seed} b_1.jpg'],
    ],
    [
      ['--output-file-name', 'cat.webp', '--num-samples', '2'],
      ['cat_0.webp', 'cat_1.webp', 'cat_2.webp', 'cat_3.webp'],
    ],
    [
      ['--output-template', '{index}-{seed}', '--seed', '5'],
      ['0-5.png', '1-5.png'],
    ],
    [
      ['--output-template', '{seed}.jpeg', '--seed', '5'],
      ['5.jpeg', '5_1.jpeg'],
    ],
    [
      ['--output-template', '{prompt}_{model}_{steps}_{width}x{height}_{sample}_{index}.png'],
      ['a_red_house_fake-scenes_20_32x24_0_0.png', 'a_red_house_fake-scenes_20_32x24_0_1.png'],
    ],
  ])('%j', async (args, expected) => {
    await draw('--prompt', 'a/red:  house?', ...args);
    await draw('--prompt', 'a/red:  house?', ...args);
    expect(await names()).toEqual(expected);
    for (const name of expected) {
      const bytes = await readFile(join(folder, 'out', name));
      expect(await decodeImage(bytes, name)).toMatchObject({ width: 32, height: 24 });
      expect(imageFormatOf(name)).not.toBeNull();
    }
  });

  it('make folders, and contain date and time', async () => {
    await draw('--prompt', 'x', '--output-template', '{date}/{time}/{index}');
    const [date = ''] = await names();
    expect(date).toMatch(/^20\d{6}$/);
    const [time = ''] = await names(`out/${date}`);
    expect(time).toMatch(/^\d{6}$/);
    expect(await names(`out/${date}/${time}`)).toEqual(['0.png']);
  });

  it('are short and harmless for any prompt', async () => {
    for (const prompt of ['日本の家 🎈', '///', 'ä'.repeat(300), '.hidden']) {
      expect((await draw('--prompt', prompt, '--output-template', '{prompt}')).code).toBe(0);
    }
    expect(await names()).toEqual(
      ['hidden.png', 'image.png', `${'ä'.repeat(75)}.png`, '日本の家.png'].sort(),
    );
  });
});

describe('an image', () => {
  it('has the seed that follows, and says how to draw it again', async () => {
    const { out } = await draw(
      '--prompt',
      'a (red:1.2) house',
      '--seed',
      '40',
      '--num-samples',
      '3',
      '--clip-skip',
      '1',
    );
    const paths = out.trimEnd().split('\n');
    expect(paths).toHaveLength(3);
    for (const [sample, path] of paths.entries()) {
      const bytes = await readFile(path);
      const seed = 40 + sample;
      expect((await decodeImage(bytes, path)).data[0]).toBe(seed);
      expect(configOfImage(bytes)).toEqual({
        model_path: 'm',
        prompt: 'a (red:1.2) house',
        negative_prompt: '',
        num_inference_steps: 20,
        guidance_scale: 7.5,
        guidance_rescale: 0,
        height: 24,
        width: 32,
        seed,
        num_samples: 1,
        scheduler: 'DDIM',
        generator_device: 'cpu',
        clip_skip: 1,
        backend: 'svc',
        quantization: 'none',
      });
    }
    const again = await generate('--output-path', join(folder, 'again'), '--config', paths[2] ?? '');
    expect(again.fake.requests[0]).toMatchObject({
      prompt: 'a (red:1.2) house',
      seed: 42,
      samples: 1,
      clipSkip: 1,
    });
    const [third, drawnAgain] = await Promise.all([readFile(paths[2] ?? ''), readFile(again.out.trimEnd())]);
    expect(drawnAgain.equals(third)).toBe(true);
  });

  it('does not contain where files lie on this machine', async () => {
    const image = join(folder, 'start.png');
    const data = new Uint8Array(3 * 32 * 24);
    await writeFile(image, await encodeImage({ width: 32, height: 24, data }, { format: 'png' }));
    const snapshot = '/home/somebody/.cache/hub/models--acme--fake-scenes/snapshots/0123abcd';
    for (const [model, shown] of [
      ['/home/somebody/fake-scenes', '…/fake-scenes'],
      [snapshot, '…/fake-scenes'],
      [join('models', 'svc-scenes-mini'), 'fake-scenes'],
      [join(process.cwd(), 'models', 'scenes'), join('models', 'scenes')],
      ['acme/scenes', 'acme/scenes'],
      ['./scenes', './scenes'],
    ]) {
      const paths = ['--image-path', image, '--component-paths.vae', join(folder, 'vae')];
      const { out } = await generate(
        ...['--output-path', join(folder, 'out'), '--prompt', 'x', '--model-path', model ?? '', ...paths],
      );
      const bytes = await readFile(out.trimEnd());
      expect(configOfImage(bytes)).toMatchObject({
        model_path: shown,
        image_path: '…/start.png',
        component_paths: { vae: '…/vae' },
      });
      for (const secret of ['somebody', folder, process.cwd()]) {
        expect(bytes.includes(secret), `${model}: ${secret}`).toBe(false);
      }
    }
  });

  it('gets a seed where none is given, another each time', async () => {
    const seeds = new Set<unknown>();
    for (let run = 0; run < 3; run += 1) {
      const { out, err } = await draw('--prompt', 'x');
      const seed = configOfImage(await readFile(out.trimEnd()))?.['seed'];
      expect(err).toContain(`seed ${String(seed)} (drawn)`);
      expect(err).toContain(`(seed ${String(seed)})`);
      seeds.add(seed);
    }
    expect(seeds.size).toBe(3);
  });

  it('of a low quality is smaller', async () => {
    // Images of one colour differ little in size; this only tests that the options reach the encoder.
    const sizes = [];
    for (const quality of ['1', 'maximum']) {
      const { out } = await draw(
        '--prompt',
        'x',
        '--seed',
        '200',
        '--output-file-name',
        'x.jpg',
        '--output-quality',
        quality,
      );
      sizes.push((await stat(out.trimEnd())).size);
    }
    expect(sizes[0]).not.toBe(sizes[1]);
  });

  it('is previewed in one file that is replaced', async () => {
    const { out } = await draw('--prompt', 'x', '--preview', '--json');
    expect(await names()).toEqual(['generated_image_0.png', 'preview.png']);
    const preview = await decodeImage(await readFile(join(folder, 'out', 'preview.png')), 'preview');
    expect([preview.width, preview.height, preview.data[0]]).toEqual([32, 24, 20]);
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; path?: string });
    expect(events.filter(({ type }) => type === 'preview')).toHaveLength(20);
  });

  it('is not previewed over an image that was drawn', async () => {
    await draw('--prompt', 'x', '--output-file-name', 'preview.png');
    const before = await readFile(join(folder, 'out', 'preview.png'));
    const { code, err } = await draw('--prompt', 'x', '--preview');
    expect(err).toContain(
      'preview.png, which is an image that was drawn: rename it, or name another --output-path',
    );
    expect(code).toBe(2);
    expect(await readFile(join(folder, 'out', 'preview.png'))).toEqual(before);
  });
});

describe('an image to start from', () => {
  const imageFile = async (name: string, width: number, height: number, value = 9): Promise<string> => {
    const path = join(folder, name);
    const data = new Uint8Array(3 * width * height).fill(value);
    await writeFile(path, await encodeImage({ width, height, data }, { format: 'png' }));
    return path;
  };

  it('comes in the size that is drawn, and its mask too', async () => {
    const image = await imageFile('start.png', 100, 50);
    const mask = await imageFile('mask.png', 50, 25, 255);
    const args = ['--prompt', 'x', '--image-path', image, '--mask-path', mask, '--strength', '0.5'];
    const { code, fake } = await draw(...args, '--width', '64', '--height', '64');
    expect(code).toBe(0);
    const [request] = fake.requests;
    expect(request).toMatchObject({
      strength: 0.5,
      image: { width: 64, height: 64 },
      mask: { width: 64, height: 64 },
    });
    expect(request?.image?.data[0]).toBe(9);
    expect(request?.mask?.data[0]).toBe(255);
    const free = (await draw(...args)).fake.requests[0];
    expect(free?.image).toMatchObject({ width: 40, height: 16 });
    const crop = [...args, '--generic-kwargs', '{"padding_mask_crop": 4}'];
    const whole = (await draw(...crop, '--width', '64', '--height', '64')).fake.requests[0];
    expect(whole).toMatchObject({ image: { width: 100, height: 50 }, mask: { width: 50, height: 25 } });
  });

  it('that is long and thin is refused before it is scaled to a side that no image has', async () => {
    const image = await imageFile('thin.png', 8, 4096);
    const args = ['--prompt', 'x', '--image-path', image, '--width', '4096'];
    const started = process.memoryUsage.rss();
    const { code, err, fake } = await draw(...args);
    expect({ code, drawn: fake.requests }).toEqual({ code: 2, drawn: [] });
    expect(err).toContain('2097152');
    // Decoding it would take 24 GB.
    expect(process.memoryUsage.rss() - started).toBeLessThan(500e6);
  });

  it.each<[Partial<Pixels>, object]>([
    [{}, { width: 728, height: 360 }],
    [{ width: 256 }, { width: 256, height: 128 }],
    [{ height: 256 }, { width: 512, height: 256 }],
    [
      { width: 64, height: 640 },
      { width: 64, height: 640 },
    ],
  ])('in the size %j is drawn as %j', (wanted, size) => {
    const info = {
      sizeMultiple: 8,
      defaults: { width: 512, height: 512, steps: 1, guidance: 1, negativePrompt: '' },
    };
    expect(sizeFrom({ width: 2000, height: 1000 }, wanted, info)).toEqual(size);
  });

  it('that is small stays small', () => {
    const info = {
      sizeMultiple: 8,
      defaults: { width: 512, height: 512, steps: 1, guidance: 1, negativePrompt: '' },
    };
    expect(sizeFrom({ width: 201, height: 99 }, {}, info)).toEqual({ width: 200, height: 96 });
  });

  it('is refused before the model is opened where it is none', async () => {
    const path = join(folder, 'text.png');
    await writeFile(path, 'text');
    const { code, err, fake } = await draw('--prompt', 'x', '--image-path', path);
    expect({ code, opened: fake.opened }).toEqual({ code: 2, opened: [] });
    expect(err).toContain('text.png cannot be read as an image');
    const image = await imageFile('start.png', 100, 50);
    const mask = await imageFile('mask.png', 50, 50);
    const other = await draw('--prompt', 'x', '--image-path', image, '--mask-path', mask);
    expect(other.code).toBe(2);
    expect(other.err).toContain('has 50 × 50 pixels, and the image 100 × 50: give both the same proportions');
  });
});
