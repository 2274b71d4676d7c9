// Whole pipelines that diffusers ran on tiny checkpoints: their requests, and opening this engine's models in the same way.

import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pipelineEntry } from '../../../src/engine/image/families/registry.ts';
import type {
  ImageEvent,
  ImageModel,
  ImageModelOptions,
  CompleteImageRequest,
  Frames,
  Pixels,
} from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { readSafetensors } from '../../../src/files/tensors/safetensors.ts';
import { parseJson } from '../../../src/files/json.ts';
import { openDiskSource } from '../../../src/files/disk/source-disk.ts';

const FOLDER = fileURLToPath(new URL('../../golden/image', import.meta.url));
export const PIPELINE_GOLDENS = readdirSync(FOLDER).filter((name) => name.startsWith('pipeline-'));

interface PipelineGolden {
  class: string;
  checkpoint: string;
  /** Components that replace those of the checkpoint. */
  components: Record<string, string>;
  /** Files of textual inversions. */
  words?: string[];
  /** File of an IP-Adapter, and the scale of its image. */
  image_prompt?: string;
  image_scale?: number;
  arguments: Record<string, unknown>;
  seeds: number[];
  /** The generator of the initial noise; left out: the CPU's. */
  noise?: 'cuda';
  timesteps: number[];
  scheduler: { class: string; config: Record<string, unknown> };
}

/** A tiny pipeline among the goldens' checkpoints. */
export const tinyPipeline = (name: string): string => `${FOLDER}/checkpoints/${name}`;

function readGolden(name: string): PipelineGolden {
  return parseJson(readFileSync(`${FOLDER}/${name}/case.json`, 'utf8')) as PipelineGolden;
}

/** Class of a golden's pipeline, and how often its denoiser was called. */
export function pipelineRun(name: string): { class: string; calls: number } {
  const golden = readGolden(name);
  return { class: golden.class, calls: golden.timesteps.length };
}

/** Latents of the first image after the last step, [channels][height][width], or of the first clip, [channels][frames][height][width]. */
export async function lastLatents(name: string): Promise<Float32Array> {
  const stored = await storedTensor(name, 'outputs', `latents_${readGolden(name).timesteps.length}`);
  const all = new Float32Array(stored!.bytes.buffer);
  return all.subarray(0, all.length / stored!.shape[0]!);
}

export interface Stored {
  shape: number[];
  bytes: Uint8Array<ArrayBuffer>;
}

/** A tensor of a case's inputs or outputs; null where it has none of that name. */
export async function storedTensor(
  name: string,
  file: 'inputs' | 'outputs',
  tensor: string,
): Promise<Stored | null> {
  const source = await openDiskSource(`${FOLDER}/${name}/${file}.safetensors`).catch(() => null);
  if (source === null) return null;
  try {
    const entry = (await readSafetensors(source)).tensors.get(tensor);
    return entry ? { shape: entry.shape, bytes: await source.read(entry.offset, entry.bytes) } : null;
  } finally {
    await source.close();
  }
}

/** Images, clips or masks, one after the other. */
export async function storedImages(
  name: string,
  file: 'inputs' | 'outputs',
  tensor: string,
): Promise<Frames[]> {
  const stored = await storedTensor(name, file, tensor);
  if (!stored) return [];
  const isClip = stored.shape.length === 5;
  const [count, height, width, channels] = isClip
    ? [stored.shape[0]!, ...stored.shape.slice(2)]
    : stored.shape.length === 4
      ? stored.shape
      : [1, stored.shape[0]!, stored.shape[1]!, stored.shape[2] ?? 1];
  const frames = isClip ? stored.shape[1]! : 1;
  const size = frames * height! * width! * channels!;
  return Array.from({ length: count! }, (_, i) => {
    const own = stored.bytes.subarray(i * size, (i + 1) * size);
    const data =
      channels === 3 ? own : Uint8Array.from({ length: 3 * size }, (__, at) => own[Math.floor(at / 3)]!);
    return { width: width!, height: height!, ...(isClip && { frames }), data };
  });
}

