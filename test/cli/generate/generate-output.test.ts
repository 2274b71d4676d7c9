// The output of a run: lines on the right stream, the performance file, the exit code.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PerfDump } from '../../../src/cli/generate/perf-dump.ts';
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

describe('output streams', () => {
  it('have the paths, and nothing else, on standard output', async () => {
    const { out, err } = await draw('--prompt', 'knows cat', '--prompt', 'a boat');
    expect(out).toBe(
      [0, 1].map((index) => `${join(folder, 'out', `generated_image_${index}.png`)}\n`).join(''),
    );
    for (const text of [
      'Loading weights: 100 % of 18 MB',
      'Loaded 18 MB in ',
      'Opened fake-scenes in ',
      'Options: ',
      'Prompt 1/2: knows cat',
      'does not know: cat; a larger model, given with --model-path, knows more words',
      'Prompt 1/2: step 10/20 (50 %), 0.01 s/it',
      'Saved ',
      'Generated 2 images in ',
    ]) {
      expect(err).toContain(text);
    }
  });

  it('have a note that several prompts share once, under the names of options', async () => {
    const { err } = await draw('--prompt', 'note steps', '--prompt', 'note steps', '--quiet');
    expect(err.trimEnd().split('\n')).toEqual([expect.stringMatching(/--num-inference-steps$/)]);
  });

  it('have warnings and errors only on standard error with --quiet', async () => {
    const { out, err } = await draw('--prompt', 'knows cats', '--prompt', 'crash', '--quiet');
    expect(out.split('\n')).toHaveLength(2);
    expect(err.trimEnd().split('\n')).toEqual([
      expect.stringContaining('does not know: cats (it knows cat); a larger model'),
      expect.stringContaining('Prompt 2/2 failed: nobody foresaw this'),
    ]);
  });

  it('have one event a line, without pixels, on standard output with --json', async () => {
    const { out, err } = await draw(
      '--prompt',
      'knows cat',
      '--prompt',
      'fail internal',
      '--json',
      '--quiet',
      '--seed',
      '3',
    );
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const types = events.map(({ type }) => type);
    const order = [
      'load',
      'opened',
      'options',
      'prompt',
      'warmup',
      'resolved',
      'unknown-words',
      'stage',
      'tokens',
      'step',
      'saved',
      'failed',
      'finished',
    ];
    expect(order.map((type) => types.indexOf(type))).toEqual(
      order.map((type) => types.indexOf(type)).sort((a, b) => a - b),
    );
    for (const type of order) expect(types).toContain(type);
    expect(events.find(({ type }) => type === 'saved')).toEqual({
      type: 'saved',
      path: join(folder, 'out', 'generated_image_0.png'),
      prompt: 0,
      sample: 0,
      seed: 3,
      width: 32,
      height: 24,
    });
    expect(events.at(-1)).toMatchObject({ type: 'finished', images: 1, failed: 1 });
    expect(out).not.toContain('"data"');
    expect(err).toContain('failed with internal');
  });
});

it('the parameters in an image count clip skip as A1111 does', async () => {
  const { out } = await draw('--prompt', 'a house', '--clip-skip', '1');
  expect(await readFile(out.trimEnd(), 'latin1')).toContain('Clip skip: 2');
  const xl = await draw('--model-path', 'xl', '--prompt', 'a house', '--clip-skip', '1');
  expect(await readFile(xl.out.trimEnd(), 'latin1')).toContain('Clip skip: 3');
});

describe('the error that ends a run early', () => {
  it.each<[string[], number, string, string]>([
    [['--prompt', 'x', '--wibble'], 2, 'bad_request', 'there is no option --wibble'],
    [['--prompt', 'x', '--num-samples', '0'], 2, 'bad_request', '--num-samples is a whole number'],
    [[], 2, 'bad_request', '--prompt is missing'],
    [['--prompt', 'x', '--config', 'none.json'], 2, 'bad_request', 'none.json is not there'],
    [['--prompt', 'x', '--width', '33'], 2, 'bad_request', '--width is 33; the nearest are 32 and 40'],
    [['--prompt', 'x', '--model-path', 'language'], 3, 'unsupported', 'language is a language model'],
    [['--prompt', 'refuse out_of_memory'], 4, 'out_of_memory', 'refused with out_of_memory'],
    [['--prompt', 'fail cancelled'], 130, 'cancelled', 'failed with cancelled'],
  ])('is the last event with --json: %j', async (args, exit, code, message) => {
    const { out, err, code: ended } = await draw('--json', ...args);
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events.at(-1)).toEqual({ type: 'error', code, message: expect.stringContaining(message) });
    expect(events.filter(({ type }) => type === 'error')).toHaveLength(1);
    expect(ended).toBe(exit);
    expect(err).toContain(message);
  });

  it('is no event without --json', async () => {
    expect((await draw('--prompt', 'x', '--width', '33')).out).toBe('');
    expect((await draw('--prompt', 'x', '--json', '--no-json', '--wibble')).out).toBe('');
  });

  it('has the names that were typed', async () => {
    const config = join(folder, 'wide.json');
    await writeFile(config, JSON.stringify({ prompt: 'x', width: 33 }));
    expect((await draw('--config', config)).err).toContain(`width in ${config} is 33; the nearest`);
  });
});

