// The configuration in an image generates the same image again from the same files, or fails.

import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { placed, withoutPlace } from '../../../src/cli/generate/config-paths.ts';
import { encodeImage } from '../../../src/index.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { generate, type Outcome } from './generate-harness.ts';

const NAME = 'generated_image_0.png';
const folderOf = temporaryFolders();

async function grey(path: string, value: number): Promise<string> {
  const data = new Uint8Array(3 * 32 * 24).fill(value);
  await writeFile(path, await encodeImage({ width: 32, height: 24, data }, { format: 'png' }));
  return path;
}

const sourceOf = ({ fake }: Outcome): number | undefined => fake.requests.at(-1)?.image?.data[0];

describe('an image with an input image of the same name', () => {
  let folder: string;
  let drawn: string;
  const again = (...args: string[]): Promise<Outcome> =>
    generate('--config', drawn, '--output-path', join(folder, 'again'), ...args);
  const draw = async (...inputs: string[]): Promise<void> => {
    const common = ['--model-path', 'm', '--prompt', 'x', '--seed', '1'];
    const { out, err } = await generate(...common, '--output-path', join(folder, 'out'), ...inputs);
    expect(err).not.toContain('UsageError');
    drawn = out.trimEnd();
  };
  beforeAll(async () => {
    folder = await folderOf({});
    const [image, mask] = [await grey(join(folder, NAME), 90), await grey(join(folder, 'mask.png'), 255)];
    const last = await grey(join(folder, 'last.png'), 40);
    await draw('--image-path', image, '--mask-path', mask, '--last-image-path', last);
    expect(drawn).toBe(join(folder, 'out', NAME));
  });

  it('is drawn again from that input image, not from itself', async () => {
    const outcome = await again();
    expect(outcome.code).toBe(0);
    expect(sourceOf(outcome)).toBe(90);
    const [first, second] = [outcome.fake.requests[0]?.mask?.data[0], outcome.out.trimEnd()];
    expect(first).toBe(255);
    expect(outcome.fake.requests[0]?.lastImage).toMatchObject({
      width: outcome.fake.requests[0]?.image?.width,
    });
    expect(outcome.fake.requests[0]?.lastImage?.data[0]).toBe(40);
    // The source image may also be named by a different path.
    const third = await generate('--config', second, '--output-path', join(folder, 'third'));
    expect(sourceOf(third)).toBe(90);
  });

  it('is drawn again from no image where only the result is there', async () => {
    await mkdir(join(folder, 'lone', 'out'), { recursive: true });
    const lone = join(folder, 'lone', 'out', 'picture.png');
    await copyFile(drawn, lone);
    // The file of that name in the folder above is a different image now.
    await grey(join(folder, NAME), 10);
    const { code, err, fake } = await generate('--config', lone, '--output-path', join(folder, 'x'));
    expect({ code, opened: fake.opened.length }).toEqual({ code: 2, opened: 0 });
    expect(err).toContain(`${NAME} is not what image_path in ${lone} names, for its content is another:`);
    expect(err).toContain('give --image-path with the path of the one meant as well');
    const meant = await grey(join(folder, 'elsewhere.png'), 90);
    expect(sourceOf(await again('--image-path', meant))).toBe(90);
  });
});

describe('an image drawn from several', () => {
  it('is drawn from each again, wherever a file of that name now differs', async () => {
    const folder = await folderOf({});
    const paths = [await grey(join(folder, 'a.png'), 20), await grey(join(folder, 'b.png'), 90)];
    const inputs = paths.flatMap((path) => ['--image-path', path]);
    const common = ['--model-path', 'm', '--prompt', 'x', '--seed', '1'];
    const first = await generate(...common, '--output-path', join(folder, 'out'), ...inputs);
    const furtherOf = ({ fake }: Outcome) => fake.requests[0]?.furtherImages?.map(({ data }) => data[0]);
    expect([furtherOf(first), sourceOf(first)]).toEqual([[20], 90]);
    const again = (to: string) =>
      generate('--config', first.out.trimEnd(), '--output-path', join(folder, to));
    const second = await again('second');
    expect([furtherOf(second), sourceOf(second)]).toEqual([[20], 90]);
    await grey(paths[1]!, 91);
    const third = await again('third');
    expect(third.code).toBe(2);
    expect(third.err).toContain('is not what image_path in');
  });
});