async function numberedImages(name: string, prefix: string): Promise<Pixels[]> {
  const found: Pixels[] = [];
  for (;;) {
    const [image] = await storedImages(name, 'inputs', `${prefix}_${found.length}`);
    if (!image) return found;
    found.push(image);
  }
}

export interface GoldenRequest {
  options: ImageModelOptions & Required<Pick<ImageModelOptions, 'componentPaths' | 'pipelineClassName'>>;
  request: CompleteImageRequest;
}

/** How a golden was asked for, its scheduler included. */
export async function goldenRequest(name: string): Promise<GoldenRequest> {
  const golden = readGolden(name);
  const { prompt, ...kwargs } = golden.arguments;
  const scheduler = mkdtempSync(join(tmpdir(), 'svc-scheduler-'));
  const config = { ...golden.scheduler.config, _class_name: golden.scheduler.class };
  writeFileSync(join(scheduler, 'scheduler_config.json'), JSON.stringify(config));
  const elsewhere = Object.entries(golden.components).map(([component, path]) => [
    component,
    `${FOLDER}/${path}`,
  ]);
  const [image] = await storedImages(name, 'inputs', 'image');
  // The size of what models of references draw follows from the sides of those.
  const seesImages = pipelineEntry(golden.class).set.references !== undefined;
  const [mask] = await storedImages(name, 'inputs', 'mask');
  const [lastImage] = await storedImages(name, 'inputs', 'last_image');
  const further = await numberedImages(name, 'further');
  const [ipAdapterImage] = await storedImages(name, 'inputs', 'image_prompt');
  const controlImages = await numberedImages(name, 'control');
  return {
    options: {
      model: `${FOLDER}/${golden.checkpoint}`,
      pipelineClassName: golden.class,
      componentPaths: {
        scheduler,
        ...(Object.fromEntries(elsewhere) as Record<string, string>),
        ...(golden.image_prompt && {
          ip_adapter: `${FOLDER}/${golden.image_prompt}`,
          image_encoder: tinyPipeline('image-encoder'),
        }),
      },
      ...(golden.words && { textualInversionPath: golden.words.map((path) => `${FOLDER}/${path}`) }),
    },
    request: {
      prompt: String(prompt),
      seed: golden.seeds[0]!,
      samples: golden.seeds.length,
      kwargs,
      ...(golden.noise ? { generatorDevice: golden.noise } : {}),
      // In diffusers the output has the image's size; this engine keeps near the model's default size.
      ...(image && {
        image,
        ...(seesImages || 'width' in kwargs ? {} : { width: image.width, height: image.height }),
      }),
      ...(lastImage && { lastImage }),
      ...(further.length > 0 && { furtherImages: further }),
      ...(mask ? { mask } : {}),
      ...(ipAdapterImage && { ipAdapterImage, ipAdapterScale: golden.image_scale! }),
      ...(controlImages.length > 0 && { controlImages }),
    },
  };
}

/** Opens the pipeline as the golden's was. */
export async function openPipelineGolden(
  name: string,
  options: Partial<ImageModelOptions> = {},
): Promise<{ model: ImageModel; request: CompleteImageRequest }> {
  const golden = await goldenRequest(name);
  return {
    model: await openInline(IMAGE, nodePlatform, { ...golden.options, ...options }),
    request: golden.request,
  };
}

/** Returns all events of a request. */
export async function listen(
  model: ImageModel,
  request: CompleteImageRequest,
  options: Parameters<ImageModel['generate']>[1] = {},
): Promise<ImageEvent[]> {
  const events: ImageEvent[] = [];
  for await (const event of model.generate(request, options)) events.push(event);
  return events;
}

export function imagesOf(events: readonly ImageEvent[]): Frames[] {
  return events.flatMap((event) => (event.type === 'image' ? [event.image] : []));
}