describe('exit codes', () => {
  it.each<[string[], number, string, number]>([
    [['--prompt', 'a house'], 0, 'Generated 1 image in ', 1],
    [['--prompt', 'fail device_lost', '--prompt', 'a house'], 1, 'Generated 1 image in ', 1],
    [['--prompt', 'crash', '--prompt', 'a house'], 1, '1 prompt failed', 1],
    [['--prompt', 'crash', '--prompt', 'crash'], 1, '2 prompts failed', 0],
    [['--prompt', 'a house', '--width', '33'], 2, '--width is 33; the nearest are 32 and 40', 0],
    [['--prompt', 'refuse bad_request'], 2, 'refused with bad_request', 0],
    [['--prompt', 'refuse unsupported'], 3, 'refused with unsupported', 0],
    [['--prompt', 'a house', '--model-path', 'language'], 3, 'language is a language model', 0],
    [['--prompt', 'fail out_of_memory', '--prompt', 'a house'], 4, 'failed with out_of_memory', 0],
    [['--prompt', 'a house', '--prompt', 'fail out_of_memory'], 4, 'failed with out_of_memory', 1],
    [['--prompt', 'fail disk_full', '--prompt', 'a house'], 1, 'failed with disk_full', 1],
    [['--prompt', 'fail cancelled'], 130, 'failed with cancelled', 0],
  ])('%j ends with %d', async (args, code, message, images) => {
    const outcome = await draw(...args);
    expect(outcome.err).toContain(message);
    expect(outcome.code).toBe(code);
    const isRefused = code === 2 || code === 3;
    expect(isRefused ? [] : await names()).toHaveLength(images);
    // A refused run creates no folder.
    if (isRefused) expect(await names('.')).toEqual([]);
    expect(outcome.fake.closed).toBe(args.includes('language') ? 0 : 1);
  });

  it('a checkpoint that proves bad while drawing ends the run', async () => {
    const { code, err } = await draw('--prompt', 'fail bad_checkpoint', '--prompt', 'a house');
    expect(code).toBe(3);
    expect(err).toContain('failed with bad_checkpoint');
    expect(await names()).toEqual([]);
  });
});

describe('the performance file', () => {
  it.each([
    ['out_of_memory', 4, [{ prompt: 1, code: 'out_of_memory', message: 'failed with out_of_memory' }]],
    ['cancelled', 130, []],
  ])('is also written where a run ends early, by %s', async (ends, exit, failures) => {
    const place = join(folder, 'perf.json');
    const { code, out } = await draw(
      ...['--prompt', 'a house', '--prompt', `fail ${ends}`, '--prompt', 'a boat', '--perf-dump-path', place],
    );
    expect(code).toBe(exit);
    const dump = JSON.parse(await readFile(place, 'utf8')) as PerfDump;
    expect(dump.outputs.map(({ path }) => path)).toEqual([out.trimEnd()]);
    expect(dump.failures).toEqual(failures);
    expect(dump.total_duration_ms).toBeGreaterThan(0);
  });

  it('says what the run took, by the schema in perf-dump.ts', async () => {
    const place = join(folder, 'deep', 'perf.json');
    const { code, out } = await draw(
      ...['--prompt', 'ranks house', '--prompt', 'fail internal', '--num-samples', '2', '--seed', '8'],
      ...['--num-inference-steps', '3', '--enable-teacache', '--warmup', '--perf-dump-path', place],
    );
    expect(code).toBe(1);
    const dump = JSON.parse(await readFile(place, 'utf8')) as PerfDump;
    const paths = out.trimEnd().split('\n');
    expect(dump).toEqual({
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      tag: 'cli_generate',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      total_duration_ms: expect.any(Number),
      load_duration_ms: expect.any(Number),
      warmup_duration_ms: expect.any(Number),
      steps: [
        { name: 'text-encoding', duration_ms: 10 },
        { name: 'denoising', duration_ms: 30 },
        { name: 'decoding', duration_ms: 7 },
        { name: 'saving', duration_ms: expect.any(Number) },
      ],
      denoise_steps_ms: [
        ...[0, 1].flatMap((sample) =>
          [0, 1, 1].map((reused, i) => ({ prompt: 0, sample, step: i + 1, duration_ms: 10, reused })),
        ),
        { prompt: 1, sample: 0, step: 1, duration_ms: 10, reused: 0 },
      ],
      memory_checkpoints: {
        after_text_encoding: { peak_allocated_mb: 1 },
        after_denoising: { peak_allocated_mb: 3 },
        after_decoding: { peak_allocated_mb: 2 },
      },
      attention_kernels: { denoising: ['flash'] },
      exchange: { ranks: 2, calls: 6, received_mb: 2, waited_ms: 5 },
      kernels_ms: { conv2d: 3, matmul: 1.5 },
      adapter: {
        vendor: 'fake',
        architecture: '',
        device: 'fake device',
        description: 'fake adapter',
        software: true,
      },
      options: expect.objectContaining({
        model_path: { value: 'm', source: 'command line' },
        num_inference_steps: { value: 3, source: 'command line' },
        guidance_scale: { value: 7.5, source: 'contract' },
        width: { value: 32, source: 'model' },
        seed: { value: 8, source: 'command line' },
        backend: { value: 'svc', source: 'default' },
      }),
      seeds: [8, 9],
      outputs: paths.map((path, sample) => ({ path, prompt: 0, sample, seed: 8 + sample, replica: sample })),
      failures: [{ prompt: 1, code: 'internal', message: 'failed with internal' }],
      meta: {
        prompt: ['ranks house', 'fail internal'],
        model: 'fake-scenes',
        pipeline: 'StableDiffusionPipeline',
        quantization: 'none',
      },
    });
    expect(await names('deep')).toEqual(['perf.json']);
  });
});
