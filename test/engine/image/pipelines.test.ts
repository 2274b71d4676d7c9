// Whole pipelines against what diffusers draws on the same tiny checkpoints, noise included.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { ImageModelOptions, ImageRequest, Pixels } from '../../../src/engine/image/image-model.ts';
import { openImageModelInline } from '../../../src/engine/image/open.ts';
import { nodePlatform } from '../../../src/engine/platform-node.ts';
import { readSafetensors } from '../../../src/files/safetensors.ts';
import { openDiskSource } from '../../../src/files/source-disk.ts';

const FOLDER = fileURLToPath(new URL('../../golden/image', import.meta.url));
const NAMES = readdirSync(FOLDER).filter((name) => name.startsWith('pipeline-'));

interface Golden {
  class: string;
  checkpoint: string;
  /** Those that come from elsewhere. */
  components: Record<string, string>;
  arguments: Record<string, unknown>;
  seeds: number[];
  scheduler: { class: string; config: Record<string, unknown> };
}

const scratch = mkdtempSync(join(tmpdir(), 'svc-pipelines-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const readGolden = (name: string): Golden =>
  JSON.parse(readFileSync(`${FOLDER}/${name}/case.json`, 'utf8')) as Golden;

async function bytesOf(name: string, file: string, tensor: string): Promise<Pixels | null> {
  const source = await openDiskSource(`${FOLDER}/${name}/${file}.safetensors`);
  const entry = (await readSafetensors(source)).tensors.get(tensor);
  const bytes = entry && (await source.read(entry.offset, entry.bytes));
  await source.close();
  if (!entry || !bytes) return null;
  const shape = entry.shape.length === 4 ? entry.shape.slice(1) : entry.shape;
  const [height, width, channels = 1] = shape as [number, number, number?];
  const data =
    channels === 3
      ? bytes
      : Uint8Array.from({ length: 3 * bytes.length }, (_, i) => bytes[Math.floor(i / 3)]!);
  return { width, height, data };
}

/** The scheduler that the golden was made with, as a component of its own. */
function schedulerFolder(name: string, { scheduler }: Golden): string {
  const folder = mkdtempSync(join(scratch, `${name}-`));
  const config = { ...scheduler.config, _class_name: scheduler.class };
  writeFileSync(join(folder, 'scheduler_config.json'), JSON.stringify(config));
  return folder;
}

async function drawGolden(name: string, options: Partial<ImageModelOptions> = {}): Promise<Pixels> {
  const golden = readGolden(name);
  const { prompt, ...kwargs } = golden.arguments;
  const model = await openImageModelInline(nodePlatform, {
    model: `${FOLDER}/${golden.checkpoint}`,
    pipelineClassName: golden.class,
    componentPaths: {
      scheduler: schedulerFolder(name, golden),
      ...Object.fromEntries(
        Object.entries(golden.components).map(([component, path]) => [component, `${FOLDER}/${path}`]),
      ),
    },
    ...options,
  });
  const image = await bytesOf(name, 'inputs', 'image').catch(() => null);
  const mask = await bytesOf(name, 'inputs', 'mask').catch(() => null);
  const request: ImageRequest = {
    prompt: String(prompt),
    seed: golden.seeds[0]!,
    kwargs,
    ...(image ? { image } : {}),
    ...(mask ? { mask } : {}),
  };
  let picture: Pixels | undefined;
  try {
    for await (const event of model.generate(request)) {
      if (event.type === 'image') picture = event.image;
      if (event.type === 'note') expect.fail(event.message);
    }
  } finally {
    await model.close();
  }
  return picture!;
}

/** Within 1 of 255, but for one value in a thousand. */
function expectSame(found: Pixels, wanted: Pixels): void {
  expect([found.width, found.height]).toEqual([wanted.width, wanted.height]);
  const far = wanted.data.reduce((sum, value, i) => sum + Number(Math.abs(value - found.data[i]!) > 1), 0);
  expect(far).toBeLessThanOrEqual(wanted.data.length / 1000);
}

describe.each([
  ['tuned', {}],
  ['generic', { backend: 'generic' }],
] satisfies [string, Partial<ImageModelOptions>][])('%s', (_, options) => {
  it.each(NAMES)('%s', async (name) => {
    expectSame(await drawGolden(name, options), (await bytesOf(name, 'outputs', 'pixels'))!);
  });
});