describe('an image that ControlNets steered', () => {
  it('is drawn again with the same networks, images and numbers', async () => {
    const folder = await folderOf({});
    const paths = [await grey(join(folder, 'edges.png'), 30), await grey(join(folder, 'depth.png'), 60)];
    const nets = [join(folder, 'edges.safetensors'), join(folder, 'depth.safetensors')];
    for (const net of nets) await writeFile(net, '');
    const control = ['--controlnet-path', nets.join(), '--control-scale', '0.5,1', '--control-end', '0.8'];
    const inputs = paths.flatMap((path) => ['--control-image', path]);
    const common = ['--model-path', 'm', '--prompt', 'x', '--seed', '1'];
    const first = await generate(...common, '--output-path', join(folder, 'out'), ...control, ...inputs);
    const givenTo = ({ fake: { opened, requests } }: Outcome) => {
      const { controlImages = [], controlScale, controlStart, controlEnd } = requests[0]!;
      const images = controlImages.map(({ data }) => data[0]);
      return [opened[0]?.controlnetPath, images, controlScale, controlStart, controlEnd];
    };
    expect(givenTo(first)).toEqual([nets, [30, 60], [0.5, 1], undefined, [0.8]]);
    const again = (to: string, ...more: string[]) =>
      generate('--config', first.out.trimEnd(), '--output-path', join(folder, to), ...more);
    expect((await again('moved')).err).toContain('give --controlnet-path with its whole path as well');
    const typed = ['--controlnet-path', nets.join()];
    expect(givenTo(await again('second', ...typed))).toEqual(givenTo(first));
    await grey(paths[0]!, 31);
    expect((await again('third', ...typed)).err).toContain('is not what control_image in');
  });
});

describe('a model in a folder that is not stored', () => {
  it('is stored without its folders, and asked for on the next run', async () => {
    const folder = await folderOf({});
    const model = join(folder, 'sd1');
    const common = ['--prompt', 'x', '--seed', '1', '--output-path', join(folder, 'out')];
    const { out } = await generate('--model-path', model, ...common);
    const { code, err, fake } = await generate('--config', out.trimEnd());
    expect({ code, opened: fake.opened.length }).toEqual({ code: 2, opened: 0 });
    expect(err).toContain('model_path in ');
    expect(err).toContain('is …/fake-scenes, and images do not store its folders: give --model-path with');
    const again = await generate('--config', out.trimEnd(), '--model-path', model, ...common.slice(4));
    expect(again.code).toBe(0);
  });

  it('is found above the image by the path that was typed', async () => {
    const folder = await folderOf({ 'models/tiny/model_index.json': '{}', 'start.png': 'x' });
    const config = join(folder, 'out', 'a.png');
    const made = await generate(
      '--model-path',
      'models/tiny',
      '--prompt',
      'x',
      '--output-path',
      join(folder, 'out'),
    );
    await copyFile(made.out.trimEnd(), config);
    const { fake } = await generate('--config', config, '--output-path', join(folder, 'again'));
    expect(fake.opened[0]?.model).toBe(join(folder, 'models/tiny'));
  });
});

it('--memory-budget, --max-sequence-length and --flow-shift keep the values that were given', async () => {
  const folder = await folderOf({});
  const given = ['--memory-budget', '2GB', '--max-sequence-length', '40', '--flow-shift', '2.5'];
  const common = ['--prompt', 'x', '--seed', '1', '--output-path', join(folder, 'out')];
  const { out } = await generate('--model-path', 'm', ...common, ...given);
  const { fake } = await generate('--config', out.trimEnd(), ...common.slice(4));
  expect(fake.opened[0]?.memoryBudget).toBe(2e9);
  expect(fake.requests[0]).toMatchObject({ maxSequenceLength: 40, flowShift: 2.5 });
});

it('lists among the call arguments stay lists in the configuration', () => {
  const kwargs = { timesteps: [999, 700, 400, 100], size: [8, join('/', 'elsewhere')] };
  expect(withoutPlace(kwargs)).toEqual({ timesteps: kwargs.timesteps, size: [8, '…/elsewhere'] });
  const named = { file: 'x.json', key: 'generic_kwargs', option: 'generic-kwargs' };
  expect(placed(named, { timesteps: kwargs.timesteps })).toEqual({ timesteps: kwargs.timesteps });
});
