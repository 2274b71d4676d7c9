// Precedence, and configuration files.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { configOfImage } from '../../../src/index.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { generate, type Outcome } from './generate-harness.ts';

const folderOf = temporaryFolders();
let folder: string;
beforeAll(async () => {
  folder = await folderOf({
    'prompts.txt': '\uFEFFa house\r\n\n  \na boat\n',
    'empty.txt': '\n \n',
    'one.json': { model_path: 'm', prompt: 'from the file', num_inference_steps: 7, seed: 5 },
  });
});

const draw = (...args: string[]): Promise<Outcome> =>
  generate('--output-path', join(folder, 'outputs'), ...args);

describe('a value comes from', () => {
  const file = async (name: string, text: string | object): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, typeof text === 'string' ? text : JSON.stringify(text));
    return path;
  };

  it('the command line, the file, the model, the contract, in this order', async () => {
    const { code, err, fake } = await draw('--config', join(folder, 'one.json'), '--seed', '9');
    expect(code).toBe(0);
    expect(fake.requests[0]).toMatchObject({ prompt: 'from the file', steps: 7, seed: 9 });
    for (const text of [
      'model-path m (config file)',
      'width 32 (model)',
      'num-inference-steps 7 (config file)',
      'guidance-scale 7.5 (default)',
      'seed 9 (command line)',
    ]) {
      expect(err).toContain(text);
    }
  });

  it('the command line, also with the default value', async () => {
    const config = await file('zero.json', {
      model_path: 'm',
      prompt: 'x',
      output_path: '/nowhere',
      vae_tiling: true,
    });
    const { fake } = await draw('--config', config, '--no-vae-tiling', '--num-samples', '1');
    expect(fake.requests[0]).toMatchObject({ tiling: false, samples: 1 });
  });

  it('an enlarged image, whose file has its size and what it was enlarged by', async () => {
    const network = ['--enable-upscaling', '--upscaling-model-path', 'network.safetensors'];
    const { code, out, err, fake } = await draw(
      ...['--model-path', 'm', '--prompt', 'x', '--seed', '3', '--json'],
      ...network,
    );
    expect([code, err]).toEqual([0, expect.stringContaining('upscaling-scale 4 (model)')]);
    expect(fake.opened[0]).toMatchObject({ upscalingModelPath: 'network.safetensors' });
    expect(fake.requests[0]).toMatchObject({ enableUpscaling: true });
    const saved = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; path: string })
      .find(({ type }) => type === 'saved')!;
    expect(saved).toMatchObject({ width: 128, height: 96 });
    expect(configOfImage(await readFile(saved.path))).toMatchObject({
      enable_upscaling: true,
      upscaling_model_path: 'network.safetensors',
      upscaling_scale: 4,
      width: 32,
      height: 24,
    });
  });

  it('a component of its own key, and empty values of what is not built', async () => {
    const config = await file('parts.json', {
      ...{ model_path: 'm', prompt: 'x', vae_path: 'a/vae', component_paths: { unet: 'b' } },
      ...{ lora_path: [], attention_backend_config: {} },
    });
    const { code, fake } = await draw('--config', config);
    expect(code).toBe(0);
    expect(fake.opened[0]).toMatchObject({ componentPaths: { vae: 'a/vae', unet: 'b' } });
  });

  it.each([
    ['of the file', ['--config'], 'seed [7,3] (config file), num-samples 2 (config file)'],
    [
      'that is typed',
      ['--seed', '7,3', '--config'],
      'seed [7,3] (command line), num-samples 2 (command line)',
    ],
  ])('a list %s: one seed for each image of a prompt', async (_, args, shown) => {
    const list = args.length > 1 ? {} : { seed: [7, 3] };
    const config = await file('seeds.json', { model_path: 'm', prompt: ['a house', 'a boat'], ...list });
    const out = join(folder, `seeds-${args.length}`);
    const { code, err, fake, out: paths } = await draw(...args, config, '--output-path', out);
    expect(code).toBe(0);
    for (const part of shown.split(', ')) expect(err).toContain(part);
    expect(err).toContain('Prompt 2/2: a boat (seed 7, 3)');
    expect(fake.requests.map(({ prompt, seed, samples }) => [prompt, seed, samples])).toEqual([
      ['a house', 7, 1],
      ['a house', 3, 1],
      ['a boat', 7, 1],
      ['a boat', 3, 1],
    ]);
    const kept = paths
      .trimEnd()
      .split('\n')
      .map(async (path) => configOfImage(await readFile(path))?.['seed']);
    expect(await Promise.all(kept)).toEqual([7, 3, 7, 3]);
  });

  it('an image that was drawn with LoRAs: the same ones again', async () => {
    const adapters = [
      '--lora-path',
      'x/a,x/b:c.safetensors',
      '--lora-scale',
      '1,-0.5',
      '--lora-nickname',
      'a,b',
    ];
    const base = [
      '--model-path',
      'm',
      '--prompt',
      'a house <lora:a>',
      '--output-path',
      join(folder, 'adapted'),
    ];
    const drawn = await draw(...base, ...adapters);
    expect(drawn.code).toBe(0);
    const again = await draw('--config', drawn.out.trim(), '--output-path', join(folder, 'adapted'));
    expect(again.err).not.toContain('UsageError');
    expect(again.fake.opened[0]).toMatchObject({
      loraPath: ['x/a', 'x/b:c.safetensors'],
      loraScale: [1, -0.5],
      loraNickname: ['a', 'b'],
    });
    expect(again.fake.requests[0]?.prompt).toBe('a house <lora:a>');
  });

  it.each(['prompt', 'prompt-path'])('a typed --%s in place of any prompts of the file', async (option) => {
    const config = await file('prompts.json', { model_path: 'm', prompt_path: join(folder, 'empty.txt') });
    const value = option === 'prompt' ? 'a boat' : join(folder, 'prompts.txt');
    const { fake } = await draw('--config', config, `--${option}`, value);
    expect(fake.requests.at(-1)?.prompt).toBe('a boat');
  });

  it.each<[string, string | object]>([
    [
      'a.json',
      { model_path: 'm', prompt: 'x', guidance_scale: 2, num_samples: 2, warmup_mode: 'off', seed: null },
    ],
    ['a.yaml', 'model_path: m\nprompt: x\nguidance_scale: 2 # low\nnum_samples: 2\nseed:\n'],
    ['a.yml', 'model_path: m\nprompt: [x]\nguidance_scale: 2\nnum_samples: 2\n'],
    [
      'aliases.json',
      { model_path: 'm', prompt: ['x'], guidance_scale: 2, num_outputs_per_prompt: 2, num_gpus: 1 },
    ],
    [
      'neutral.json',
      { model_path: 'm', prompt: 'x', guidance_scale: 2, num_samples: 2, lora_path: '', lora_scale: 1 },
    ],
  ])('%s', async (name, content) => {
    const { code, fake, err } = await draw('--config', await file(name, content));
    expect(err).not.toContain('UsageError');
    expect(code).toBe(0);
    expect(fake.requests[0]).toMatchObject({ prompt: 'x', guidance: 2, samples: 2 });
  });

  it.each<[string, BufferEncoding]>([
    ['bom.json', 'utf8'],
    ['powershell.json', 'utf16le'],
    ['powershell.yaml', 'utf16le'],
  ])('%s, written by Windows in %s', async (name, encoding) => {
    const path = join(folder, name);
    await writeFile(path, '\uFEFF{"model_path": "m", "prompt": "a bœuf"}', encoding);
    const { code, fake } = await draw('--config', path);
    expect(code).toBe(0);
    expect(fake.requests[0]?.prompt).toBe('a bœuf');
    await writeFile(join(folder, 'prompts-too.txt'), '\uFEFFa bœuf\r\n', encoding);
    const prompts = await draw('--model-path', 'm', '--prompt-path', join(folder, 'prompts-too.txt'));
    expect(prompts.fake.requests.map(({ prompt }) => prompt)).toEqual(['a bœuf']);
  });

  it('objects and words in a file', async () => {
    const config = await file('objects.json', {
      model_path: 'm',
      prompt: 'x',
      component_paths: { vae: 'a/b' },
      generic_kwargs: '{"eta": 1}',
      memory_budget: '1GB',
      output_quality: 'high',
      output_file_name: 'x.jpg',
    });
    const { code, fake } = await draw('--config', config);
    expect(code).toBe(0);
    expect(fake.opened[0]).toMatchObject({
      componentPaths: { vae: 'a/b' },
      memoryBudget: 1e9,
      backend: 'auto',
    });
    expect(fake.requests[0]?.kwargs).toEqual({ eta: 1 });
  });

  it.each<[string, string | object, string]>([
    ['x.json', '{"seed": 1', 'x.json is not JSON: '],
    ['x.yaml', 'a: [', 'x.yaml is not YAML: '],
    ['list.json', '[]', 'list.json must hold keys and values'],
    ['x.toml', 'a = 1', 'x.toml is not a configuration file: give a .json, .yaml or .yml file'],
    ['x.png', 'no image', 'x.png does not say how it was drawn'],
    ['a.json', { num_inference_step: 4 }, 'has the key "num_inference_step", which is not an option'],
    ['a.json', { num_inference_step: 4 }, '; did you mean num_inference_steps?'],
    [
      'a.json',
      { cfg_scale: 4 },
      'has the key "cfg_scale", which is not an option; did you mean guidance_scale?',
    ],
    ['a.json', { 'num-samples': 4 }, 'has the key "num-samples", which is not an option'],
    ['a.json', { config: 'b.json' }, 'has the key "config", which is not an option'],
    ['a.json', { zzz: 4 }, 'a.json'],
    [
      'a.json',
      { num_samples: 1, num_outputs_per_prompt: 1 },
      'says num_samples twice, once as num_outputs_per_prompt',
    ],
    ['a.json', { num_inference_steps: '4' }, 'a.json is a whole number from 1 to 1000, got "4"'],
    ['a.json', { num_inference_steps: 0 }, 'num_inference_steps in '],
    ['a.json', { guidance_scale: true }, 'a.json is a number from 0 to 1000, got true'],
    ['a.json', { warmup: 'yes' }, 'a.json is true or false, got "yes"'],
    ['a.json', { prompt: 3 }, 'a.json is a text or a list of texts, got 3'],
    ['a.json', { negative_prompt: ['x'] }, 'a.json is a text, got ["x"]'],
    ['a.json', { generic_kwargs: 3 }, 'a.json is a JSON object'],
    ['a.json', { backend: 'cuda' }, 'a.json is one of auto, svc, generic, got "cuda"'],
    ['a.json', { negative_prompt: 'x' }, '--model-path and --prompt are missing, and '],
  ])('not from %s with %j: %s', async (name, content, message) => {
    const { code, out, err, fake } = await draw('--config', await file(name, content));
    expect(err).toContain(message);
    expect({ code, out, opened: fake.opened.length }).toEqual({ code: 2, out: '', opened: 0 });
  });

  it('a file beside the configuration, or else where the command runs', async () => {
    const nested = await folderOf({ 'models/tiny/model_index.json': '{}', 'weights.safetensors': '' });
    const config = join(nested, 'run.json');
    const paths = { vae: 'models/tiny', unet: 'acme/unet' };
    const settings = {
      model_path: 'models/tiny',
      prompt: 'x',
      component_paths: paths,
      transformer_weights_path: 'weights.safetensors',
    };
    await writeFile(config, JSON.stringify(settings));
    const { fake, err } = await draw('--config', config);
    expect(err).not.toContain('UsageError');
    expect(fake.opened[0]).toMatchObject({
      model: join(nested, 'models/tiny'),
      componentPaths: { vae: join(nested, 'models/tiny'), unet: 'acme/unet' },
      transformerWeightsPath: join(nested, 'weights.safetensors'),
    });
    const elsewhere = await draw('--config', await file('here.json', { model_path: 'models', prompt: 'x' }));
    expect(elsewhere.fake.opened[0]?.model).toBe('models');
  });

  it('not from a file that is not there', async () => {
    const { code, err } = await draw('--config', join(folder, 'none.json'));
    expect(code).toBe(2);
    expect(err).toContain('none.json is not there: give a .json, .yaml or .yml file');
  });
});
