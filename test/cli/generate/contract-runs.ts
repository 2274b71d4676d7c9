// Runs of svc generate on tiny pipelines, in this process: what each saved, and its performance file.

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { keyOf } from '../../../src/cli/generate/config-file.ts';
import type { PerfDump } from '../../../src/cli/generate/perf-dump.ts';
import { openImageModel } from '../../../src/index.ts';
import { goldenRequest } from '../../engine/image/pipeline-golden.ts';
import { generateWith } from './generate-harness.ts';

export interface Drawn {
  code: number;
  out: string;
  err: string;
  perf: PerfDump;
  /** What was saved, in the order of the names: pixels of images, whose files also hold the configuration, or a clip's file, as digests. */
  results: string[];
  /** [width, height] of each saved image. */
  sizes: number[][];
}

const scratch = mkdtempSync(join(tmpdir(), 'svc-contract-'));

/** Path of a PNG of colours that change from left to right. */
export async function pngFile(width: number, height: number): Promise<string> {
  const path = join(scratch, `${width}x${height}.png`);
  const shade = (i: number): number => (255 * (Math.floor(i / 3) % width)) / width;
  const data = Uint8Array.from({ length: 3 * width * height }, (_, i) => shade(i));
  await sharp(data, { raw: { width, height, channels: 3 } })
    .png()
    .toFile(path);
  return path;
}

/** Options by their names on the command line; undefined: left out. */
export type ConfigValues = Record<string, unknown>;

/** Path of a configuration with which svc generate draws one result of a golden's pipeline in two steps; `more` comes before its own values. */
export async function configOf(golden: string, more: ConfigValues = {}): Promise<string> {
  const { options, request } = await goldenRequest(`pipeline-${golden}`);
  const { width, height, num_frames: frames, guidance_scale: guidance } = request.kwargs ?? {};
  // Without the golden's limit, T5 fills a prompt up to 512 tokens, which cost more than all else.
  const { max_sequence_length } = request.kwargs ?? {};
  return configFile({
    'model-path': options.model,
    'component-paths': options.componentPaths,
    'pipeline-class-name': options.pipelineClassName,
    prompt: request.prompt,
    ...{ width, height, 'num-frames': frames, 'guidance-scale': guidance },
    ...{ 'num-inference-steps': 2, seed: 7 },
    ...(max_sequence_length !== undefined && { 'generic-kwargs': { max_sequence_length } }),
    ...more,
  });
}

/** Path of a JSON file of options. */
export function configFile(values: ConfigValues): string {
  const path = join(mkdtempSync(join(scratch, 'config-')), 'config.json');
  const entries = Object.entries(values).map(([name, value]) => [keyOf(name), value]);
  writeFileSync(path, JSON.stringify(Object.fromEntries(entries)));
  return path;
}

/** Runs svc generate with a new output folder and performance file. */
export async function runGenerate(args: readonly string[]): Promise<Drawn> {
  const folder = mkdtempSync(join(scratch, 'run-'));
  const output = join(folder, 'out');
  mkdirSync(output);
  const dump = join(folder, 'perf.json');
  const outcome = await generateWith(
    (options, onEvent) => openImageModel({ ...options, inline: true }, onEvent),
    ['--output-path', output, '--perf-dump-path', dump, ...args],
  );
  const saved = readdirSync(output)
    .toSorted()
    .map((name) => join(output, name));
  return {
    ...outcome,
    perf: readPerf(dump),
    results: await Promise.all(saved.map(contentOf)),
    sizes: await Promise.all(saved.filter(isImage).map(sizeOf)),
  };
}

const isImage = (path: string): boolean => path.endsWith('.png');

async function contentOf(path: string): Promise<string> {
  const bytes = isImage(path) ? await sharp(path).raw().toBuffer() : readFileSync(path);
  return createHash('sha256').update(bytes).digest('hex');
}

async function sizeOf(path: string): Promise<number[]> {
  const { width, height } = await sharp(path).metadata();
  return [width, height];
}

function readPerf(path: string): PerfDump {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as PerfDump;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { steps: [], outputs: [] } as never;
    throw error;
  }
}
