// Everything that is refused before a model is opened, with its message and exit code: every bound and every option that is not
// built.

import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { GENERATE_OPTIONS } from '../../../src/cli/generate/generate-options.ts';
import type { Option } from '../../../src/cli/options/option.ts';
import { PIPELINE_CLASSES } from '../../../src/index.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { generate, type Outcome } from './generate-harness.ts';

const folderOf = temporaryFolders();
let folder: string;
beforeAll(async () => {
  folder = await folderOf({
    'empty.txt': '\n \n',
    'one.json': {},
    'weights.safetensors': '',
    'weights.onnx': '',
  });
});

const BASE = ['--model-path', 'm', '--prompt', 'a house'];
const draw = (...args: string[]): Promise<Outcome> =>
  generate('--output-path', join(folder, 'outputs'), ...args);

describe('a refusal with exit code 2 before a model is opened', () => {
  const refused = async (args: string[], message: string) => {
    const { code, out, err, fake } = await draw(...args);
    expect(err).toContain(message);
    expect({ code, out, opened: fake.opened.length }).toEqual({ code: 2, out: '', opened: 0 });
  };

  it.each<[string[], string]>([
    [[], '--model-path and --prompt are missing: for example `npx svc-engine generate --model-path '],
    [['--prompt', 'x'], '--model-path is missing: for example'],
    [
      ['--prompt', 'a red "house"', '--prompt', 'a $boat', '--prompt', "it's a tree"],
      `--prompt 'a red "house"' --prompt 'a $boat' --prompt "it's a tree"\` draws with the model that ships`,
    ],
    [
      ['--model-path', 'my models/m'],
      '--prompt is missing: for example `npx svc-engine generate --model-path "my models/m" --prompt "a red balloon over snowy mountains"` draws',
    ],
    [['--prompt-path', 'p.txt'], 'the file p.txt of --prompt-path is not there'],
    [
      ['--model-path', 'm', '--prompt', 'a', 'house'],
      '"house" is one argument too many; a value of several words needs quotes',
    ],
    [['models/m'], 'a model is given with its option here: write --model-path models/m'],
    [['a house'], '"a house" is one argument too many; values stand after the options they are for'],
    [['--model-path', 'm', '--prompt-path', 'none.txt'], 'the file none.txt of --prompt-path is not there'],
  ])('%j', refused);

  it('a name that is too long, a second mask, prompts in another encoding, a folder that a broken link names', async () => {
    await refused(
      [...BASE, '--output-file-name', `${'x'.repeat(240)}.png`],
      'has 244 bytes with its ending: 240 at most',
    );
    await refused(
      [...BASE, '--image-path', 'a.png', '--mask-path', 'a.png', '--mask-path', 'b.png'],
      '--mask-path takes one, and is given as a.png and b.png',
    );
    const latin = join(folder, 'latin.txt');
    await writeFile(latin, Buffer.from('une maison \u00e0 la mer', 'latin1'));
    await refused(
      ['--model-path', 'm', '--prompt-path', latin],
      `${latin} is not UTF-8 text: save it as UTF-8`,
    );
    const link = join(folder, 'broken');
    await symlink(join(folder, 'nowhere'), link);
    await refused([...BASE, '--output-path', link], 'is a link to what is not there');
  });

  it.each<[string[], string]>([
    [
      ['--num-inference-step', '4'],
      'there is no option --num-inference-step; did you mean --num-inference-steps?',
    ],
    [['--num-output-per-prompt', '2'], 'did you mean --num-samples?'],
    [['--dp'], '--dp-size needs a value: --dp-size <n>'],
    [['--output-compression', '300'], '--output-quality is default, low, medium'],
    [['--unet-path'], '--component-paths needs a value: --component-paths.unet <value>'],
    [['--wibble'], 'there is no option --wibble'],
    [['--stepz', '20'], 'there is no option --stepz; did you mean --num-inference-steps?'],
    [['-p', 'a house'], 'there is no option -p; did you mean --prompt?'],
    [['--cfg_scale', '7'], 'there is no option --cfg_scale; did you mean --guidance-scale?'],
    [['--denoise', '1'], 'there is no option --denoise; did you mean --strength?'],
    [['--seed', '-1'], 'got "-1": leave it out for one that is drawn at random'],
    [
      ['--output-file-name', '.png'],
      '--output-file-name ".png" has no name before its ending: give one, as image.png',
    ],
    [['--output-file-name', '.jpg'], 'give one, as image.jpg'],
    [
      ['--output-file-name', ' '],
      '--output-file-name " " has no name before its ending: give one, as image.png',
    ],
    [
      ['--output-template', '{prompt}/.webp'],
      '--output-template "{prompt}/.webp" has no name before its ending',
    ],
    [['--perf-dump-path', 'perf/'], '--perf-dump-path names a file, and perf/ is a folder'],
    [['--steps', '20'], 'there is no option --steps; did you mean --num-inference-steps?'],
    [['--cfg-scale', '7'], 'there is no option --cfg-scale; did you mean --guidance-scale?'],
    [['--sampler', 'euler'], 'there is no option --sampler; did you mean --scheduler?'],
    [['--no-seed'], 'there is no option --no-seed'],
    [['--warmup=maybe'], '--warmup is on or off'],
    [['--prompt-path', 'p.txt'], '--prompt and --prompt-path both give prompts'],
    [['--strength', '0.5'], '--strength needs --image-path: give both, or neither'],
    [['--last-image-path', 'x.png'], '--last-image-path needs --image-path: give both, or neither'],
    [['--mask-path', 'x.png'], '--mask-path needs --image-path: give both, or neither'],
    [['--lora-nickname', 'x'], '--lora-nickname needs --lora-path: give both, or neither'],
    [['--lora-scale', '0.5'], '--lora-scale needs --lora-path: give both, or neither'],
    [['--lora-target-modules', 'to_q'], '--lora-target-modules needs --lora-path: give both, or neither'],
    [['--lora-path', 'a', '--lora-scale', '1,x'], '--lora-scale is a number, got "x"'],
    [['--enable-upscaling'], '--enable-upscaling needs --upscaling-model-path: give both, or neither'],
    [['--upscaling-scale', '2'], '--upscaling-scale needs --enable-upscaling: give both, or neither'],
    [['--control-end', '0.5'], '--control-end needs --control-image: give both, or neither'],
    [
      ['--pipeline-class-name', 'StableDiffusionXLImg2ImgPipeline'],
      '--pipeline-class-name StableDiffusionXLImg2ImgPipeline needs --image-path: give both',
    ],
    [
      ['--pipeline-class-name', 'StableDiffusionInpaintPipeline', '--image-path', 'x.png'],
      '--pipeline-class-name StableDiffusionInpaintPipeline needs --mask-path: give both',
    ],
    [['--image-path', 'none.png'], 'the image none.png of --image-path is not there'],
    [['--warmup-steps', '2'], '--warmup-steps needs --warmup'],
    [['--generic-kwargs', '[1]'], '--generic-kwargs is a JSON object such as \'{"name": 1}\', got "[1]"'],
    [['--generic-kwargs', '{eta: 1}'], '--generic-kwargs is a JSON object'],
    [['--component-paths', '{vae:C:\\vae}'], 'where the shell takes them away each is written \\"'],
    [
      ['--component-paths', '{"vae": 1}'],
      '--component-paths maps components to files, folders or hub ids, got 1 for vae',
    ],
    [
      ['--pipeline-class-name', 'KolorsPipeline'],
      `--pipeline-class-name is one of ${Object.keys(PIPELINE_CLASSES).join(', ')}, got "KolorsPipeline"`,
    ],
    [['--transformer-weights-path', 'none'], 'there is no none, which --transformer-weights-path names'],
    [
      ['--output-file-name', 'x.tiff'],
      '--output-file-name ends with .tiff, and images are written as .png, .jpeg, .webp or .jpg, clips as .mp4, .webm, .webp, .gif, or as a folder of frames with / at the end',
    ],
    [['--output-file-name', 'a/b.png'], '--output-file-name is a name without folders, got "a/b.png"'],
    [['--output-template', '../{index}'], '--output-template stays inside the output folder'],
    [
      ['--output-template', '{indx}'],
      '--output-template has no placeholder {indx}; there are {index} {seed} {sample}',
    ],
    [
      ['--output-template', '{index}', '--output-file-name', 'x'],
      '--output-file-name and --output-template both name the images',
    ],
    [['--seed', '1,x'], '--seed is a whole number from 0 to '],
    [
      ['--seed', '1,2', '--num-samples', '3'],
      '--seed has 2 entries, and --num-samples is 3: give one for each image, or a single one to count from',
    ],
    [
      ['--seed', '1,2', '--generic-kwargs', '{"num_images_per_prompt": 3}'],
      '--seed has 2 entries, and num_images_per_prompt in --generic-kwargs is 3',
    ],
  ])('%j', (args, message) => refused([...BASE, ...args], message));

  it('a --revision of what lies on this machine', () =>
    refused(
      ['--model-path', folder, '--prompt', 'x', '--revision', 'main'],
      'lies on this machine: leave it out',
    ));

  it.each([['weights.onnx', 'is a .safetensors, .gguf or .ckpt file, or a folder, got']])(
    'the denoiser weights %s',
    (name, message) => refused([...BASE, '--transformer-weights-path', join(folder, name)], message),
  );

  it.each(['one.json', 'one.json/inside'])('%s in place of the output folder', (name) =>
    refused(
      [...BASE, '--output-path', join(folder, name)],
      `--output-path needs a folder, and ${join(folder, 'one.json')} is a file`,
    ),
  );

  it.runIf(process.platform === 'linux').each(['--output-path', '--perf-dump-path'])(
    '%s where no folder can be made',
    (option) => refused([...BASE, option, '/proc/pictures/x'], 'cannot be written to: name another folder'),
  );

  it('a performance file below a file', () =>
    refused(
      [...BASE, '--perf-dump-path', join(folder, 'one.json', 'perf.json')],
      '--perf-dump-path needs a folder, and ',
    ));

  it('a folder in place of the performance file', () =>
    refused(
      [...BASE, '--perf-dump-path', folder],
      `--perf-dump-path names a file, and ${folder} is a folder`,
    ));

  it('a file without prompts', () =>
    refused(['--model-path', 'm', '--prompt-path', join(folder, 'empty.txt')], 'holds no prompt'));

  /** Values just outside each bound in the table. */
  const outside = Object.entries<Option>(GENERATE_OPTIONS).flatMap(([name, option]) => {
    if (option.kind !== 'integer' && option.kind !== 'integers' && option.kind !== 'number') return [];
    const { kind, min, max } = option;
    const above = 'above' in option ? option.above : undefined;
    const beyond = [
      min === undefined ? [] : min - 1,
      above ?? [],
      max === undefined ? [] : max + 1,
      kind === 'number' ? [] : 1.5,
    ];
    return [...beyond.flat().map(String), 'NaN', 'Infinity', '1x'].map((value) => [name, value]);
  });
  it.each(outside)('--%s %s', async (name = '', value = '') => {
    await refused([...BASE, `--${name}=${value}`], `--${name} is `);
    await refused([...BASE, `--${name}=${value}`], `, got "${value}"`);
  });

  it.each([
    [
      '--tp-size 2',
      '--num-gpus 1 is not divisible by 2, the product of --dp-size 1, --tp-size 2 and --cfg-parallel-size 1: give',
    ],
    ['--sp-degree 2', '--num-gpus 1 is not divisible by --sp-degree 2: give a multiple'],
    [
      '--ulysses-degree 4',
      '--sp-degree 1 is not the product of --ring-degree 1 and --ulysses-degree 4: give the product',
    ],
    ['--ring-degree 2', '--sp-degree 1 is not the product of --ring-degree 2 and --ulysses-degree 1'],
    ['--kv-gather-degree 2', '--kv-gather-degree 2 is not --sp-degree 1: give one number for both'],
    ['--num-gpus 3 --dp 2', '--num-gpus 3 is not divisible by --dp-size 2: give --num-gpus 2, or a multiple'],
    ['--data-parallel-size 2', '--num-gpus 1 is not divisible by --dp-size 2'],
    ['--num-gpus 2 --dp-degree 3', '--dp-size 1 times --dp-degree 3 is 3, and --num-gpus 2 is given'],
    [
      '--enable-cfg-parallel',
      '--enable-cfg-parallel takes 2 GPUs, and --num-gpus 1 is given: give --num-gpus 2',
    ],
  ])('%s', async (option, message) => refused([...BASE, ...option.split(' ')], message));

  it.each([
    ['--quantization-rank 0', '--quantization-rank is a whole number of at least 1'],
    ['--quantization-precision int3', '--quantization-precision is'],
    ['--quantizer-config x', 'is a file, a JSON object or key=value,key=value, got "x"'],
    ['--attention-backend-config {', '--attention-backend-config is a JSON object'],
    [
      '--attention-backend-config sparsity',
      'is a file, a JSON object or key=value,key=value, got "sparsity"',
    ],
    ['--attention-backend-config missing.yaml', 'missing.yaml cannot be read'],
    ['--cache-dit-config missing.yaml', 'missing.yaml cannot be read'],
  ])('%s with an invalid value', async (option, message) =>
    refused([...BASE, ...option.split(' ')], message),
  );
});

it('options of parallelism, offload and LoRAs pass at their neutral values', async () => {
  const neutral = [
    ...[
      'num-gpus',
      'tp-size',
      'sp-degree',
      'ulysses-degree',
      'ring-degree',
      'dp-size',
      'dp-degree',
      'lora-scale',
    ].flatMap((name) => [`--${name}`, '1']),
    '--no-enable-cfg-parallel',
    ...['--cache-dit-config', ''],
    ...['dit-cpu', 'dit-layerwise', 'text-encoder-cpu', 'image-encoder-cpu', 'vae-cpu'].flatMap((name) => [
      `--${name}-offload`,
      'false',
    ]),
    ...['--lora-nickname', 'default', '--lora-path=', '--lora-target-modules', ''],
  ];
  const { code, err } = await draw(...BASE, ...neutral);
  expect(err).not.toContain('UsageError');
  expect(code).toBe(0);
});
